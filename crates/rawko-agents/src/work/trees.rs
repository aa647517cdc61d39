//! The history of the project's files: every call of an agent that changes them leaves a checkpoint. Separate from the
//! tools, because external agents and checks change files, too.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rawko_host::{ServiceCall, Settings, SettingsReader};
use rawko_process::Confinement;
use rawko_programs::checkpoints::{ChangeAuthor, CheckpointSettings, Checkpoints, EntryKind};
use rawko_programs::worktrees::Worktrees;
use rawko_settings::{Environment, StateDir};
use rawko_tools::{LayeredTools, Toolbox};

use super::settings::worktree_bytes_max;
use super::types::CheckpointRecord;
use super::{AgentServices, permit, rounds};

/// The history, opened when it is first needed; or the reason why there is none.
pub type History = OnceLock<Result<Checkpoints, String>>;

impl AgentServices {
    /// Returns the history of the project's files.
    pub(super) fn history(&self) -> Result<&Checkpoints, String> {
        let history = self.history.get_or_init(|| {
            history(&self.root, &self.environment, &self.confinement).map_err(|error| error.to_string())
        });
        history.as_ref().map_err(Clone::clone)
    }
}

/// Opens the history of a project's files, for commands.
pub fn project_history(root: &Path, settings: &Settings) -> std::io::Result<Checkpoints> {
    let root = std::path::absolute(root)?;
    let mut reader = SettingsReader::new(settings.environment());
    let sections: Vec<_> = settings.sections("tools").collect();
    let LayeredTools { settings: tools, .. } = LayeredTools::read(&mut reader, &sections);
    let history = history(&root, settings.environment(), &tools.confinement(&root))?;
    history.hide(Toolbox::new(&root, tools).hidden_files(&permit::permissions(settings).0));
    Ok(history)
}

/// Opens the worktrees of a project, for commands.
pub fn project_worktrees(root: &Path, settings: &Settings) -> std::io::Result<Worktrees> {
    let (root, environment) = (std::path::absolute(root)?, settings.environment());
    let state = StateDir::of(environment).map_err(|error| std::io::Error::other(error.to_string()))?;
    let place = worktrees_folder(environment).ok_or_else(|| std::io::Error::other("HOME is not set"))?;
    let mut reader = SettingsReader::new(environment);
    let sections: Vec<_> = settings.sections("worktrees").collect();
    let bytes_max = worktree_bytes_max(&mut reader, &sections);
    Ok(Worktrees::new(&state.project(&root), &place, bytes_max))
}

fn history(
    root: &Path,
    environment: &Environment,
    confinement: &Confinement,
) -> std::io::Result<Checkpoints> {
    let state = StateDir::of(environment).map_err(|error| std::io::Error::other(error.to_string()))?;
    let folder = state.project(root).join("checkpoints");
    Ok(Checkpoints::new(CheckpointSettings {
        root: root.to_owned(),
        folder,
        excluded: excluded(root, environment, &state),
        git: true,
        environment: environment.clone(),
        confinement: confinement.clone(),
    }))
}

/// rawko's own folders, if a project contains them: a home directory may be one.
fn excluded(root: &Path, environment: &Environment, state: &StateDir) -> Vec<PathBuf> {
    let state = root.canonicalize().ok().and_then(|real| Some(real.join(state.below(&real)?)));
    state.into_iter().chain(worktrees_folder(environment)).collect()
}

/// Returns the folder of all worktrees: not in the state directory, which no program of an agent sees.
pub(super) fn worktrees_folder(environment: &Environment) -> Option<PathBuf> {
    let whole = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = whole("XDG_CACHE_HOME").or_else(|| whole("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("rawko/worktrees"))
}

/// Runs a call that may change files. Returns its result, and the checkpoint or the reason why there is none.
pub(super) async fn recorded<T>(
    agent_services: &AgentServices,
    call: &ServiceCall,
    label: &str,
    running: impl Future<Output = T>,
) -> (T, Option<CheckpointRecord>) {
    rounds::started(agent_services, &call.instance).await;
    let author = ChangeAuthor {
        kind: EntryKind::Call,
        instance: call.instance.to_string(),
        call: call.idempotency.to_string(),
        label: label.to_owned(),
    };
    // A worktree is committed as a whole when its agent ends.
    if agent_services.worktree.is_some() {
        let _working = agent_services.working().await;
        return (running.await, None);
    }
    let problem = |why: &str| Some(CheckpointRecord::missing(why));
    let history = match agent_services.history() {
        Ok(history) => history,
        Err(why) => return (running.await, problem(&why)),
    };
    history.hide(agent_services.toolbox.hidden_files(&agent_services.permissions));
    if let Err(error) = history.begin(&author).await {
        return (running.await, problem(&error.to_string()));
    }
    // A call that is cancelled does not come to its end.
    let _running = CallCheckpoint { history, author: &author };
    let result = running.await;
    match history.end(&author).await {
        Ok(None) => (result, None),
        Ok(Some(entry)) => (result, Some(CheckpointRecord::of(&entry))),
        Err(error) => (result, problem(&error.to_string())),
    }
}

struct CallCheckpoint<'c> {
    history: &'c Checkpoints,
    author: &'c ChangeAuthor,
}

impl Drop for CallCheckpoint<'_> {
    fn drop(&mut self) {
        self.history.abandon(self.author);
    }
}
