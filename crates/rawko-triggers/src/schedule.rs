//! `Schedule`: a cron expression in a time zone, and what happens to runs that were missed. Dates, daylight saving and
//! policy are here; the clock is not.

use std::collections::BTreeSet;
use std::fmt;

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp};

use crate::cron::{Cron, CronError};

/// A run that starts this late is on time: hosts pause, disks stall.
pub(crate) const ON_TIME_MS: i64 = 60_000;
/// Due times that are counted; more are reported as at least as many.
const COUNTED_MAX: usize = 1_000;
/// Days that are searched: more than eight years, so that 29 February is found across 2100.
const DAYS_MAX: i32 = 366 * 9;
/// Runs of `all` at a time.
pub(crate) const RUNS_MAX: u32 = 100;

/// A moment at which a schedule is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueTime(i64);

/// Handling of due times at which no host was running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedPolicy {
    /// They are counted and left out.
    Skip,
    /// One run for all of them.
    #[default]
    Once,
    /// One run for each of the latest ones.
    All {
        /// Number of runs.
        at_most: u32,
    },
}

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
    zone_name: String,
    /// Handling of due times at which no host was running.
    pub missed: MissedPolicy,
}

/// The reason why a schedule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Invalid cron expression.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// Unknown time zone.
    #[error("unknown time zone `{0}`; write a name such as `Europe/Zurich` or `UTC`")]
    Zone(String),
    /// A date that no year has, such as 30 February.
    #[error("`{0}` is never due")]
    Never(String),
}

/// The runs of a schedule at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulePlan {
    /// Due times to run now, oldest first.
    pub runs: Vec<DueTime>,
    /// Due times that are left out, up to the last of all.
    pub missed: usize,
    /// The last due time so far: run or left out.
    pub until: Option<DueTime>,
}

impl DueTime {
    /// Creates a due time from milliseconds since 1970.
    pub fn from_ms(ms: i64) -> DueTime {
        DueTime(ms)
    }

    /// Returns the milliseconds since 1970.
    pub fn ms(self) -> i64 {
        self.0
    }

    fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or_default()
    }

    /// Returns the time in an instance id: `20261118T0300Z`.
    pub fn key(self) -> String {
        self.timestamp().strftime("%Y%m%dT%H%MZ").to_string()
    }
}

impl fmt::Display for DueTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.timestamp())
    }
}

impl Schedule {
    /// `zone` is a name of the IANA database, such as `Europe/Zurich`.
    pub fn new(cron: &str, zone: &str, missed: MissedPolicy) -> Result<Schedule, ScheduleError> {
        let cron = Cron::parse(cron)?;
        let unknown = |_| ScheduleError::Zone(zone.chars().take(100).collect());
        let tz = match zone {
            "UTC" => TimeZone::UTC,
            name => TimeZoneDatabase::bundled().get(name).map_err(unknown)?,
        };
        let schedule = Schedule { cron, zone: tz, zone_name: zone.to_owned(), missed };
        // Any year with 29 February will do.
        match schedule.next_after(1_704_067_200_000) {
            Some(_) => Ok(schedule),
            None => Err(ScheduleError::Never(schedule.cron.text().to_owned())),
        }
    }

    /// Returns the cron expression.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// Returns the name of the time zone.
    pub fn zone(&self) -> &str {
        &self.zone_name
    }

    /// Returns the definition as text. A schedule with another one begins anew: its past due times were never promised.
    pub fn definition(&self) -> String {
        format!("{} {}", self.cron.text(), self.zone_name)
    }

