//! The HTTP API over real sockets: permissions, rejections, and abuse. Requests are written out as bytes, because no
//! client library would send half of them.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod abuse;
mod access;
mod agents;
mod assets;
mod channels;
mod charts;
mod idempotency;
mod origins;
mod problems;
mod reference;
mod roles;
mod services;
mod settings;
mod studio;
mod support;
mod triggers;
