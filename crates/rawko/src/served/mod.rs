//! The project as the server sees it: available agents, the input of tasks, and the source of charts.

mod continuing;
mod details;
mod files;
mod replacing;
mod scenario_text;
mod studio;
mod uploads;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_agents::agent::AgentFile;
use rawko_agents::work::{self, AgentServices};
use rawko_chart::Registry;
use rawko_core::{Value, World};
use rawko_host::{Engine, Fork, Gate, Receipt, Settings, made_up_id};
use rawko_model::MessagePart;
use rawko_server::{
    AgentHealth, AgentInfo, Changes, ChangesRequest, ChartFile, ChartOrigin, ChartTests, ContinueRequest,
    DoctorCheck, ErrorResponse, HealthState, NewAttachment, NewScenario, NewTask, ProblemCode, ProjectFuture,
    ProjectService as Served, RaiseRequest, SaveChart, SettingsText, UndoRequest, Undone,
};
use rawko_tools::image_of_base64;

use crate::commands::answer::add_allow_rules;
use crate::failure::CommandFailure;
use crate::hosting::{LoadedChart, ProjectContext};
use crate::project::{LoadedProject, UPLOADED};
use crate::queue::{self, QueuedTask};
use crate::raising::read_ms;
use crate::task_request::{ORCHESTRATOR, TaskRequest, insist_on_gate, insist_on_managed, insist_on_prices};
use crate::times;
use crate::trust;

/// The parts of the project that the server uses.
pub(crate) struct ServedProject {
    root: PathBuf,
    settings: Settings,
    world: World,
    engine: Arc<dyn Engine>,
    agent_services: Arc<AgentServices>,
    origins: Mutex<BTreeMap<(String, String), ChartOrigin>>,
    /// The store file; `None` if instances live elsewhere.
    store: Option<PathBuf>,
}

impl ServedProject {
    pub(crate) fn new(
        place: &ProjectContext,
        engine: Arc<dyn Engine>,
        agent_services: Arc<AgentServices>,
    ) -> ServedProject {
        ServedProject {
            root: place.root.clone(),
            settings: place.settings.clone(),
            world: place.world(),
            engine,
            agent_services,
            origins: Mutex::new(origins(place)),
            store: place.remote.is_none().then(|| place.store.clone()),
        }
    }

    async fn begin(&self, task: NewTask) -> Result<Receipt, ErrorResponse> {
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
        let task_request = TaskRequest {
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
        insist_on_managed(&self.settings, task_request.max_iterations, task_request.timeout_ms)
            .map_err(problem)?;
        if !budget.get("cost_usd").is_null() {
            insist_on_prices(&self.agent_services, &task_request).map_err(problem)?;
        }
        let input = task_request.input(&self.agent_services, &chart).map_err(problem)?;
        if task.queue {
            let queued = QueuedTask {
                id: task.id.unwrap_or_else(|| made_up_id(chart.chart.id())),
                task: task_request.task.trim().to_owned(),
                priority: task.priority.unwrap_or_default(),
                charts: vec![LoadedChart::from(&chart)],
                input,
                budget,
                queued_ms: times::now_ms(),
            };
            let at_once = queue::at_once(&self.settings, None).map_err(problem)?;
            return Ok(queued.put(&*self.engine, at_once).await?);
        }
        Ok(self.engine.start(chart, input, task.id, budget).await?)
    }
}

/// Decodes an image of a request.
fn attachment(given: &NewAttachment) -> Result<MessagePart, ErrorResponse> {
    image_of_base64(&given.data).map_err(|why| invalid(format!("an attachment cannot be used: {why}")))
}

impl Served for ServedProject {
    fn agents(&self) -> Vec<AgentInfo> {
        let unusable = self.agent_services.agents.unusable().iter().map(|agent| AgentInfo {
            name: agent.name.clone(),
            display_name: agent.name.clone(),
            kind: "unknown".to_owned(),
            model: None,
            description: String::new(),
            file: agent.file.clone(),
            broken: Some("its file is invalid; see `rawko agents check`".to_owned()),
        });
        self.agent_services.agents.all().iter().map(info).chain(unusable).collect()
    }

