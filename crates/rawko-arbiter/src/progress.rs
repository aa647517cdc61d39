//! Progress of a task, measured against the best so far. Talk is not progress: only checks that pass, plan steps that are
//! settled for the first time, and new verdicts count. Pure, so that tasks, phases and channels can share it.

use serde::{Deserialize, Serialize};

/// Remembered positions. More rounds than that end by another limit.
const SEEN_MAX: usize = 64;
/// Steps that were added to the plan later count this many times at most, and only if they were seen before they were
/// settled: otherwise a plan that grows by a finished step per round would never end.
const LATER_STEPS_MAX: u64 = 3;
/// Verdicts are words of the agents' files; free text counts this many times at most.
const VERDICTS_MAX: usize = 8;

/// Rounds with a new verdict that change nothing, until they count: reviewers in a row are honest, a new word in every
/// round is not.
const VERDICTS_FREE: u64 = 1;
/// Rounds that settle a step of the plan and change nothing, until they count.
const STEPS_FREE: u64 = 1;
/// The same for rounds that read something new while no check fails: looking things up is work, too.
const STEPS_READING_FREE: u64 = 10;

/// `progress:` of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressSettings {
    /// Rounds without progress until the agents get a notice.
    pub tell_after: u64,
    /// Rounds without progress until a person is asked, and the task ends.
    pub stuck_after: u64,
    /// Returns to a former position until the task ends as a loop.
    pub returns_max: u64,
    /// Rounds in which a check fails and none of its errors is gone for good, until a person is asked. Other changes
    /// and ticked steps do not count.
    #[serde(default = "same_failures_max")]
    pub same_failures_max: u64,
}

fn same_failures_max() -> u64 {
    ProgressSettings::default().same_failures_max
}

impl Default for ProgressSettings {
    fn default() -> Self {
        Self { tell_after: 3, stuck_after: 5, returns_max: 2, same_failures_max: 12 }
    }
}

/// The result of one round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// Hash of the project's files.
    pub tree: String,
    /// `None` without checks.
    pub checks: Option<FailingChecks>,
    /// Titles of all steps of the plan, and of the settled ones.
    pub steps: Vec<String>,
    /// Titles of the settled steps.
    pub settled: Vec<String>,
    /// The agent and its verdict.
    pub verdict: Option<String>,
    /// The agents got a result from a tool that they had not seen before, about something that they had not looked at.
    pub is_reading: bool,
    /// The shape of all changes since the beginning, and without prose and comments: equal for one more line of the same
    /// kind, empty without changes. `None` if unknown: then every new tree is a change.
    pub shapes: Option<[String; 2]>,
}

/// The failing checks of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingChecks {
    /// Number of failing checks.
    pub checks: u64,
    /// Number of errors over all failing checks.
    pub errors: u64,
    /// Identifies the set of failures.
    pub set: String,
}

/// The progress so far. Plain data of a chart's context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskProgress {
    /// Rounds so far.
    pub rounds: u64,
    /// Rounds since the last progress.
    pub without: u64,
    /// Rounds that changed files while no check fails: each is forgiven, up to the limit.
    pub forgiven: u64,
    /// Rounds with only a new verdict, and with only a settled step, since the last work.
    pub verdicts_only: u64,
    /// Rounds with only a settled step, since the last work.
    pub steps_only: u64,
    /// Rounds in a row in which a check failed and no fewer errors than before.
    #[serde(skip_serializing_if = "is_zero")]
    pub same_failures: u64,
    /// Smallest number of failing checks so far.
    pub best_checks: Option<u64>,
    /// Smallest number of errors so far.
    pub best_errors: Option<u64>,
    first_steps: Vec<String>,
    settled: Vec<String>,
    /// Later steps that were seen before they were settled.
    planned: Vec<String>,
    later_steps: u64,
    verdicts: Vec<String>,
    returns: u64,
    seen: Vec<String>,
    /// Shapes of changes so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shapes: Vec<String>,
    /// Tool calls up to the last round.
    pub calls: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What follows from a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundStanding {
    /// Nearer to the goal than ever before.
    Progress,
    /// No progress, within the limits.
    Fine,
    /// The agents should hear that nothing gets better.
    Tell,
    /// A person decides, or the task ends.
    Stuck,
    /// The same files with the same failures, again and again.
    Loop,
}

impl TaskProgress {
    /// Begins with the files as they are, so that a first round without a change counts as one.
    pub fn begun(tree: &str) -> Self {
        Self { seen: vec![format!("{tree}/")], ..Self::default() }
    }

    /// Begins with the files and failures as they are: only fewer failures than these are progress, so breaking checks
    /// and repairing them is none.
    pub fn measured(tree: &str, failing: &FailingChecks) -> Self {
        Self {
            seen: vec![format!("{tree}/{}", failing.set)],
            best_checks: Some(failing.checks),
            best_errors: Some(failing.errors),
            ..Self::default()
        }
    }

