//! The built-in properties that need the whole graph: traps, stalls, approvals and budgets. Those that a single step
//! shows are found while exploring.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::explore::ExplorationResult;
use crate::graph::{Counterexample, Edge, Graph, InputCause, ModelInput};
use crate::model::Model;
use crate::spending;
use crate::trace::counterexample;
use crate::witness;

/// The names of the built-in properties, in the order of the report.
pub const BUILT_IN: [&str; 8] = [
    "no_trap",
    "no_stall",
    "bounded_eventless",
    "failures_handled",
    "approval_respected",
    "read_only_phases",
    "bounded_children",
    "bounded_by_budget",
];

/// Returns the violation of a built-in property, if there is one. In `bases` nothing is generalized.
pub(crate) fn violation(
    name: &str,
    model: &Model,
    explored: &ExplorationResult,
    bases: &[&ExplorationResult],
) -> Option<Counterexample> {
    match name {
        "no_trap" => no_trap(model, &explored.graph),
        "no_stall" => no_stall(model, &explored.graph),
        "approval_respected" => approval_respected(model, explored, bases),
        "bounded_by_budget" => spending::violation(model, explored),
        _ => explored.built_in.get(name).cloned(),
    }
}

/// Returns why a property without a violation is not proved: something outside the chart decides.
pub(crate) fn open(name: &str, explored: &ExplorationResult) -> Option<String> {
    match name {
        "approval_respected" => asked_by_child(explored),
        "bounded_by_budget" => spending::open(explored),
        "bounded_eventless" => open_loop(explored),
        "read_only_phases" => explored.may_write.clone(),
        _ => None,
    }
}

fn open_loop(explored: &ExplorationResult) -> Option<String> {
    let rounds = explored
        .open_loop
        .as_ref()
        .map(|guard| format!("`{guard}` may hold in more rounds without an event than a step may have"));
    let of_delays = || "the delays of all timers of a loop are computed, and may be 0".to_owned();
    rounds.or_else(|| explored.has_open_delay.then(of_delays))
}

/// Returns true if nothing can happen at a state any more.
fn is_dead(graph: &Graph, node: u32) -> bool {
    let at = &graph.nodes[node as usize];
    at.is_expanded && !at.is_over && !at.is_failed && !at.has_inputs
}

fn no_trap(model: &Model, graph: &Graph) -> Option<Counterexample> {
    let is_trap = |node: &u32| is_dead(graph, *node) && !graph.nodes[*node as usize].has_dead_work;
    // With final states, a state without a way out is among those that do not reach one.
    let node = match model.has_final() {
        true => lost(graph)?,
        false => (0..graph.nodes.len() as u32).find(is_trap)?,
    };
    let reason = match is_trap(&node) {
        true => "this state is not final and has no way out",
        false => "no final state can be reached from here",
    };
    Some(counterexample(model, &graph.path_to(node), None, reason.to_owned()))
}

/// Returns the first state from which neither an end nor a question to a person can be reached.
fn lost(graph: &Graph) -> Option<u32> {
    // The predecessors of all states behind one another, and where those of each begin.
    let mut first = vec![0u32; graph.nodes.len() + 1];
    graph.edges.iter().for_each(|edge| first[edge.to as usize + 1] += 1);
    (1..first.len()).for_each(|at| first[at] += first[at - 1]);
    let (mut before, mut next) = (vec![0u32; graph.edges.len()], first.clone());
    for edge in &graph.edges {
        let place = &mut next[edge.to as usize];
        before[*place as usize] = edge.from;
        *place += 1;
    }
    let is_goal = |node: &u32| {
        let at = &graph.nodes[*node as usize];
        let is_stall = is_dead(graph, *node) && at.has_dead_work;
        at.is_over || at.is_failed || at.asks || !at.is_expanded || is_stall
    };
    let mut queue: Vec<u32> = (0..graph.nodes.len() as u32).filter(is_goal).collect();
    let mut reaches = vec![false; graph.nodes.len()];
    queue.iter().for_each(|node| reaches[*node as usize] = true);
    while let Some(node) = queue.pop() {
        let (from, end) = (first[node as usize], first[node as usize + 1]);
        for from in &before[from as usize..end as usize] {
            if !reaches[*from as usize] {
                reaches[*from as usize] = true;
                queue.push(*from);
            }
        }
    }
    reaches.iter().position(|reaches| !reaches).map(|node| node as u32)
}

