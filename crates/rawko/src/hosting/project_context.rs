//! `ProjectContext`: the context of a command: the project's root, its settings, and the store they configure.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rawko_agents::work::{self, AgentProblems, AgentServices};
use rawko_chart::{Finding, Severity, SourceFile, SpannedValue};
use rawko_core::World;
use rawko_host::{Flags, Services, Settings, SnapshotReader};
use rawko_settings::{NoStateDir, StateDir, make_private, write_private};
use rawko_store::{SqliteOptions, SqliteStore};

use super::local_client::ServePlan;
use super::remote::{HostArgs, RestateAccess};
use crate::authority::{self, Operator};
use crate::console::{self, Console};
use crate::failure::CommandFailure;
use crate::files;
use crate::host_telemetry::WatchPlan;
use crate::loading::ProjectCharts;
use crate::project::LoadedProject;
use crate::settings_problems;
use crate::trust::{self, AuthorityFiles, TrustStanding};

/// The settings of a project, which may choose its store.
const SETTINGS_FILE: &str = ".rawko/config.yaml";

/// The store option, shared by every command that uses instances.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// Store file [default: in the state directory] [env: RAWKO_STORE]
    #[arg(long, value_name = "FILE", display_order = 800, help_heading = "Store options")]
    pub(crate) store: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) host: HostArgs,
}

/// A project as the hosting commands use it.
pub(crate) struct ProjectContext {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    /// Problems of the settings, by file.
    pub(crate) problems: Vec<(SourceFile, Vec<Finding>)>,
    /// The user's state directory.
    state: Result<StateDir, NoStateDir>,
    pub(crate) store: PathBuf,
    /// Options for serving channels, if this process hosts them.
    pub(crate) serve: ServePlan,
    /// Options for telemetry, if this process hosts.
    pub(crate) watch: WatchPlan,
    /// The remote host of the instances, if any.
    pub(crate) remote: Option<RestateAccess>,
    pub(super) project: Option<LoadedProject>,
    /// Everything agents need, and its problems, read on first use.
    pub(super) agent_services: OnceLock<(Arc<AgentServices>, AgentProblems)>,
    /// The charts of the project and rawko's own, loaded on first use.
    pub(super) offered: OnceLock<ProjectCharts>,
    /// The files that carry authority, read before anything else.
    authority: std::io::Result<AuthorityFiles>,
}

impl ProjectContext {
    /// Returns the project around the working directory, or the directory itself.
    pub(crate) fn here(args: &StoreArgs) -> Result<ProjectContext, CommandFailure> {
        ProjectContext::at(LoadedProject::home_above(Path::new(".")), PathBuf::from("."), args)
    }

    /// Returns the project around a chart, or the chart's directory.
    pub(crate) fn of_chart(chart: &Path, args: &StoreArgs) -> Result<ProjectContext, CommandFailure> {
        if files::is_stdin(chart) {
            return ProjectContext::here(args);
        }
        let beside = chart.parent().filter(|folder| !folder.as_os_str().is_empty());
        ProjectContext::at(LoadedProject::home_of(chart), beside.unwrap_or(Path::new(".")).to_owned(), args)
    }

    /// Returns the project around a directory, or the directory itself.
    pub(crate) fn in_directory(directory: &Path, args: &StoreArgs) -> Result<ProjectContext, CommandFailure> {
        ProjectContext::at(LoadedProject::home_above(directory), directory.to_owned(), args)
    }

    fn at(
        home: Option<PathBuf>,
        otherwise: PathBuf,
        args: &StoreArgs,
    ) -> Result<ProjectContext, CommandFailure> {
        let root = home.clone().unwrap_or(otherwise);
        let mut authority = trust::read(&root, home.is_some());
        let (settings, mut problems) = Settings::read(&root);
        problems.extend(permission_problems(&root, &settings));
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let flags = Flags { store: args.store.as_ref().map(absolute), ..Flags::default() };
        let settings = settings.with_flags(flags);
        let remote = args.host.remote(&settings)?;
        let state = StateDir::of(settings.environment());
        authority::hide_credential(state.as_ref().ok());
        let store = match settings.store_path(&root) {
            Some(store) => {
                let is_chosen = args.store.is_some()
                    || settings.environment().get("RAWKO_STORE").is_some_and(|path| !path.is_empty());
                if !is_chosen {
                    authority::refuse_named(&root, state.as_ref().ok(), &store)?;
                }
                store.strip_prefix(".").map(Path::to_owned).unwrap_or(store)
            }
            // Unused.
            None if remote.is_some() => PathBuf::new(),
            None => {
                let state = state.as_ref().map_err(|error| no_state_dir(*error))?;
                let store = state.store(&root);
                authority::move_in(&root, state, &store)?;
                store
            }
        };
        let project = home.map(|home| LoadedProject::at(&home)).transpose()?;
        // Charts that others may invoke, and the registries that name them, replace built-in charts of the same id.
        let charts = project.iter().flat_map(LoadedProject::authority);
        for chart in charts {
            authority = authority.and_then(|mut files| files.add(&root, &chart).map(|()| files));
        }
        Ok(ProjectContext {
            root,
            settings,
            problems,
            state,
            store,
            serve: ServePlan::default(),
            watch: WatchPlan::default(),
            remote,
            project,
            agent_services: OnceLock::new(),
            offered: OnceLock::new(),
            authority,
        })
    }

