//! The control run of checks that improved: once more, without the changes that could turn them green by themselves.
//! Separate from the evidence, because it touches files of the project and must put them back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rawko_host::{Category, ServiceError};
use rawko_programs::changes::{ChangeStatus, FileChange, FolderSnapshot};
use rawko_programs::checks::{
    CheckBase, CheckReport, CheckResult, Control, Guards, HiddenFailures, LanguageServers, ProjectCheck,
    run_all,
};
use tokio::sync::Mutex;

use super::evidence::{SNAPSHOTS, blocking, state_folder};
use super::{AgentServices, custody};

/// The folder of files that a control run took away, in the state directory of a project.
const FOLDER: &str = "control";
/// One control run at a time: two would take each other's files for the present ones.
static RUNNING: Mutex<()> = Mutex::const_new(());

/// Puts files back that a control run of a killed process took away.
pub(super) async fn recover(agent_services: &AgentServices) -> Result<(), ServiceError> {
    let Ok(folder) = state_folder(agent_services).map(|state| state.join(FOLDER)) else { return Ok(()) };
    let _running = RUNNING.lock().await;
    let root = agent_services.root.clone();
    blocking(move || Control::recover(&root, &folder)).await?.map_err(|error| not_put_back(&error))
}

fn not_put_back(error: &std::io::Error) -> ServiceError {
    let message = format!("files that a control run of the checks took away cannot be put back: {error}");
    ServiceError::new(Category::Failed, message)
}

/// Puts the files back when the call is abandoned, as by a pause. The next run of the checks reports files that could not be put back.
struct BorrowedFiles {
    root: PathBuf,
    folder: PathBuf,
}

impl Drop for BorrowedFiles {
    fn drop(&mut self) {
        let _ = Control::recover(&self.root, &self.folder);
    }
}

/// Runs the improved checks without such changes, and counts what fails there as before the task. Checks that passed then
/// run again only if code was added that ends or disarms them.
pub(super) async fn compare(
    agent_services: &AgentServices,
    base: &CheckBase,
    checks: &[ProjectCheck],
    results: &mut [CheckResult],
) -> Result<(), ServiceError> {
    let Some(name) = base.snapshot.clone() else { return Ok(()) };
    for kind in [ControlKind::Improved, ControlKind::Kept] {
        let mut judged = match kind {
            ControlKind::Improved => base.improved(checks, results),
            ControlKind::Kept => base.kept(checks, results),
        };
        if judged.is_empty() {
            continue;
        }
        let Some(ControlRun { control, guards, code }) =
            prepare(agent_services, base, &name, &judged, kind).await?
        else {
            continue;
        };
        if control.is_empty() {
            // The guards matter where a check passes.
            let passes = |check: &ProjectCheck| results.iter().any(|now| now.name == check.name && now.ok);
            judged.retain(passes);
        }
        if judged.is_empty() {
            continue;
        }
        let taken_back = control.paths();
        let passed: Vec<String> = results.iter().filter(|now| now.ok).map(|now| now.name.clone()).collect();
        match run(agent_services, control, guards, &judged).await? {
            Ok(ControlResult { report, overwritten, unended }) if overwritten.is_empty() => {
                match kind {
                    ControlKind::Improved => base.compare(results, &report, &taken_back),
                    ControlKind::Kept => base.disarm(results, &report, &taken_back),
                }
                for (check, program) in unended {
                    let why = format!("`{program}` was ended from within before it came to its end");
                    base.refuse(results, &[check], &why);
                }
            }
            Ok(ControlResult { overwritten, .. }) => {
                let why = format!("its run writes what judges it: {}", overwritten.join(", "));
                base.refuse(results, &judged, &why);
            }
            // Such as a file in the place of the folder of the tests: nothing shows that they are fixed.
            Err(error) => {
                let why = format!("the control run cannot put back {}: {error}", taken_back.join(", "));
                base.refuse(results, &judged, &why);
            }
        }
        let is_hidden = |now: &&CheckResult| !now.ok && passed.contains(&now.name);
        let hidden =
            results.iter().filter(is_hidden).map(|now| (now.name.clone(), now.errors.max(1))).collect();
        keep_unfixed(agent_services, base, &name, hidden, [taken_back, code].concat()).await;
    }
    Ok(())
}

/// Remembers checks that pass only with changes: a later task begins with these. Without a place for it, only this task
/// is judged by them.
async fn keep_unfixed(
    agent_services: &AgentServices,
    base: &CheckBase,
    name: &str,
    hidden: BTreeMap<String, u64>,
    mut paths: Vec<String>,
) {
    let Ok(state) = state_folder(agent_services) else { return };
    if hidden.is_empty() {
        return;
    }
    let snapshot = base.unfixed.as_ref().map_or(name, |unfixed| &unfixed.snapshot).to_owned();
    paths.extend(base.unfixed.iter().flat_map(|unfixed| unfixed.names().map(str::to_owned)));
    let root = agent_services.root.clone();
    let keep = move || HiddenFailures::new(&root, &snapshot, hidden, &paths).keep(&state);
    let _ = blocking(keep).await;
}

