//! One microstep: leave, act, enter. Exits innermost first in reverse document order; entries in document order.

use smallvec::SmallVec;

use super::StepError;
use super::faults::ExpressionSite;
use super::run::Macrostep;
use super::select::{Selected, SelectedTransitions};
use super::trace::{MacrostepTrace, TraceEntry};
use crate::blueprint::{HistoryVariant, NodeKind};
use crate::entry_set::EntrySet;
use crate::ids::NodeId;
use crate::tables::{NodeEntry, TransitionRoute};

type Nodes = SmallVec<[NodeId; 16]>;

impl Macrostep<'_> {
    /// Takes these transitions together.
    pub(super) fn microstep(&mut self, selection: SelectedTransitions) -> Result<(), StepError> {
        self.count_microstep()?;
        self.handled = true;
        if self.take_plain(&selection) {
            return Ok(());
        }
        if selection.iter().all(|selected| selected.stays(self.tables())) {
            self.act(&selection);
            return Ok(());
        }
        let exiting = self.exit_set(&selection);
        self.record_history(&exiting);
        for node in exiting {
            self.exit(node);
        }
        self.act(&selection);
        self.enter_all(&selection);
        Ok(())
    }

    fn act(&mut self, selection: &SelectedTransitions) {
        let tables = self.tables();
        for selected in selection {
            self.run_block(&tables.transition(selected.id).actions, ExpressionSite::Transition(selected.id));
        }
    }

    /// Takes plain transitions by replacing the innermost nodes. Returns `false`, without any change, if at least one
    /// of them has side effects.
    fn take_plain(&mut self, selection: &SelectedTransitions) -> bool {
        let tables = self.tables();
        if !selection.iter().all(|selected| self.is_plain(selected)) {
            return false;
        }
        self.trace_plain(selection);
        for selected in selection {
            if let (Some(domain), Some(leaves)) = (selected.domain, selected.plain(tables)) {
                self.snapshot.configuration.replace(domain, tables.last[domain.index()], leaves);
            }
        }
        true
    }

    fn is_plain(&self, selected: &Selected) -> bool {
        let tables = self.tables();
        let Some(domain) = selected.domain else { return false };
        let members = self.snapshot.configuration.within(domain, tables.last[domain.index()]);
        selected.plain(tables).is_some() && members.iter().all(|node| tables.is_quiet_to_leave(*node, domain))
    }

    fn trace_plain(&mut self, selection: &SelectedTransitions) {
        let Some(mut trace) = self.trace.take() else { return };
        // Usually the transitions are already ordered by domain.
        if selection.is_sorted_by_key(|selected| selected.domain) {
            self.trace_moves(selection, &mut trace);
        } else {
            let mut by_domain = selection.clone();
            by_domain.sort_unstable_by_key(|selected| selected.domain);
            self.trace_moves(&by_domain, &mut trace);
        }
        self.trace = Some(trace);
    }

    /// Domains do not overlap: in reverse they give the exits in order, forwards the entries.
    fn trace_moves(&self, by_domain: &[Selected], trace: &mut MacrostepTrace) {
        let tables = self.tables();
        for domain in by_domain.iter().rev().filter_map(|selected| selected.domain) {
            self.for_each_exit(domain, |node| trace.entries.push(TraceEntry::Exited { node }));
        }
        for entered in by_domain.iter().filter_map(|selected| selected.fixed_entries(tables)) {
            trace.entries.extend(entered.iter().map(|entry| TraceEntry::Entered { node: entry.node }));
        }
    }

    fn count_microstep(&mut self) -> Result<(), StepError> {
        self.microsteps += 1;
        if self.microsteps > self.chart.microsteps_max {
            let configuration = self.active_paths();
            return Err(StepError::Runaway { limit: self.chart.microsteps_max, configuration });
        }
        Ok(())
    }

    /// Returns the nodes to leave, innermost first in reverse document order.
    fn exit_set(&self, selection: &SelectedTransitions) -> Nodes {
        let mut exiting = Nodes::new();
        // Domains do not overlap, so processing them in reverse document order keeps the result in that order.
        let mut domains: SmallVec<[NodeId; 4]> =
            selection.iter().filter_map(|selected| selected.domain).collect();
        domains.sort_unstable();
        for domain in domains.into_iter().rev() {
            self.for_each_exit(domain, |node| exiting.push(node));
        }
        exiting
    }

    /// Visits the active nodes below a domain in exit order.
    #[inline]
    fn for_each_exit(&self, domain: NodeId, mut visit: impl FnMut(NodeId)) {
        let tables = self.tables();
        let members = self.snapshot.configuration.within(domain, tables.last[domain.index()]);
        for (index, leaf) in members.iter().enumerate().rev() {
            // An ancestor is exited after its earlier members: it contains them too.
            let stop = if index == 0 { domain } else { members[index - 1].max(domain) };
            let mut at = Some(*leaf);
            while let Some(node) = at.filter(|node| *node > stop) {
                visit(node);
                at = tables.node(node).parent;
            }
        }
    }

    /// Records history when the parent exits, before exit actions, each time anew.
    fn record_history(&mut self, exiting: &[NodeId]) {
        let tables = self.tables();
        if !tables.any_history {
            return;
        }
        for node in exiting {
            for history in &tables.node(*node).more().history {
                let recorded = self.recorded_for(*node, *history);
                let more = self.more_mut();
                match more.history.iter_mut().find(|(known, _)| known == history) {
                    Some((_, nodes)) => *nodes = recorded,
                    None => more.history.push((*history, recorded)),
                }
            }
        }
    }

    fn recorded_for(&self, parent: NodeId, history: NodeId) -> Box<[NodeId]> {
        let tables = self.tables();
        let members = self.snapshot.configuration.within(parent, tables.last[parent.index()]);
        match tables.node(history).kind {
            NodeKind::History(HistoryVariant::Deep) => members.into(),
            NodeKind::History(HistoryVariant::Shallow)
            | NodeKind::Atomic
            | NodeKind::Compound
            | NodeKind::Parallel
            | NodeKind::Final => tables
                .node(parent)
                .more()
                .children
                .iter()
                .copied()
                .filter(|child| members.iter().any(|member| tables.is_within(*member, *child)))
                .collect(),
        }
    }

    fn exit(&mut self, node: NodeId) {
        let tables = self.tables();
        let entry = tables.node(node);
        self.trace(|| TraceEntry::Exited { node });
        self.run_block(&entry.exit, ExpressionSite::Exit(node));
        if entry.has_timers {
            self.cancel_timers_of(node);
            self.forget_failures_of(node);
        }
        if !entry.invokes.is_empty() {
            self.forget_failures_of(node);
            self.to_invoke.retain(|waiting| *waiting != node);
            self.stop_invocations_of(node);
            self.stop_fan_outs_of(node);
        }
        let parent_last = entry.parent.map_or(node, |parent| tables.last[parent.index()]);
        self.snapshot.configuration.exit(node, entry.parent, parent_last);
    }

    fn enter_all(&mut self, selection: &SelectedTransitions) {
        let tables = self.tables();
        if let [only] = &selection[..]
            && let Some(entries) = only.fixed_entries(tables)
        {
            for entry in entries {
                self.enter(*entry);
            }
            return;
        }
        for entry in self.entry_set(selection) {
            self.enter(entry);
        }
    }

    /// Returns the nodes these transitions enter, in document order. Routes with history are resolved now, after the
    /// exits: this transition may have recorded it.
    fn entry_set(&self, selection: &SelectedTransitions) -> SmallVec<[NodeEntry; 16]> {
        let tables = self.tables();
        let mut entries: SmallVec<[NodeEntry; 16]> = SmallVec::new();
        for selected in selection {
            match selected.fixed_entries(tables) {
                Some(fixed) => entries.extend_from_slice(fixed),
                None => entries.extend(self.entries_by_history(selected)),
            }
        }
        // Usually the transitions are already ordered by the nodes they enter.
        if !entries.is_sorted_by_key(|entry| entry.node) {
            entries.sort_unstable_by_key(|entry| entry.node);
        }
        entries
    }

    fn entries_by_history(&self, selected: &Selected) -> Vec<NodeEntry> {
        let tables = self.tables();
        let (TransitionRoute::ByHistory { targets }, Some(domain)) =
            (&tables.transition(selected.id).route, selected.domain)
        else {
            return Vec::new();
        };
        EntrySet::new(tables, &self.snapshot.more).enter(targets, domain).0
    }

    /// Enters one node: entry actions, those of its initial, those of a history's default, then its timers.
    pub(super) fn enter(&mut self, entry: NodeEntry) {
        let tables = self.tables();
        let node = tables.node(entry.node);
        self.snapshot.configuration.enter(entry.node, node.parent);
        self.trace(|| TraceEntry::Entered { node: entry.node });
        self.run_block(&node.entry, ExpressionSite::Entry(entry.node));
        if entry.by_default {
            self.run_block(&node.more().initial_actions, ExpressionSite::Initial(entry.node));
        }
        if let Some(history) = entry.through {
            self.run_block(&tables.node(history).more().initial_actions, ExpressionSite::Initial(history));
        }
        if node.has_timers {
            self.start_timers_of(entry.node);
        }
        if !node.invokes.is_empty() {
            self.to_invoke.push(entry.node);
            self.evaluate_lists(entry.node);
        }
        if node.kind == NodeKind::Final {
            self.completed(entry.node);
        }
    }
}
