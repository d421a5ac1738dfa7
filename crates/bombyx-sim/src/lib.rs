//! Every scheduler of the papers in virtual time.