    /// Returns the due time in the schedule's zone: `2026-11-18T03:00:00+01:00`.
    pub fn local(&self, due: DueTime) -> String {
        let zoned = due.timestamp().to_zoned(self.zone.clone());
        zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    /// Returns the first due time after a moment.
    pub fn next_after(&self, after_ms: i64) -> Option<DueTime> {
        let mut date = self.date_of(after_ms)?;
        for _ in 0..DAYS_MAX {
            if let Some(due) = self.of_day(date).into_iter().find(|due| due.0 > after_ms) {
                return Some(due);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// Returns the runs due at `now_ms`, if everything up to `since_ms` is done.
    pub fn plan(&self, since_ms: i64, now_ms: i64) -> SchedulePlan {
        let mut due = self.between(since_ms, now_ms);
        let until = due.last().copied();
        let is_on_time = |due: &DueTime| now_ms.saturating_sub(due.0) <= ON_TIME_MS;
        let runs: Vec<DueTime> = match self.missed {
            MissedPolicy::Skip => due.iter().copied().filter(is_on_time).collect(),
            MissedPolicy::Once => until.into_iter().collect(),
            MissedPolicy::All { at_most } => {
                let most = usize::try_from(at_most.min(RUNS_MAX)).unwrap_or(1);
                due.split_off(due.len().saturating_sub(most))
            }
        };
        let missed = match self.missed {
            MissedPolicy::All { .. } => due.len(),
            MissedPolicy::Skip | MissedPolicy::Once => due.len() - runs.len(),
        };
        SchedulePlan { runs, missed, until }
    }

    /// Returns the due times after one moment up to another, at most the latest 1,000, oldest first.
    fn between(&self, after_ms: i64, until_ms: i64) -> Vec<DueTime> {
        let mut found: Vec<DueTime> = Vec::new();
        let (Some(mut date), Some(first)) = (self.date_of(until_ms), self.date_of(after_ms)) else {
            return found;
        };
        for _ in 0..DAYS_MAX {
            let day = self.of_day(date);
            let fits = day.into_iter().rev().filter(|due| due.0 > after_ms && due.0 <= until_ms);
            found.extend(fits);
            // One day more: an overlap at midnight belongs to two dates.
            if found.len() >= COUNTED_MAX || date.saturating_add(Span::new().days(1)) < first {
                break;
            }
            let Ok(before) = date.yesterday() else { break };
            date = before;
        }
        found.truncate(COUNTED_MAX);
        found.reverse();
        found
    }

    fn date_of(&self, ms: i64) -> Option<Date> {
        Some(Timestamp::from_millisecond(ms).ok()?.to_zoned(self.zone.clone()).date())
    }

    /// Returns the due times of one date, in order. A time that the clock skips is due as much later; of a time that
    /// happens twice the first counts, unless the schedule runs every hour.
    fn of_day(&self, date: Date) -> Vec<DueTime> {
        let number = |number: i8| u32::try_from(number).unwrap_or_default();
        let weekday = number(date.weekday().to_sunday_zero_offset());
        if !self.cron.has_day(number(date.month()), number(date.day()), weekday) {
            return Vec::new();
        }
        let mut all = BTreeSet::new();
        for (hour, minute) in self.cron.times() {
            let small = |number: u32| i8::try_from(number).unwrap_or_default();
            let Ok(time) = Time::new(small(hour), small(minute), 0, 0) else { continue };
            let ambiguous = self.zone.to_ambiguous_timestamp(date.to_datetime(time));
            let is_twice = matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. });
            if is_twice && self.cron.runs_every_hour() {
                all.extend(ambiguous.later().map(|it| DueTime(it.as_millisecond())));
            }
            all.extend(ambiguous.compatible().map(|it| DueTime(it.as_millisecond())));
        }
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn schedule(cron: &str, zone: &str) -> Schedule {
        Schedule::new(cron, zone, MissedPolicy::Once).unwrap()
    }

    fn next(cron: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = schedule(cron, zone);
        let mut at = ms(after);
        let step = || {
            let due = schedule.next_after(at)?;
            at = due.ms();
            Some(schedule.local(due))
        };
        std::iter::from_fn(step).take(count).collect()
    }

    #[test]
    fn the_next_times_in_a_zone() {
        assert_eq!(
            next("0 3 * * 1-5", "Europe/Zurich", "2026-11-20T12:00:00Z", 2),
            ["2026-11-23T03:00:00+01:00", "2026-11-24T03:00:00+01:00"],
            "not on a weekend"
        );
        assert_eq!(next("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1), ["2104-02-29T00:00:00+00:00"]);
        assert_eq!(
            next("@daily", "Pacific/Kiritimati", "2026-01-01T00:00:00Z", 1),
            ["2026-01-02T00:00:00+14:00"]
        );
    }

    #[test]
    fn a_time_that_the_clock_skips_is_due_as_much_later() {
        assert_eq!(
            next("30 2 * * *", "Europe/Zurich", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T03:30:00+02:00", "2026-03-30T02:30:00+02:00"]
        );
        assert_eq!(
            next("0,30 * * * *", "Europe/Zurich", "2026-03-29T00:00:00Z", 4),
            [
                "2026-03-29T01:30:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-29T03:30:00+02:00",
                "2026-03-29T04:00:00+02:00"
            ],
            "nothing runs twice because of the gap"
        );
    }

    #[test]
    fn a_time_that_happens_twice_is_due_once_unless_the_schedule_is_hourly() {
        assert_eq!(
            next("30 2 * * *", "Europe/Zurich", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
        );
        assert_eq!(
            next("30 * * * *", "Europe/Zurich", "2026-10-24T23:45:00Z", 3),
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"]
        );
    }

    #[test]
    fn missed_runs_by_policy() {
        let (since, now) = (ms("2026-11-18T00:30:00Z"), ms("2026-11-18T05:10:00Z"));
        let with = |missed| Schedule { missed, ..schedule("0 * * * *", "UTC") };
        let hours = |plan: &SchedulePlan| plan.runs.iter().map(|due| due.key()).collect::<Vec<_>>();
        let plan = with(MissedPolicy::Skip).plan(since, now);
        assert_eq!((hours(&plan), plan.missed), (vec![], 5));
        assert_eq!(plan.until, Some(DueTime(ms("2026-11-18T05:00:00Z"))));
        let plan = with(MissedPolicy::Once).plan(since, now);
        assert_eq!((hours(&plan), plan.missed), (vec!["20261118T0500Z".to_owned()], 4));
        let plan = with(MissedPolicy::All { at_most: 3 }).plan(since, now);
        assert_eq!((plan.runs.len(), plan.missed), (3, 2));
        assert!(plan.runs.is_sorted());
        let plan = with(MissedPolicy::All { at_most: 9 }).plan(since, now);
        assert_eq!((plan.runs.len(), plan.missed), (5, 0));
        // On time, no policy matters.
        for missed in [MissedPolicy::Skip, MissedPolicy::Once, MissedPolicy::All { at_most: 1 }] {
            let plan = with(missed).plan(ms("2026-11-18T04:00:00Z"), ms("2026-11-18T05:00:30Z"));
            assert_eq!((hours(&plan), plan.missed), (vec!["20261118T0500Z".to_owned()], 0), "{missed:?}");
            let plan = with(missed).plan(ms("2026-11-18T05:00:00Z"), ms("2026-11-18T05:00:30Z"));
            assert_eq!(plan, SchedulePlan::default(), "{missed:?}: it was done");
        }
    }

    #[test]
    fn years_of_missed_minutes_are_bounded() {
        let every = Schedule { missed: MissedPolicy::All { at_most: 1_000 }, ..schedule("* * * * *", "UTC") };
        let plan = every.plan(0, ms("2026-11-18T05:10:00Z"));
        assert_eq!((plan.runs.len(), plan.missed), (100, 900));
        let plan = every.plan(ms("2026-11-18T05:10:00Z"), 0);
        assert_eq!(plan, SchedulePlan::default(), "the clock was set back");
    }

    #[test]
    fn mistakes_are_named() {
        for (cron, zone, why) in [
            ("0 0 31 2 *", "UTC", "`0 0 31 2 *` is never due"),
            ("0 0 * * *", "Mars/Olympus", "unknown time zone `Mars/Olympus`"),
            ("x", "UTC", "has 1 fields"),
        ] {
            let error = Schedule::new(cron, zone, MissedPolicy::Once).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
