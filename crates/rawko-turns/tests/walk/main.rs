//! Walkthroughs: the behaviour of a channel, event by event, as goldens that double as documentation.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod edge_cases;
mod interrupting;
mod order;
mod properties;
mod rounds;
mod speaking;
mod steering;
mod support;
mod table;
mod waiting;
