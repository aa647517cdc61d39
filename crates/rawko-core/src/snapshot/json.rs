//! Snapshots as versioned JSON. State nodes are written by path, so that a store is readable, and reading back
//! validates every name.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::SnapshotError;
use super::fan_out_json::{SavedFanOut, read_fan_out, save_fan_out};
use super::{
    FailedWork, Invocation, PendingTimer, RareParts, RecordedHistory, Snapshot, Status, TimerPurpose,
    UnhandledFailure,
};
use crate::blueprint::NodeKind;
use crate::chart::Chart;
use crate::configuration::Configuration;
use crate::event::NamedEvent;
use crate::ids::{InvokeId, NodeId};
use crate::value::{Map, Value};

/// The version of the JSON form. A change that an older reader would misread raises it.
pub(super) const SNAPSHOT_FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct SnapshotDocument<'a> {
    format: u32,
    #[serde(borrow)]
    chart: Cow<'a, str>,
    version: Cow<'a, str>,
    hash: Cow<'a, str>,
    step: u64,
    status: Status,
    configuration: Vec<Cow<'a, str>>,
    context: Value,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    more: Option<SavedMore<'a>>,
}

#[derive(Serialize, Deserialize)]
struct SavedMore<'a> {
    #[serde(default, skip_serializing_if = "Value::is_null")]
    input: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    output: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty", borrow)]
    history: Vec<(Cow<'a, str>, Vec<Cow<'a, str>>)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    timers: Vec<SavedTimer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    invocations: Vec<SavedInvocation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    each: Vec<SavedFanOut>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deferred: Vec<NamedEvent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<SavedFailure>,
    /// The failures after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<SavedFailure>,
    next_id: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SavedTimer {
    id: u64,
    due_ms: i64,
    #[serde(flatten)]
    purpose: SavedPurpose,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
enum SavedPurpose {
    After { state: String, index: u32 },
    Send { target: Arc<str>, event: NamedEvent },
    InvokeTimeout { invocation: u64 },
    InvokeRetry { invocation: u64 },
    EachContinue { fan_out: u64 },
}

#[derive(Serialize, Deserialize)]
pub(super) struct SavedInvocation {
    id: u64,
    invoke: Arc<str>,
    state: String,
    attempt: u32,
    src: Arc<str>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) input: Value,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SavedFailure {
    #[serde(flatten)]
    work: SavedWork,
    error: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedWork {
    Invocation(SavedInvocation),
    Each(Box<SavedFanOut>),
    Timer { state: String, index: u32 },
}

impl Snapshot {
    /// The snapshot as compact JSON text.
    pub fn to_json(&self, chart: &Chart) -> String {
        let saved = SnapshotDocument {
            format: SNAPSHOT_FORMAT,
            chart: Cow::Borrowed(&chart.id),
            version: Cow::Borrowed(&chart.version),
            hash: Cow::Borrowed(&chart.hash_hex),
            step: self.step,
            status: self.status,
            configuration: chart.leaf_paths(&self.configuration).map(Cow::Borrowed).collect(),
            context: self.context_map(chart),
            more: self.more.as_deref().map(|more| save_more(more, chart)),
        };
        // Serialising our own types to a String cannot fail.
        serde_json::to_string(&saved).unwrap_or_default()
    }

    /// Reads a snapshot back. Rejects snapshots of any other chart.
    pub fn from_json(chart: &Chart, text: &str) -> Result<Snapshot, SnapshotError> {
        let saved: SnapshotDocument<'_> =
            serde_json::from_str(text).map_err(|error| SnapshotError::Malformed(error.to_string()))?;
        check_chart(&saved, chart)?;
        let snapshot = Snapshot {
            chart: chart.hash,
            step: saved.step,
            status: saved.status,
            configuration: read_configuration(&saved.configuration, chart)?,
            context: read_context(saved.context, chart)?,
            more: saved.more.map(|more| read_more(more, chart)).transpose()?.map(Box::new),
        };
        Ok(snapshot)
    }
}

fn check_chart(saved: &SnapshotDocument<'_>, chart: &Chart) -> Result<(), SnapshotError> {
    if saved.format != SNAPSHOT_FORMAT {
        return Err(SnapshotError::Format { found: saved.format });
    }
    if saved.chart != chart.id() {
        return Err(SnapshotError::OtherChart {
            found: saved.chart.to_string(),
            expected: chart.id().into(),
        });
    }
    if saved.version != chart.version() {
        return Err(SnapshotError::OtherVersion {
            chart: chart.id().into(),
            found: saved.version.to_string(),
            expected: chart.version().into(),
        });
    }
    if saved.hash != chart.hash_hex {
        return Err(SnapshotError::OtherContent { chart: chart.id().into() });
    }
    Ok(())
}

pub(super) fn unknown(what: &'static str, name: &str, chart: &Chart) -> SnapshotError {
    SnapshotError::UnknownName { what, name: name.into(), chart: chart.id().into() }
}

fn read_node(path: &str, chart: &Chart) -> Result<NodeId, SnapshotError> {
    chart.find(path).ok_or_else(|| unknown("state", path, chart))
}

pub(super) fn read_configuration(
    paths: &[Cow<'_, str>],
    chart: &Chart,
) -> Result<Configuration, SnapshotError> {
    let nodes: Result<Vec<NodeId>, SnapshotError> = paths.iter().map(|path| read_node(path, chart)).collect();
    let configuration = Configuration::from_frontier(nodes?);
    if !chart.is_legal(&configuration) {
        return Err(SnapshotError::IllegalConfiguration(paths.join(", ")));
    }
    Ok(configuration)
}

fn read_context(context: Value, chart: &Chart) -> Result<Box<[Value]>, SnapshotError> {
    let Value::Map(saved) = context else {
        return Err(SnapshotError::Malformed("`context` is not a map".into()));
    };
    let saved = Arc::try_unwrap(saved).unwrap_or_else(|shared| Map::clone(&shared));
    let mut values = vec![Value::Null; chart.context_names.len()].into_boxed_slice();
    // Keys are written in slot order: the search starts after the previous one.
    let mut from = 0;
    for (name, value) in saved {
        let names = &chart.context_names;
        let found = (from..names.len()).chain(0..from).find(|slot| names[*slot] == name);
        let slot = found.ok_or_else(|| unknown("context key", &name, chart))?;
        values[slot] = value;
        from = slot + 1;
    }
    Ok(values)
}

fn save_more<'a>(more: &RareParts, chart: &'a Chart) -> SavedMore<'a> {
    SavedMore {
        input: more.input.clone(),
        output: more.output.clone(),
        history: save_history(more, chart),
        timers: more.timers.iter().map(|timer| save_timer(timer, chart)).collect(),
        invocations: more.invocations.iter().map(|invocation| save_invocation(invocation, chart)).collect(),
        each: more.fan_outs.iter().map(|fan_out| save_fan_out(fan_out, chart)).collect(),
        deferred: more.deferred.clone(),
        failure: more.failures.first().map(|failure| save_failure(failure, chart)),
        failures: more.failures.iter().skip(1).map(|failure| save_failure(failure, chart)).collect(),
        next_id: more.next_id,
    }
}

fn read_more(saved: SavedMore<'_>, chart: &Chart) -> Result<RareParts, SnapshotError> {
    Ok(RareParts {
        input: saved.input,
        output: saved.output,
        history: read_history(&saved.history, chart)?,
        timers: saved.timers.into_iter().map(|timer| read_timer(timer, chart)).collect::<Result<_, _>>()?,
        invocations: saved
            .invocations
            .into_iter()
            .map(|invocation| read_invocation(invocation, chart))
            .collect::<Result<_, _>>()?,
        fan_outs: saved.each.into_iter().map(|known| read_fan_out(known, chart)).collect::<Result<_, _>>()?,
        deferred: saved.deferred,
        failures: saved
            .failure
            .into_iter()
            .chain(saved.failures)
            .map(|failure| read_failure(failure, chart))
            .collect::<Result<_, _>>()?,
        next_id: saved.next_id,
    })
}

pub(super) type SavedHistory<'a> = Vec<(Cow<'a, str>, Vec<Cow<'a, str>>)>;

pub(super) fn save_history<'a>(more: &RareParts, chart: &'a Chart) -> SavedHistory<'a> {
    let path = |node: NodeId| Cow::Borrowed(&*chart.node(node).path);
    let paths = |nodes: &[NodeId]| nodes.iter().map(|node| path(*node)).collect();
    more.history.iter().map(|(node, recorded)| (path(*node), paths(recorded))).collect()
}

