//! `Place`: where a command works — the project's root, its settings, and the store that follows from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_agents::agent::Agents;
use rawko_agents::work::{self, Problems, Workshop};
use rawko_chart::render::{self, Style};
use rawko_chart::{Finding, Severity, Source};
use rawko_core::World;
use rawko_host::{Edition, Flags, Library, Reader, Settings};
use rawko_store::{Options, SqliteStore};

use super::desk::ServePlan;
use super::remote::{HostArgs, Remote};
use crate::console::{self, Console};
use crate::failure::Failure;
use crate::files;
use crate::loading::{self, Offered};
use crate::project::Project;
use crate::watching::WatchPlan;

/// Which store; the same for every command that has to do with instances.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// The store, instead of the project's own (`.rawko/state/rawko.db`, or as the settings say)
    #[arg(long, value_name = "FILE", display_order = 800)]
    pub(crate) store: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) host: HostArgs,
}

/// A project as the host's commands see it.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    /// What is wrong with the settings, by file.
    pub(crate) problems: Vec<(Source, Vec<Finding>)>,
    pub(crate) store: PathBuf,
    /// How channels are served, if this process comes to host them.
    pub(crate) serve: ServePlan,
    /// What this process tells about itself, if it comes to host.
    pub(crate) watch: WatchPlan,
    /// Where instances live, if not in the store.
    pub(crate) remote: Option<Remote>,
    project: Option<Project>,
}

impl Place {
    /// The project that the working directory lies in; itself if there is none.
    pub(crate) fn here(args: &StoreArgs) -> Result<Place, Failure> {
        Place::at(Project::home_above(Path::new(".")), PathBuf::from("."), args)
    }

    /// The project that a chart lies in; without one, the chart's directory.
    pub(crate) fn of_chart(chart: &Path, args: &StoreArgs) -> Result<Place, Failure> {
        if files::is_stdin(chart) {
            return Place::here(args);
        }
        let beside = chart.parent().filter(|folder| !folder.as_os_str().is_empty());
        Place::at(Project::home_of(chart), beside.unwrap_or(Path::new(".")).to_owned(), args)
    }

    fn at(home: Option<PathBuf>, otherwise: PathBuf, args: &StoreArgs) -> Result<Place, Failure> {
        let root = home.clone().unwrap_or(otherwise);
        let (settings, problems) = Settings::read(&root);
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let flags = Flags { store: args.store.as_ref().map(absolute), ..Flags::default() };
        let settings = settings.with_flags(flags);
        let store = settings.store_path(&root);
        let store = store.strip_prefix(".").map(Path::to_owned).unwrap_or(store);
        let remote = args.host.remote(&settings)?;
        let project = home.map(|home| Project::at(&home)).transpose()?;
        Ok(Place {
            root,
            settings,
            problems,
            store,
            serve: ServePlan::default(),
            watch: WatchPlan::default(),
            remote,
            project,
        })
    }

    /// The charts that the project offers, and those of rawko's own that it has not replaced. One that it means to
    /// replace is not put back in because the project's own has a mistake: nobody would notice.
    pub(crate) fn offered(&self) -> Vec<Edition> {
        self.all_offered().charts
    }

    fn all_offered(&self) -> Offered {
        let mut offered = self.project.as_ref().map(loading::offered).unwrap_or_default();
        let is_replaced = |id: &str| {
            offered.charts.iter().any(|known| known.chart.id() == id)
                || offered.broken.iter().any(|(known, _)| known == id)
        };
        let mut own = work::editions().unwrap_or_default();
        own.retain(|own| !is_replaced(own.chart.id()));
        offered.charts.extend(own);
        offered
    }

    /// What is wrong with a chart of the project's that is to take the place of one that every task needs.
    pub(crate) fn insist_on_charts(&self) -> Result<(), Failure> {
        let mut offered = self.all_offered();
        let own = work::editions().unwrap_or_default();
        own.iter().find_map(|own| offered.take_broken(own.chart.id())).map_or(Ok(()), Err)
    }