    /// Records a round and judges it.
    pub fn record(&mut self, round: &Round, settings: &ProgressSettings) -> RoundStanding {
        self.rounds += 1;
        let is_return = self.visit(round);
        let fewer_failures = round.checks.as_ref().is_some_and(|failing| self.improve(failing));
        let new_step = self.settle(round);
        let new_verdict = self.hear(round);
        let passes = round.checks.as_ref().is_none_or(|failing| failing.checks == 0);
        self.same_failures = if passes || fewer_failures { 0 } else { self.same_failures + 1 };
        let is_new_change = self.reshape(round, passes) && is_return == Visit::New;
        // Steps and sources of any kind do not make up for a check that fails as before.
        if self.same_failures >= settings.same_failures_max {
            self.without = (self.without + 1).max(settings.stuck_after);
            return self.standing(settings);
        }
        let is_new_work = fewer_failures || new_step && is_new_change;
        if is_new_work {
            self.without = 0;
            self.forgiven = 0;
            (self.verdicts_only, self.steps_only) = (0, 0);
            return RoundStanding::Progress;
        }
        // A word or a ticked step is news, but the files are as they were: the rounds so far still count, and so does
        // more and more of it.
        if new_step {
            self.steps_only += 1;
        } else if new_verdict {
            self.verdicts_only += 1;
        }
        let steps_free = if passes && round.is_reading { STEPS_READING_FREE } else { STEPS_FREE };
        // A step that comes with more of the same change was not done.
        let is_busy = is_return == Visit::New && !is_new_change;
        let is_free = match new_step {
            true => self.steps_only <= steps_free && !is_busy,
            false => self.verdicts_only <= VERDICTS_FREE,
        };
        if (new_step || new_verdict) && is_free {
            return RoundStanding::Progress;
        }
        if passes && is_new_change && self.forgiven < settings.stuck_after {
            self.forgiven += 1;
        } else {
            self.without += 1;
        }
        self.standing(settings)
    }

    fn standing(&self, settings: &ProgressSettings) -> RoundStanding {
        if self.returns >= settings.returns_max {
            RoundStanding::Loop
        } else if self.without >= settings.stuck_after {
            RoundStanding::Stuck
        } else if self.without >= settings.tell_after || self.returns > 0 {
            RoundStanding::Tell
        } else {
            RoundStanding::Fine
        }
    }

    /// Starts over, because a person wants the task to continue.
    pub fn forgive(&mut self) {
        self.without = 0;
        self.forgiven = 0;
        (self.verdicts_only, self.steps_only) = (0, 0);
        (self.returns, self.same_failures) = (0, 0);
    }

    /// Remembers the position. Staying in one is no return to it.
    fn visit(&mut self, round: &Round) -> Visit {
        let failing = round.checks.as_ref().map_or("", |failing| failing.set.as_str());
        let position = format!("{}/{failing}", round.tree);
        if self.seen.last() == Some(&position) {
            return Visit::Same;
        }
        // At the beginning the failures are unknown: the same files are the same position.
        if self.seen.len() == 1 && self.seen[0] == format!("{}/", round.tree) {
            self.seen.push(position);
            return Visit::Same;
        }
        let is_known = self.seen.contains(&position);
        self.seen.push(position);
        let over = self.seen.len().saturating_sub(SEEN_MAX);
        self.seen.drain(..over);
        // With passing checks, going back and forth is harmless; the rounds are counted anyway.
        if is_known && round.checks.as_ref().is_none_or(|failing| failing.checks > 0) {
            self.returns += 1;
        }
        if is_known { Visit::Again } else { Visit::New }
    }

    /// Returns true if the changes have a shape that no round before had. While a check fails, prose and comments are talk.
    fn reshape(&mut self, round: &Round, passes: bool) -> bool {
        let Some([all, work]) = &round.shapes else { return true };
        let is_new = |shape: &String| !shape.is_empty() && !self.shapes.contains(shape);
        let is_new_change = if passes { is_new(all) } else { is_new(work) };
        let new: Vec<String> = [all, work].into_iter().filter(|shape| is_new(shape)).cloned().collect();
        self.shapes.extend(new);
        let over = self.shapes.len().saturating_sub(2 * SEEN_MAX);
        self.shapes.drain(..over);
        is_new_change
    }

    /// Returns true if fewer checks or errors fail than ever before. The first measurement is only a start.
    fn improve(&mut self, failing: &FailingChecks) -> bool {
        let is_less = |best: &mut Option<u64>, now: u64| {
            let less = best.is_some_and(|best| now < best);
            *best = Some(best.map_or(now, |best| best.min(now)));
            less
        };
        let checks = is_less(&mut self.best_checks, failing.checks);
        is_less(&mut self.best_errors, failing.errors) || checks
    }

    /// Returns true if a step is settled for the first time.
    fn settle(&mut self, round: &Round) -> bool {
        if self.first_steps.is_empty() {
            self.first_steps.clone_from(&round.steps);
        }
        let mut is_progress = false;
        for step in &round.settled {
            if self.settled.contains(step) {
                continue;
            }
            self.settled.push(step.clone());
            if self.first_steps.contains(step) {
                is_progress = true;
            } else if self.planned.contains(step) && self.later_steps < LATER_STEPS_MAX {
                self.later_steps += 1;
                is_progress = true;
            }
        }
        let is_open = |step: &&String| !round.settled.contains(step) && !self.planned.contains(step);
        let open: Vec<String> = round.steps.iter().filter(is_open).take(SEEN_MAX).cloned().collect();
        self.planned.extend(open);
        self.planned.truncate(SEEN_MAX);
        is_progress
    }

    fn hear(&mut self, round: &Round) -> bool {
        let Some(verdict) = &round.verdict else { return false };
        if self.verdicts.contains(verdict) || self.verdicts.len() >= VERDICTS_MAX {
            return false;
        }
        self.verdicts.push(verdict.clone());
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    New,
    Same,
    Again,
}

impl RoundStanding {
    /// Returns the name used in charts.
    pub fn as_str(self) -> &'static str {
        match self {
            RoundStanding::Progress => "progress",
            RoundStanding::Fine => "fine",
            RoundStanding::Tell => "tell",
            RoundStanding::Stuck => "stuck",
            RoundStanding::Loop => "loop",
        }
    }
}

#[cfg(test)]
mod tests;
