//! Attempts to escape, made with the real binary: each must be held, and a control beside it shows that the same means
//! work where they are allowed. One module per part.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests; each part prints its count"
)]

mod authority;
mod connections;
mod hook;
mod kernel;
mod lasting;
mod launcher;
mod left_behind;
mod means;
mod ordinary;
mod portable;
mod program_questions;
mod questions;
mod rules;
mod shell;
mod spellings;