    fn health(&self) -> ProjectFuture<'_, Vec<(String, AgentHealth)>> {
        let known = self.agent_services.agents_health().into_iter().map(|health| {
            let name = health.about.strip_prefix("agent ").unwrap_or(&health.about).to_owned();
            let state = if health.ok { HealthState::Ok } else { HealthState::Broken };
            (name, AgentHealth { state, message: health.text })
        });
        let known = known.collect();
        Box::pin(async { known })
    }

    fn start_task(&self, task: NewTask) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(self.begin(task))
    }

    fn task_chart(&self) -> &str {
        ORCHESTRATOR
    }

    fn registry(&self) -> Registry {
        LoadedProject::at(&self.root).map(|project| project.known()).unwrap_or_default()
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

    fn agent(&self, name: &str) -> Option<serde_json::Value> {
        self.agent_services.agents.all().iter().find(|agent| agent.name == name).map(details::of_agent)
    }

    fn simulated_gate(&self) -> Option<Gate> {
        Some(self.settings.simulated_gate())
    }

    fn doctor(&self) -> Result<Vec<DoctorCheck>, ErrorResponse> {
        details::doctor(&self.root, self.store.as_deref()).map_err(problem)
    }

    fn settings(&self) -> Vec<SettingsText> {
        details::settings(&self.root)
    }

    fn allow_always(&self, rules: &[String]) -> Result<(), ErrorResponse> {
        add_allow_rules(&self.settings, rules).map(drop).map_err(problem)
    }

    fn save_chart(&self, chart: SaveChart) -> Result<String, ErrorResponse> {
        self.write_chart(&chart)
    }

    fn save_scenario(&self, scenario: NewScenario) -> Result<ChartTests, ErrorResponse> {
        self.write_scenario(&scenario)
    }

    fn test_chart(&self, chart: ChartFile) -> Result<ChartTests, ErrorResponse> {
        self.run_tests(&chart)
    }

    fn changes(&self, request: ChangesRequest) -> ProjectFuture<'_, Result<Changes, ErrorResponse>> {
        Box::pin(self.read_changes(request))
    }

    fn undo(&self, request: UndoRequest) -> ProjectFuture<'_, Result<Undone, ErrorResponse>> {
        Box::pin(self.take_back(request))
    }

    fn continue_task(&self, request: ContinueRequest) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(self.go_on(request))
    }

    fn raise(&self, request: RaiseRequest) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(self.raise_limits(request))
    }

    fn fork(
        &self,
        engine: Arc<dyn Engine>,
        id: String,
        fork: Fork,
    ) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
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
fn origins(place: &ProjectContext) -> BTreeMap<(String, String), ChartOrigin> {
    let built_in: Vec<[u8; 16]> = work::editions().iter().map(|edition| edition.chart.hash()).collect();
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

fn invalid(words: String) -> ErrorResponse {
    ErrorResponse::new(ProblemCode::InvalidBody, words)
}

/// Converts a failure of `rawko task` to a problem of the API.
fn problem(failure: CommandFailure) -> ErrorResponse {
    match failure {
        CommandFailure::Usage(words) => invalid(words),
        CommandFailure::Invalid(words)
        | CommandFailure::Findings { message: words, .. }
        | CommandFailure::Credentials(words) => ErrorResponse::new(ProblemCode::NotPossible, words),
        CommandFailure::Transient(words) => ErrorResponse::new(ProblemCode::Unavailable, words),
        CommandFailure::Failed(words) => ErrorResponse::internal(words),
        CommandFailure::Interrupted => ErrorResponse::internal("interrupted"),
        CommandFailure::Output(error) => ErrorResponse::internal(error.to_string()),
    }
}
