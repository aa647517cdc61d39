//! Which active states, timers and invokes of the two charts correspond. What remains in the new chart is new work.

use std::sync::Arc;

use rawko_core::{Chart, Configuration, InvokeId, Migration, NodeId};
use rustc_hash::FxHashSet;

use super::MissingWork;
use super::states::StateMap;

/// The correspondence of the active parts of two charts.
pub(super) struct Counterparts<'c> {
    old: &'c Chart,
    new: &'c Chart,
    migration: &'c Migration,
    /// Active states that correspond, old and new.
    states: Vec<(NodeId, NodeId)>,
    /// Every active state of the old chart.
    before: Vec<NodeId>,
    /// Every active state of the new chart.
    active: Vec<NodeId>,
}

/// The heir of a timer or an invoke.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heir<T> {
    Found(T),
    /// The mapping ends it.
    Ended,
    /// None, for this reason.
    Missing(String),
}

impl<'c> Counterparts<'c> {
    pub(super) fn new(
        old: &'c Chart,
        new: &'c Chart,
        migration: &'c Migration,
        images: &StateMap<'_>,
        configuration: &Configuration,
    ) -> Self {
        let active = active_nodes(new, configuration);
        let mut states = vec![(NodeId::ROOT, NodeId::ROOT)];
        let before = active_nodes(old, images.configuration_before());
        for &node in before.iter().skip(1) {
            let found = images.image(node).into_iter().filter(|image| active.contains(image));
            states.extend(found.map(|image| (node, image)));
        }
        Self { old, new, migration, states, before, active }
    }

    /// Returns the heir of an invoke of an old state.
    pub(super) fn invoke(&self, node: NodeId, id: &Arc<str>) -> Heir<(NodeId, InvokeId)> {
        match self.migration.invokes.iter().find(|(old, _)| old == id) {
            Some((_, None)) => return Heir::Ended,
            Some((_, Some(heir))) => {
                return match self.active_invoke(heir) {
                    Some(found) => Heir::Found(found),
                    None => Heir::Missing(format!(
                        "open call `{id}` becomes `{heir}`, whose state is not active in the image"
                    )),
                };
            }
            None => {}
        }
        if let Some(found) = self.active_invoke(id).or_else(|| self.unnamed_invoke(node, id)) {
            return Heir::Found(found);
        }
        let help = "map it under `invokes`, to `null` to end it";
        let is_elsewhere =
            self.new.node_ids().any(|of| self.new.invokes_of(of).any(|(_, known)| known == id));
        Heir::Missing(match is_elsewhere {
            true => format!("open call `{id}` belongs to a state that is not active in the image; {help}"),
            false => format!("open call `{id}` has no heir in the new chart; {help}"),
        })
    }

    fn active_invoke(&self, id: &Arc<str>) -> Option<(NodeId, InvokeId)> {
        self.active.iter().find_map(|node| {
            let mut own = self.new.invokes_of(*node);
            own.find(|(_, known)| *known == id).map(|(invoke, _)| (*node, invoke))
        })
    }

    /// An invoke without an id of its own is named after its state, so it is found by its place there.
    fn unnamed_invoke(&self, node: NodeId, id: &Arc<str>) -> Option<(NodeId, InvokeId)> {
        let rest = id.strip_prefix(&*self.old.node(node).path)?;
        if !rest.is_empty() && !rest.starts_with('.') {
            return None;
        }
        self.states.iter().filter(|(old, _)| *old == node).find_map(|(_, new)| {
            let name: Arc<str> = format!("{}{rest}", self.new.node(*new).path).into();
            self.active_invoke(&name)
        })
    }

    /// Returns the heir of an `after` timer.
    pub(super) fn timer(&self, node: NodeId, index: u32) -> Heir<(NodeId, u32)> {
        let path = &self.old.node(node).path;
        let label = self.old.timer_label(node, index);
        let ends = |timer: &&rawko_core::OldTimer| {
            let is_its = timer.delay.as_ref().is_none_or(|delay| **delay == *bare(label));
            timer.state == *path && is_its && timer.heir.is_none()
        };
        if self.migration.timers.iter().any(|timer| ends(&timer)) {
            return Heir::Ended;
        }
        for (_, new) in self.states.iter().filter(|(old, _)| *old == node) {
            if let Some(heir) = self.paired(node, *new).into_iter().find(|(old, _)| *old == index) {
                return Heir::Found((*new, heir.1));
            }
        }
        if let Some(found) = self.mapped_timer(node, label) {
            return Heir::Found(found);
        }
        let state = if path.is_empty() { self.old.id() } else { path };
        Heir::Missing(format!(
            "timer `{label}` of `{state}` has no heir in the new chart; map it under `timers`, to `null` to end it"
        ))
    }

