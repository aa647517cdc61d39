//! `Project`: a project that was read and started; the door to its actors.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rawko_agents::work::AgentServices;
use rawko_chart::{Registry, Severity, render};
use rawko_core::Value;
use rawko_host::{Edition, Gate, Host, Settings};
use rawko_store::Lock;
use serde::Serialize;

use super::actor::Actor;
use super::error::{Error, Result};
use super::options::ProjectOptions;

/// A project: charts, agents, services and a store of instances. Cheap to clone; all clones are the same project.
#[derive(Clone)]
pub struct Project {
    pub(super) inner: Arc<ProjectInner>,
}

pub(super) struct ProjectInner {
    pub(super) host: Host,
    pub(super) root: Option<PathBuf>,
    pub(super) settings: Settings,
    pub(super) gate: Gate,
    /// Everything that agents need; `None` without a directory.
    pub(super) agent_services: Option<Arc<AgentServices>>,
    /// Names and types that charts are checked against.
    pub(super) registry: Registry,
    /// Charts that were checked, by hash.
    pub(super) checked: Mutex<HashSet<[u8; 16]>>,
    /// Keeps other processes out of the store.
    pub(super) lock: Mutex<Option<Lock>>,
}

impl Project {
    /// Opens the project around a directory with the default options: its own store, and files that a person trusted.
    ///
    /// ```no_run
    /// # #[tokio::main] async fn main() -> rawko::Result<()> {
    /// let project = rawko::Project::open(".").await?;
    /// let review = project.actor_of("review", serde_json::json!({"artifact": "main.rs"})).await?;
    /// println!("{}", review.result::<serde_json::Value>().await?);
    /// # Ok(()) }
    /// ```
    pub async fn open(directory: impl AsRef<Path>) -> Result<Project> {
        Project::options().open(directory).await
    }

    /// Returns options to open or start a project with.
    pub fn options() -> ProjectOptions {
        ProjectOptions::default()
    }

    /// Starts an instance of a chart: `id`, `id@1.2.0` or `id@^1`. The input overrides keys of the chart's context.
    pub async fn actor_of(&self, chart: &str, input: impl Serialize) -> Result<Actor> {
        Actor::start(self, chart, input).await
    }

    /// Returns the actor of a stored instance, and continues it if it was left by another process.
    pub async fn actor(&self, id: &str) -> Result<Actor> {
        Actor::of_stored(self, id).await
    }

    /// Returns the ids and versions of the charts that can be started.
    pub fn charts(&self) -> Vec<(String, String)> {
        let offered = self.inner.host.library().offered();
        offered.iter().map(|it| (it.chart.id().to_owned(), it.chart.version().to_owned())).collect()
    }

    /// Returns the names of the agents, sorted.
    pub fn agents(&self) -> Vec<String> {
        let agents = self.inner.agent_services.iter().flat_map(|agent_services| agent_services.agents.all());
        agents.map(|agent| agent.name.clone()).collect()
    }

    /// Returns the directory of the project, if it has one.
    pub fn root(&self) -> Option<&Path> {
        self.inner.root.as_deref()
    }

    /// Returns the host, for operations that the façade does not have: forks, migrations, reading any step.
    pub fn host(&self) -> &Host {
        &self.inner.host
    }

    /// Stops the project. Running calls end; instances are stored and continue with the next project on the same store.
    pub async fn close(self) {
        let store = Arc::clone(self.inner.host.reader().store());
        self.inner.host.clone().close().await;
        // Other tasks may still hold the store.
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
        drop(self.inner.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Returns the chart of a reference, checked against the types of the services it calls.
    pub(super) fn edition(&self, reference: &str) -> Result<Edition> {
        let edition = self.inner.host.library().resolve(reference)?;
        self.inner.check(&edition)?;
        Ok(edition)
    }
}

impl ProjectInner {
    /// Checks a chart against services, agents and other charts, once.
    pub(super) fn check(&self, edition: &Edition) -> Result<()> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.contains(&edition.chart.hash()) {
            return Ok(());
        }
        let (source, loaded) =
            rawko_chart::load_bytes(&edition.name, edition.text.as_bytes(), &self.registry);
        let wrong: Vec<_> =
            loaded.findings.into_iter().filter(|finding| finding.severity >= Severity::Error).collect();
        if wrong.is_empty() {
            checked.insert(edition.chart.hash());
            return Ok(());
        }
        let report = render::report(&wrong, &source, render::ReportStyle { color: false });
        Err(Error::Invalid(format!("`{}` is invalid\n{report}", edition.name)))
    }
}

/// Converts data of a program to data of charts.
pub(super) fn to_value(what: &str, data: impl Serialize) -> Result<Value> {
    let json = serde_json::to_value(data)
        .map_err(|source| Error::Json { what: format!("cannot use {what}"), source })?;
    Ok(Value::from_json(json))
}
