//! The project's checks, the evidence of a task, patches and merges.

use rawko_arbiter::loop_control::{Detector, LoopMemory, PassHistory};
use rawko_arbiter::progress::{RoundStanding, TaskProgress};
use rawko_core::Value;
use rawko_programs::changes::FileChange;
use rawko_programs::checkpoints::HistoryEntry;
use rawko_programs::checks::{CheckBase, CheckReport, CheckResult};
use serde::{Deserialize, Serialize};

use super::{VerdictWord, lenient, or_default};

/// The results of the checks for the current files. Part of the orchestrator's context, of the arbiter's input and of the
/// task's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::work) struct Evidence {
    /// False without any check; then nothing is proven.
    pub(in crate::work) verified: bool,
    /// True if every check passed, or there is none.
    pub(in crate::work) clean: bool,
    /// Hash of the files that were checked.
    pub(in crate::work) tree: String,
    pub(in crate::work) report: CheckReport,
    /// The report for a prompt.
    pub(in crate::work) text: String,
    /// Files that agents had changed although a check depends on them.
    pub(in crate::work) restored: Vec<String>,
    /// Files that differ from the beginning of the task; `None` if that is unknown.
    pub(in crate::work) changes: Option<Vec<FileChange>>,
}

/// Output of `checks:base`.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct BaseOutput {
    pub(in crate::work) base: CheckBase,
    pub(in crate::work) progress: TaskProgress,
    pub(in crate::work) evidence: Option<Evidence>,
    /// Files of checks that unfinished tasks had left changed.
    #[serde(default)]
    pub(in crate::work) restored: Vec<String>,
}

/// Input of `checks:close`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct CloseChecksInput {
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) base: CheckBase,
    pub(in crate::work) evidence: Option<Evidence>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct CloseChecksOutput {
    pub(in crate::work) evidence: Evidence,
}

/// Input of `checks:round`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct RoundInput {
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) base: CheckBase,
    pub(in crate::work) evidence: Option<Evidence>,
    pub(in crate::work) progress: TaskProgress,
    #[serde(default)]
    pub(in crate::work) plan: Value,
    pub(in crate::work) agent: Option<String>,
    /// A word of the agent, if it gave one.
    #[serde(default, deserialize_with = "lenient")]
    pub(in crate::work) verdict: Option<String>,
    /// A number only if the agent counts its changes.
    #[serde(default, deserialize_with = "lenient")]
    pub(in crate::work) changes: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
    /// True for the run that decides whether the task is complete.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) decisive: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct RoundOutput {
    pub(in crate::work) notice: Option<String>,
    pub(in crate::work) evidence: Evidence,
    pub(in crate::work) progress: TaskProgress,
    pub(in crate::work) standing: RoundStanding,
}

/// Input of `checks:progress`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct ProgressInput {
    pub(in crate::work) progress: TaskProgress,
    #[serde(default)]
    pub(in crate::work) plan: Value,
    pub(in crate::work) agent: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(in crate::work) report: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct ProgressOutput {
    pub(in crate::work) notice: Option<String>,
    pub(in crate::work) progress: TaskProgress,
    pub(in crate::work) standing: RoundStanding,
}

/// Input of `checks:project` and of every other name of the family.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct ProjectInput {
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) history: PassHistory,
    pub(in crate::work) now_ms: Option<i64>,
    /// With it, the progress is judged, too.
    pub(in crate::work) base: Option<CheckBase>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) progress: TaskProgress,
    pub(in crate::work) plan: Value,
    pub(in crate::work) agent: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(in crate::work) verdict: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) memory: LoopMemory,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct ProjectOutput {
    pub(in crate::work) report: ReportRecord,
    pub(in crate::work) history: PassHistory,
    pub(in crate::work) verdict: VerdictWord,
    pub(in crate::work) notice: Option<String>,
    pub(in crate::work) detector: Option<Detector>,
    // Beside these, for a chart that recorded a base:
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) progress: Option<TaskProgress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) standing: Option<RoundStanding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) tell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) restored: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) verified: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) tree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) changes: Option<Vec<FileChange>>,
}

/// A report with its text for a prompt.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct ReportRecord {
    pub(in crate::work) checks: Vec<CheckResult>,
    pub(in crate::work) errors_total: u64,
    pub(in crate::work) clean: bool,
    pub(in crate::work) text: String,
    pub(in crate::work) notice: Option<String>,
}

/// The progress of a pass of the build loop.
pub(in crate::work) struct JudgedPass {
    pub(in crate::work) progress: TaskProgress,
    pub(in crate::work) standing: RoundStanding,
    pub(in crate::work) tell: Option<String>,
    pub(in crate::work) evidence: Evidence,
}

/// Input of `checks:patch`.
#[derive(Debug, Deserialize)]
pub(in crate::work) struct PatchInput {
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) base: CheckBase,
    pub(in crate::work) branch: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) title: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) body: String,
    /// True if a file is written.
    #[serde(default, deserialize_with = "or_default")]
    pub(in crate::work) write: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct PatchOutput {
    pub(in crate::work) text: String,
    pub(in crate::work) files: Vec<String>,
    pub(in crate::work) left_out: Vec<String>,
    pub(in crate::work) branch: String,
    pub(in crate::work) file: Option<String>,
}

/// Input of `git:merge`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct MergeInput {
    pub(in crate::work) branch: Option<String>,
    /// The worktree in the result of an agent, in place of its branch.
    pub(in crate::work) worktree: Option<NamedWorktree>,
    /// True if the checks decide.
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) checks: bool,
    /// True if the worktree stays.
    #[serde(deserialize_with = "or_default")]
    pub(in crate::work) keep: bool,
    /// `error` fails for a worktree that does not exist (any more).
    pub(in crate::work) missing: Option<String>,
}

/// The part of a worktree's record that names it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::work) struct NamedWorktree {
    pub(in crate::work) branch: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::work) struct MergeOutput {
    pub(in crate::work) branch: String,
    pub(in crate::work) merged: bool,
    pub(in crate::work) files: Vec<String>,
    pub(in crate::work) checkpoint: Option<CheckpointRecord>,
    pub(in crate::work) report: Option<CheckReport>,
}

/// Details of a merge that was not made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::work) struct MergeFailure {
    /// `conflict` or `checks_failed`.
    pub(in crate::work) code: String,
    pub(in crate::work) branch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) path: Option<String>,
    pub(in crate::work) files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) report: Option<CheckReport>,
}

/// A checkpoint in the journal, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::work) struct CheckpointRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) number: Option<u64>,
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(in crate::work) reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::work) problem: Option<String>,
}

impl CheckpointRecord {
    pub(in crate::work) fn of(entry: &HistoryEntry) -> Self {
        let (reference, commit) = (entry.reference.clone(), entry.commit.clone());
        Self { number: Some(entry.number), reference, commit, problem: None }
    }

    pub(in crate::work) fn missing(why: &str) -> Self {
        let problem = Some(format!("no checkpoint: {why}"));
        Self { number: None, reference: None, commit: None, problem }
    }
}
