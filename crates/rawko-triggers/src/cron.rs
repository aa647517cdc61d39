//! `Cron`: the five fields of a cron expression, parsed to sets of numbers. Apart from schedules, which know dates and
//! time zones.

/// A parsed cron expression: minute, hour, day of the month, month, day of the week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// True if the hour is not restricted to certain hours: `*` or `*/n`.
    every_hour: bool,
    is_day_restricted: bool,
    is_weekday_restricted: bool,
}

/// An invalid cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CronError(pub(crate) String);

struct CronField {
    name: &'static str,
    from: u32,
    to: u32,
    words: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [CronField; 5] = [
    CronField { name: "minute", from: 0, to: 59, words: &[] },
    CronField { name: "hour", from: 0, to: 23, words: &[] },
    CronField { name: "day of the month", from: 1, to: 31, words: &[] },
    CronField { name: "month", from: 1, to: 12, words: &MONTHS },
    // 7 is Sunday, too.
    CronField { name: "day of the week", from: 0, to: 7, words: &WEEKDAYS },
];

/// Longer texts are refused unread.
const TEXT_MAX: usize = 200;

impl Cron {
    /// Parses `minute hour day month weekday`, or a name such as `@daily`.
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        if text.len() > TEXT_MAX {
            return Err(CronError(format!("a cron expression has at most {TEXT_MAX} characters")));
        }
        let trimmed = text.trim();
        let expanded = match trimmed.strip_prefix('@') {
            Some(name) => named(name)?,
            None => trimmed,
        };
        let words: Vec<&str> = expanded.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = &words[..] else {
            let help = match words.len() {
                6 | 7 => "; seconds and years are not supported",
                _ => ", for example `0 3 * * 1-5`",
            };
            let count = words.len();
            return Err(CronError(format!("`{trimmed}` has {count} fields; a cron expression has 5{help}")));
        };
        let [minutes, hours, days, months, weekdays] = &FIELDS;
        let weekday_set = weekdays.parse(weekday)?;
        Ok(Cron {
            text: trimmed.to_owned(),
            minutes: minutes.parse(minute)?,
            hours: hours.parse(hour)?,
            days: days.parse(day)?,
            months: months.parse(month)?,
            weekdays: (weekday_set | weekday_set >> 7) & 0x7f,
            every_hour: is_open(hour),
            is_day_restricted: !is_open(day),
            is_weekday_restricted: !is_open(weekday),
        })
    }

    /// Returns the expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if it runs on this date; `weekday` counts from Sunday, 0. As in every cron: if both kinds of days are
    /// restricted, one of them is enough.
    pub(crate) fn has_day(&self, month: u32, day: u32, weekday: u32) -> bool {
        let (by_day, by_weekday) = (has(self.days, day), has(self.weekdays, weekday));
        let is_day = match self.is_day_restricted && self.is_weekday_restricted {
            true => by_day || by_weekday,
            false => by_day && by_weekday,
        };
        has(self.months, month) && is_day
    }

    /// Returns the times of a day, as hour and minute, in order.
    pub(crate) fn times(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let minutes = || (0..60).filter(|minute| has(self.minutes, *minute));
        (0..24)
            .filter(|hour| has(self.hours, *hour))
            .flat_map(move |hour| minutes().map(move |it| (hour, it)))
    }

    /// Returns true if an hour that happens twice counts twice.
    pub(crate) fn runs_every_hour(&self) -> bool {
        self.every_hour
    }
}

fn named(name: &str) -> Result<&'static str, CronError> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        other => {
            let known = "`@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`";
            return Err(CronError(format!("unknown schedule `@{other}`; use {known}")));
        }
    })
}

fn is_open(field: &str) -> bool {
    field.starts_with('*') || field.starts_with('?')
}

fn has(set: u64, number: u32) -> bool {
    number < 64 && set & (1 << number) != 0
}

impl CronField {
    /// Parses a list of numbers, ranges and steps to a set.
    fn parse(&self, text: &str) -> Result<u64, CronError> {
        text.split(',').try_fold(0, |set, part| Ok(set | self.part(part)?))
    }

