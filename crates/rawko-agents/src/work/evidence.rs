//! `checks:base`, `checks:round` and `checks:close`: the evidence of a task. The base is taken when the task begins; after
//! each round the checks of that base run, and the progress is judged; a task that ends without success leaves no check
//! changed. Separate from `checks:project`, which has no task.

use std::path::{Path, PathBuf};

use rawko_arbiter::Plan;
use rawko_arbiter::loop_control::LoopMemory;
use rawko_arbiter::progress::{Failing, Progress, ProgressSettings, Round, Standing};
use rawko_core::{Map, Value};
use rawko_host::{Call, Category, ServiceError};
use rawko_programs::changes::{ChangeStatus, FileChange, Snapshot};
use rawko_programs::checks::{
    Base, Check, CheckReport, CheckResult, Doubts, LanguageServers, detect, run_all, tree_hash,
};
use rawko_settings::StateDir;
use serde::{Deserialize, Serialize};

use super::checking::{shorten_paths, text};
use super::{Workshop, part, value};

/// A report counts as new by its beginning.
const REPORT_CHARS: usize = 500;
/// The folder of snapshots in the state directory of a project.
const SNAPSHOTS: &str = "snapshots";
/// Tools that only change the plan: their results are no news.
const PLAN_TOOLS: &str = "Plan";

/// The results of the checks for the current files. Part of the orchestrator's context, of the arbiter's input and of the
/// task's result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Evidence {
    /// False without any check; then nothing is proven.
    verified: bool,
    /// True if every check passed, or there is none.
    clean: bool,
    /// Hash of the files that were checked.
    tree: String,
    report: CheckReport,
    /// The report for a prompt.
    text: String,
    /// Files that agents had changed although a check depends on them.
    restored: Vec<String>,
    /// Files that differ from the beginning of the task; `None` if that is unknown.
    changes: Option<Vec<FileChange>>,
}

/// Records the base, and measures the checks before an agent works. Checks that take too long are not waited for: then
/// the first round is the start.
pub(super) async fn base(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let (root, checks, protected) = (workshop.root.clone(), checks_of(workshop), workshop.protected.clone());
    let (state, name) = (state_folder(workshop), Snapshot::name_of(&call.idempotency));
    let record = move || {
        let mut base = Base::of(&root, checks, &protected);
        if let Ok(folder) = &state {
            Doubts::read(folder).apply(&mut base, &root);
        }
        // Without a snapshot the result names the reason in place of the changes; the checks still decide.
        let snapshots = state.map(|folder| folder.join(SNAPSHOTS));
        let taken =
            snapshots.and_then(|all| Snapshot::take(&root, &all, &name).map_err(|error| error.to_string()));
        match taken {
            Ok(_) => base.snapshot = Some(name),
            Err(why) => base.snapshot_problem = Some(format!("no snapshot of the project: {why}")),
        }
        let tree = tree_hash(&root);
        (base, tree)
    };
    let (base, tree) = blocking(record).await?;
    let measuring = evidence(workshop, base.clone(), None, &workshop.language_servers);
    let measured = match base.checks.is_empty() || workshop.start_time.is_zero() {
        true => None,
        false => tokio::time::timeout(workshop.start_time, measuring).await.ok().transpose()?,
    };
    let progress = match measured.as_ref().filter(|evidence| evidence.verified) {
        Some(evidence) => Progress::measured(&evidence.tree, &failing(&evidence.report)),
        None => Progress::begun(&tree),
    };
    Ok(Value::map([
        ("base", value(&base)),
        ("progress", value(&progress)),
        ("evidence", measured.map_or(Value::Null, |evidence| value(&evidence))),
    ]))
}

