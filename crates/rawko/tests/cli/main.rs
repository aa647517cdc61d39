//! The real binary, run as a user or a program runs it: its output and its exit code.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod answering;
mod beginning;
mod channels;
mod check;
mod demo;
mod each;
mod examples;
mod exit_codes;
mod faults;
mod fleet;
mod forking;
mod governing;
mod graph;
mod guides;
mod help;
mod holding;
mod import;
mod init;
mod looking;
mod migrating;
mod operations;
mod parking;
mod pausing;
mod pipes;
mod prompt;
mod pty;
mod queue;
mod recursion;
mod running;
mod scenarios;
mod serving;
mod session;
mod simulate;
mod support;
mod tampering;
mod tasks;
mod telemetry;
mod trees;
mod typed;
mod verify;
mod words;