fn no_stall(model: &Model, graph: &Graph) -> Option<Counterexample> {
    let is_stall = |node: &u32| is_dead(graph, *node) && graph.nodes[*node as usize].has_dead_work;
    let node = (0..graph.nodes.len() as u32).find(is_stall)?;
    let reason = "the pending work can never answer, and nothing else can happen".to_owned();
    Some(counterexample(model, &graph.path_to(node), None, reason))
}

/// After a denial, no effect that only the approval leads to is started without a new approval.
fn approval_respected(
    model: &Model,
    explored: &ExplorationResult,
    bases: &[&ExplorationResult],
) -> Option<Counterexample> {
    let graph = &explored.graph;
    let mut best: Option<(usize, Counterexample)> = None;
    for (number, question) in explored.questions.iter().enumerate() {
        let (guarded, is_named) = guarded_by(model, explored, bases, number);
        let is_refused = |answer: i8| if is_named { answer != 1 } else { answer == 2 };
        if is_named && let Some(effect) = graph.start_starts.iter().find(|effect| guarded.contains(effect)) {
            let reason = refusal(explored, *effect, question);
            return Some(counterexample(model, &[], None, reason));
        }
        for edge in graph.edges.iter().filter(|edge| is_refused(graph.label(edge).answers[number])) {
            let Some(effect) = graph.label(edge).starts.iter().find(|effect| guarded.contains(effect)) else {
                continue;
            };
            let mut inputs = graph.path_to(edge.from);
            inputs.push(graph.input(edge).clone());
            if best.as_ref().is_none_or(|(length, _)| inputs.len() < *length) {
                let reason = refusal(explored, *effect, question);
                best = Some((inputs.len(), counterexample(model, &inputs, None, reason)));
            }
        }
    }
    best.map(|(_, trace)| trace)
}

/// Returns the effects that an approval is for, and true if the chart names them.
pub(crate) fn guarded_by(
    model: &Model,
    explored: &ExplorationResult,
    bases: &[&ExplorationResult],
    number: usize,
) -> (Vec<u16>, bool) {
    let question = &explored.questions[number];
    // Several states may use the same id.
    let invokes = model.invokes().filter(|(_, invoke)| invoke.id == *question);
    let guards: Vec<&Arc<str>> = invokes.flat_map(|(_, invoke)| &invoke.guards).collect();
    let among = |is_guarded: &dyn Fn(&Arc<str>) -> bool| -> Vec<u16> {
        let effects = (0u16..).zip(&explored.effects);
        effects.filter(|(_, effect)| is_guarded(effect)).map(|(number, _)| number).collect()
    };
    if !guards.is_empty() {
        // Items of an `each` are effects of their invoke.
        let is_named = |effect: &Arc<str>| guards.iter().any(|it| **it == *effect || &***it == base(effect));
        return (among(&is_named), true);
    }
    let free: Vec<Arc<str>> = bases.iter().flat_map(|basis| started_without(basis, number)).collect();
    // Asking again is not an effect that the answer guards.
    (among(&|effect: &Arc<str>| !free.contains(effect) && base(effect) != &**question), false)
}

/// Returns the id of the invoke of an effect.
fn base(effect: &str) -> &str {
    effect.split('[').next().unwrap_or(effect)
}

