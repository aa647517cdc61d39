//! `Graph`: the explored states and steps, without the states themselves. Properties that need more than one step are
//! decided on it.

use std::sync::Arc;

use rawko_core::{Map, Value};
use rustc_hash::FxHashMap;

use crate::numbers::Numbers;
use crate::progress::ProgressMarks;

/// What happens to an instance at rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ModelInput {
    /// An event, or a result by its name (`done.invoke.<id>`).
    Event {
        name: Arc<str>,
        data: Value,
    },
    Advance {
        ms: i64,
    },
    /// A pending timer fires, whenever it is due.
    Fire {
        timer: u64,
    },
    /// A question expires, whenever that is.
    Expire {
        invocation: u64,
    },
}

/// Who causes an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum InputCause {
    Outside,
    Person,
    Service,
    Timer,
    /// An event that the chart sent could not be delivered.
    Undelivered,
    /// Time passes and nothing is due.
    Wait,
}

impl InputCause {
    /// Returns true if the instance gets there by itself.
    pub(crate) fn is_autonomous(self) -> bool {
        matches!(self, InputCause::Service | InputCause::Timer)
    }
}

/// One step between two states at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The number of its [`Label`].
    pub(crate) label: u32,
}

/// What a step consists of. Many steps have the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label {
    /// The number of its input.
    pub(crate) input: u32,
    pub(crate) cause: InputCause,
    /// The steps of a state with the same number differ only in decisions on unknown data.
    pub(crate) group: u16,
    /// Only time passes, or an event that nothing handles.
    pub(crate) is_idle: bool,
    /// Numbers of the pending work that ended in this step.
    pub(crate) ends: Numbers<u16>,
    /// Numbers of the effects that were started.
    pub(crate) starts: Numbers<u16>,
    /// Numbers of what the effects spend.
    pub(crate) spends: Numbers<u16>,
    /// Numbers of the budgets whose states were left, and may have been entered again.
    pub(crate) left: Numbers<u16>,
    /// Transitions that were taken, if configurations are numbered.
    pub(crate) taken: Numbers<u32>,
    /// What it does to counters and lists that are tested, in explorations with unknown data.
    pub(crate) progress: ProgressMarks,
    /// Bits by number of the `leads_to` property: `from` holds, `to` holds.
    pub(crate) from_bits: u64,
    pub(crate) to_bits: u64,
    /// Answers of people after the step, by number of the question.
    pub(crate) answers: Numbers<i8>,
}

/// Pending work of a state, by its numbers. Many states have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PendingWork {
    /// Pending timers and calls that end by themselves.
    pub(crate) work: Numbers<u16>,
    /// Questions to people, and child charts that end if people answer.
    pub(crate) questions: Numbers<u16>,
    /// Child charts that end if events arrive from outside, or if people answer and events arrive.
    pub(crate) for_events: Numbers<u16>,
    pub(crate) for_both: Numbers<u16>,
    /// Those of the work that are timers.
    pub(crate) timers: Numbers<u16>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StateNode {
    /// The step that found it first; `None` for the start.
    pub(crate) parent: Option<NonMaxU32>,
    /// The number of its configuration, if those are numbered.
    pub(crate) configuration: u32,
    /// Range of its edges.
    pub(crate) edges: (u32, u32),
    /// The number of its [`PendingWork`].
    pub(crate) pending: u32,
    pub(crate) is_expanded: bool,
    pub(crate) is_over: bool,
    /// The instance failed and waits for a person to retry or cancel it.
    pub(crate) is_failed: bool,
    /// A person has been asked.
    pub(crate) asks: bool,
    /// Work is pending that can never answer.
    pub(crate) has_dead_work: bool,
    /// Something can happen here.
    pub(crate) has_inputs: bool,
    /// Events from outside are handled here.
    pub(crate) takes_events: bool,
}

/// The number of a step, in four bytes also where there may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NonMaxU32(std::num::NonZeroU32);

impl NonMaxU32 {
    pub(crate) fn new(number: u32) -> Option<Self> {
        std::num::NonZeroU32::new(number.wrapping_add(1)).map(Self)
    }

    pub(crate) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// A state that an instance may start in, with the bits of its start: see [`Label`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartState {
    pub(crate) node: u32,
    pub(crate) from_bits: u64,
    pub(crate) to_bits: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<StateNode>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) labels: Interner<Label>,
    pub(crate) pending: Interner<PendingWork>,
    /// All inputs, by their number.
    pub(crate) inputs: Vec<ModelInput>,
    pub(crate) starts: Vec<StartState>,
    /// Effects that the start itself started.
    pub(crate) start_starts: Vec<u16>,
    /// Groups of a state of which one outcome stays in it, in explorations with unknown data.
    pub(crate) ignored: FxHashMap<u32, Vec<u16>>,
    /// False if a limit ended the exploration.
    pub(crate) complete: bool,
}

/// Values that are stored once, by number.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    numbers: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    pub(crate) fn number(&mut self, value: T) -> u32 {
        if let Some(known) = self.numbers.get(&value) {
            return *known;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}

impl Graph {
    pub(crate) fn label(&self, edge: &Edge) -> &Label {
        self.labels.get(edge.label)
    }

    pub(crate) fn input(&self, edge: &Edge) -> &ModelInput {
        &self.inputs[self.label(edge).input as usize]
    }

    /// Returns the pending work of a state.
    pub(crate) fn pending_of(&self, node: u32) -> &PendingWork {
        self.pending.get(self.nodes[node as usize].pending)
    }

    pub(crate) fn edges_of(&self, node: u32) -> &[Edge] {
        let (first, end) = self.nodes[node as usize].edges;
        &self.edges[first as usize..end as usize]
    }

