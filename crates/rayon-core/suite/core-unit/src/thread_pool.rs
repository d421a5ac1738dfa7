// Without the tests that look into private fields; see the README of the suite.
#[path = "../../public/thread_pool_test.rs"]
mod test;
