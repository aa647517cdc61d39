//! When a provider wants to be asked again, as its headers say it.

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// `retry-after-ms`, or `retry-after` in seconds (also with a fraction) or as a date.
pub(super) fn retry_after_ms(headers: &HeaderMap, now_ms: i64) -> Option<u64> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| number(ms, 1.0)) {
        return Some(ms);
    }
    let said = text(RETRY_AFTER.as_str())?;
    number(said, 1000.0).or_else(|| {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(said).ok()?;
        u64::try_from(date.as_millisecond().saturating_sub(now_ms).max(0)).ok()
    })
}

fn number(text: &str, factor: f64) -> Option<u64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some((number * factor).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::retry_after_ms;

    #[test]
    fn every_form_is_understood() {
        // 1994-11-06 08:49:37 UTC, less two seconds and a half.
        let now = 784_111_777_000 - 2_500;
        let table = [
            (&[("retry-after", "120")] as &[(&str, &str)], Some(120_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(2_500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0)),
            (&[("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after", "9"), ("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[], None),
        ];
        for (headers, expected) in table {
            let of = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let map: HeaderMap = headers.iter().map(of).collect();
            assert_eq!(retry_after_ms(&map, now), expected, "{headers:?}");
        }
    }
}
