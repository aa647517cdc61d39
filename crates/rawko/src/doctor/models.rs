//! Models and MCP servers: each one that the project uses is asked once, with a timeout. `--offline` leaves this out.

use std::time::Duration;

use rawko_agents::agent::{AgentFile, AgentKind};
use rawko_agents::work::{AgentServices, ComponentHealth};
use rawko_model::provider::{CompletionRequest, Providers};
use rawko_model::{Message, Role};

use super::{CheckState, DoctorResult};
use crate::hosting::{self, ProjectContext};

const MODEL_WITHIN: Duration = Duration::from_secs(20);
const SERVERS_WITHIN: Duration = Duration::from_secs(30);

/// Asks every model and MCP server of a trusted project.
pub(super) fn look(place: &ProjectContext) -> Vec<DoctorResult> {
    if !place.is_trusted().unwrap_or(false) {
        let text = "not asked: this project is not trusted";
        return vec![
            DoctorResult::new("models", CheckState::Warn, text).help("review it with `rawko trust`"),
        ];
    }
    let (agent_services, _) = place.agent_services();
    let asked = hosting::block_on(async {
        let mut checks = Vec::new();
        for model in models(&agent_services) {
            checks.extend(ask_model(&agent_services.providers, &model).await);
        }
        checks.extend(ask_servers(&agent_services).await);
        Ok(checks)
    });
    asked.unwrap_or_default()
}

/// Returns the models of the project's own agents, of its phases and of the arbiter, each once and with those that replace
/// it; the default first.
fn models(agent_services: &AgentServices) -> Vec<String> {
    let default = agent_services.providers.default_model().map(str::to_owned);
    let profiles = agent_services.profiles();
    let agents = profiles.iter().filter_map(|profile| agent_services.agents.get(&profile.name));
    let own = agents.filter(|agent| asks(agent)).flat_map(|agent| {
        agent.model.iter().chain(&agent.fallback_models).chain(&agent.vision_model).map(ToString::to_string)
    });
    let phases =
        agent_services.phases.names().filter_map(|name| agent_services.phases.find(name)?.model.clone());
    let named = default.into_iter().chain(agent_services.arbiter.model.clone()).chain(own).chain(phases);
    let mut models: Vec<String> = Vec::new();
    for model in named.flat_map(|names| agent_services.providers.chain(&names)) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    models
}

fn asks(agent: &AgentFile) -> bool {
    match agent.kind {
        AgentKind::Llm => true,
        // Scripts need no network; programs and people are not asked.
        _ => false,
    }
}

async fn ask_model(providers: &Providers, model: &str) -> Option<DoctorResult> {
    match try_model(providers, model).await {
        Ok(false) => None,
        Ok(true) => Some(DoctorResult::new("model", CheckState::Ok, format!("{model}: answers"))),
        Err(why) => {
            let help = "check the name, the API key and the network; `--offline` leaves this out";
            Some(DoctorResult::new("model", CheckState::Problem, format!("{model}: {why}")).help(help))
        }
    }
}

/// Sends one small request. Returns false if nothing was asked, because the model is a script or a tape.
pub(crate) async fn try_model(providers: &Providers, model: &str) -> Result<bool, String> {
    if providers.is_played(model).map_err(|problem| problem.to_string())? {
        return Ok(false);
    }
    let (provider, name) = providers.find(model).map_err(|problem| problem.to_string())?;
    let request = CompletionRequest {
        model: name,
        messages: vec![Message::text(Role::User, "Reply with the word OK.")].into(),
        // Models that think first need some room for it.
        output_tokens_max: Some(256),
        idempotency: format!("doctor-{}", crate::times::now_ms()),
        ..CompletionRequest::default()
    };
    let mut ignore = |_| {};
    match tokio::time::timeout(MODEL_WITHIN, provider.complete(request, &mut ignore)).await {
        Ok(Ok(_)) => Ok(true),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {}s", MODEL_WITHIN.as_secs())),
    }
}

async fn ask_servers(agent_services: &AgentServices) -> Vec<DoctorResult> {
    let agents = agent_services.agents_health();
    let Ok(all) = tokio::time::timeout(SERVERS_WITHIN, agent_services.health()).await else {
        let text = format!("no answer from MCP servers within {}s", SERVERS_WITHIN.as_secs());
        return vec![DoctorResult::new("mcp", CheckState::Problem, text)];
    };
    let servers = all.into_iter().filter(|health| agents.iter().all(|agent| agent.about != health.about));
    let check = |health: ComponentHealth| {
        let state = if health.ok { CheckState::Ok } else { CheckState::Problem };
        DoctorResult::new("mcp", state, format!("{}: {}", health.about, health.text))
    };
    servers.map(check).collect()
}
