//! `checks:base`, `checks:round` and `checks:close`: the evidence of a task. The base is taken when the task begins; after
//! each round the checks of that base run, and the progress is judged; a task that ends without success leaves no check
//! changed. Separate from `checks:project`, which has no task.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rawko_arbiter::Plan;
use rawko_arbiter::loop_control::LoopMemory;
use rawko_arbiter::progress::{FailingChecks, ProgressSettings, Round, RoundStanding, TaskProgress};
use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};
use rawko_programs::changes::{ChangeShapes, ChangeStatus, FileChange, FolderSnapshot};
use rawko_programs::checks::{
    CheckBase, CheckReport, CheckResult, Doubts, HiddenFailures, LanguageServers, ProjectCheck, detect,
    keep_products, refresh_times, remove_products, run_all, tree_hash,
};
use rawko_settings::StateDir;

use super::checking::{shorten_paths, text};
use super::types::{
    BaseOutput, CloseChecksInput, CloseChecksOutput, Evidence, JudgedPass, ProgressInput, ProgressOutput,
    ProjectInput, RoundInput, RoundOutput,
};
use super::{AgentServices, control, custody};

/// A report counts as new by its beginning.
const REPORT_CHARS: usize = 500;
/// The folder of snapshots in the state directory of a project.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// Tools that only change the plan: their results are no news.
const PLAN_TOOLS: &str = "Plan";

/// Records the base, and measures the checks before an agent works. Checks that take too long are not waited for: then
/// the first round is the start. What unfinished tasks left of the checks is settled first.
pub(super) async fn base(
    agent_services: &AgentServices,
    call: &ServiceCall,
) -> Result<BaseOutput, ServiceError> {
    let restored = custody::settle_all(agent_services).await?;
    let (root, checks, protected) =
        (agent_services.root.clone(), checks_of(agent_services), agent_services.protected.clone());
    let (state, name) = (state_folder(agent_services), FolderSnapshot::name_of(&call.idempotency));
    let folders = custody::record_folders(agent_services);
    let record = move || {
        let mut base = CheckBase::of(&root, checks, &protected);
        custody::take_records(&mut base, &folders, &root);
        // Without a snapshot the result names the reason in place of the changes; the checks still decide.
        let snapshots = state.map(|folder| folder.join(SNAPSHOTS));
        let taken = snapshots
            .and_then(|all| FolderSnapshot::take(&root, &all, &name).map_err(|error| error.to_string()));
        match taken {
            Ok(_) => base.snapshot = Some(name),
            Err(why) => base.snapshot_problem = Some(format!("no snapshot of the project: {why}")),
        }
        let tree = tree_hash(&root);
        (base, tree)
    };
    let (mut base, tree) = blocking(record).await?;
    custody::open(agent_services, &call.instance, &base)?;
    let measuring = evidence(agent_services, base.clone(), None, &agent_services.language_servers);
    let measured = match base.checks.is_empty() || agent_services.start_time.is_zero() {
        true => None,
        false => tokio::time::timeout(agent_services.start_time, measuring).await.ok().transpose()?,
    };
    let measured = measured.map(|evidence| Evidence { restored: restored.clone(), ..evidence });
    if let Some(evidence) = &measured {
        base.measure(&evidence.report);
        custody::measured(agent_services, &call.instance, &base)?;
    }
    let progress = match measured.as_ref().filter(|evidence| evidence.verified) {
        Some(evidence) => TaskProgress::measured(&evidence.tree, &failing(&evidence.report)),
        None => TaskProgress::begun(&tree),
    };
    Ok(BaseOutput { base, progress, evidence: measured, restored })
}