/// Ends a task without success: restores the files that checks depend on and lists the changes. What agents changed of a
/// check and cannot be restored is remembered, so that it does not judge the next task. No check runs: the time may be
/// used up.
pub(super) async fn close(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let base: Base = part(&call.input, "base")?;
    let before: Option<Evidence> = part(&call.input, "evidence")?;
    let (root, state) = (workshop.root.clone(), state_folder(workshop));
    let checks = base.checks.clone();
    let (restored, tree, changes) = blocking(move || {
        let restored = base.restore(&root).0;
        if let Ok(folder) = &state {
            // The next task still has its own base; only the memory of this one is lost.
            let _ = Doubts::left(&base, &root).keep(folder);
        }
        (restored, tree_hash(&root), changes(&base, state.ok(), &root))
    })
    .await?;
    let evidence = match before.filter(|evidence| evidence.tree == tree) {
        Some(known) if restored.is_empty() => Evidence { changes, ..known },
        Some(known) => Evidence { changes, restored, ..known },
        None => {
            let why = "the files changed since its last run";
            let checks = checks.iter().map(|check| CheckResult::not_run(check, why)).collect();
            let (report, text) =
                (CheckReport::of(checks), "they did not run since the last change".to_owned());
            Evidence { verified: false, clean: report.clean, tree, report, text, restored, changes }
        }
    };
    Ok(Value::map([("evidence", value(&evidence))]))
}

/// Runs the checks of the base and judges the round. Results of the same files are reused only if the agent changed
/// nothing, and never for the deciding run: a check may depend on files that git ignores.
pub(super) async fn round(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let base: Base = part(&call.input, "base")?;
    let before: Option<Evidence> = part(&call.input, "evidence")?;
    let mut progress: Progress = part(&call.input, "progress")?;
    let is_decisive = call.input.get("decisive").as_bool() == Some(true);
    let is_unchanged = call.input.get("changes").as_i64() == Some(0);
    let before = before.filter(|_| is_unchanged && !is_decisive);
    // The deciding run trusts no server that worked while agents did.
    let servers = if is_decisive { LanguageServers::default() } else { workshop.language_servers.clone() };
    let evidence = evidence(workshop, base, before, &servers).await?;
    let standing = if is_decisive && evidence.clean {
        Standing::Progress
    } else {
        let is_reading = reading(&mut progress, &call.input)?;
        let round = Round { is_reading, ..the_round(workshop, &evidence, &call.input) };
        progress.record(&round, &limits(workshop))
    };
    Ok(Value::map([
        ("notice", notice(standing, &progress).map_or(Value::Null, Value::from)),
        ("evidence", value(&evidence)),
        ("progress", value(&progress)),
        ("standing", Value::str(standing.as_str())),
    ]))
}

/// `checks:progress`: judges a phase that writes nothing, by its report and its plan. No check runs.
pub(super) async fn progress(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let mut progress: Progress = part(&call.input, "progress")?;
    let root = workshop.root.clone();
    let tree = blocking(move || tree_hash(&root)).await?;
    let evidence = Evidence { tree, clean: true, ..Evidence::default() };
    let report = call.input.get("report").as_str().unwrap_or_default().trim();
    // The same report again is no news, whichever phase it comes from.
    let verdict = (!report.is_empty()).then(|| report.chars().take(REPORT_CHARS).collect());
    let round = Round { verdict, ..the_round(workshop, &evidence, &call.input) };
    // A report is the work of such a phase; a verdict beside it would only be a word.
    progress.verdicts_only = 0;
    let standing = progress.record(&round, &limits(workshop));
    Ok(Value::map([
        ("notice", notice(standing, &progress).map_or(Value::Null, Value::from)),
        ("progress", value(&progress)),
        ("standing", Value::str(standing.as_str())),
    ]))
}

/// The evidence and progress of a pass of the build loop, beside its report.
pub(super) async fn pass(workshop: &Workshop, call: &Call) -> Result<(CheckReport, Map), ServiceError> {
    let base: Base = part(&call.input, "base")?;
    let mut progress: Progress = part(&call.input, "progress")?;
    let evidence = evidence(workshop, base, None, &workshop.language_servers).await?;
    let standing = if evidence.clean {
        Standing::Progress
    } else {
        let is_reading = reading(&mut progress, &call.input)?;
        let round = Round { is_reading, ..the_round(workshop, &evidence, &call.input) };
        progress.record(&round, &limits(workshop))
    };
    let mut told = Map::default();
    told.insert("progress".into(), value(&progress));
    told.insert("standing".into(), Value::str(standing.as_str()));
    told.insert("tell".into(), notice(standing, &progress).map_or(Value::Null, Value::from));
    told.insert("restored".into(), value(&evidence.restored));
    told.insert("verified".into(), Value::Bool(evidence.verified));
    told.insert("tree".into(), Value::str(&evidence.tree));
    told.insert("changes".into(), value(&evidence.changes));
    Ok((evidence.report, told))
}