/// Returns the effects that start only after an approval by a question that names none.
pub(crate) fn needs_approval(model: &Model, explored: &ExplorationResult, question: &str) -> Vec<Arc<str>> {
    let graph = &explored.graph;
    let Some(number) = explored.questions.iter().position(|known| **known == *question) else {
        return Vec::new();
    };
    if !graph.complete {
        return Vec::new();
    }
    let (guarded, _) = guarded_by(model, explored, &[explored], number);
    let refused = graph.edges.iter().map(|edge| graph.label(edge)).filter(|label| label.answers[number] == 2);
    let started: BTreeSet<u16> = refused.flat_map(|label| label.starts.iter().copied()).collect();
    let approved = guarded.iter().filter(|effect| !started.contains(effect));
    let names: BTreeSet<Arc<str>> =
        approved.map(|effect| base(&explored.effects[usize::from(*effect)]).into()).collect();
    names.into_iter().collect()
}

fn refusal(explored: &ExplorationResult, effect: u16, question: &str) -> String {
    format!("`{}` starts without an approval by `{question}`", explored.effects[usize::from(effect)])
}

/// Returns the effects that are started although the question is never answered with a result. A way that an event from
/// outside continues after a refusal does not count if a denial has to be retried in the same way: it is the hole.
fn started_without(explored: &ExplorationResult, number: usize) -> Vec<Arc<str>> {
    let graph = &explored.graph;
    let is_answer = |edge: &Edge| is_answer(explored, edge, number);
    let is_denied = |edge: &Edge| graph.label(edge).answers[number] == 2;
    let is_outside = |edge: &Edge| graph.label(edge).cause == InputCause::Outside;
    let starts: Vec<u32> = graph.starts.iter().map(|start| start.node).collect();
    let any = started(explored, &starts, |edge| !is_answer(edge));
    // An event that is deferred comes from outside, whenever the chart takes it.
    let is_deferred = |edge: &Edge| is_outside(edge) && graph.label(edge).is_idle;
    // A step from outside keeps an earlier answer.
    let is_retried = |edge: &Edge| is_deferred(edge) || is_outside(edge) && is_denied(edge);
    let promptly = started(explored, &starts, |edge| !(is_answer(edge) || is_retried(edge)));
    let without_deferred = reached(explored, &starts, |edge| !is_deferred(edge));
    let is_plain = |edge: &&Edge| without_deferred[edge.from as usize];
    let denials = || graph.edges.iter().filter(|edge| is_answer(edge) && is_denied(edge)).filter(is_plain);
    let denied: Vec<u32> = denials().map(|edge| edge.to).collect();
    let mut by_default = started(explored, &denied, |edge| graph.label(edge).cause.is_autonomous());
    for effect in denials().flat_map(|edge| &graph.label(edge).starts) {
        by_default[usize::from(*effect)] = true;
    }
    let at_start = |effect: usize| graph.start_starts.iter().any(|started| usize::from(*started) == effect);
    let is_free =
        |effect: &usize| at_start(*effect) || promptly[*effect] || (any[*effect] && by_default[*effect]);
    (0..explored.effects.len()).filter(is_free).map(|effect| Arc::clone(&explored.effects[effect])).collect()
}

/// Returns true for an answer of a person, by the number of the question.
fn is_answer(explored: &ExplorationResult, edge: &Edge, number: usize) -> bool {
    let question = &explored.questions[number];
    let of_question = |name: &str| name.strip_prefix("done.invoke.").map(base) == Some(&**question);
    explored.graph.label(edge).cause == InputCause::Person
        && matches!(explored.graph.input(edge), ModelInput::Event { name, .. } if of_question(name))
}

/// Returns the steps of ways to effects on which the question is not answered, and no event from outside follows a refusal.
pub(crate) fn ways_without<'g>(
    explored: &'g ExplorationResult,
    number: usize,
    effects: &[u16],
) -> Vec<&'g Edge> {
    let graph = &explored.graph;
    let is_retried = |edge: &Edge| {
        let label = graph.label(edge);
        label.cause == InputCause::Outside && (label.is_idle || label.answers[number] == 2)
    };
    witness::ways(explored, effects, |edge| !is_answer(explored, edge, number) && !is_retried(edge))
}

