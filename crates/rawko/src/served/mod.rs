//! The project as the server sees it: available agents, the input of tasks, and the source of charts.

mod continuing;
mod files;
mod uploads;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_agents::agent::AgentFile;
use rawko_agents::work::{self, Workshop};
use rawko_chart::Registry;
use rawko_core::{Value, World};
use rawko_host::{Engine, Fork, Receipt, Settings};
use rawko_model::Part;
use rawko_server::{
    AgentHealth, AgentInfo, Changes, ChangesRequest, ChartOrigin, ContinueRequest, HealthState,
    NewAttachment, NewTask, Problem, ProblemCode, Project as Served, RaiseRequest, UndoRequest, Undone,
    Working,
};
use rawko_tools::image_of_base64;

use crate::failure::Failure;
use crate::hosting::Place;
use crate::project::{Project, UPLOADED};
use crate::raising::read_ms;
use crate::trust;
use crate::wish::{ORCHESTRATOR, Wish, insist_on_gate, insist_on_managed, insist_on_prices};

/// The parts of the project that the server uses.
pub(crate) struct ServedProject {
    root: PathBuf,
    settings: Settings,
    world: World,
    engine: Arc<dyn Engine>,
    workshop: Arc<Workshop>,
    origins: Mutex<BTreeMap<(String, String), ChartOrigin>>,
}

impl ServedProject {
    pub(crate) fn new(place: &Place, engine: Arc<dyn Engine>, workshop: Arc<Workshop>) -> ServedProject {
        ServedProject {
            root: place.root.clone(),
            settings: place.settings.clone(),
            world: place.world(),
            engine,
            workshop,
            origins: Mutex::new(origins(place)),
        }
    }

    async fn begin(&self, task: NewTask) -> Result<Receipt, Problem> {
        let chart = self.engine.library().resolve(ORCHESTRATOR)?;
        let timeout_ms = task
            .timeout
            .as_deref()
            .map(read_ms)
            .transpose()
            .map_err(|why| invalid(format!("`timeout`: {why}")))?;
        let budget = match task.max_budget_usd {
            Some(most) if most.is_finite() && most > 0.0 => Value::map([("cost_usd", Value::float(most))]),
            Some(_) => return Err(invalid("`max_budget_usd` must be greater than zero".to_owned())),
            None => Value::Null,
        };
        let attachments = task.attachments.iter().map(attachment).collect::<Result<_, _>>()?;
        let wish = Wish {
            task: task.task,
            dry_run: false,
            agent: task.agent,
            max_iterations: task.max_iterations,
            timeout_ms,
            provider: None,
            model: task.model,
            attachments,
            ask_people: false,
        };
        insist_on_gate(&self.settings.gate(), &chart).map_err(problem)?;
        insist_on_managed(&self.settings, wish.max_iterations, wish.timeout_ms).map_err(problem)?;
        if !budget.get("cost_usd").is_null() {
            insist_on_prices(&self.workshop, &wish).map_err(problem)?;
        }
        let input = wish.input(&self.workshop, &chart).map_err(problem)?;
        Ok(self.engine.start(chart, input, task.id, budget).await?)
    }
}

/// Decodes an image of a request.
fn attachment(given: &NewAttachment) -> Result<Part, Problem> {
    image_of_base64(&given.data).map_err(|why| invalid(format!("an attachment cannot be used: {why}")))
}

impl Served for ServedProject {
    fn agents(&self) -> Vec<AgentInfo> {
        let unusable = self.workshop.agents.unusable().iter().map(|agent| AgentInfo {
            name: agent.name.clone(),
            display_name: agent.name.clone(),
            kind: "unknown".to_owned(),
            model: None,
            description: String::new(),
            file: agent.file.clone(),
            broken: Some("its file is invalid; see `rawko agents check`".to_owned()),
        });
        self.workshop.agents.all().iter().map(info).chain(unusable).collect()
    }

