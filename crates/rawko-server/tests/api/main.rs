//! Instances and event streams over HTTP: a real host, a real store file, a real socket.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod acting;
mod crowd;
mod journal;
mod listing;
mod made;
mod people;
mod reading;
mod sse;
mod streams;
mod support;
mod tasks;
mod transcript;
mod usage;