/// Ends a task without success: restores the files that checks depend on and lists the changes. What agents changed of a
/// check and cannot be restored is remembered, so that it does not judge the next task. No check runs: the time may be
/// used up.
pub(super) async fn close(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: CloseChecksInput,
) -> Result<CloseChecksOutput, ServiceError> {
    let CloseChecksInput { base, evidence: before } = input;
    control::recover(agent_services).await?;
    let (root, state) = (agent_services.root.clone(), state_folder(agent_services));
    let (checks, left) = (base.checks.clone(), base.clone());
    let (restored, tree, changes) = blocking(move || {
        let restored = base.restore(&root).0;
        if let Ok(folder) = &state {
            // The next task still has its own base; only the memory of this one is lost.
            let _ = Doubts::left(&base, &root).keep(folder);
        }
        (restored, tree_hash(&root), changes(&base, state.ok(), &root))
    })
    .await?;
    custody::leave(agent_services, &call.instance, &left).await?;
    custody::closed(agent_services, &call.instance);
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
    Ok(CloseChecksOutput { evidence })
}

/// Runs the checks of the base and judges the round. Passing results of the same files are reused only if the agent changed
/// nothing, and never for the deciding run: a check may depend on files that git ignores.
pub(super) async fn round(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: RoundInput,
) -> Result<RoundOutput, ServiceError> {
    let RoundInput { base, evidence: before, mut progress, decisive: is_decisive, .. } = input;
    // A failing check runs again: it may fail by chance.
    let before = before.filter(|evidence| evidence.clean && input.changes == Some(0) && !is_decisive);
    // The deciding run trusts no server that worked while agents did.
    let servers =
        if is_decisive { LanguageServers::default() } else { agent_services.language_servers.clone() };
    let evidence = evidence(agent_services, base.clone(), before, &servers).await?;
    custody::judged(agent_services, &call.instance, &base, is_decisive && evidence.clean)?;
    let standing = if is_decisive && evidence.clean {
        RoundStanding::Progress
    } else {
        let is_reading = reading(&mut progress, &input.memory);
        let report = RoundReport {
            plan: &input.plan,
            agent: input.agent.as_deref(),
            verdict: input.verdict.as_deref(),
        };
        let round = Round { is_reading, ..the_round(agent_services, &evidence, &report) };
        progress.record(&round, &limits(agent_services))
    };
    Ok(RoundOutput { notice: notice(standing, &progress), evidence, progress, standing })
}

/// `checks:progress`: judges a phase that writes nothing, by its report and its plan. No check runs.
pub(super) async fn progress(
    agent_services: &AgentServices,
    input: ProgressInput,
) -> Result<ProgressOutput, ServiceError> {
    let mut progress = input.progress;
    let root = agent_services.root.clone();
    let tree = blocking(move || tree_hash(&root)).await?;
    let evidence = Evidence { tree, clean: true, ..Evidence::default() };
    let report = input.report.as_deref().unwrap_or_default().trim();
    // The same report again is no news, whichever phase it comes from.
    let verdict = (!report.is_empty()).then(|| report.chars().take(REPORT_CHARS).collect());
    let report = RoundReport { plan: &input.plan, agent: input.agent.as_deref(), verdict: None };
    let round = Round { verdict, ..the_round(agent_services, &evidence, &report) };
    // A report is the work of such a phase; a verdict beside it would only be a word.
    progress.verdicts_only = 0;
    let standing = progress.record(&round, &limits(agent_services));
    Ok(ProgressOutput { notice: notice(standing, &progress), progress, standing })
}

/// The evidence and progress of a pass of the build loop, beside its report.
pub(super) async fn pass(
    agent_services: &AgentServices,
    call: &ServiceCall,
    base: CheckBase,
    input: ProjectInput,
) -> Result<JudgedPass, ServiceError> {
    let mut progress = input.progress;
    let evidence = evidence(agent_services, base.clone(), None, &agent_services.language_servers).await?;
    custody::judged(agent_services, &call.instance, &base, evidence.clean)?;
    let standing = if evidence.clean {
        RoundStanding::Progress
    } else {
        let is_reading = reading(&mut progress, &input.memory);
        let report = RoundReport {
            plan: &input.plan,
            agent: input.agent.as_deref(),
            verdict: input.verdict.as_deref(),
        };
        let round = Round { is_reading, ..the_round(agent_services, &evidence, &report) };
        progress.record(&round, &limits(agent_services))
    };
    Ok(JudgedPass { tell: notice(standing, &progress), progress, standing, evidence })
}

