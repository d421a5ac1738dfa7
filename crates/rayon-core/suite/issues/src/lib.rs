//! Empty: the tests are the point.