    fn health(&self) -> Working<'_, Vec<(String, AgentHealth)>> {
        let known = self.workshop.agents_health().into_iter().map(|health| {
            let name = health.about.strip_prefix("agent ").unwrap_or(&health.about).to_owned();
            let state = if health.ok { HealthState::Ok } else { HealthState::Broken };
            (name, AgentHealth { state, message: health.text })
        });
        let known = known.collect();
        Box::pin(async { known })
    }

    fn start_task(&self, task: NewTask) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(self.begin(task))
    }

    fn task_chart(&self) -> &str {
        ORCHESTRATOR
    }

    fn registry(&self) -> Registry {
        Project::at(&self.root).map(|project| project.known()).unwrap_or_default()
    }

    fn origin(&self, chart: &str, version: &str) -> Option<ChartOrigin> {
        let origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.get(&(chart.to_owned(), version.to_owned())).copied()
    }

    fn keep_chart(&self, chart: &str, version: &str, text: &str) -> std::io::Result<()> {
        let file = uploads::write(&self.root, chart, version, text)?;
        // An authenticated upload is the operator's own. If it cannot be recorded, the next start asks for trust.
        let _ = trust::trust_written(&self.root, [file.as_str()]);
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.insert((chart.to_owned(), version.to_owned()), ChartOrigin::Uploaded);
        Ok(())
    }

    fn changes(&self, request: ChangesRequest) -> Working<'_, Result<Changes, Problem>> {
        Box::pin(self.read_changes(request))
    }

    fn undo(&self, request: UndoRequest) -> Working<'_, Result<Undone, Problem>> {
        Box::pin(self.take_back(request))
    }

    fn continue_task(&self, request: ContinueRequest) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(self.go_on(request))
    }

    fn raise(&self, request: RaiseRequest) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(self.raise_limits(request))
    }

    fn fork(&self, engine: Arc<dyn Engine>, id: String, fork: Fork) -> Working<'_, Result<Receipt, Problem>> {
        Box::pin(self.fork_with_files(engine, id, fork))
    }
}

fn info(agent: &AgentFile) -> AgentInfo {
    AgentInfo {
        name: agent.name.clone(),
        display_name: agent.display_name.clone(),
        kind: agent.kind.as_str().to_owned(),
        model: agent.model.as_ref().map(ToString::to_string),
        description: agent.when_to_use.clone(),
        file: agent.file.clone(),
        broken: None,
    }
}

/// Returns the origin of each published chart.
fn origins(place: &Place) -> BTreeMap<(String, String), ChartOrigin> {
    let built_in: Vec<[u8; 16]> =
        work::editions().unwrap_or_default().iter().map(|edition| edition.chart.hash()).collect();
    let origin = |name: &str, hash: [u8; 16]| {
        if built_in.contains(&hash) {
            ChartOrigin::BuiltIn
        } else if std::path::Path::new(name).parent().is_some_and(|folder| folder.ends_with(UPLOADED)) {
            ChartOrigin::Uploaded
        } else {
            ChartOrigin::Project
        }
    };
    let offered = place.offered().into_iter().map(|edition| {
        let chart = &edition.chart;
        ((chart.id().to_owned(), chart.version().to_owned()), origin(&edition.name, chart.hash()))
    });
    offered.collect()
}

fn invalid(words: String) -> Problem {
    Problem::new(ProblemCode::InvalidBody, words)
}

/// Converts a failure of `rawko task` to a problem of the API.
fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::Usage(words) => invalid(words),
        Failure::Invalid(words) | Failure::Findings { message: words, .. } | Failure::Credentials(words) => {
            Problem::new(ProblemCode::NotPossible, words)
        }
        Failure::Transient(words) => Problem::new(ProblemCode::Unavailable, words),
        Failure::Failed(words) => Problem::internal(words),
        Failure::Interrupted => Problem::internal("interrupted"),
        Failure::Output(error) => Problem::internal(error.to_string()),
    }
}
