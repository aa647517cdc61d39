//! `Migration`: the mapping of an instance from an older version of a chart to this one, and the questions about a
//! chart that only a migration has. The image itself is computed by `rawko-instance`.

use std::sync::Arc;

use crate::blueprint::NodeKind;
use crate::chart::Chart;
use crate::configuration::Configuration;
use crate::entry_set::{EntrySet, NothingRecorded};
use crate::expr::{EvalError, EvalScope, Expr};
use crate::ids::{InvokeId, NodeId};
use crate::snapshot::Snapshot;
use crate::value::Value;
use crate::world::Now;

/// One entry of `migrations:`, resolved against the new chart. Names of the old chart are text: an entry may serve
/// several versions.
#[derive(Clone, Debug, Default)]
pub struct Migration {
    /// Old states, by path, and their images.
    pub states: Vec<(Arc<str>, StateImage)>,
    /// New context keys and the expressions that compute them from `old`.
    pub context: Vec<(Arc<str>, Expr)>,
    /// Old invoke ids and their heirs; `None` ends the call.
    pub invokes: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// Old `after` timers, by the path of their state and their delay (`None`: all of the state), and their heirs.
    pub timers: Vec<OldTimer>,
    /// Old events and their new names; `None` drops those that are delayed, deferred or held.
    pub events: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// The entry as written, for the journal.
    pub source: Value,
}

/// The image of one old state: the first branch whose guard holds. Without branches the state ends.
#[derive(Clone, Debug, Default)]
pub struct StateImage {
    /// Alternatives in order.
    pub branches: Vec<StateBranch>,
}

/// One alternative of a state's image.
#[derive(Clone, Debug)]
pub struct StateBranch {
    /// Condition over `old`; `None` always holds.
    pub guard: Option<Expr>,
    /// States of the new chart that become active together.
    pub targets: Vec<NodeId>,
}

/// The heir of an `after` timer.
#[derive(Clone, Debug)]
pub struct OldTimer {
    /// Path of the old state.
    pub state: Arc<str>,
    /// Delay as written in the old chart; `None` for every timer of the state.
    pub delay: Option<Arc<str>>,
    /// Delay as written in the new chart; `None` ends the timer.
    pub heir: Option<Arc<str>>,
}

impl Migration {
    /// Evaluates an expression of a migration: `old` is the old context, `input` and `instance` are as in the chart.
    pub fn evaluate(
        expr: &Expr,
        old: &Value,
        chart: &Chart,
        snapshot: &Snapshot,
        now: Now<'_>,
    ) -> Result<Value, EvalError> {
        expr.eval(&scope(std::slice::from_ref(old), chart, snapshot, now))
    }

    /// Evaluates a guard of a migration.
    pub fn holds(
        guard: &Expr,
        old: &Value,
        chart: &Chart,
        snapshot: &Snapshot,
        now: Now<'_>,
    ) -> Result<bool, EvalError> {
        guard.eval_guard(&scope(std::slice::from_ref(old), chart, snapshot, now))
    }

    /// Returns this mapping with another one for everything that it leaves open.
    pub fn over(&self, other: &Migration) -> Migration {
        let mut both = self.clone();
        both.states.extend(other.states.iter().cloned());
        both.context.extend(other.context.iter().cloned());
        both.invokes.extend(other.invokes.iter().cloned());
        both.timers.extend(other.timers.iter().cloned());
        both.events.extend(other.events.iter().cloned());
        both.source = Value::list(vec![self.source.clone(), other.source.clone()]);
        both
    }
}

fn scope<'s>(locals: &'s [Value], chart: &'s Chart, snapshot: &'s Snapshot, now: Now<'s>) -> EvalScope<'s> {
    EvalScope {
        context: &[],
        context_names: &[],
        locals,
        event: None,
        input: snapshot.input(),
        now_ms: now.ms,
        world: now.world,
        instance: now.instance,
        configuration: chart.active(snapshot.configuration()),
        sizes: now.sizes,
    }
}

impl Chart {
    /// Returns the configuration with these states active and everything else entered by default; `None` if they
    /// cannot be active together.
    pub fn completed(&self, targets: &[NodeId]) -> Option<Configuration> {
        let entries = if targets.contains(&NodeId::ROOT) {
            EntrySet::new(&self.tables, &NothingRecorded).enter_root()
        } else {
            EntrySet::new(&self.tables, &NothingRecorded).enter(targets, NodeId::ROOT).0
        };
        let entered: Vec<NodeId> = entries.iter().map(|entry| entry.node).collect();
        let is_leaf =
            |node: &NodeId| matches!(self.tables.node(*node).kind, NodeKind::Atomic | NodeKind::Final);
        let configuration = Configuration::from_frontier(entered.into_iter().filter(is_leaf));
        let has_all = targets.iter().all(|target| self.active(&configuration).contains(*target));
        (has_all && self.is_legal(&configuration)).then_some(configuration)
    }

    /// Returns the invokes of a state with their ids.
    pub fn invokes_of(&self, node: NodeId) -> impl Iterator<Item = (InvokeId, &Arc<str>)> {
        let range = self.tables.node(node).invokes.usize();
        range.map(|index| {
            let invoke = InvokeId(index as u32);
            (invoke, &self.tables.invoke(invoke).id)
        })
    }

    /// Returns true if an invoke runs once per item of a list.
    pub fn is_each(&self, invoke: InvokeId) -> bool {
        self.tables.invoke(invoke).each.is_some()
    }

    /// Returns the source of an invoke, if it is no expression.
    pub fn fixed_src(&self, invoke: InvokeId) -> Option<&str> {
        match &self.tables.invoke(invoke).src {
            crate::blueprint::DataTemplate::Literal(Value::Str(src)) => Some(src),
            _ => None,
        }
    }

    /// Returns the number of `after` timers of a state.
    pub fn timers_of(&self, node: NodeId) -> u32 {
        self.tables.node(node).more().timers.len() as u32
    }

    /// Returns why a whole context does not match the context's schema; `None` if it does.
    pub fn refuse_context(&self, context: &[Value]) -> Option<String> {
        let rules = self.context_rules.as_ref()?;
        let slots = context.iter().enumerate();
        rules.refuse(context, slots.map(|(slot, value)| (crate::ids::Slot(slot as u32), value)))
    }

    /// Returns the declared value of a context key.
    pub fn initial_value(&self, slot: usize) -> Value {
        self.context_initial.get(slot).cloned().unwrap_or_default()
    }

    /// Returns true if `context:` declares a key.
    pub fn declares(&self, slot: usize) -> bool {
        self.context_declared.get(slot).copied().unwrap_or_default()
    }
}
