//! The clock as the host sees it: handed in, so that tests can hold it still.

use std::time::{SystemTime, UNIX_EPOCH};

/// What time it is, in milliseconds since 1970.
pub trait Clock: Send + Sync {
    fn now_ms(&self) -> i64;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}
