//! Durations as authors write them: `30s`, `1h30m`, `PT1H`. Does not use a calendar library because a delay is an exact
//! number of milliseconds, in which a day is 24 hours and a month does not exist.

/// A text that is not a valid duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError {
    /// The text has no known unit or form.
    #[error(
        "`{0}` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`"
    )]
    Malformed(String),
    /// The duration is not a whole number of milliseconds.
    #[error("`{0}` is a fraction of a millisecond")]
    TooFine(String),
    /// The duration exceeds 1000 years.
    #[error("`{0}` is longer than 1000 years")]
    TooLong(String),
    /// An ISO 8601 duration has years or months.
    #[error("`{0}` has years or months, which differ in length; write days")]
    Calendar(String),
}

/// The longest duration: 1000 years, so that adding one to a timestamp can never overflow.
pub const DURATION_MS_MAX: u64 = 365_250 * DAY;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;

/// Longest first: the parts of a duration appear in this order, and `ms` is tried before `m`.
const UNITS: [(&str, u64); 6] =
    [("w", WEEK), ("d", DAY), ("h", HOUR), ("ms", 1), ("m", MINUTE), ("s", SECOND)];
const ISO_DATE: [(&str, u64); 2] = [("W", WEEK), ("D", DAY)];
const ISO_TIME: [(&str, u64); 3] = [("H", HOUR), ("M", MINUTE), ("S", SECOND)];

/// Parses `1500`, `250ms`, `30s`, `15m`, `24h`, `7d`, `2w`, `1.5s`, `1h30m`, `PT1H` or `P1DT2H` to milliseconds.
pub fn parse_ms(text: &str) -> Result<u64, DurationError> {
    let trimmed = text.trim();
    let sum = Sum { text: trimmed, total: 0 };
    let sum = match trimmed.strip_prefix('P') {
        Some(iso) => sum.iso(iso)?,
        None if is_number(trimmed) => sum.add(trimmed, 1)?,
        None => sum.parts(trimmed, &UNITS)?,
    };
    sum.finish()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Sums the parts, in millionths of a millisecond so that fractions stay exact.
struct Sum<'t> {
    text: &'t str,
    total: u128,
}

const FINE: u128 = 1_000_000_000;
const FRACTION_DIGITS_MAX: usize = 9;

impl Sum<'_> {
    fn malformed(&self) -> DurationError {
        DurationError::Malformed(self.text.into())
    }

    fn iso(self, iso: &str) -> Result<Self, DurationError> {
        let (date, time) = match iso.split_once('T') {
            Some((date, time)) if !time.is_empty() => (date, time),
            None if !iso.is_empty() => (iso, ""),
            _ => return Err(self.malformed()),
        };
        if date.ends_with(['Y', 'M']) || date.contains('Y') {
            return Err(DurationError::Calendar(self.text.into()));
        }
        let sum = if date.is_empty() { self } else { self.parts(date, &ISO_DATE)? };
        if time.is_empty() { Ok(sum) } else { sum.parts(time, &ISO_TIME) }
    }

    /// Parses one or more pairs of number and unit, each unit smaller than the one before.
    fn parts(mut self, parts: &str, units: &[(&str, u64)]) -> Result<Self, DurationError> {
        let (mut rest, mut before) = (parts, u64::MAX);
        loop {
            let digits = rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(rest.len());
            let (number, tail) = rest.split_at(digits);
            let unit = units.iter().find(|(name, _)| tail.starts_with(name));
            let Some((name, ms)) = unit.filter(|(_, ms)| *ms < before) else { return Err(self.malformed()) };
            self = self.add(number, *ms)?;
            (rest, before) = (&tail[name.len()..], *ms);
            if rest.is_empty() {
                return Ok(self);
            }
        }
    }

    fn add(mut self, number: &str, ms: u64) -> Result<Self, DurationError> {
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction.trim_end_matches('0')),
            None => (number, ""),
            Some(_) => return Err(self.malformed()),
        };
        if whole.is_empty() || fraction.contains('.') {
            return Err(self.malformed());
        }
        if fraction.len() > FRACTION_DIGITS_MAX {
            return Err(DurationError::TooFine(self.text.into()));
        }
        let whole: u64 = whole.parse().map_err(|_| DurationError::TooLong(self.text.into()))?;
        let fraction: u128 =
            format!("{fraction:0<FRACTION_DIGITS_MAX$}").parse().map_err(|_| self.malformed())?;
        self.total += (u128::from(whole) * FINE + fraction) * u128::from(ms);
        Ok(self)
    }

    fn finish(self) -> Result<u64, DurationError> {
        if !self.total.is_multiple_of(FINE) {
            return Err(DurationError::TooFine(self.text.into()));
        }
        let ms = u64::try_from(self.total / FINE).ok().filter(|ms| *ms <= DURATION_MS_MAX);
        ms.ok_or_else(|| DurationError::TooLong(self.text.into()))
    }
}

/// Formats milliseconds in the shortest form that [`parse_ms`] reads back: `250ms`, `1.5s`, `90s`, `15m`, `24h`, `7d`.
pub fn format_ms(ms: u64) -> String {
    let seconds = format!("{}.{:03}", ms / SECOND, ms % SECOND);
    let mut shortest = format!("{}s", seconds.trim_end_matches('0').trim_end_matches('.'));
    // One day is written as `24h`.
    let larger = [(MINUTE, "m", 1), (HOUR, "h", 1), (DAY, "d", 2)];
    for (unit, name, least) in larger {
        let text = format!("{}{name}", ms / unit);
        if ms.is_multiple_of(unit) && ms / unit >= least && text.len() < shortest.len() {
            shortest = text;
        }
    }
    let plain = format!("{ms}ms");
    if plain.len() <= shortest.len() && ms > 0 { plain } else { shortest }
}
