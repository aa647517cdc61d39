//! The control run of checks that improved: once more, without the changes that could turn them green by themselves.
//! Separate from the evidence, because it touches files of the project and must put them back.

use std::path::PathBuf;

use rawko_host::{Category, ServiceError};
use rawko_programs::changes::FolderSnapshot;
use rawko_programs::checks::{CheckBase, CheckResult, Control, LanguageServers, ProjectCheck, run_all};
use tokio::sync::Mutex;

use super::AgentServices;
use super::evidence::{SNAPSHOTS, blocking, state_folder};

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

/// Runs the improved checks without such changes, and counts what fails there as before the task.
pub(super) async fn compare(
    agent_services: &AgentServices,
    base: &CheckBase,
    checks: &[ProjectCheck],
    results: &mut [CheckResult],
) -> Result<(), ServiceError> {
    let improved = base.improved(checks, results);
    let (Ok(state), Some(name)) = (state_folder(agent_services), base.snapshot.clone()) else {
        return Ok(());
    };
    if improved.is_empty() {
        return Ok(());
    }
    let (root, snapshots, folder) = (agent_services.root.clone(), state.join(SNAPSHOTS), state.join(FOLDER));
    let judged = improved.clone();
    let control = blocking(move || {
        let snapshot = FolderSnapshot::open(&snapshots, &name).ok().flatten()?;
        // With what the run before has changed: a build script may write tests.
        let changes = snapshot.changes(&root);
        Some(Control::of(&root, &snapshot, &changes, &judged)).filter(|control| !control.is_empty())
    });
    let Some(control) = control.await? else { return Ok(()) };
    let taken_back = control.paths();
    let _running = RUNNING.lock().await;
    let (root, place, applying) = (agent_services.root.clone(), folder.clone(), control.clone());
    let applied = blocking(move || applying.apply(&root, &place)).await?;
    let taken = BorrowedFiles { root: agent_services.root.clone(), folder: folder.clone() };
    let report = match applied {
        Ok(()) => {
            let AgentServices { root, environment, confinement, .. } = agent_services;
            let servers = LanguageServers::default();
            Ok(run_all(&improved, root, environment, confinement, &servers).await)
        }
        Err(error) => Err(error),
    };
    let (overwritten, recovered) = blocking(move || {
        let overwritten = control.overwritten(&taken.root);
        (overwritten, Control::recover(&taken.root, &folder))
    })
    .await?;
    recovered.map_err(|error| not_put_back(&error))?;
    match report {
        Ok(_) if !overwritten.is_empty() => {
            let why = format!("its run writes what judges it: {}", overwritten.join(", "));
            base.refuse(results, &improved, &why);
        }
        Ok(report) => base.compare(results, &report, &taken_back),
        // Such as a file in the place of the folder of the tests: nothing shows that they are fixed.
        Err(error) => {
            let why = format!("the control run cannot put back {}: {error}", taken_back.join(", "));
            base.refuse(results, &improved, &why);
        }
    }
    Ok(())
}
