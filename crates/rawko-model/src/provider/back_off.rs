//! Retry delays. Computes the number only: the waiting is a durable timer of the chart.

/// The `back_off` section of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOffSettings {
    /// Delay before the second attempt.
    pub first_ms: u64,
    /// Upper bound of a delay that we choose.
    pub longest_ms: u64,
    /// Upper bound of a delay that the provider requests.
    pub retry_after_max_ms: u64,
}

impl Default for BackOffSettings {
    fn default() -> Self {
        Self { first_ms: 1_000, longest_ms: 60_000, retry_after_max_ms: 60 * 60 * 1_000 }
    }
}

/// Returns the delay after attempt number `attempt` (from 0) has failed. The delay doubles with each attempt, with
/// jitter between half and all of it, so that agents that failed together do not retry together. It is never shorter
/// than the provider's `Retry-After`. The same arguments always give the same delay, also after a restart.
pub fn back_off_ms(
    attempt: u32,
    retry_after_ms: Option<u64>,
    settings: BackOffSettings,
    jitter_seed: &str,
) -> u64 {
    let doubled = settings.first_ms.saturating_mul(1_u64.checked_shl(attempt.min(40)).unwrap_or(u64::MAX));
    let full = doubled.min(settings.longest_ms);
    let jitter = jitter(jitter_seed, attempt);
    let own = full / 2 + scaled(full - full / 2, jitter);
    let asked = retry_after_ms.map_or(0, |ms| {
        let ms = ms.min(settings.retry_after_max_ms);
        ms.saturating_add(scaled(ms / 10, jitter))
    });
    own.max(asked)
}

/// Returns `span` × `jitter` / 2³².
fn scaled(span: u64, jitter: u32) -> u64 {
    ((u128::from(span) * u128::from(jitter)) >> 32) as u64
}

fn jitter(seed: &str, attempt: u32) -> u32 {
    let hash = blake3::hash(format!("{seed}#{attempt}").as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::{BackOffSettings, back_off_ms};

    #[test]
    fn waits_grow_to_a_bound_and_honour_what_was_asked() {
        let settings = BackOffSettings { first_ms: 1_000, longest_ms: 8_000, retry_after_max_ms: 100_000 };
        let table = [
            ("the first", 0, None, 500..=1_000),
            ("twice as long", 1, None, 1_000..=2_000),
            ("and again", 2, None, 2_000..=4_000),
            ("bounded", 9, None, 4_000..=8_000),
            ("no overflow", u32::MAX, None, 4_000..=8_000),
            ("asked for more", 0, Some(20_000), 20_000..=22_000),
            ("asked for less", 3, Some(1), 4_000..=8_000),
            ("asked for now", 0, Some(0), 500..=1_000),
            ("asked for far too much", 0, Some(u64::MAX), 100_000..=110_000),
        ];
        for (name, attempt, retry_after_ms, expected) in table {
            for seed in ["a", "b", "c", "d"] {
                let wait = back_off_ms(attempt, retry_after_ms, settings, seed);
                assert!(expected.contains(&wait), "{name}: {wait}");
                assert_eq!(
                    wait,
                    back_off_ms(attempt, retry_after_ms, settings, seed),
                    "{name}: the same again"
                );
            }
        }
        let waits = ["a", "b", "c", "d"].map(|seed| back_off_ms(5, None, settings, seed));
        assert!(waits.iter().any(|wait| *wait != waits[0]), "agents do not come back together: {waits:?}");
    }
}