    /// The chart that a name means: `plan_build`, `order@^2`.
    pub(crate) fn named(&self, reference: &str) -> Result<Edition, Failure> {
        let library = Library::default();
        let mut offered = self.all_offered();
        let id = reference.split_once('@').map_or(reference, |(id, _)| id);
        let broken = offered.take_broken(id);
        offered.charts.into_iter().for_each(|edition| library.offer(edition));
        match (library.resolve(reference), broken) {
            // Whoever names a version that is there means that one.
            (Ok(edition), None) => Ok(edition),
            (Ok(edition), Some(_)) if reference != id => Ok(edition),
            (_, Some(broken)) => Err(broken),
            (Err(error), None) => Err(Failure::Usage(format!(
                "`{reference}` is no file, and {error}; `rawko charts` lists what there is"
            ))),
        }
    }

    /// Who can be put to work.
    pub(crate) fn agents(&self) -> Agents {
        Agents::read(&self.root, self.settings.environment()).0.with_built_in()
    }

    /// Everything agents need, and what is wrong with it.
    pub(crate) fn workshop(&self) -> (Workshop, Problems) {
        Workshop::read(&self.root, &self.settings)
    }

    pub(crate) fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// What expressions see besides context and event.
    pub(crate) fn world(&self) -> World {
        let agents = self.project.as_ref().map(|project| project.agents.clone());
        let agents = agents.unwrap_or_else(|| self.agents().entries());
        World { env: self.settings.env(), agents }
    }

    /// Settings that cannot be trusted stop whoever would act on them; what is only worth a word is said.
    pub(crate) fn insist_on_settings(&self, console: &mut Console) -> Result<(), Failure> {
        for (source, findings) in &self.problems {
            let style = Style { color: console.aside_colour() };
            console.aside(&render::report(findings, source, style));
        }
        match self.broken_settings() {
            Some(source) => {
                Err(Failure::Invalid(format!("the settings in `{}` cannot be used", source.name)))
            }
            None => Ok(()),
        }
    }

    /// Looking does not depend on sound settings, but they may say where to look.
    pub(crate) fn mention_settings(&self, console: &mut Console) {
        if let Some(source) = self.broken_settings() {
            let text = format!("`{}` has mistakes; `rawko doctor` tells them", source.name);
            console.note(console::Style::Notice, "warning", &text);
        }
    }

    fn broken_settings(&self) -> Option<&Source> {
        let broken =
            |findings: &[Finding]| findings.iter().any(|finding| finding.severity >= Severity::Error);
        self.problems.iter().find(|(_, findings)| broken(findings)).map(|(source, _)| source)
    }

    /// The store for looking; `None` when nothing was ever run here.
    pub(crate) fn reader(&self) -> Result<Option<Reader>, Failure> {
        if let Some(remote) = &self.remote {
            return Ok(Some(remote.reader.clone()));
        }
        if !self.store.exists() {
            return Ok(None);
        }
        let options = Options { read_only: true, ..Options::default() };
        Ok(Some(Reader::new(Arc::new(SqliteStore::open(&self.store, options)?))))
    }

    /// Makes the directory of the store. The project's own keeps itself out of git.
    pub(crate) fn make_state_directory(&self) -> Result<(), Failure> {
        let Some(folder) = self.store.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        let cannot = |error: std::io::Error| {
            Failure::Usage(format!("cannot make the directory `{}`: {error}", folder.display()))
        };
        if folder.is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(folder).map_err(cannot)?;
        if folder.ends_with(".rawko/state") {
            std::fs::write(folder.join(".gitignore"), "*\n").map_err(cannot)?;
        }
        Ok(())
    }

    /// The store as messages name it.
    pub(crate) fn shown(&self) -> String {
        match &self.remote {
            Some(remote) => remote.words(),
            None => files::shown(&self.store),
        }
    }
}
