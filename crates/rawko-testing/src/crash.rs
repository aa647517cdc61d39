//! `--crash`: a scenario again with a crash at every commit. A crash must not change any report line.

use rawko_sim::{Crash, CrashMoment, SimulationOptions};

use crate::compare;
use crate::model::Scenario;
use crate::play::{Playback, ScenarioStage};
use crate::report::{StepDifference, VariantFailure, VariantReport};

/// Commits that the variants of one scenario play together. A run plays all of them, so without a limit a scenario of a
/// thousand timers would take a million steps.
const COMMITS_PLAYED_MAX: usize = 20_000;
/// Runs that a scenario gets however long it is.
const RUNS_MIN: usize = 20;

/// The number of variants that a scenario with so many commits is played with.
pub(crate) fn runs_max(commits: usize) -> usize {
    (COMMITS_PLAYED_MAX / commits.max(1)).max(RUNS_MIN)
}

/// Plays the scenario once for each commit and each moment around it.
pub(crate) fn run(
    stage: &ScenarioStage<'_>,
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
    let chosen = commits.min(runs_max(commits) / CrashMoment::ALL.len());
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
pub(crate) fn first_difference(baseline: &Playback, playback: &Playback) -> Option<StepDifference> {
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
        assert_eq!(crashes(50).count(), 100);
        let many: Vec<_> = crashes(1_000_000).map(|(commit, _)| commit).collect();
        assert_eq!((many.len(), many[0], many[19]), (RUNS_MIN, 0, 900_000));
    }
}
