#[path = "../../upstream-core/src/broadcast/test.rs"]
mod test;
