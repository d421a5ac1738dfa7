#[path = "../../upstream-core/src/scope/test.rs"]
mod test;