/// The judgement of a round in a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRound {
    /// Rounds since the last progress.
    pub without: u64,
    /// True if the files and the failures are those of some rounds ago.
    pub is_loop: bool,
    /// For the next round.
    pub memory: serde_json::Value,
}

/// The memory of a channel: small, because a channel stores it with every change.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ChannelMemory {
    progress: Progress,
    round: Option<Round>,
}

/// Judges a round of a channel by the project's files and checks. The checks run only if the files changed. `without` is
/// the number of rounds without progress, with this one. `None` if the project cannot be read.
pub async fn judge_round(
    workshop: &Workshop,
    memory: serde_json::Value,
    without: u64,
) -> Option<JudgedRound> {
    let ChannelMemory { mut progress, round } = serde_json::from_value(memory).unwrap_or_default();
    let root = workshop.root.clone();
    let tree = blocking(move || tree_hash(&root)).await.ok()?;
    if round.is_none() {
        progress = Progress::begun(&tree);
    }
    let round = match round.filter(|round| round.tree == tree) {
        Some(round) => round,
        None => {
            let evidence =
                evidence(workshop, Base::default(), None, &workshop.language_servers).await.ok()?;
            the_round(workshop, &evidence, &Value::Null)
        }
    };
    progress.without = without.saturating_sub(1);
    let standing = progress.record(&round, &limits(workshop));
    let (without, is_loop) = (progress.without, standing == Standing::Loop);
    let memory = serde_json::to_value(ChannelMemory { progress, round: Some(round) }).ok()?;
    Some(JudgedRound { without, is_loop, memory })
}

fn checks_of(workshop: &Workshop) -> Vec<Check> {
    workshop.checks.clone().unwrap_or_else(|| detect(&workshop.root))
}

fn limits(workshop: &Workshop) -> ProgressSettings {
    ProgressSettings {
        tell_after: u64::from(workshop.loops.tell_after),
        stuck_after: u64::from(workshop.loops.stuck_after),
        returns_max: u64::from(workshop.loops.returns_max),
    }
}

async fn evidence(
    workshop: &Workshop,
    base: Base,
    before: Option<Evidence>,
    servers: &LanguageServers,
) -> Result<Evidence, ServiceError> {
    let (root, now, state) = (workshop.root.clone(), checks_of(workshop), state_folder(workshop));
    let ((restored, lost), redefined, checks, tree, changes) = blocking(move || {
        let restored = base.restore(&root);
        let changes = changes(&base, state.ok(), &root);
        (restored, base.redefined(&root), base.with_new(now), tree_hash(&root), changes)
    })
    .await?;
    let is_known = |evidence: &Evidence| evidence.tree == tree && restored.is_empty() && lost.is_empty();
    if let Some(known) = before.filter(is_known) {
        return Ok(Evidence { restored, changes, ..known });
    }
    let report =
        run_all(&checks, &workshop.root, &workshop.environment, &workshop.confinement, servers).await;
    let mut results: Vec<CheckResult> = report.checks.into_iter().chain(lost).chain(redefined).collect();
    let tests = changed_tests(changes.as_deref().unwrap_or_default());
    if let Some(tests) = &tests {
        results.iter_mut().for_each(|check| check.miss_tests(tests));
    }
    let mut report = CheckReport::of(results);
    shorten_paths(&mut report, &workshop.root);
    Ok(Evidence {
        verified: report.checks.iter().any(|check| check.decides),
        clean: report.clean,
        text: match tests {
            Some(tests) => format!("{}\nTests that agents changed: {tests}", text(&report)),
            None => text(&report),
        },
        tree,
        report,
        restored,
        changes,
    })
}