pub(super) fn checks_of(agent_services: &AgentServices) -> Vec<ProjectCheck> {
    agent_services.checks.clone().unwrap_or_else(|| detect(&agent_services.root))
}

pub(super) fn limits(agent_services: &AgentServices) -> ProgressSettings {
    ProgressSettings {
        tell_after: u64::from(agent_services.loops.tell_after),
        stuck_after: u64::from(agent_services.loops.stuck_after),
        returns_max: u64::from(agent_services.loops.returns_max),
        same_failures_max: u64::from(agent_services.loops.same_failures_max),
    }
}

pub(super) async fn evidence(
    agent_services: &AgentServices,
    base: CheckBase,
    before: Option<Evidence>,
    servers: &LanguageServers,
) -> Result<Evidence, ServiceError> {
    control::recover(agent_services).await?;
    let (root, now, state) =
        (agent_services.root.clone(), checks_of(agent_services), state_folder(agent_services));
    let (base, (restored, lost), redefined, checks, tree, changes) = blocking(move || {
        let mut restored = base.restore(&root);
        let changes = changes(&base, state.clone().ok(), &root);
        let folder = state.clone();
        let taken = snapshot_of(&base, state.ok()).and_then(|snapshot| snapshot.taken_at());
        let (redefined, checks) = (base.redefined(&root), base.with_new(now));
        if let Some(taken) = taken {
            refresh_times(&root, taken);
            if let Ok(folder) = folder {
                restored.1.extend(remove_products(&root, &checks, &folder, taken));
            }
        }
        (base, restored, redefined, checks, tree_hash(&root), changes)
    })
    .await?;
    let is_known = |evidence: &Evidence| evidence.tree == tree && restored.is_empty() && lost.is_empty();
    if let Some(known) = before.filter(is_known) {
        return Ok(Evidence { restored, changes, ..known });
    }
    let report = run_all(
        &checks,
        &agent_services.root,
        &agent_services.environment,
        &agent_services.confinement,
        servers,
    )
    .await;
    let mut results = report.checks;
    control::compare(agent_services, &base, &checks, &mut results).await?;
    let _ = state_folder(agent_services).map(|state| keep_products(&state));
    base.miss_failing_tests(&mut results, &removed_words(changes.as_deref().unwrap_or_default()));
    results.extend(lost.into_iter().chain(redefined));
    let tests = changed_tests(changes.as_deref().unwrap_or_default());
    if let Some(tests) = &tests {
        results.iter_mut().for_each(|check| check.miss_tests(tests));
    }
    let mut report = CheckReport::of(results);
    if let Some(state) = state_folder(agent_services).ok().filter(|_| report.clean) {
        // What cannot be removed now is judged again by the next task.
        let _ = blocking(move || HiddenFailures::remove(&state)).await?;
    }
    shorten_paths(&mut report, &agent_services.root);
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
pub(super) fn state_folder(agent_services: &AgentServices) -> Result<PathBuf, String> {
    let state = StateDir::of(&agent_services.environment).map_err(|error| error.to_string())?;
    Ok(state.project(&agent_services.root))
}

/// Returns the folder of snapshots.
pub(super) fn snapshots(agent_services: &AgentServices) -> Result<PathBuf, String> {
    state_folder(agent_services).map(|folder| folder.join(SNAPSHOTS))
}

/// Returns the files that differ from the beginning of the task; `None` if that is unknown.
fn changes(base: &CheckBase, state: Option<PathBuf>, root: &Path) -> Option<Vec<FileChange>> {
    Some(snapshot_of(base, state)?.changes(root))
}

/// Returns the project's files at the beginning of the task.
fn snapshot_of(base: &CheckBase, state: Option<PathBuf>) -> Option<FolderSnapshot> {
    let (folder, name) = state.zip(base.snapshot.as_ref())?;
    FolderSnapshot::open(&folder.join(SNAPSHOTS), name).ok().flatten()
}

/// Returns the words of removed lines that no added line has.
fn removed_words(changes: &[FileChange]) -> BTreeSet<String> {
    let (mut removed, mut added) = (BTreeSet::new(), BTreeSet::new());
    for line in changes.iter().filter_map(|change| change.diff.as_deref()).flat_map(str::lines) {
        let words = |line: &str| -> Vec<String> {
            let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        if let Some(line) = line.strip_prefix('-') {
            removed.extend(words(line));
        } else if let Some(line) = line.strip_prefix('+') {
            added.extend(words(line));
        }
    }
    &removed - &added
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

/// The reports of a round's agents, beside the results of the checks.
pub(super) struct RoundReport<'s> {
    pub(super) plan: &'s Value,
    pub(super) agent: Option<&'s str>,
    pub(super) verdict: Option<&'s str>,
}

pub(super) fn the_round(
    agent_services: &AgentServices,
    evidence: &Evidence,
    reported: &RoundReport<'_>,
) -> Round {
    let plan = Plan::of(reported.plan);
    let steps = plan.iter().flat_map(|plan| &plan.steps);
    let (mut all, mut settled) = (Vec::new(), Vec::new());
    for step in steps {
        all.push(step.title.clone());
        if step.status.is_settled() {
            settled.push(step.title.clone());
        }
    }
    let agent = reported.agent.unwrap_or_default();
    let verdict = reported.verdict.filter(|verdict| is_declared(agent_services, agent, verdict));
    Round {
        tree: evidence.tree.clone(),
        checks: evidence.verified.then(|| failing(&evidence.report)),
        steps: all,
        settled,
        verdict: verdict.map(|verdict| format!("{agent}: {verdict}")),
        is_reading: false,
        shapes: evidence.changes.as_deref().map(|changes| {
            let ChangeShapes { all, work } = ChangeShapes::of(changes);
            [all, work]
        }),
    }
}

/// Returns true if agents looked at something since the last round that they had not looked at before.
fn reading(progress: &mut TaskProgress, memory: &LoopMemory) -> bool {
    let is_news = memory.has_news_since(progress.calls, PLAN_TOOLS);
    progress.calls = memory.count();
    is_news
}

/// Returns true for the words that an agent's file declares. Others could be new in every round.
fn is_declared(agent_services: &AgentServices, agent: &str, verdict: &str) -> bool {
    let declared = agent_services.agents.get(agent).map(|agent| &agent.transitions.custom);
    ["passed", "failed"].contains(&verdict) || declared.is_some_and(|words| words.contains_key(verdict))
}

fn failing(report: &CheckReport) -> FailingChecks {
    let failed = report.checks.iter().filter(|check| !check.ok && check.decides);
    let set: Vec<String> = failed.clone().map(|check| format!("{}: {}", check.name, check.errors)).collect();
    FailingChecks { checks: failed.count() as u64, errors: report.errors_total, set: set.join(", ") }
}

/// The checks that failed at the start.
pub(super) fn at_start(failing: &BTreeMap<String, u64>) -> FailingChecks {
    let set: Vec<String> = failing.iter().map(|(name, errors)| format!("{name}: {errors}")).collect();
    let errors = failing.values().copied().fold(0, u64::saturating_add);
    FailingChecks { checks: failing.len() as u64, errors, set: set.join(", ") }
}

/// The notice for the agents and the arbiter.
fn notice(standing: RoundStanding, progress: &TaskProgress) -> Option<String> {
    match standing {
        RoundStanding::Progress | RoundStanding::Fine => None,
        RoundStanding::Tell => Some(format!("{}. Take another way.", no_progress(progress))),
        RoundStanding::Stuck => Some(no_progress(progress)),
        RoundStanding::Loop => Some(
            "the files and the failures are the same as some rounds ago: this goes round in a circle"
                .to_owned(),
        ),
    }
}

fn no_progress(progress: &TaskProgress) -> String {
    // Steps were settled and files changed meanwhile.
    let (rounds, failing) = (progress.without, progress.same_failures);
    if failing > rounds {
        return format!(
            "the same checks have failed for {failing} rounds: no error is gone, although files were changed"
        );
    }
    let noun = if rounds == 1 { "round" } else { "rounds" };
    format!(
        "no progress for {rounds} {noun}: no failing check passes now, and no step of the plan was settled with new work"
    )
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.map_err(|error| ServiceError::new(Category::Failed, format!("the project cannot be read: {error}")))
}
