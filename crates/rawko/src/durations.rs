//! Durations on the command line. A number without a unit is refused: the chart format counts in milliseconds, and a
//! person who types `--timeout 5` means something else.

use std::time::Duration;

use rawko_core::duration::{self, DurationError};

/// Parses a duration such as `30s`, `5m` or `24h`; `0` needs no unit.
pub(crate) fn read_ms(text: &str) -> Result<u64, String> {
    let bare = text.trim();
    if bare.parse::<f64>().is_ok_and(|number| number != 0.0) {
        return Err(format!("`{bare}` has no unit; write `{bare}s` for seconds or `{bare}m` for minutes"));
    }
    duration::parse_ms(text).map_err(|error| match error {
        // The examples of the chart format have numbers without a unit.
        DurationError::Malformed(text) => {
            format!("`{text}` is not a duration; write for example `30s`, `15m`, `24h` or `7d`")
        }
        other => other.to_string(),
    })
}

pub(crate) fn read(text: &str) -> Result<Duration, String> {
    read_ms(text).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_needs_a_unit() {
        for (text, ms) in [("0", 0), ("0s", 0), ("5s", 5_000), ("2m", 120_000), ("250ms", 250)] {
            assert_eq!(read_ms(text), Ok(ms), "{text}");
        }
        for text in ["5", "1.5", " 30 "] {
            assert!(read_ms(text).unwrap_err().contains("has no unit"), "{text}");
        }
        let refused = read_ms("4x").unwrap_err();
        assert!(refused.contains("`4x` is not a duration") && !refused.contains("1500"), "{refused}");
    }
}