    /// Returns the shortest inputs to a state.
    pub(crate) fn path_to(&self, node: u32) -> Vec<ModelInput> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some(edge) = self.nodes[at as usize].parent {
            let edge = &self.edges[edge.get() as usize];
            path.push(self.input(edge).clone());
            at = edge.from;
        }
        path.reverse();
        path
    }

    /// Returns the shortest way from one state to another along the given edges, as edge numbers.
    pub(crate) fn way(
        &self,
        from: u32,
        is_goal: impl Fn(u32) -> bool,
        may: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<u32>> {
        let mut found: FxHashMap<u32, Option<u32>> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([from]);
        found.insert(from, None);
        while let Some(node) = queue.pop_front() {
            if is_goal(node) {
                let (mut way, mut at) = (Vec::new(), node);
                while let Some(Some(edge)) = found.get(&at) {
                    way.push(*edge);
                    at = self.edges[*edge as usize].from;
                }
                way.reverse();
                return Some(way);
            }
            let (first, end) = self.nodes[node as usize].edges;
            for number in first..end {
                let edge = &self.edges[number as usize];
                if may(edge) && !found.contains_key(&edge.to) {
                    found.insert(edge.to, Some(number));
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }

    /// Returns the strongly connected components of the given part of the graph; those with a cycle only.
    pub(crate) fn cycles(&self, has: impl Fn(u32) -> bool, may: impl Fn(&Edge) -> bool) -> Vec<Vec<u32>> {
        let mut components = self.components_of(has, &may);
        components.retain(|component| {
            component.len() > 1
                || self.edges_of(component[0]).iter().any(|edge| edge.to == component[0] && may(edge))
        });
        components
    }

    /// Returns all strongly connected components, successors first.
    pub(crate) fn components(&self) -> Vec<Vec<u32>> {
        self.components_of(|_| true, |_| true)
    }

    fn components_of(&self, has: impl Fn(u32) -> bool, may: impl Fn(&Edge) -> bool) -> Vec<Vec<u32>> {
        let mut tarjan = Tarjan {
            index: vec![u32::MAX; self.nodes.len()],
            low: vec![0; self.nodes.len()],
            on_stack: vec![false; self.nodes.len()],
            stack: Vec::new(),
            next: 0,
            components: Vec::new(),
        };
        for node in 0..self.nodes.len() as u32 {
            if has(node) && tarjan.index[node as usize] == u32::MAX {
                tarjan.search(self, node, &has, &may);
            }
        }
        tarjan.components
    }
}

struct Tarjan {
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    next: u32,
    components: Vec<Vec<u32>>,
}

impl Tarjan {
    /// Without recursion: a chain of states may be longer than a thread's stack.
    fn search(&mut self, graph: &Graph, root: u32, has: &impl Fn(u32) -> bool, may: &impl Fn(&Edge) -> bool) {
        let mut calls: Vec<(u32, u32)> = vec![(root, graph.nodes[root as usize].edges.0)];
        self.open(root);
        while let Some((node, edge)) = calls.pop() {
            if edge < graph.nodes[node as usize].edges.1 {
                calls.push((node, edge + 1));
                let next = &graph.edges[edge as usize];
                if !may(next) || !has(next.to) {
                    continue;
                }
                if self.index[next.to as usize] == u32::MAX {
                    self.open(next.to);
                    calls.push((next.to, graph.nodes[next.to as usize].edges.0));
                } else if self.on_stack[next.to as usize] {
                    self.low[node as usize] = self.low[node as usize].min(self.index[next.to as usize]);
                }
                continue;
            }
            if let Some((parent, _)) = calls.last() {
                self.low[*parent as usize] = self.low[*parent as usize].min(self.low[node as usize]);
            }
            if self.low[node as usize] == self.index[node as usize] {
                let mut component = Vec::new();
                while let Some(member) = self.stack.pop() {
                    self.on_stack[member as usize] = false;
                    component.push(member);
                    if member == node {
                        break;
                    }
                }
                component.sort_unstable();
                self.components.push(component);
            }
        }
    }

    fn open(&mut self, node: u32) {
        self.index[node as usize] = self.next;
        self.low[node as usize] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node as usize] = true;
    }
}

/// A trace that `rawko simulate` replays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counterexample {
    /// The input that the instance is started with.
    pub input: Value,
    /// In the format of `rawko simulate --events`.
    pub events: Vec<Value>,
    /// In the format of `rawko simulate --services`.
    pub services: Value,
    /// The first event of the loop of a liveness violation.
    pub loop_from: Option<usize>,
    /// What the trace ends in, in words.
    pub reason: String,
}

impl Counterexample {
    /// Returns the trace as `rawko verify --json` prints it.
    pub fn to_value(&self) -> Value {
        let mut map = Map::default();
        map.insert("input".into(), self.input.clone());
        map.insert("services".into(), self.services.clone());
        map.insert("events".into(), Value::list(self.events.clone()));
        if let Some(loop_from) = self.loop_from {
            map.insert("loop_from".into(), Value::Int(loop_from as i64));
        }
        Value::Map(Arc::new(map))
    }
}

impl ModelInput {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            ModelInput::Event { name, data } if data.is_null() => {
                Value::map([("type", Value::Str(Arc::clone(name)))])
            }
            ModelInput::Event { name, data } => {
                Value::map([("type", Value::Str(Arc::clone(name))), ("data", data.clone())])
            }
            ModelInput::Advance { ms } => Value::map([("advance", Value::Int(*ms))]),
            // Only where times are general, and then a trace is not shown.
            ModelInput::Fire { .. } | ModelInput::Expire { .. } => Value::Null,
        }
    }
}