/// Returns the project's folder in the user's state directory: agents cannot reach it.
fn state_folder(workshop: &Workshop) -> Result<PathBuf, String> {
    let state = StateDir::of(&workshop.environment).map_err(|error| error.to_string())?;
    Ok(state.project(&workshop.root))
}

/// Returns the folder of snapshots.
pub(super) fn snapshots(workshop: &Workshop) -> Result<PathBuf, String> {
    state_folder(workshop).map(|folder| folder.join(SNAPSHOTS))
}

/// Returns the files that differ from the beginning of the task; `None` if that is unknown.
fn changes(base: &Base, state: Option<PathBuf>, root: &Path) -> Option<Vec<FileChange>> {
    let (folder, name) = state.zip(base.snapshot.as_ref())?;
    let snapshot = Snapshot::open(&folder.join(SNAPSHOTS), name).ok().flatten()?;
    Some(snapshot.changes(root))
}

/// Names changed tests to the arbiter: changing them is allowed, and must not go unnoticed.
fn changed_tests(changes: &[FileChange]) -> Option<String> {
    let tests = changes.iter().filter(|change| change.is_test && change.status != ChangeStatus::Added);
    let shown: Vec<String> = tests
        .map(|change| match change.status {
            ChangeStatus::Deleted => format!("{} (deleted)", change.path),
            ChangeStatus::Added | ChangeStatus::Modified => change.path.clone(),
        })
        .collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

fn the_round(workshop: &Workshop, evidence: &Evidence, input: &Value) -> Round {
    let plan = Plan::of(input.get("plan"));
    let steps = plan.iter().flat_map(|plan| &plan.steps);
    let (mut all, mut settled) = (Vec::new(), Vec::new());
    for step in steps {
        all.push(step.description.clone());
        if step.status.is_settled() {
            settled.push(step.description.clone());
        }
    }
    let (agent, verdict) = (input.get("agent").as_str().unwrap_or_default(), input.get("verdict").as_str());
    let verdict = verdict.filter(|verdict| is_declared(workshop, agent, verdict));
    Round {
        tree: evidence.tree.clone(),
        checks: evidence.verified.then(|| failing(&evidence.report)),
        steps: all,
        settled,
        verdict: verdict.map(|verdict| format!("{agent}: {verdict}")),
        is_reading: false,
    }
}

/// Returns true if agents got a result since the last round that they had not seen before.
fn reading(progress: &mut Progress, input: &Value) -> Result<bool, ServiceError> {
    let memory: Option<LoopMemory> = part(input, "memory")?;
    let memory = memory.unwrap_or_default();
    let is_news = memory.has_news_since(progress.calls, PLAN_TOOLS);
    progress.calls = memory.count();
    Ok(is_news)
}

/// Returns true for the words that an agent's file declares. Others could be new in every round.
fn is_declared(workshop: &Workshop, agent: &str, verdict: &str) -> bool {
    let declared = workshop.agents.get(agent).map(|agent| &agent.transitions.custom);
    ["passed", "failed"].contains(&verdict) || declared.is_some_and(|words| words.contains_key(verdict))
}

fn failing(report: &CheckReport) -> Failing {
    let failed = report.checks.iter().filter(|check| !check.ok && check.decides);
    let set: Vec<String> = failed.clone().map(|check| format!("{}: {}", check.name, check.errors)).collect();
    Failing { checks: failed.count() as u64, errors: report.errors_total, set: set.join(", ") }
}

/// The notice for the agents and the arbiter.
fn notice(standing: Standing, progress: &Progress) -> Option<String> {
    match standing {
        Standing::Progress | Standing::Fine => None,
        Standing::Tell => Some(format!("{}. Take another way.", no_progress(progress))),
        Standing::Stuck => Some(no_progress(progress)),
        Standing::Loop => Some(
            "the files and the failures are the same as some rounds ago: this goes round in a circle"
                .to_owned(),
        ),
    }
}

fn no_progress(progress: &Progress) -> String {
    let rounds = progress.without;
    let noun = if rounds == 1 { "round" } else { "rounds" };
    format!(
        "no progress for {rounds} {noun}: no failing check passes now, and no step of the plan was settled"
    )
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|error| ServiceError::new(Category::Failed, format!("the project cannot be read: {error}")))
}
