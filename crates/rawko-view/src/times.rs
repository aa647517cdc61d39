//! Formatting of times and durations for people: `3m ago`, `in 2h 5m`, and timestamps in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Returns the current time, in milliseconds since 1970 UTC.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `just now`, `5s ago`, `3m ago`, `2h ago`, `4d ago`.
pub fn ago(at_ms: i64, now_ms: i64) -> String {
    let passed = now_ms.saturating_sub(at_ms);
    if passed < SECOND { "just now".to_owned() } else { format!("{} ago", coarse(passed)) }
}

/// `in 3m`, or `due` once the time has passed.
pub fn until(due_ms: i64, now_ms: i64) -> String {
    let left = due_ms.saturating_sub(now_ms);
    if left <= 0 { "due".to_owned() } else { format!("in {}", span(left)) }
}

/// Formats the two largest units, rounded up, so that a timer of one day still reads as a day right after it was set:
/// `250ms`, `1.5s`, `2m 5s`, `23h 59m`, `6d 4h`.
pub fn span(ms: i64) -> String {
    let unit = match ms {
        i64::MIN..SECOND => 1,
        SECOND..MINUTE => 100,
        MINUTE..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        DAY.. => HOUR,
    };
    let rounded = ms.max(0).saturating_add(unit - 1) / unit * unit;
    // Rounding up may reach the next larger unit: 59.98 seconds become a minute.
    in_units(rounded)
}

fn in_units(ms: i64) -> String {
    let two = |large: i64, large_name: &str, small: i64, small_name: &str| {
        let (whole, rest) = (ms / large, ms % large / small);
        if rest == 0 {
            format!("{whole}{large_name}")
        } else {
            format!("{whole}{large_name} {rest}{small_name}")
        }
    };
    match ms {
        i64::MIN..SECOND => format!("{ms}ms"),
        SECOND..MINUTE if ms % SECOND == 0 => format!("{}s", ms / SECOND),
        SECOND..MINUTE => format!("{:.1}s", ms as f64 / SECOND as f64),
        MINUTE..HOUR => two(MINUTE, "m", SECOND, "s"),
        HOUR..DAY => two(HOUR, "h", MINUTE, "m"),
        // One day is easier to read as `24h`.
        DAY.. if ms == DAY => "24h".to_owned(),
        DAY.. => two(DAY, "d", HOUR, "h"),
    }
}

fn coarse(ms: i64) -> String {
    match ms {
        i64::MIN..MINUTE => format!("{}s", ms / SECOND),
        MINUTE..HOUR => format!("{}m", ms / MINUTE),
        HOUR..DAY => format!("{}h", ms / HOUR),
        DAY.. => format!("{}d", ms / DAY),
    }
}

/// `2026-11-16 00:46:05Z`: UTC, with a `Z` to prevent confusion with local time.
pub fn moment(at_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => format!("{at_ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_spans() {
        let table = [
            (250, "just now", "in 250ms"),
            (1_450, "1s ago", "in 1.5s"),
            (5_000, "5s ago", "in 5s"),
            (125_000, "2m ago", "in 2m 5s"),
            (HOUR, "1h ago", "in 1h"),
            (DAY - MINUTE, "23h ago", "in 23h 59m"),
            (DAY - 1, "23h ago", "in 24h"),
            (6 * DAY + 3 * HOUR + 1, "6d ago", "in 6d 4h"),
        ];
        for (ms, past, future) in table {
            assert_eq!((ago(0, ms).as_str(), until(ms, 0).as_str()), (past, future), "{ms}");
        }
        assert_eq!(until(5, 5), "due");
        assert_eq!(moment(1_700_000_000_000), "2023-11-14 22:13:20Z");
    }
}