    /// Returns the timer with the mapped delay in any active state: the old state may have no counterpart that has it.
    fn mapped_timer(&self, node: NodeId, label: &str) -> Option<(NodeId, u32)> {
        let path = &self.old.node(node).path;
        let its = |timer: &&rawko_core::OldTimer| {
            timer.state == *path && timer.delay.as_ref().is_none_or(|delay| **delay == *bare(label))
        };
        let heir = self.migration.timers.iter().find(its)?.heir.as_deref()?;
        self.active.iter().rev().find_map(|new| {
            let mut own = 0..self.new.timers_of(*new);
            own.find(|index| bare(self.new.timer_label(*new, *index)) == heir).map(|index| (*new, index))
        })
    }

    /// Pairs the timers of two states: as mapped, by equal delays, and the only ones left.
    fn paired(&self, old: NodeId, new: NodeId) -> Vec<(u32, u32)> {
        let path = &self.old.node(old).path;
        let mut mine: Vec<u32> = (0..self.old.timers_of(old)).collect();
        let mut theirs: Vec<u32> = (0..self.new.timers_of(new)).collect();
        let mut pairs = Vec::new();
        let mapped = |index: u32| {
            let label = bare(self.old.timer_label(old, index));
            let its = |timer: &&rawko_core::OldTimer| {
                timer.state == *path && timer.delay.as_ref().is_none_or(|delay| **delay == *label)
            };
            self.migration.timers.iter().find(its)
        };
        mine.retain(|index| match mapped(*index) {
            None => true,
            Some(timer) => {
                let is_heir =
                    |other: &u32| timer.heir.as_deref() == Some(bare(self.new.timer_label(new, *other)));
                if let Some(at) = theirs.iter().position(is_heir) {
                    pairs.push((*index, theirs.remove(at)));
                }
                false
            }
        });
        mine.retain(|index| {
            let label = self.old.timer_label(old, *index);
            let same = theirs.iter().position(|other| self.new.timer_label(new, *other) == label);
            same.map(|at| pairs.push((*index, theirs.remove(at)))).is_none()
        });
        if let ([one], [other]) = (&mine[..], &theirs[..]) {
            pairs.push((*one, *other));
        }
        pairs
    }

    /// Returns the timers and invokes of active states without a counterpart.
    pub(super) fn missing(&self) -> MissingWork {
        let mut missing = MissingWork::default();
        let (mut calls, mut timers) = (FxHashSet::default(), FxHashSet::default());
        for old in &self.before {
            for (_, id) in self.old.invokes_of(*old) {
                if let Heir::Found((_, invoke)) = self.invoke(*old, id) {
                    calls.insert(invoke);
                }
            }
            for index in 0..self.old.timers_of(*old) {
                if let Heir::Found(timer) = self.timer(*old, index) {
                    timers.insert(timer);
                }
            }
        }
        for node in &self.active {
            let own = (0..self.new.timers_of(*node)).map(|index| (*node, index));
            missing.timers.extend(own.filter(|timer| !timers.contains(timer)));
            let own = self.new.invokes_of(*node).map(|(invoke, _)| invoke);
            missing.invokes.extend(own.filter(|invoke| !calls.contains(invoke)).map(|it| (*node, it)));
        }
        let path = |chart: &Chart, node: NodeId| Arc::clone(&chart.node(node).path);
        missing.renamed =
            self.states.iter().map(|(old, new)| (path(self.old, *old), path(self.new, *new))).collect();
        missing
    }
}

fn bare(label: &str) -> &str {
    label.strip_prefix("after ").unwrap_or(label)
}

/// Returns every active state, outermost first.
fn active_nodes(chart: &Chart, configuration: &Configuration) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    for leaf in configuration.frontier() {
        let mut next = Some(*leaf);
        while let Some(node) = next {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
            next = chart.node(node).parent;
        }
    }
    nodes.sort_unstable();
    nodes
}
