//! The clock of the host, passed in so that tests can control it. The default never goes backwards: setting back the
//! wall clock must not turn a timer of three seconds into a wait of an hour.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The current time, in milliseconds since 1970.
pub trait Clock: Send + Sync {
    /// Returns the time in milliseconds since the Unix epoch; never less than before.
    fn now_ms(&self) -> i64;
}

/// The machine's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The wall clock, made monotonic: after it was set back, time advances at its usual rate until the wall clock has
/// caught up.
pub struct SteadyClock<W = SystemClock> {
    wall: W,
    last: Mutex<ClockReading>,
}

#[derive(Clone, Copy)]
struct ClockReading {
    at: Instant,
    ms: i64,
}

impl SteadyClock {
    /// Creates a clock that never returns less than `at_least_ms`, the time of the last stored record.
    pub fn new(at_least_ms: i64) -> Self {
        Self::of(SystemClock, at_least_ms)
    }
}

impl<W: Clock> SteadyClock<W> {
    fn of(wall: W, at_least_ms: i64) -> Self {
        let ms = wall.now_ms().max(at_least_ms);
        Self { wall, last: Mutex::new(ClockReading { at: Instant::now(), ms }) }
    }
}

impl<W: Clock> Clock for SteadyClock<W> {
    fn now_ms(&self) -> i64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let passed_ms = i64::try_from(last.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let (steady_ms, wall_ms) = (last.ms.saturating_add(passed_ms), self.wall.now_ms());
        if wall_ms > steady_ms {
            // The clock was set forward, or the machine slept.
            *last = ClockReading { at: Instant::now(), ms: wall_ms };
            return wall_ms;
        }
        steady_ms
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    struct WallClock(Arc<AtomicI64>);

    impl Clock for WallClock {
        fn now_ms(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn a_wall_clock_that_is_set_back_does_not_stop_time() {
        let wall = Arc::new(AtomicI64::new(10_000_000));
        let clock = SteadyClock::of(WallClock(Arc::clone(&wall)), 0);
        let before = clock.now_ms();
        wall.store(6_400_000, Ordering::SeqCst);
        assert!(clock.now_ms() >= before, "time went back with the wall clock");
        wall.store(20_000_000, Ordering::SeqCst);
        assert_eq!(clock.now_ms(), 20_000_000);
    }

    #[test]
    fn a_restart_after_the_clock_was_set_back_continues_from_the_last_record() {
        let clock = SteadyClock::of(WallClock(Arc::new(AtomicI64::new(5))), 1_000);
        assert!(clock.now_ms() >= 1_000);
    }
}
