//! Damaged, truncated and foreign files: a clear error, never a panic.

mod common;

use bombyx_trace::{ReadError, read};
use common::traced;

fn small() -> Vec<u8> {
    traced("damage_is_noticed", "4", || {
        let pool = bombyx::Pool::builder().processors(1).build().unwrap();
        pool.run(|| bombyx::scope(|s| s.spawn(|_| bombyx::mark("a mark"))));
    })
}

#[test]
fn damage_is_noticed() {
    let bytes = small();
    let trace = read(&bytes).unwrap();
    assert_eq!((trace.pools.len(), trace.texts.len()), (1, 1));
    assert!(trace.places.values().all(|place| place.file.ends_with("reading.rs") && place.line > 0));
    for length in 0..bytes.len() {
        let wanted = if length == 0 { ReadError::Empty } else { ReadError::Truncated };
        assert_eq!(read(&bytes[..length]), Err(wanted), "the first {length} bytes");
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(read(&damaged).is_err(), "byte {at} is damaged, and nobody notices");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(read(&longer).unwrap_err().to_string().contains("more bytes than belong here"));
}

#[test]
fn foreign_files_are_told_apart() {
    let files: [(&[u8], &str); 8] = [
        (b"", "the trace is empty"),
        (b"\x7fELF\x02\x01", "this is not a trace; make one with"),
        (b"{\"bombyx_profile\":1}", "this is not a trace"),
        (b"bombyx trace v9\nand more", "version 9, and this program reads version 1"),
        (b"bombyx trace v\x1b[31m\nand more", "version ?[31m, and"),
        (b"bombyx trace v1\n", "stops early"),
        (b"bombyx tr", "stops early"),
        (&[0; 64], "this is not a trace"),
    ];
    for (bytes, wanted) in files {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// A length that no memory could hold is not believed.
#[test]
fn huge_claims_are_refused() {
    let mut bytes = b"bombyx trace v1\n".to_vec();
    bytes.extend(7_u32.to_le_bytes());
    bytes.extend(u64::MAX.to_le_bytes());
    assert_eq!(read(&bytes), Err(ReadError::Truncated));
}