    /// Returns the chart files of the project; `None` without one.
    pub(crate) fn chart_files(&self) -> Option<&[PathBuf]> {
        self.project.as_ref().map(|project| &project.charts[..])
    }

    /// Returns the services and endpoints of the settings, which run only the programs that were trusted.
    pub(crate) fn services(&self) -> Result<(Services, Services), CommandFailure> {
        let (settings, files) = (&self.settings, self.authority_files()?);
        let (services, endpoints) = (settings.services(&self.root), settings.endpoints(&self.root));
        if trust::is_everything_trusted() {
            return Ok((services, endpoints));
        }
        trust::pin_all(&self.root, files);
        Ok((
            trust::pinned(services, &settings.service_names(), &self.root, files),
            trust::pinned(endpoints, &settings.endpoint_names(), &self.root, files),
        ))
    }

    pub(crate) fn project(&self) -> Option<&LoadedProject> {
        self.project.as_ref()
    }

    /// Returns the values that expressions see besides context and event.
    pub(crate) fn world(&self) -> World {
        let agents = self.project.as_ref().map(|project| project.agents.clone());
        let agents = agents.unwrap_or_else(|| self.agents().entries());
        World { env: self.settings.env(), agents }
    }

    /// Returns the files that carry authority, as they were before anything was read from them.
    pub(crate) fn authority_files(&self) -> Result<&AuthorityFiles, CommandFailure> {
        self.authority.as_ref().map_err(trust::unreadable)
    }

    /// Returns true if the person trusts the files of the project, or there are none.
    pub(crate) fn is_trusted(&self) -> Result<bool, CommandFailure> {
        Ok(!matches!(trust::standing(&self.root, self.authority_files()?)?, TrustStanding::Differs(_)))
    }

    /// Fails if an untrusted file of the project chooses the store, for commands that change a store as a whole: it could
    /// be the store of another project.
    pub(super) fn insist_on_trusted_place(&self) -> Result<(), CommandFailure> {
        let files = self.authority_files()?;
        let text = files.get(SETTINGS_FILE).and_then(|file| file.text.as_deref()).unwrap_or_default();
        let chooses = SpannedValue::read(text)
            .is_ok_and(|it| it.get("store").is_some_and(|it| it.get("path").is_some()));
        match trust::standing(&self.root, files)? {
            TrustStanding::Differs(differences) if chooses => Err(trust::untrusted(&differences, files)),
            TrustStanding::Differs(_) | TrustStanding::Empty | TrustStanding::Trusted => Ok(()),
        }
    }

    /// Fails unless the person trusts the files of the project, for commands that act. Asks on a terminal.
    pub(crate) fn insist_on_trust(&self, console: &mut Console) -> Result<(), CommandFailure> {
        trust::insist(&self.root, self.authority_files()?, console)?;
        super::sandbox_consent::insist(self, console)
    }

    /// Fails if files of the project changed since they were hashed, once everything is read from them.
    pub(crate) fn insist_on_same_files(&self) -> Result<(), CommandFailure> {
        trust::insist_on_same(&self.root, self.authority_files()?)
    }

    /// Prints all findings of the settings, and fails on errors, for commands that act on the settings.
    pub(crate) fn insist_on_settings(&self, console: &mut Console) -> Result<(), CommandFailure> {
        let problems = self.settings_problems();
        for (source, findings) in &problems {
            console.report_aside(findings, source);
        }
        match broken(&problems) {
            Some(source) => Err(CommandFailure::Invalid(format!("invalid settings in `{}`", source.name))),
            None => Ok(()),
        }
    }

    /// Returns all problems of all sections of the settings.
    pub(crate) fn settings_problems(&self) -> Vec<(SourceFile, Vec<Finding>)> {
        settings_problems::all(&self.root, &self.settings, &self.problems, self.agent_services().1)
    }

    /// Prints a note about invalid settings: reading works without them, but they may set the path of the store.
    pub(crate) fn mention_settings(&self, console: &mut Console) {
        if let Some(source) = broken(&self.problems) {
            let text = format!("invalid settings in `{}`; see `rawko doctor`", source.name);
            console.note(console::TextStyle::Notice, "warning", &text);
        }
    }