/// The checks of a control run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ControlKind {
    /// They failed before the task and have fewer errors now.
    Improved,
    /// They passed before the task, or were not measured.
    Kept,
}

struct ControlRun {
    control: Control,
    guards: Option<Guards>,
    /// Changed code that the guards see, if nothing is taken back.
    code: Vec<String>,
}

/// Collects what the control run takes back. `None` if there is nothing.
async fn prepare(
    agent_services: &AgentServices,
    base: &CheckBase,
    name: &str,
    checks: &[ProjectCheck],
    kind: ControlKind,
) -> Result<Option<ControlRun>, ServiceError> {
    let unfixed = base.unfixed.clone();
    let Ok(state) = state_folder(agent_services) else { return Ok(None) };
    let folders = custody::record_folders(agent_services);
    let (root, name, checks) = (agent_services.root.clone(), name.to_owned(), checks.to_owned());
    blocking(move || {
        let snapshot = FolderSnapshot::open(&state.join(SNAPSHOTS), &name).ok().flatten()?;
        // With what the run before has changed: a build script may write tests.
        let mut changes = snapshot.changes(&root);
        let mut control = match kind {
            ControlKind::Improved => Control::of(&root, &snapshot, &changes, &checks),
            ControlKind::Kept => Control::disarmed(&root, &snapshot, &changes, &checks),
        };
        if let Some(unfixed) = unfixed.filter(|_| kind == ControlKind::Improved)
            && let Some(earlier) = earlier_snapshot(&folders, &unfixed.snapshot)
        {
            let mut more = earlier.changes(&root);
            more.retain(|change| unfixed.has(&change.path));
            // A file that is as before the earlier task has nothing to take back.
            control = control.without(|path| unfixed.has(path));
            control = control.and(Control::of(&root, &earlier, &more, &checks));
            changes.retain(|change| !unfixed.has(&change.path));
            changes.extend(more);
        }
        // Without a place for the guards the changed text still counts.
        let guards = Guards::of(&root, &snapshot, &changes, control.judges_exits()).ok().flatten();
        let is_needed = !control.is_empty() || kind == ControlKind::Improved && guards.is_some();
        let is_code = |change: &&FileChange| !change.is_test && change.status != ChangeStatus::Deleted;
        let code = match control.is_empty() {
            true => changes.iter().filter(is_code).map(|change| change.path.clone()).collect(),
            false => Vec::new(),
        };
        is_needed.then_some(ControlRun { control, guards, code })
    })
    .await
}

/// Opens the snapshot of an earlier task: a copy may begin with changes that the project had.
fn earlier_snapshot(folders: &[PathBuf], name: &str) -> Option<FolderSnapshot> {
    let open = |folder: &PathBuf| FolderSnapshot::open(&folder.join(SNAPSHOTS), name).ok().flatten();
    folders.iter().rev().find_map(open)
}

struct ControlResult {
    report: CheckReport,
    /// Files that the run itself wrote over.
    overwritten: Vec<String>,
    /// Checks that pass although a program of theirs did not come to its end, with that program.
    unended: Vec<(ProjectCheck, String)>,
}

/// Runs checks while the changes are taken back.
async fn run(
    agent_services: &AgentServices,
    control: Control,
    guards: Option<Guards>,
    checks: &[ProjectCheck],
) -> Result<std::io::Result<ControlResult>, ServiceError> {
    let Ok(folder) = state_folder(agent_services).map(|state| state.join(FOLDER)) else {
        return Ok(Err(std::io::Error::other("there is no state directory")));
    };
    let _running = RUNNING.lock().await;
    let (root, place, applying) = (agent_services.root.clone(), folder.clone(), control.clone());
    let applied = blocking(move || applying.apply(&root, &place)).await?;
    let taken = BorrowedFiles { root: agent_services.root.clone(), folder: folder.clone() };
    let report = match applied {
        Ok(()) => {
            let AgentServices { root, environment, confinement, .. } = agent_services;
            let servers = LanguageServers::default();
            let (guarded, environment, confinement) = match &guards {
                Some(guards) => guards.around(checks, environment, confinement),
                None => (checks.to_owned(), environment.clone(), confinement.clone()),
            };
            let (mut results, mut unended) = (Vec::new(), Vec::new());
            for (check, guarded) in checks.iter().zip(guarded) {
                let report = run_all(&[guarded], root, &environment, &confinement, &servers).await;
                let programs = guards.iter().flat_map(|guards| guards.unended(root, check));
                let is_passing = report.checks.iter().all(|result| result.ok);
                let program = programs.take(1).filter(|_| is_passing);
                unended.extend(program.map(|program| (check.clone(), program)));
                results.extend(report.checks);
            }
            Ok((CheckReport::of(results), unended))
        }
        Err(error) => Err(error),
    };
    let (overwritten, recovered) = blocking(move || {
        let overwritten = control.overwritten(&taken.root);
        (overwritten, Control::recover(&taken.root, &folder))
    })
    .await?;
    recovered.map_err(|error| not_put_back(&error))?;
    Ok(report.map(|(report, unended)| ControlResult { report, overwritten, unended }))
}
