//! The rounds of channels, judged by the project's checks as those of a task are. Separate from the evidence of tasks,
//! because a channel has no end and no chart that carries its base.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rawko_arbiter::progress::{Round, RoundStanding, TaskProgress};
use rawko_core::Value;
use rawko_programs::changes::FolderSnapshot;
use rawko_programs::checks::{CheckBase, tree_hash};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::evidence::{
    RoundReport, SNAPSHOTS, at_start, blocking, checks_of, evidence, limits, state_folder, the_round,
};
use super::{AgentServices, custody};

/// The agents of a channel wait so long at most for the checks at its start.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// Channels whose start is being measured, by project and owner.
type Starts = BTreeMap<(PathBuf, String), Arc<AsyncMutex<()>>>;
static STARTS: Mutex<Starts> = Mutex::new(BTreeMap::new());

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
    /// The snapshot of the start that the progress counts from.
    start: Option<String>,
}

/// Judges a round of a channel by the project's files and checks. The checks run only if the files changed. `without` is
/// the number of rounds without progress, with this one. `None` if the project cannot be read.
pub async fn judge_round(
    agent_services: &AgentServices,
    channel: &str,
    memory: serde_json::Value,
    without: u64,
) -> Option<JudgedRound> {
    let ChannelMemory { mut progress, round, start } = serde_json::from_value(memory).unwrap_or_default();
    // A start that is still being measured comes first.
    drop(lock_of(agent_services, channel).lock().await);
    let root = agent_services.root.clone();
    let tree = blocking(move || tree_hash(&root)).await.ok()?;
    let begun = custody::start_of_channel(agent_services, &owner(channel));
    let is_new = round.is_none() || begun.as_ref().is_some_and(|(base, _)| base.snapshot != start);
    if is_new {
        progress = match &begun {
            Some((base, tree)) if !base.failing.is_empty() => {
                TaskProgress::measured(tree, &at_start(&base.failing))
            }
            Some((_, tree)) if !tree.is_empty() => TaskProgress::begun(tree),
            _ => TaskProgress::begun(&tree),
        };
    }
    let start = begun.and_then(|(base, _)| base.snapshot);
    let round = match round.filter(|round| round.tree == tree && !is_new) {
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
    let memory = serde_json::to_value(ChannelMemory { progress, round: Some(round), start }).ok()?;
    Some(JudgedRound { without, is_loop, memory })
}

/// Records the checks of a channel before its agents work, and returns those from before. What a person changes
/// meanwhile is accepted. `None` if the project cannot be read.
pub async fn begin_rounds(agent_services: &AgentServices, channel: &str) -> Option<CheckBase> {
    let recorded = recorded(agent_services).await?;
    Some(custody::of_channel(agent_services, &owner(channel), recorded).await)
}

/// Starts the rounds anew, because a person posted while the channel rested: takes a snapshot and measures the checks, as a
/// task does. Files that the project's agents would change wait for it. The same files are not measured again.
pub fn start_rounds(
    agent_services: Arc<AgentServices>,
    channel: String,
) -> impl Future<Output = ()> + Send + 'static {
    // Taken at once: the first call of an agent must find it.
    let guard = lock_of(&agent_services, &channel).try_lock_owned().ok();
    async move {
        if let Some(guard) = guard {
            measure(&agent_services, &channel, guard).await;
        }
    }
}

/// Waits until the start of the channel is measured that this instance speaks in.
pub(super) async fn started(agent_services: &AgentServices, instance: &str) {
    let Some((channel, _)) = instance.split_once(SPEAKS) else { return };
    drop(lock_of(agent_services, channel).lock().await);
}

async fn measure(agent_services: &AgentServices, channel: &str, _guard: OwnedMutexGuard<()>) {
    let owner = owner(channel);
    // Checks that agents changed since the last start are put back first.
    if begin_rounds(agent_services, channel).await.is_none() {
        return;
    }
    let root = agent_services.root.clone();
    let Ok(tree) = blocking(move || tree_hash(&root)).await else { return };
    let last = custody::start_of_channel(agent_services, &owner);
    if last.is_some_and(|(base, known)| base.snapshot.is_some() && known == tree) {
        return;
    }
    let Some(mut base) = recorded(agent_services).await else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = FolderSnapshot::name_of(&format!("{owner}#{}", now.as_nanos()));
    let (root, state, snapshot) = (agent_services.root.clone(), state_folder(agent_services), name.clone());
    let taken = blocking(move || {
        let all = state.ok()?.join(SNAPSHOTS);
        FolderSnapshot::take(&root, &all, &snapshot).ok()
    });
    base.snapshot = taken.await.ok().flatten().map(|_| name);
    let time = agent_services.start_time.min(START_TIME_MAX);
    if !base.checks.is_empty() && !time.is_zero() {
        let measuring = evidence(agent_services, base.clone(), None, &agent_services.language_servers);
        // An agent outside of rawko may have changed files meanwhile: then it is no start.
        if let Ok(Ok(evidence)) = tokio::time::timeout(time, measuring).await
            && evidence.tree == tree
        {
            base.measure(&evidence.report);
        }
    }
    custody::start_channel(agent_services, &owner, base, tree);
}

async fn recorded(agent_services: &AgentServices) -> Option<CheckBase> {
    let (root, checks, protected) =
        (agent_services.root.clone(), checks_of(agent_services), agent_services.protected.clone());
    let folders = custody::record_folders(agent_services);
    let recorded = blocking(move || {
        let mut base = CheckBase::of(&root, checks, &protected);
        custody::take_records(&mut base, &folders, &root);
        base
    });
    recorded.await.ok()
}

/// Part of the names of instances that speak in a channel.
const SPEAKS: &str = ".speaks.";

/// The instances of a channel's agents have names that begin so.
fn owner(channel: &str) -> String {
    format!("{channel}{}", SPEAKS.trim_end_matches('.'))
}

fn lock_of(agent_services: &AgentServices, channel: &str) -> Arc<AsyncMutex<()>> {
    let mut starts = STARTS.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(starts.entry((agent_services.root.clone(), channel.to_owned())).or_default())
}
