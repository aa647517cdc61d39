//! `SnapshotParts`: a snapshot taken apart, for a migration that maps each part to another chart.

use super::{FanOut, Invocation, PendingTimer, RareParts, Snapshot, SnapshotError, Status, UnhandledFailure};
use crate::chart::Chart;
use crate::configuration::Configuration;
use crate::event::NamedEvent;
use crate::ids::NodeId;
use crate::snapshot::fan_out::JoinDecision;
use crate::value::Value;

/// The parts of a snapshot. Ids of nodes and invokes are those of its chart.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotParts {
    /// Number of steps taken.
    pub step: u64,
    /// Status of the instance.
    pub status: Status,
    /// Active states.
    pub configuration: Configuration,
    /// In the order of [`Chart::context_names`].
    pub context: Vec<Value>,
    /// Input given at start.
    pub input: Value,
    /// Output of a completed instance; null before.
    pub output: Value,
    /// Remembered configuration of each history node's parent.
    pub history: Vec<(NodeId, Box<[NodeId]>)>,
    /// Timers that have been set and have not fired.
    pub timers: Vec<PendingTimer>,
    /// Running invocations.
    pub invocations: Vec<Invocation>,
    /// Running `each` invokes.
    pub fan_outs: Vec<FanOut>,
    /// Events kept by `unhandled: defer`, oldest first.
    pub deferred: Vec<NamedEvent>,
    /// Failed work that nothing handles.
    pub failures: Vec<UnhandledFailure>,
    /// Next id for timers, invocations and fan-outs.
    pub next_id: u64,
}

impl Snapshot {
    /// Copies the snapshot into its parts.
    pub fn to_parts(&self) -> SnapshotParts {
        let more = self.more.as_deref().cloned().unwrap_or_default();
        SnapshotParts {
            step: self.step,
            status: self.status,
            configuration: self.configuration.clone(),
            context: self.context.to_vec(),
            input: more.input,
            output: more.output,
            history: more.history,
            timers: more.timers,
            invocations: more.invocations,
            fan_outs: more.fan_outs,
            deferred: more.deferred,
            failures: more.failures,
            next_id: more.next_id,
        }
    }

    /// Assembles a snapshot of a chart. Fails if an instance cannot rest in its configuration.
    pub fn from_parts(chart: &Chart, parts: SnapshotParts) -> Result<Snapshot, SnapshotError> {
        if !chart.is_legal(&parts.configuration) {
            let paths: Vec<&str> = chart.leaf_paths(&parts.configuration).collect();
            return Err(SnapshotError::IllegalConfiguration(paths.join(", ")));
        }
        Ok(Self::assembled(chart.hash, parts))
    }

    /// Assembles a snapshot of the same chart as another one.
    pub fn with_parts(&self, parts: SnapshotParts) -> Snapshot {
        Self::assembled(self.chart, parts)
    }

    fn assembled(chart: [u8; 16], parts: SnapshotParts) -> Snapshot {
        let SnapshotParts { step, status, configuration, context, .. } = parts;
        let more = RareParts {
            input: parts.input,
            output: parts.output,
            history: parts.history,
            timers: parts.timers,
            invocations: parts.invocations,
            fan_outs: parts.fan_outs,
            deferred: parts.deferred,
            failures: parts.failures,
            next_id: parts.next_id,
        };
        let more = (more != RareParts::default()).then(|| Box::new(more));
        Snapshot { chart, step, status, configuration, context: context.into(), more }
    }
}

impl FanOut {
    /// Returns true if the join of its invoke is undecided.
    pub fn is_pending(&self, chart: &Chart) -> bool {
        let each = &chart.tables.invoke(self.invoke).each;
        each.as_ref().is_some_and(|each| self.verdict(each) == JoinDecision::Pending)
    }
}
