//! Durations: valid forms, errors, and the shortest format.

use rawko_core::duration::{DURATION_MS_MAX, DurationError, format_ms, parse_ms};

#[test]
fn read() {
    let rows = [
        ("0", 0),
        ("1500", 1_500),
        ("250ms", 250),
        ("30s", 30_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("7d", 604_800_000),
        ("2w", 1_209_600_000),
        ("1.5s", 1_500),
        ("0.25h", 900_000),
        ("1.50s", 1_500),
        ("1h30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
        (" 5s ", 5_000),
        ("PT1H", 3_600_000),
        ("PT1H30M", 5_400_000),
        ("P1DT2H", 93_600_000),
        ("P7D", 604_800_000),
        ("P2W", 1_209_600_000),
        ("PT0.5S", 500),
    ];
    for (text, ms) in rows {
        assert_eq!(parse_ms(text), Ok(ms), "{text}");
    }
}

#[test]
fn refused() {
    let malformed = |text: &str| DurationError::Malformed(text.into());
    for text in [
        "", "s", "5 s", "5x", "-5s", "1m1h", "1s1s", "1..5s", ".5s", "5.s", "P", "PT", "P1DT", "1h30", "5S",
        "PT5s",
    ] {
        assert_eq!(parse_ms(text), Err(malformed(text)), "{text}");
    }
    assert_eq!(parse_ms("1.5"), Err(DurationError::TooFine("1.5".into())));
    assert_eq!(parse_ms("0.0001s"), Err(DurationError::TooFine("0.0001s".into())));
    assert_eq!(parse_ms("0.0000000000001d"), Err(DurationError::TooFine("0.0000000000001d".into())));
    assert_eq!(parse_ms("P1Y"), Err(DurationError::Calendar("P1Y".into())));
    assert_eq!(parse_ms("P1Y2D"), Err(DurationError::Calendar("P1Y2D".into())));
    assert_eq!(parse_ms("P2M"), Err(DurationError::Calendar("P2M".into())));
    for text in ["365251d", "99999999999999999999s", "18446744073709551615w"] {
        assert_eq!(parse_ms(text), Err(DurationError::TooLong(text.into())), "{text}");
    }
    assert_eq!(parse_ms("365250d"), Ok(DURATION_MS_MAX));
}

#[test]
fn written() {
    let rows = [
        (0, "0s"),
        (1, "1ms"),
        (250, "250ms"),
        (1_000, "1s"),
        (1_500, "1.5s"),
        (1_234, "1234ms"),
        (30_000, "30s"),
        (60_000, "1m"),
        (90_000, "90s"),
        (900_000, "15m"),
        (3_600_000, "1h"),
        (5_400_000, "90m"),
        (86_400_000, "24h"),
        (129_600_000, "36h"),
        (172_800_000, "2d"),
        (604_800_000, "7d"),
    ];
    for (ms, text) in rows {
        assert_eq!(format_ms(ms), text);
        assert_eq!(parse_ms(text), Ok(ms), "{text}");
    }
}
