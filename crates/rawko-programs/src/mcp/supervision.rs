//! Restart policy of a server. Pure: events and the time are passed in.

use std::time::Duration;

use tokio::time::Instant;

use super::settings::McpSettings;

/// The failure history of a server. A successful response clears it.
#[derive(Debug, Default)]
pub(super) struct Supervision {
    /// Number of starts.
    pub(super) starts: u32,
    /// Consecutive losses or failed starts.
    failures: u32,
    not_before: Option<Instant>,
    pub(super) why: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SupervisionStep {
    Start,
    /// After a delay.
    StartAt(Instant),
    /// It failed too often.
    LeftAlone {
        failures: u32,
        until: Instant,
    },
}

impl Supervision {
    pub(super) fn next(&self, now: Instant, settings: &McpSettings) -> SupervisionStep {
        match self.not_before {
            Some(until) if until > now && self.failures >= settings.failures_max => {
                SupervisionStep::LeftAlone { failures: self.failures, until }
            }
            Some(at) if at > now => SupervisionStep::StartAt(at),
            Some(_) | None => SupervisionStep::Start,
        }
    }

    pub(super) fn started(&mut self) {
        self.starts = self.starts.saturating_add(1);
    }

    /// Records a loss or a failed start.
    pub(super) fn failed(&mut self, why: String, now: Instant, settings: &McpSettings) {
        self.failures = self.failures.saturating_add(1);
        self.why = Some(why);
        let pause = if self.failures >= settings.failures_max { settings.rest } else { self.pause(settings) };
        self.not_before = Some(now + pause);
    }

    /// Returns the delay; the first restart after a loss is immediate.
    fn pause(&self, settings: &McpSettings) -> Duration {
        match self.failures.checked_sub(2) {
            None => Duration::ZERO,
            Some(doublings) => {
                let factor = 2_u32.saturating_pow(doublings);
                settings.pause_first.saturating_mul(factor).min(settings.pause_max)
            }
        }
    }

    pub(super) fn answered(&mut self) {
        self.failures = 0;
        self.not_before = None;
        self.why = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_then_the_server_is_left_alone_and_an_answer_forgets() {
        let settings = McpSettings {
            failures_max: 5,
            pause_first: Duration::from_secs(1),
            pause_max: Duration::from_secs(3),
            rest: Duration::from_secs(60),
            ..McpSettings::new(".", rawko_settings::Environment::default())
        };
        let now = Instant::now();
        let after = |seconds| SupervisionStep::StartAt(now + Duration::from_secs(seconds));
        let mut supervision = Supervision::default();
        assert_eq!(supervision.next(now, &settings), SupervisionStep::Start, "never started");
        let expected = [
            ("the first loss", SupervisionStep::Start),
            ("the second", after(1)),
            ("the third", after(2)),
            ("the fourth, at the longest pause", after(3)),
            ("the fifth", SupervisionStep::LeftAlone { failures: 5, until: now + Duration::from_secs(60) }),
        ];
        for (case, expected) in expected {
            supervision.failed(case.to_owned(), now, &settings);
            assert_eq!(supervision.next(now, &settings), expected, "{case}");
        }
        let later = now + Duration::from_secs(61);
        assert_eq!(
            supervision.next(later, &settings),
            SupervisionStep::Start,
            "after the rest it gets another chance"
        );
        supervision.failed("once more".to_owned(), later, &settings);
        assert!(matches!(supervision.next(later, &settings), SupervisionStep::LeftAlone { failures: 6, .. }));
        supervision.answered();
        assert_eq!(supervision.next(later, &settings), SupervisionStep::Start, "an answer forgets");
    }
}
