//! Delays as people write them: milliseconds, `1h30m`, ISO 8601.

const SECOND: f64 = 1000.0;
const MINUTE: f64 = 60.0 * SECOND;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// The milliseconds that a fixed delay means; `None` if it is not written like one.
pub(crate) fn parse_delay(text: &str) -> Option<u64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Some(iso) = text.strip_prefix('P') {
        return iso_8601(iso);
    }
    units(text, &[("ms", 1.0), ("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY), ("w", 7.0 * DAY)])
}

/// Whether a text that is no delay was probably meant to be one, rather than an expression.
pub(crate) fn looks_like_delay(text: &str) -> bool {
    let text = text.trim();
    let iso = text.strip_prefix('P').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'T'));
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    iso || (number.len() < text.len() && number.trim_start().chars().all(char::is_alphabetic))
}

/// `P[nW][nD][T[nH][nM][nS]]`, after the `P`. Months and years have no fixed length and are refused.
fn iso_8601(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, Some(time)),
        Some(_) => return None,
        None => (text, None),
    };
    let days = if date.is_empty() && time.is_some() { 0 } else { units(date, &[("W", 7.0 * DAY), ("D", DAY)])? };
    let rest = time.map_or(Some(0), |time| units(time, &[("H", HOUR), ("M", MINUTE), ("S", SECOND)]))?;
    days.checked_add(rest)
}

/// Numbers each with a unit, one after the other.
fn units(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() || total == 0.0 {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let letters = rest[digits..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len() - digits);
        let unit = &rest[digits..digits + letters];
        total += number * units.iter().find(|(name, _)| *name == unit)?.1;
        rest = &rest[digits + letters..];
        if rest.is_empty() {
            break;
        }
    }
    // Beyond this a float no longer counts milliseconds; it is some 285,000 years.
    (total <= 9.0e15).then_some(total.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::{looks_like_delay, parse_delay};

    #[test]
    fn delays_are_read_in_every_notation() {
        let table = [
            ("0", Some(0)),
            ("86400000", Some(86_400_000)),
            ("250ms", Some(250)),
            ("0ms", Some(0)),
            ("30s", Some(30_000)),
            ("1.5s", Some(1500)),
            ("15m", Some(900_000)),
            ("24h", Some(86_400_000)),
            ("7d", Some(604_800_000)),
            ("1h30m", Some(5_400_000)),
            ("PT1H", Some(3_600_000)),
            ("P1DT12H", Some(129_600_000)),
            ("PT0.5S", Some(500)),
            ("P2W", Some(1_209_600_000)),
            ("P1M", None),
            ("PT", None),
            ("P", None),
            ("", None),
            ("10 apples", None),
            ("5min", None),
            ("context.sla_deadline_ms", None),
            ("99999999999999999999d", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_delay(text), expected, "{text}");
        }
    }

    #[test]
    fn a_mistyped_delay_is_not_taken_for_an_expression() {
        for text in ["5min", "10 seconds", "P1Y", "3x"] {
            assert!(looks_like_delay(text), "{text}");
        }
        for text in ["context.delay", "1000 * context.n", "event.data.wait"] {
            assert!(!looks_like_delay(text), "{text}");
        }
    }
}
