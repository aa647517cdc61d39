//! Claude Code's hooks with their real JSON, as Claude Code runs them: the command of `.claude/settings.json` in a shell,
//! the input on standard input, the answer on standard output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod failing;
mod session;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod support;
mod workflow;
