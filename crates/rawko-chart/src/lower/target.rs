//! Targets and initial states: resolves names to state nodes, and reports unknown ones (rules 1 and 2).

use rawko_core::{InitialSpec, NodeId, NodeKind, TransitionTargets};

use super::Lowering;
use super::index::MissingState;
use crate::def::InitialKey;
use crate::finding::{Finding, Severity};
use crate::lowered::ActionPlaces;
use crate::source::Span;
use crate::tree::NodeView;

const UNKNOWN_TARGET: &str = crate::codes::UNKNOWN_TARGET.name;
const AMBIGUOUS_TARGET: &str = crate::codes::AMBIGUOUS_TARGET.name;
const CONFLICTING_TARGETS: &str = crate::codes::CONFLICTING_TARGETS.name;
const MISSING_INITIAL: &str = crate::codes::MISSING_INITIAL.name;
const UNKNOWN_INITIAL: &str = crate::codes::UNKNOWN_INITIAL.name;

impl<'a> Lowering<'a> {
    /// Resolves the targets of a transition of `source`.
    pub(super) fn targets(&mut self, source: u32, view: NodeView<'a>) -> TransitionTargets {
        let mut found = TransitionTargets::new();
        if let Some(text) = view.text() {
            found.extend(self.target(source, text, view.span()));
            return found;
        }
        for item in view.each_item() {
            let Some(text) = item.text() else { continue };
            if let Some(node) = self.target(source, text, item.span()) {
                self.check_orthogonal(&found, node, item.span());
                found.push(node);
            }
        }
        found
    }

    fn target(&mut self, source: u32, text: &str, span: Span) -> Option<NodeId> {
        match self.index.target(source, text) {
            Ok(node) => {
                self.record(span, text, node);
                Some(node)
            }
            Err(missing) => {
                let finding = self.missing_target(source, text, span, missing);
                self.report(finding);
                None
            }
        }
    }

    fn missing_target(&self, source: u32, text: &str, span: Span, missing: MissingState) -> Finding {
        match missing {
            MissingState::Unknown => {
                let finding = Finding::new(
                    UNKNOWN_TARGET,
                    Severity::Fatal,
                    span,
                    format!("there is no state `{text}` here"),
                );
                match self.index.suggestion(source, text) {
                    Some(close) => finding.help(format!("did you mean `{close}`?")),
                    None => finding.help(
                        "a target is a sibling or a sibling of an enclosing state, `.child`, or `#id` for any state",
                    ),
                }
            }
            MissingState::Ambiguous => self.ambiguous(text, span),
        }
    }

    fn ambiguous(&self, text: &str, span: Span) -> Finding {
        let key = text.trim_start_matches('#').split('.').next().unwrap_or_default();
        let message = format!("`{text}` matches several states");
        let mut finding = Finding::new(AMBIGUOUS_TARGET, Severity::Fatal, span, message);
        for state in self.chart.states.iter().filter(|state| state.key == key).take(4) {
            finding = finding.related(state.key_span, "one of them");
        }
        finding.help("give the intended state its own `id` and write `#id`")
    }

    /// Several targets must lie in different regions.
    fn check_orthogonal(&mut self, earlier: &[NodeId], node: NodeId, span: Span) {
        let clash = earlier.iter().find(|other| !self.index.orthogonal(**other, node));
        if let Some(other) = clash {
            let (a, b) = (self.index.path(other.0), self.index.path(node.0));
            let message = format!("`{a}` and `{b}` cannot be active at the same time");
            self.report(
                Finding::new(CONFLICTING_TARGETS, Severity::Fatal, span, message)
                    .help("multiple targets must be in different regions of one parallel state"),
            );
        }
    }

    /// Resolves the initial state of a compound state; required, and inside it.
    pub(super) fn initial(&mut self, node: u32) -> (Option<Box<InitialSpec>>, Vec<ActionPlaces>) {
        let state = &self.chart.states[node as usize];
        if state.children.is_empty() {
            return (None, Vec::new());
        }
        let Some(view) = state.more().initial else {
            self.report_missing_initial(node);
            return (None, Vec::new());
        };
        let (target, actions) = initial_parts(view);
        let targets = target.map_or_else(Vec::new, |view| self.initial_targets(node, view));
        let (actions, places) = self.optional_actions(actions);
        (Some(Box::new(InitialSpec { targets, actions })), places)
    }

    fn initial_targets(&mut self, node: u32, view: NodeView<'a>) -> Vec<NodeId> {
        let mut found = Vec::new();
        for item in view.one_or_many() {
            let Some(text) = item.text() else { continue };
            let resolved = self.index.initial(node, text).ok();
            match resolved.filter(|target| self.index.is_below(*target, node)) {
                Some(target) => {
                    self.record(item.span(), text, target);
                    self.check_orthogonal(&found, target, item.span());
                    found.push(target);
                }
                None => self.report_unknown_initial(node, text, item.span()),
            }
        }
        found
    }

    fn report_missing_initial(&mut self, node: u32) {
        let state = &self.chart.states[node as usize];
        let words = if node == 0 { "the chart".to_owned() } else { format!("`{}`", state.key) };
        let first = state
            .children
            .iter()
            .find(|child| !matches!(self.chart.states[**child as usize].kind, NodeKind::History(_)));
        let first = first.map_or("", |child| self.chart.states[*child as usize].key);
        let finding = Finding::new(
            MISSING_INITIAL,
            Severity::Fatal,
            state.key_span,
            format!("{words} has no `initial` state"),
        );
        self.report(finding.help(format!("add `initial: {first}`, or another of its states")));
    }

    fn report_unknown_initial(&mut self, node: u32, text: &str, span: Span) {
        let state = &self.chart.states[node as usize];
        let words = if node == 0 { "the chart".to_owned() } else { format!("`{}`", state.key) };
        let keys = state.children.iter().map(|child| self.chart.states[*child as usize].key);
        let help = match crate::suggest::nearest(text, keys.clone()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!(
                "its states are {}",
                keys.take(8).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            ),
        };
        let message = format!("{words} starts in `{text}`, which is not a state inside it");
        self.report(Finding::new(UNKNOWN_INITIAL, Severity::Fatal, span, message).help(help));
    }

    /// Resolves a history state's default, if it has one, like the target of a transition.
    pub(super) fn history_default(&mut self, node: u32) -> (Option<Box<InitialSpec>>, Vec<ActionPlaces>) {
        let state = &self.chart.states[node as usize];
        let Some(view) = state.more().target.filter(|view| !view.is_null()) else {
            return (None, Vec::new());
        };
        let targets = self.targets(node, view).into_vec();
        let (actions, places) = self.optional_actions(state.more().target_actions);
        (Some(Box::new(InitialSpec { targets, actions })), places)
    }
}

/// Splits `initial`: a target alone, or `{target, actions}`.
fn initial_parts<'a>(view: NodeView<'a>) -> (Option<NodeView<'a>>, Option<NodeView<'a>>) {
    let Some(pairs) = view.pairs() else { return (Some(view), None) };
    let (mut target, mut actions) = (None, None);
    for pair in pairs {
        match InitialKey::parse(pair.key) {
            Some(InitialKey::Target) => target = Some(pair.value),
            Some(InitialKey::Actions) => actions = Some(pair.value),
            None => {}
        }
    }
    (target, actions)
}