pub(super) fn read_history(
    saved: &[(Cow<'_, str>, Vec<Cow<'_, str>>)],
    chart: &Chart,
) -> Result<RecordedHistory, SnapshotError> {
    let mut history = Vec::with_capacity(saved.len());
    for (node, recorded) in saved {
        let recorded: Result<Vec<NodeId>, SnapshotError> =
            recorded.iter().map(|path| read_node(path, chart)).collect();
        history.push((read_node(node, chart)?, recorded?.into()));
    }
    Ok(history)
}

pub(super) fn save_failure(failure: &UnhandledFailure, chart: &Chart) -> SavedFailure {
    let work = match &failure.work {
        FailedWork::Invocation(invocation) => SavedWork::Invocation(save_invocation(invocation, chart)),
        FailedWork::FanOut(fan_out) => SavedWork::Each(Box::new(save_fan_out(fan_out, chart))),
        FailedWork::Timer { node, index } => {
            SavedWork::Timer { state: chart.node(*node).path.to_string(), index: *index }
        }
    };
    SavedFailure { work, error: failure.error.clone() }
}

pub(super) fn read_failure(saved: SavedFailure, chart: &Chart) -> Result<UnhandledFailure, SnapshotError> {
    let work = match saved.work {
        SavedWork::Invocation(invocation) => FailedWork::Invocation(read_invocation(invocation, chart)?),
        SavedWork::Each(fan_out) => FailedWork::FanOut(Box::new(read_fan_out(*fan_out, chart)?)),
        SavedWork::Timer { state, index } => {
            FailedWork::Timer { node: read_timer_node(&state, index, chart)?, index }
        }
    };
    Ok(UnhandledFailure { work, error: saved.error })
}

