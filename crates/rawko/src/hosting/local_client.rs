//! `LocalClient`: the services of this process for other commands: a host, and its channels once they are needed.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use rawko_agents::agent::{AgentKind, Level};
use rawko_agents::work::{AgentServices, begin_rounds, judge_round, start_rounds};
use rawko_host::{Host, SystemClock};
use rawko_server::{
    ChannelError, EndedRound, LogSink, ProjectAgents, RoundJudge, ServeOptions, ServerTokens,
    ServingChannels, TurnSettings, TurnTaker,
};
use rawko_turns::RoundJudgement;
use tokio::sync::OnceCell;

use super::project_context::ProjectContext;
use crate::failure::CommandFailure;

/// Returns a new one-time link.
pub(crate) type LinkFactory = Box<dyn Fn() -> Result<String, CommandFailure> + Send + Sync>;

/// Options for serving channels. By default no agents are started, because most commands only post.
#[derive(Clone, Default)]
pub(crate) struct ServePlan {
    pub(crate) own_agents: bool,
    pub(crate) tokens: ServerTokens,
    pub(crate) log: Option<LogSink>,
}

#[derive(Clone)]
pub(crate) struct LocalClient {
    pub(crate) host: Host,
    settings: TurnSettings,
    /// Problems of the settings.
    problems: Vec<String>,
    /// The project's agents that can take turns.
    names: Vec<String>,
    plan: ServePlan,
    serving: Arc<OnceCell<Arc<ServingChannels>>>,
    /// Issues links to the page, once this process serves it.
    inviter: Arc<OnceLock<LinkFactory>>,
    pub(crate) agent_services: Arc<AgentServices>,
}

impl LocalClient {
    pub(super) fn new(host: Host, place: &ProjectContext, agent_services: Arc<AgentServices>) -> LocalClient {
        let (settings, problems) = TurnSettings::read(&place.settings, &place.root);
        let words = problems
            .into_iter()
            .flat_map(|(file, findings)| {
                findings.into_iter().map(move |it| format!("{file}: {}", it.message))
            })
            .collect();
        let names = speakers(place, &settings);
        let (plan, serving, inviter) = (place.serve.clone(), Arc::default(), Arc::default());
        LocalClient { host, settings, problems: words, names, plan, serving, inviter, agent_services }
    }

    /// Returns the project's own agents as turn takers, which need no code.
    fn takers(&self) -> Result<Vec<Arc<dyn TurnTaker>>, CommandFailure> {
        if self.names.is_empty() || !self.plan.own_agents {
            return Ok(Vec::new());
        }
        let agents = ProjectAgents::new(self.host.clone(), self.names.clone())?;
        Ok(vec![Arc::new(agents)])
    }

    /// Returns the judge of rounds in which the project's agents work.
    fn judge(&self) -> Option<Arc<dyn RoundJudge>> {
        let judge =
            ChannelJudge { agent_services: Arc::clone(&self.agent_services), names: self.names.clone() };
        (self.plan.own_agents && !self.names.is_empty()).then(|| Arc::new(judge) as Arc<dyn RoundJudge>)
    }

    /// Returns the channels, opened on first use.
    pub(crate) async fn serving(&self) -> Result<&Arc<ServingChannels>, CommandFailure> {
        if !self.problems.is_empty() {
            return Err(CommandFailure::Invalid(format!("invalid settings\n{}", self.problems.join("\n"))));
        }
        let start = || async {
            let options = ServeOptions {
                settings: self.settings.clone(),
                tokens: self.plan.tokens.clone(),
                takers: self.takers()?,
                clock: Arc::new(SystemClock),
                judge: self.judge(),
                log: self.plan.log.clone().unwrap_or_else(|| Arc::new(|_| {})),
                own_agents: self.plan.own_agents,
            };
            ServingChannels::start(self.host.clone(), options).await.map(Arc::new).map_err(channel_failure)
        };
        self.serving.get_or_try_init(start).await
    }

    /// Lets other commands ask for links to the page.
    #[cfg(feature = "server")]
    pub(crate) fn invite_with(&self, inviter: LinkFactory) {
        let _ = self.inviter.set(inviter);
    }

    /// Returns a new link to the page; `None` if this process does not serve it.
    pub(super) fn link(&self) -> Option<Result<String, CommandFailure>> {
        Some(self.inviter.get()?())
    }

    /// Closes connections; the channels stay as they are.
    pub(super) async fn close(&self) {
        if let Some(serving) = self.serving.get() {
            serving.close().await;
        }
    }
}

/// Judges a round by the project's checks and files, as those of a task are.
struct ChannelJudge {
    agent_services: Arc<AgentServices>,
    names: Vec<String>,
}

impl RoundJudge for ChannelJudge {
    fn begin(&self, channel: String) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let agent_services = Arc::clone(&self.agent_services);
        Box::pin(async move { drop(begin_rounds(&agent_services, &channel).await) })
    }

    fn start(&self, channel: String, agents: Vec<String>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        match agents.iter().any(|agent| self.names.contains(agent)) {
            true => Box::pin(start_rounds(Arc::clone(&self.agent_services), channel)),
            false => Box::pin(std::future::ready(())),
        }
    }

    fn judge(&self, round: EndedRound) -> Pin<Box<dyn Future<Output = Option<RoundJudgement>> + Send>> {
        let agent_services = Arc::clone(&self.agent_services);
        let is_ours = round.agents.iter().any(|agent| self.names.contains(agent));
        Box::pin(async move {
            if !is_ours {
                return None;
            }
            let judged =
                judge_round(&agent_services, &round.channel, round.memory, u64::from(round.without)).await?;
            let without = u32::try_from(judged.without).unwrap_or(u32::MAX);
            Some(RoundJudgement { without, is_loop: judged.is_loop, memory: judged.memory, round: None })
        })
    }
}

pub(crate) fn channel_failure(error: ChannelError) -> CommandFailure {
    let message = error.to_string();
    match error {
        ChannelError::NoChannel(_) | ChannelError::Exists(_) | ChannelError::BadName(_) => {
            CommandFailure::Usage(message)
        }
        ChannelError::Host(error) => error.into(),
        ChannelError::Closing => CommandFailure::Transient(message),
        // A refusal, or unreadable data.
        _ => CommandFailure::Failed(message),
    }
}

/// Returns the project's own agents with a model, except for those that the settings start as programs.
fn speakers(place: &ProjectContext, settings: &TurnSettings) -> Vec<String> {
    let agents = place.agents();
    let own = agents.all().iter().filter(|agent| agent.level != Level::BuiltIn);
    let speaking = own.filter(|agent| matches!(agent.kind, AgentKind::Llm | AgentKind::Scripted));
    speaking.map(|agent| agent.name.clone()).filter(|name| !settings.starts(name)).collect()
}
