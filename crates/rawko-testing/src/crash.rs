//! `--crash`: a scenario again with a crash at every commit. A crash must not change any report line.

use rawko_sim::{Crash, CrashMoment, SimulationOptions};

use crate::compare;
use crate::model::Scenario;
use crate::play::{Playback, Stage};
use crate::report::{StepFailure, VariantFailure, VariantReport};

/// Runs of one scenario. A run costs as much as all its commits, so a scenario of a million timers needs a limit.
const CRASH_RUNS_MAX: usize = 1_000;

/// Plays the scenario once for each commit and each moment around it.
pub(crate) fn run(
    stage: &Stage<'_>,
    scenario: &Scenario,
    baseline: &Playback,
) -> Result<VariantReport, String> {
    let commits = baseline.simulation.commit_points();
    let all = commits.len() * CrashMoment::ALL.len();
    let mut report = VariantReport::default();
    for (commit, moment) in crashes(commits.len()) {
        let options =
            SimulationOptions { crash: Some(Crash { commit, moment }), ..SimulationOptions::default() };
        let playback = Playback::of(stage, scenario, options)?;
        report.runs += 1;
        if let Some(failure) = first_difference(baseline, &playback) {
            report.failures.push(VariantFailure { variant: words(commit, moment), failure });
        }
    }
    report.omitted = all - report.runs;
    Ok(report)
}

/// The commits to crash at: all of them, or as many as the limit allows, evenly spread.
fn crashes(commits: usize) -> impl Iterator<Item = (u64, CrashMoment)> {
    let chosen = commits.min(CRASH_RUNS_MAX / CrashMoment::ALL.len());
    let commits = (0..chosen).map(move |index| (index * commits / chosen) as u64);
    commits.flat_map(|commit| CrashMoment::ALL.map(|moment| (commit, moment)))
}

fn words(commit: u64, moment: CrashMoment) -> String {
    match moment {
        CrashMoment::AfterCommit => format!("crash after commit {commit}"),
        CrashMoment::BeforeAcknowledgement => format!("crash before acknowledging commit {commit}"),
    }
}

/// The first value in which two runs of a scenario differ.
pub(crate) fn first_difference(baseline: &Playback, playback: &Playback) -> Option<StepFailure> {
    baseline.lines.iter().zip(&playback.lines).find_map(|(expected, actual)| {
        let found = compare::first_difference(&expected.json, &actual.json)?;
        Some(actual.place.failure(&found.at, &found.expected, &found.actual))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_is_crashed_at_up_to_the_limit() {
        assert_eq!(crashes(0).count(), 0);
        let few: Vec<_> = crashes(2).map(|(commit, _)| commit).collect();
        assert_eq!(few, [0, 0, 1, 1]);
        let many: Vec<_> = crashes(1_000_000).map(|(commit, _)| commit).collect();
        assert_eq!((many.len(), many[0], many[999]), (CRASH_RUNS_MAX, 0, 998_000));
    }
}
