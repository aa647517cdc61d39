//! Agents at work, whole: real host, real files, real commands, real refusals. Only the models are scripted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod budgets;
mod looking;
mod loops;
mod orchestrating;
mod phases;
mod prompts;
mod yard;
