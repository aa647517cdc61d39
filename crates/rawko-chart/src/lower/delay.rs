//! Fixed delays, and the distinction between a mistyped one and an expression.

/// Parses a fixed delay to milliseconds; `None` if it is not written like one.
pub(crate) fn parse_delay(text: &str) -> Option<u64> {
    rawko_core::duration::parse_ms(text).ok()
}

/// Returns true if an invalid delay was probably meant to be one, rather than an expression.
pub(crate) fn looks_like_delay(text: &str) -> bool {
    let text = text.trim();
    let iso =
        text.strip_prefix('P').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'T'));
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    iso || (number.len() < text.len() && number.trim_start().chars().all(char::is_alphabetic))
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
