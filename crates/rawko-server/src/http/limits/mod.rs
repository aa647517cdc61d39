//! Limits on requests: rate, size and time; and deduplication by idempotency key.

mod bodies;
mod buckets;
mod once;
mod patience;
mod time;

pub(crate) use bodies::{Whole, whole_body};
pub(crate) use buckets::{BucketOwner, Buckets};
pub(crate) use once::{Answers, once};
pub use patience::HttpTimeouts;
pub(crate) use patience::Impatient;
pub(crate) use time::in_time;