    /// Opens the store for reading; `None` if there is none yet.
    pub(crate) fn reader(&self) -> Result<Option<SnapshotReader>, CommandFailure> {
        if let Some(remote) = &self.remote {
            return Ok(Some(remote.reader.clone()));
        }
        let mut log = self.store.clone().into_os_string();
        log.push("-wal");
        // A log without its file is a lost store, not one that does not exist yet; opening reports it.
        if !self.store.exists() && !Path::new(&log).exists() {
            return Ok(None);
        }
        // The creation was interrupted; the next host creates it.
        if SqliteStore::is_blank(&self.store) {
            return Ok(None);
        }
        let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
        Ok(Some(SnapshotReader::new(Arc::new(SqliteStore::open(&self.store, options)?))))
    }

    /// Returns the user's state directory.
    pub(crate) fn state(&self) -> Result<&StateDir, CommandFailure> {
        self.state.as_ref().map_err(|error| no_state_dir(*error))
    }

    /// Returns the operator on whose authority this command acts.
    pub(crate) fn operator(&self) -> Result<Operator, CommandFailure> {
        Operator::load(self.state())
    }

    /// Returns the path of the host's socket, in a directory that exists.
    pub(super) fn socket(&self) -> Result<PathBuf, CommandFailure> {
        let state = self.state()?;
        authority::socket_path(state, &self.store).map_err(|error| {
            CommandFailure::Usage(format!(
                "cannot use the state directory {}: {error}",
                state.path().display()
            ))
        })
    }

    /// Creates the directory of the store, for its owner only. A directory in the project excludes itself from git.
    pub(crate) fn make_state_directory(&self) -> Result<(), CommandFailure> {
        let Some(folder) = self.store.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        let cannot = |error: std::io::Error| {
            CommandFailure::Usage(format!(
                "cannot use directory `{}`: {error}{}",
                folder.display(),
                self.hint(folder)
            ))
        };
        if let Ok(state) = &self.state
            && folder.starts_with(state.path())
        {
            state.make().map_err(cannot)?;
        }
        if folder.is_dir() {
            return Ok(());
        }
        make_private(folder).map_err(cannot)?;
        if folder.ends_with(".rawko/state") {
            std::fs::write(folder.join(".gitignore"), "*\n").map_err(cannot)?;
        } else if self.state.as_ref().is_ok_and(|state| folder.starts_with(state.path())) {
            // For people who look for the directory of a project.
            let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
            write_private(&folder.join("project"), &format!("{}\n", root.display())).map_err(cannot)?;
        }
        Ok(())
    }

    /// Returns advice about a directory that cannot be used.
    fn hint(&self, folder: &Path) -> &'static str {
        match self.state.as_ref().is_ok_and(|state| folder.starts_with(state.path())) {
            true => "; set RAWKO_STATE_DIR to a directory that only you can write to",
            false => "",
        }
    }

    /// Returns the name of the store in messages.
    pub(crate) fn shown(&self) -> String {
        match &self.remote {
            Some(remote) => remote.words(),
            None => self.abbreviated(),
        }
    }

    /// Returns the path of the store with `~` for the home directory.
    fn abbreviated(&self) -> String {
        let home = self.settings.environment().get("HOME").filter(|home| home.len() > 1);
        let within = home.and_then(|home| self.store.strip_prefix(home).ok());
        match within {
            Some(within) if self.store.is_absolute() => format!("~/{}", within.display()),
            Some(_) | None => files::shown(&self.store),
        }
    }
}

fn no_state_dir(error: NoStateDir) -> CommandFailure {
    let help = "set RAWKO_STATE_DIR to a directory that only you can write to";
    CommandFailure::Usage(format!("{error}; {help}"))
}

/// Returns the first file with an error.
fn broken(problems: &[(SourceFile, Vec<Finding>)]) -> Option<&SourceFile> {
    let is_broken = |findings: &[Finding]| findings.iter().any(|it| it.severity >= Severity::Error);
    problems.iter().find(|(_, findings)| is_broken(findings)).map(|(source, _)| source)
}

/// Returns the problems of permission rules. They stop every command that acts, like those of the other settings.
fn permission_problems(root: &Path, settings: &Settings) -> Vec<(SourceFile, Vec<Finding>)> {
    let user = settings.user_file();
    let text = |file: &Arc<str>| match &user {
        Some((path, shown)) if shown == file => std::fs::read_to_string(path),
        Some(_) | None => std::fs::read_to_string(root.join(&**file)),
    };
    let (_, wrong) = work::permissions(settings);
    wrong
        .into_iter()
        .map(|(file, findings)| (SourceFile::new(&*file, text(&file).unwrap_or_default()), findings))
        .collect()
}
