//! Rate limit on messages of an agent: a token bucket that allows bursts and rejects floods.

use std::time::Duration;

const BURST: f64 = 200.0;
const PER_SECOND: f64 = 100.0;
/// Messages over the limit after which the connection is cut.
const PATIENCE: u32 = 1_000;

pub(crate) struct Bucket {
    left: f64,
    refused: u32,
}

/// Verdict on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Fine,
    TooFast,
    Flood,
}

impl Bucket {
    pub(crate) fn new() -> Self {
        Self { left: BURST, refused: 0 }
    }

    /// Counts a message that arrived `since` after the previous one.
    pub(crate) fn take(&mut self, since: Duration) -> Flow {
        self.left = (self.left + since.as_secs_f64() * PER_SECOND).min(BURST);
        if self.left >= 1.0 {
            self.left -= 1.0;
            self.refused = 0;
            return Flow::Fine;
        }
        self.refused += 1;
        if self.refused > PATIENCE { Flow::Flood } else { Flow::TooFast }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_fine_a_flood_is_not_and_time_heals() {
        let mut bucket = Bucket::new();
        assert!((0..200).all(|_| bucket.take(Duration::ZERO) == Flow::Fine));
        assert!((0..1000).all(|_| bucket.take(Duration::ZERO) == Flow::TooFast));
        assert_eq!(bucket.take(Duration::from_millis(10)), Flow::Fine);
        assert!((0..1000).all(|_| bucket.take(Duration::ZERO) == Flow::TooFast));
        assert_eq!(bucket.take(Duration::ZERO), Flow::Flood);
    }
}
