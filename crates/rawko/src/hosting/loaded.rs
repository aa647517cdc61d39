//! What a command loads of a project on first use, and only once: its charts, and everything that its agents need.

use std::sync::Arc;

use rawko_agents::agent::Agents;
use rawko_agents::work::{self, AgentProblems, AgentServices};
use rawko_host::{DeferredEdition, Edition, Library, Observer};

use super::project_context::ProjectContext;
use crate::failure::CommandFailure;
use crate::loading::{self, ProjectCharts};

impl ProjectContext {
    /// Returns the charts of the project, and rawko's own charts that it does not replace. A broken replacement is not
    /// substituted by rawko's own chart, because the substitution would go unnoticed.
    pub(crate) fn offered(&self) -> Vec<Edition> {
        let own = self.built_in().filter_map(work::edition);
        self.own_offered().charts.iter().cloned().chain(own).collect()
    }

    /// Returns the charts of the project.
    pub(crate) fn own_offered(&self) -> &ProjectCharts {
        let load = || self.project.as_ref().map(loading::offered).unwrap_or_default();
        self.offered.get_or_init(load)
    }

    /// Returns rawko's own charts that the project does not replace, to be read when they are needed: loading all takes ten
    /// times as long as everything else that a hook does.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = DeferredEdition> {
        self.built_in().map(|id| DeferredEdition { id, read: work::edition })
    }

    /// Returns a library with all charts.
    pub(crate) fn library(&self) -> Library {
        let library = Library::default();
        self.own_offered().charts.iter().for_each(|edition| library.offer(edition.clone()));
        self.deferred().for_each(|edition| library.offer_deferred(edition));
        library
    }

    fn built_in(&self) -> impl Iterator<Item = &'static str> {
        let offered = self.own_offered();
        let is_replaced = |id: &str| {
            offered.charts.iter().any(|known| known.chart.id() == id)
                || offered.broken.iter().any(|(known, _)| known == id)
        };
        work::chart_ids().filter(move |id| !is_replaced(id))
    }

    /// Fails if the project's replacement of a chart that every task needs is broken.
    pub(crate) fn insist_on_charts(&self) -> Result<(), CommandFailure> {
        let offered = self.own_offered();
        work::chart_ids().find_map(|id| offered.broken_chart(id)).map_or(Ok(()), Err)
    }

    /// Returns the chart with this name: `plan_build`, `order@^2`.
    pub(crate) fn named(&self, reference: &str) -> Result<Edition, CommandFailure> {
        let id = reference.split_once('@').map_or(reference, |(id, _)| id);
        let own = || self.built_in().find(|known| *known == id).and_then(work::broken_edition);
        let broken = self.own_offered().broken_chart(id).or_else(|| own().map(CommandFailure::from));
        match (self.library().resolve(reference), broken) {
            // An explicit version that exists wins over the broken chart.
            (Ok(edition), None) => Ok(edition),
            (Ok(edition), Some(_)) if reference != id => Ok(edition),
            (_, Some(broken)) => Err(broken),
            (Err(error), None) => Err(CommandFailure::Usage(format!(
                "{error}, and there is no such file; list charts with `rawko charts`"
            ))),
        }
    }

    /// Returns the available agents.
    pub(crate) fn agents(&self) -> Agents {
        self.agent_services().0.agents.clone()
    }

    /// Returns everything agents need, and its problems. Read once in a process.
    pub(crate) fn agent_services(&self) -> (Arc<AgentServices>, &AgentProblems) {
        let (agent_services, problems) = self.agent_services.get_or_init(|| {
            let (agent_services, problems) = self.read_workshop(None);
            (Arc::new(agent_services), problems)
        });
        (Arc::clone(agent_services), problems)
    }

    /// Returns everything agents need, with an observer of completions.
    pub(crate) fn observed_workshop(&self, observer: Option<Arc<dyn Observer>>) -> Arc<AgentServices> {
        match observer {
            None => self.agent_services().0,
            observer => Arc::new(self.read_workshop(observer).0),
        }
    }

    fn read_workshop(&self, observer: Option<Arc<dyn Observer>>) -> (AgentServices, AgentProblems) {
        let (mut agent_services, problems) = match &self.project {
            Some(project) => AgentServices::read_with(&self.root, &self.settings, project.read_agents()),
            None => AgentServices::read(&self.root, &self.settings),
        };
        if let Some(observer) = observer {
            agent_services.providers =
                work::observed(std::mem::take(&mut agent_services.providers), observer);
        }
        (agent_services, problems)
    }
}