/// Returns the effects that start only after a child chart that asks a person: the chart sees the result of the child, and
/// not the answer.
fn asked_by_child(explored: &ExplorationResult) -> Option<String> {
    let graph = &explored.graph;
    let starts: Vec<u32> = graph.starts.iter().map(|start| start.node).collect();
    explored.asking.iter().find_map(|(invoke, question)| {
        // Items of an `each` are children as well.
        let is_result = |edge: &Edge| match graph.input(edge) {
            ModelInput::Event { name, .. } => ["done.invoke.", "error.invoke."]
                .iter()
                .any(|prefix| name.strip_prefix(prefix).map(base) == Some(&**invoke)),
            ModelInput::Advance { .. } | ModelInput::Fire { .. } | ModelInput::Expire { .. } => false,
        };
        let mut free = started(explored, &starts, |edge| !is_result(edge));
        graph.start_starts.iter().for_each(|effect| free[usize::from(*effect)] = true);
        let asks = |effect: &str| explored.questions.iter().any(|known| **known == *base(effect));
        let mut effects = explored.effects.iter().zip(&free);
        let (effect, _) = effects.find(|(effect, is_free)| !**is_free && !asks(effect))?;
        Some(format!(
            "`{effect}` starts after `{invoke}`, whose child asks a person (`{question}`): the answer is not known here"
        ))
    })
}

/// Returns the effects that are started on ways along the given edges, by number.
fn started(explored: &ExplorationResult, from: &[u32], may: impl Fn(&Edge) -> bool) -> Vec<bool> {
    let graph = &explored.graph;
    let mut started = vec![false; explored.effects.len()];
    reached(explored, from, |edge| {
        let may = may(edge);
        if may {
            graph.label(edge).starts.iter().for_each(|effect| started[usize::from(*effect)] = true);
        }
        may
    });
    started
}

/// Returns the states on ways along the given edges, by number.
fn reached(explored: &ExplorationResult, from: &[u32], mut may: impl FnMut(&Edge) -> bool) -> Vec<bool> {
    let graph = &explored.graph;
    let mut reached = vec![false; graph.nodes.len()];
    from.iter().for_each(|node| reached[*node as usize] = true);
    let mut queue = from.to_vec();
    while let Some(node) = queue.pop() {
        for edge in graph.edges_of(node) {
            if may(edge) && !reached[edge.to as usize] {
                reached[edge.to as usize] = true;
                queue.push(edge.to);
            }
        }
    }
    reached
}

/// Returns true if an end, a failure or a question to a person is reached from every state whichever way guards on
/// unknown data go: in each state some input leads closer, with every decision.
pub(crate) fn ends_surely(graph: &Graph) -> bool {
    let mut good: Vec<bool> = graph.nodes.iter().map(|at| at.is_over || at.is_failed || at.asks).collect();
    loop {
        let mut has_changed = false;
        for node in (0..graph.nodes.len() as u32).rev() {
            if good[node as usize] {
                continue;
            }
            let edges = graph.edges_of(node);
            let group_of = |edge: &Edge| graph.label(edge).group;
            let leads = |group: u16| {
                let mut of_group = edges.iter().filter(|edge| group_of(edge) == group);
                !graph.ignored.get(&node).is_some_and(|ignored| ignored.contains(&group))
                    && of_group.all(|edge| good[edge.to as usize])
            };
            if edges.iter().any(|edge| good[edge.to as usize] && leads(group_of(edge))) {
                good[node as usize] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            return good.iter().all(|good| *good);
        }
    }
}

/// Returns true if every state has an input of its own that needs no guard: a timer, an answer, or the end.
pub(crate) fn continues_surely(graph: &Graph) -> bool {
    let is_own = |edge: &Edge| {
        matches!(graph.label(edge).cause, InputCause::Service | InputCause::Timer | InputCause::Person)
    };
    let mut nodes = (0u32..).zip(&graph.nodes);
    nodes.all(|(node, at)| at.is_over || at.is_failed || graph.edges_of(node).iter().any(is_own))
}
