//! Attempts to get past the fence, with the real binary and a scripted model. Each part is a table of attempts with a
//! positive control beside each: the same means works where it is allowed, so that "nothing ran" does not count.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod questions;
mod shell;
