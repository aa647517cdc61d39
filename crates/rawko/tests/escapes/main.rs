//! Attempts to escape what rawko promises, made with the real binary and a scripted model. Each part is a table of
//! attempts with a positive control beside each, prints `N of M held`, and fails if one escaped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table of attempts"
)]

mod launcher;
mod questions;
mod shell;
