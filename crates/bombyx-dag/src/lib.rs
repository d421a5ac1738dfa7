//! Multithreaded computations as dags.