    fn part(&self, part: &str) -> Result<u64, CronError> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let number = step.parse::<u32>().ok().filter(|step| (1..=self.to).contains(step));
                let wrong =
                    || self.wrong(part, &format!("the step `{step}` is not between 1 and {}", self.to));
                (range, Some(number.ok_or_else(wrong)?))
            }
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (self.from, self.last()),
            Some((from, to)) => (self.number(from, part)?, self.number(to, part)?),
            None => {
                let from = self.number(range, part)?;
                // `5/15`: from 5 on.
                (from, if step.is_some() { self.last() } else { from })
            }
        };
        if from > to {
            return Err(self.wrong(part, "the range ends before it starts"));
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(1);
        Ok((from..=to).step_by(step).fold(0, |set, number| set | 1 << number))
    }

    /// Returns the last number of `*`: Sunday is counted once.
    fn last(&self) -> u32 {
        if self.words.len() == WEEKDAYS.len() { 6 } else { self.to }
    }

    fn number(&self, text: &str, part: &str) -> Result<u32, CronError> {
        let word = text.to_ascii_lowercase();
        if let Some(at) = self.words.iter().position(|known| *known == word) {
            return Ok(self.from + u32::try_from(at).unwrap_or_default());
        }
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number =
            text.parse::<u32>().ok().filter(|number| is_digits && (self.from..=self.to).contains(number));
        number.ok_or_else(|| {
            self.wrong(part, &format!("`{text}` is not between {} and {}", self.from, self.to))
        })
    }

    fn wrong(&self, part: &str, why: &str) -> CronError {
        CronError(format!("invalid {} `{part}`: {why}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: impl IntoIterator<Item = u32>) -> u64 {
        numbers.into_iter().fold(0, |set, number| set | 1 << number)
    }

    #[test]
    fn fields_are_sets() {
        let cron = Cron::parse("*/15 9-17 1,15 JAN-mar MON-5").unwrap();
        assert_eq!(cron.minutes, set([0, 15, 30, 45]));
        assert_eq!(cron.hours, set(9..=17));
        assert_eq!((cron.days, cron.months, cron.weekdays), (set([1, 15]), set(1..=3), set(1..=5)));
        assert_eq!(Cron::parse("5/20 * * * *").unwrap().minutes, set([5, 25, 45]));
        assert_eq!(Cron::parse("0 0 * * 7").unwrap().weekdays, set([0]), "7 is Sunday");
        assert_eq!(Cron::parse("0 0 * * 5-7").unwrap().weekdays, set([0, 5, 6]));
        assert_eq!(Cron::parse(" @daily ").unwrap().times().collect::<Vec<_>>(), [(0, 0)]);
        assert_eq!(Cron::parse("@hourly").unwrap().times().count(), 24);
    }

    #[test]
    fn both_kinds_of_days_are_alternatives() {
        let cron = Cron::parse("0 0 13 * 5").unwrap();
        assert!(cron.has_day(2, 13, 1) && cron.has_day(2, 6, 5) && !cron.has_day(2, 7, 6));
        let weekdays = Cron::parse("0 0 * * 1-5").unwrap();
        assert!(weekdays.has_day(2, 9, 1) && !weekdays.has_day(2, 8, 0));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "has 0 fields"),
            ("* * * *", "has 4 fields"),
            ("0 * * * * *", "seconds and years are not supported"),
            ("60 * * * *", "invalid minute `60`: `60` is not between 0 and 59"),
            ("* 24 * * *", "invalid hour"),
            ("* * 0 * *", "invalid day of the month"),
            ("* * * 13 *", "invalid month"),
            ("* * * * 8", "invalid day of the week"),
            ("* * * * fry", "`fry` is not between 0 and 7"),
            ("5-1 * * * *", "the range ends before it starts"),
            ("*/0 * * * *", "the step `0`"),
            ("*/99999999999 * * * *", "the step"),
            ("1,,2 * * * *", "invalid minute ``"),
            ("+1 * * * *", "invalid minute"),
            ("@reboot", "unknown schedule `@reboot`"),
        ] {
            let error = Cron::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
