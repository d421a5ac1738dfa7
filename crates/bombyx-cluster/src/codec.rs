//! Arguments and results as bytes, in postcard's format. [`encode`] also returns which [`Remote`](crate::Remote)s a
//! value contains: they report themselves while they are written.

use crate::key::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;

thread_local! {
    /// What the innermost `encode` on this thread has met.
    static NEEDS: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of a value, and the keys of all `Remote`s in it.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<(Vec<u8>, Vec<Key>), postcard::Error> {
    let outer = NEEDS.take();
    let bytes = postcard::to_stdvec(value);
    let needs = NEEDS.replace(outer);
    Ok((bytes?, needs))
}

/// The value of bytes that [`encode`] wrote. Bytes after the value are an error, because they belong to another type.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes are left over", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

/// A `Remote` reports that it is part of what is being written.
pub(crate) fn need(key: &Key) {
    NEEDS.with_borrow_mut(|needs| needs.push(key.clone()));
}
