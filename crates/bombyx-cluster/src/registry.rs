//! The table of remote functions: every build has the same one, so a name means the same function on all nodes.
//!
//! [`register!`](crate::register) puts a function into the table when the program is linked. A caller finds the name by
//! the function's type, which no other function has. A worker finds the function by its name.

use crate::error::Error;
use crate::outcome::Tagged;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::sync::OnceLock;

/// One remote function. Made by [`register!`](crate::register).
pub struct Entry {
    #[doc(hidden)]
    pub name: &'static str,
    #[doc(hidden)]
    pub type_id: fn() -> TypeId,
    #[doc(hidden)]
    pub invoke: fn(&[u8]) -> Tagged,
}

inventory::collect!(Entry);

/// Makes functions remote, as the attribute [`remote`](macro@crate::remote) does.
///
/// ```
/// fn double(n: u64) -> u64 { 2 * n }
/// bombyx_cluster::register!(double);
///
/// let cluster = bombyx_cluster::Cluster::builder().address("local:1").start()?;
/// assert_eq!(cluster.call(double, 21)?, 42);
/// # Ok::<(), bombyx_cluster::Error>(())
/// ```
#[macro_export]
macro_rules! register {
    ($function:ident) => {
        $crate::inventory::submit! {
            $crate::Entry {
                name: concat!(module_path!(), "::", stringify!($function)),
                type_id: || $crate::registry::type_of($function),
                invoke: |argument| $crate::registry::invoke($function, argument),
            }
        }
    };
}

#[doc(hidden)]
pub fn type_of<F: 'static>(_: F) -> TypeId {
    TypeId::of::<F>()
}

#[doc(hidden)]
pub fn invoke<A: DeserializeOwned, R: Serialize>(function: impl Fn(A) -> R, argument: &[u8]) -> Tagged {
    let argument = match crate::codec::decode(argument) {
        Ok(argument) => argument,
        Err(reason) => panic!("the argument cannot be read: {reason}"),
    };
    let result = function(argument);
    match crate::codec::encode(&result) {
        Ok((_, needs)) if !needs.is_empty() => {
            panic!(
                "the result holds a `Remote`, which belongs to the call that made it: return its value instead"
            )
        }
        Ok((bytes, _)) => Tagged::value(bytes),
        Err(reason) => panic!("the result cannot be written: {reason}"),
    }
}

struct Table {
    by_type: HashMap<TypeId, &'static str>,
    by_name: HashMap<&'static str, fn(&[u8]) -> Tagged>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table { by_type: HashMap::new(), by_name: HashMap::new() };
        for entry in inventory::iter::<Entry> {
            table.by_type.insert((entry.type_id)(), entry.name);
            let twin = table.by_name.insert(entry.name, entry.invoke);
            assert!(twin.is_none(), "two remote functions are called `{}`: rename one of them", entry.name);
        }
        table
    })
}

/// The name of a remote function.
pub(crate) fn name_of<F: 'static>() -> Result<&'static str, Error> {
    let name = table().by_type.get(&TypeId::of::<F>()).copied();
    name.ok_or_else(|| Error::NotRemote(type_name::<F>().to_owned()))
}

/// The function with this name, as a worker calls it.
pub(crate) fn find(name: &str) -> Option<fn(&[u8]) -> Tagged> {
    table().by_name.get(name).copied()
}
