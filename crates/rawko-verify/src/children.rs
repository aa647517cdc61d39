//! Child charts, composed by their outcomes: a child is explored by itself with the input that its parent gives it, and
//! the parent sees each result that the child can end with.

use std::sync::Arc;

use rawko_chart::Assumptions;
use rawko_core::Value;
use rustc_hash::FxHashSet;

use crate::ceiling::StartCounts;
use crate::graph::Graph;
use crate::liveness::always_ends;
use crate::model::Model;
use crate::spending::SpendKind;
use crate::state::push_value;
use crate::tools::WriteAccess;

/// Values in the order in which they were found, each once. Found by their bytes: comparing each new value with all
/// others took most of the time of a large exploration.
#[derive(Debug, Default)]
pub(crate) struct DistinctValues {
    pub(crate) values: Vec<Value>,
    known: FxHashSet<Vec<u8>>,
}

impl DistinctValues {
    pub(crate) fn add(&mut self, value: &Value) {
        let mut bytes = Vec::new();
        push_value(&mut bytes, value);
        if self.known.insert(bytes) {
            self.values.push(value.clone());
        }
    }
}

/// The results of a child chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildOutcomes {
    pub(crate) outputs: Vec<Value>,
    pub(crate) errors: Vec<Value>,
    /// The chart invokes itself without end, directly or not.
    pub(crate) is_unbounded: bool,
    /// False if not everything was explored.
    pub(crate) complete: bool,
    pub(crate) ending: Ending,
    /// The most that one run starts.
    pub(crate) starts: StartCounts,
    /// Kinds of spending of one run that needs no person, and those without an end.
    pub(crate) spends: Vec<SpendKind>,
    pub(crate) endless: Vec<SpendKind>,
    pub(crate) writing: WriteAccess,
    /// The id of a question to a person, if the chart asks any.
    pub(crate) asks: Option<Arc<str>>,
}

/// Under which assumptions a child chart always ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Timers and services are enough.
    #[default]
    Always,
    IfPeopleAnswer,
    IfEventsArrive,
    IfBoth,
    Never,
}

impl Ending {
    pub(crate) fn of(graph: &Graph) -> Self {
        let ends =
            |people_answer, events_arrive| always_ends(graph, Assumptions { people_answer, events_arrive });
        match () {
            () if ends(false, false) => Ending::Always,
            () if ends(true, false) => Ending::IfPeopleAnswer,
            () if ends(false, true) => Ending::IfEventsArrive,
            () if ends(true, true) => Ending::IfBoth,
            () => Ending::Never,
        }
    }
}

impl ChildOutcomes {
    /// Returns the results as the events that the parent receives.
    pub(crate) fn events(&self, id: &str) -> Vec<(Arc<str>, Value)> {
        let done: Arc<str> = format!("done.invoke.{id}").into();
        let error: Arc<str> = format!("error.invoke.{id}").into();
        let outputs = self.outputs.iter().map(|data| (Arc::clone(&done), data.clone()));
        outputs.chain(self.errors.iter().map(|data| (Arc::clone(&error), data.clone()))).collect()
    }

    /// Returns true if the child can end, or fail, or was not fully explored.
    pub(crate) fn can_answer(&self) -> bool {
        !self.outputs.is_empty() || !self.errors.is_empty() || !self.complete
    }
}

/// Returns the chart that a reference (`id`, `id@version`) names, as the simulation resolves it.
pub(crate) fn find<'m>(charts: &'m [Model], reference: &str) -> Option<&'m Model> {
    let (id, version) = reference.split_once('@').unwrap_or((reference, "latest"));
    let version = version.trim_start_matches('^');
    charts.iter().find(|model| {
        let own = model.chart.version();
        let fits = version == "latest"
            || own == version
            || own.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
        model.chart.id() == id && fits
    })
}

/// Returns true if a child may send an event to the first chart that does not come from outside.
pub(crate) fn sends_internal(charts: &[Model]) -> bool {
    let Some((parent, children)) = charts.split_first() else { return false };
    let declared = || parent.chart.declared_events().into_iter().flatten();
    let is_internal = |name: &str| declared().any(|it| it.internal && (name.is_empty() || *it.name == *name));
    let mut sent = children.iter().flat_map(|child| crate::parts::sent_to_parent(&child.blueprint));
    sent.any(|name| is_internal(&name))
}