pub(super) fn save_timer(timer: &PendingTimer, chart: &Chart) -> SavedTimer {
    let purpose = match &timer.purpose {
        TimerPurpose::After { node, index } => {
            SavedPurpose::After { state: chart.node(*node).path.to_string(), index: *index }
        }
        TimerPurpose::Send { target, event } => {
            SavedPurpose::Send { target: Arc::clone(target), event: event.clone() }
        }
        TimerPurpose::InvokeTimeout { invocation } => SavedPurpose::InvokeTimeout { invocation: *invocation },
        TimerPurpose::InvokeRetry { invocation } => SavedPurpose::InvokeRetry { invocation: *invocation },
        TimerPurpose::EachContinue { fan_out } => SavedPurpose::EachContinue { fan_out: *fan_out },
    };
    SavedTimer { id: timer.id, due_ms: timer.due_ms, purpose }
}

pub(super) fn read_timer(saved: SavedTimer, chart: &Chart) -> Result<PendingTimer, SnapshotError> {
    let purpose = match saved.purpose {
        SavedPurpose::After { state, index } => {
            TimerPurpose::After { node: read_timer_node(&state, index, chart)?, index }
        }
        SavedPurpose::Send { target, event } => TimerPurpose::Send { target, event },
        SavedPurpose::InvokeTimeout { invocation } => TimerPurpose::InvokeTimeout { invocation },
        SavedPurpose::InvokeRetry { invocation } => TimerPurpose::InvokeRetry { invocation },
        SavedPurpose::EachContinue { fan_out } => TimerPurpose::EachContinue { fan_out },
    };
    Ok(PendingTimer { id: saved.id, due_ms: saved.due_ms, purpose })
}

/// Returns the state with a timer of this index.
fn read_timer_node(state: &str, index: u32, chart: &Chart) -> Result<NodeId, SnapshotError> {
    let node = read_node(state, chart)?;
    if index as usize >= chart.tables.node(node).more().timers.len() {
        return Err(unknown("timer", &format!("{state}#{index}"), chart));
    }
    Ok(node)
}

pub(super) fn save_invocation(invocation: &Invocation, chart: &Chart) -> SavedInvocation {
    SavedInvocation {
        id: invocation.id,
        invoke: Arc::clone(&chart.tables.invoke(invocation.invoke).id),
        state: chart.node(invocation.node).path.to_string(),
        attempt: invocation.attempt,
        src: Arc::clone(&invocation.src),
        input: invocation.input.clone(),
    }
}

pub(super) fn read_invocation(saved: SavedInvocation, chart: &Chart) -> Result<Invocation, SnapshotError> {
    let (node, invoke) = read_invoke(&saved.state, &saved.invoke, chart)?;
    Ok(Invocation {
        id: saved.id,
        invoke,
        node,
        attempt: saved.attempt,
        src: saved.src,
        input: saved.input,
        item: None,
    })
}

/// Returns the invoke of a state by their names.
pub(super) fn read_invoke(
    state: &str,
    invoke: &str,
    chart: &Chart,
) -> Result<(NodeId, InvokeId), SnapshotError> {
    let node = read_node(state, chart)?;
    let mut own = chart.tables.node(node).invokes.usize();
    let found = own.find(|index| &*chart.tables.invokes[*index].id == invoke);
    let found = found.ok_or_else(|| unknown("invoke", invoke, chart))?;
    Ok((node, InvokeId(found as u32)))
}

impl Chart {
    /// Returns true if an instance can rest in this configuration: the root is active; a compound has exactly one
    /// active child, a parallel all its regions; the innermost active nodes are atomic or final.
    pub fn is_legal(&self, configuration: &Configuration) -> bool {
        self.is_legal_below(NodeId::ROOT, configuration.frontier())
    }

    fn is_legal_below(&self, node: NodeId, frontier: &[NodeId]) -> bool {
        let entry = self.tables.node(node);
        let below = |child: &NodeId| {
            let start = frontier.partition_point(|member| member < child);
            let end = frontier.partition_point(|member| *member <= self.tables.last[child.index()]);
            &frontier[start..end]
        };
        match entry.kind {
            NodeKind::Atomic | NodeKind::Final => frontier == [node],
            NodeKind::History(_) => false,
            NodeKind::Compound => {
                let mut active = entry.more().children.iter().filter(|child| !below(child).is_empty());
                match (active.next(), active.next()) {
                    (Some(child), None) => {
                        below(child).len() == frontier.len() && self.is_legal_below(*child, frontier)
                    }
                    _ => false,
                }
            }
            NodeKind::Parallel => {
                entry.more().children.iter().all(|child| self.is_legal_below(*child, below(child)))
                    && entry.more().children.iter().map(|child| below(child).len()).sum::<usize>()
                        == frontier.len()
            }
        }
    }
}
