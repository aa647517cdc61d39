//! The SDKs for Python and TypeScript: installed from their packages into clean environments, against the real server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod documents;
mod kills;
mod lossy;
mod scripts;
mod support;
mod tools;
