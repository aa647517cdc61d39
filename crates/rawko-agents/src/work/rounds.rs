//! The rounds of channels, judged by the project's checks as those of a task are. Separate from the evidence of tasks,
//! because a channel has no end and no chart that carries its base.

use rawko_arbiter::progress::{Round, RoundStanding, TaskProgress};
use rawko_core::Value;
use rawko_programs::checks::{CheckBase, Doubts, tree_hash};
use serde::{Deserialize, Serialize};

use super::evidence::{RoundReport, blocking, checks_of, evidence, limits, state_folder, the_round};
use super::{AgentServices, custody};

/// The judgement of a round in a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRound {
    /// Rounds since the last progress.
    pub without: u64,
    /// True if the files and the failures are those of some rounds ago.
    pub is_loop: bool,
    /// For the next round.
    pub memory: serde_json::Value,
}

/// The memory of a channel: small, because a channel stores it with every change.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ChannelMemory {
    progress: TaskProgress,
    round: Option<Round>,
}

/// Judges a round of a channel by the project's files and checks. The checks run only if the files changed. `without` is
/// the number of rounds without progress, with this one. `None` if the project cannot be read.
pub async fn judge_round(
    agent_services: &AgentServices,
    channel: &str,
    memory: serde_json::Value,
    without: u64,
) -> Option<JudgedRound> {
    let ChannelMemory { mut progress, round } = serde_json::from_value(memory).unwrap_or_default();
    let root = agent_services.root.clone();
    let tree = blocking(move || tree_hash(&root)).await.ok()?;
    if round.is_none() {
        progress = TaskProgress::begun(&tree);
    }
    let round = match round.filter(|round| round.tree == tree) {
        Some(round) => round,
        None => {
            let base = begin_rounds(agent_services, channel).await?;
            let evidence =
                evidence(agent_services, base, None, &agent_services.language_servers).await.ok()?;
            the_round(
                agent_services,
                &evidence,
                &RoundReport { plan: &Value::NULL, agent: None, verdict: None },
            )
        }
    };
    progress.without = without.saturating_sub(1);
    let standing = progress.record(&round, &limits(agent_services));
    let (without, is_loop) = (progress.without, standing == RoundStanding::Loop);
    let memory = serde_json::to_value(ChannelMemory { progress, round: Some(round) }).ok()?;
    Some(JudgedRound { without, is_loop, memory })
}

/// Records the checks of a channel before its agents work, and returns those from before. What a person changes
/// meanwhile is accepted. `None` if the project cannot be read.
pub async fn begin_rounds(agent_services: &AgentServices, channel: &str) -> Option<CheckBase> {
    let (root, checks, protected) =
        (agent_services.root.clone(), checks_of(agent_services), agent_services.protected.clone());
    let state = state_folder(agent_services);
    let recorded = blocking(move || {
        let mut base = CheckBase::of(&root, checks, &protected);
        if let Ok(folder) = &state {
            Doubts::read(folder).apply(&mut base, &root);
        }
        base
    });
    Some(custody::of_channel(agent_services, &format!("{channel}.speaks"), recorded.await.ok()?).await)
}
