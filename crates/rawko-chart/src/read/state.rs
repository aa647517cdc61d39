//! State nodes: flattens the nested maps to one list in document order, and determines each node's kind.

use rawko_core::{HistoryVariant, NodeKind};
use rustc_hash::FxHashMap;

use crate::def::{StateDef, StateKey, TransitionBlock, kind_of_word, misplaced};
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::tree::{DUPLICATE_KEY, NodeView};

const MISPLACED_KEY: &str = crate::codes::MISPLACED_KEY.name;
const TYPE_CONFLICT: &str = crate::codes::TYPE_CONFLICT.name;
const INVALID_NAME: &str = crate::codes::INVALID_NAME.name;
const NO_STATES: &str = crate::codes::NO_STATES.name;
const PARALLEL_NEEDS_REGIONS: &str = crate::codes::PARALLEL_NEEDS_REGIONS.name;

pub(super) struct StateReader<'a, 'f> {
    states: Vec<StateDef<'a>>,
    findings: &'f mut Vec<Finding>,
}

/// The keys that determine a node's kind.
#[derive(Clone, Copy, Default)]
struct Below<'a> {
    kind: Option<NodeView<'a>>,
    states: Option<NodeView<'a>>,
    regions: Option<NodeView<'a>>,
    variant: Option<NodeView<'a>>,
}

impl<'a, 'f> StateReader<'a, 'f> {
    pub(super) fn new(findings: &'f mut Vec<Finding>) -> Self {
        Self { states: Vec::new(), findings }
    }

    pub(super) fn read(
        mut self,
        mut root: StateDef<'a>,
        kind: Option<NodeView<'a>>,
        states: Option<NodeView<'a>>,
        regions: Option<NodeView<'a>>,
    ) -> Vec<StateDef<'a>> {
        let below = Below { kind, states, regions, variant: None };
        // A chart without states is still a chart to report on.
        root.kind =
            if self.kind(&below) == NodeKind::Parallel { NodeKind::Parallel } else { NodeKind::Compound };
        self.states.push(root);
        self.children(0, below);
        self.states
    }

    /// Recursion is bounded by the tree's depth.
    fn state(&mut self, key: &'a str, key_span: Span, body: NodeView<'a>, parent: u32, listed: bool) {
        let number = self.states.len() as u32;
        let mut state = StateDef::new(key, key_span, body.span(), Some(parent));
        let mut below = Below::default();
        for pair in body.each_pair() {
            let Some(name) = StateKey::parse(pair.key) else { continue };
            let value = pair.value;
            match name {
                StateKey::Type => below.kind = Some(value),
                StateKey::On => state.parts.push(TransitionBlock::On(value)),
                StateKey::Entry => state.more_mut().entry = Some(value),
                StateKey::Exit => state.more_mut().exit = Some(value),
                StateKey::Always => state.parts.push(TransitionBlock::Always(pair.key_span, value)),
                StateKey::After => state.parts.push(TransitionBlock::After(value)),
                StateKey::Invoke => state.parts.push(TransitionBlock::Invoke(value)),
                StateKey::Initial => state.more_mut().initial = Some(value),
                StateKey::States => below.states = Some(value),
                StateKey::Regions => below.regions = Some(value),
                StateKey::OnDone | StateKey::OnAllDone => {
                    state.parts.push(TransitionBlock::Done(pair.key_span, value))
                }
                StateKey::Id if listed => {}
                StateKey::Id => state.more_mut().id = value.text().map(|id| (id, value.span())),
                StateKey::Variant => below.variant = Some(value),
                StateKey::Target => state.more_mut().target = Some(value),
                StateKey::Actions => state.more_mut().target_actions = Some(value),
                StateKey::Output => state.more_mut().output = Some(value),
                StateKey::Description => state.more_mut().docs.description = Some(value),
                StateKey::Tags => state.more_mut().docs.tags = Some(value),
                StateKey::Meta => state.more_mut().docs.meta = Some(value),
                StateKey::Tools => state.more_mut().policy.tools = Some(value),
                StateKey::Budget => state.more_mut().policy.budget = Some(value),
                StateKey::Loop => state.more_mut().policy.loop_control = Some(value),
                StateKey::Isolation => state.more_mut().isolation = Some(value),
            }
        }
        state.kind = self.kind(&below);
        self.check_name(key, key_span);
        self.states[parent as usize].children.push(number);
        self.report_misplaced(&state, body);
        self.states.push(state);
        self.children(number, below);
    }

    fn children(&mut self, parent: u32, below: Below<'a>) {
        let kind = self.states[parent as usize].kind;
        if matches!(kind, NodeKind::Compound | NodeKind::Parallel) {
            let mut blocks: Vec<NodeView<'a>> = below.states.into_iter().chain(below.regions).collect();
            blocks.sort_by_key(|block| block.span());
            blocks.into_iter().for_each(|block| self.block(parent, block));
        } else if let Some(block) = below.states.filter(|block| !is_empty(*block)).or(below.regions) {
            self.report_conflict(parent, block);
        }
        self.check_children(parent, &below);
    }

    /// The states of a `states:` map, a `regions:` map or a `regions:` list.
    fn block(&mut self, parent: u32, block: NodeView<'a>) {
        let count = block.pairs().map_or(0, |pairs| pairs.len());
        self.states.reserve(count);
        self.states[parent as usize].children.reserve(count);
        for pair in block.each_pair() {
            self.state(pair.key, pair.key_span, pair.value, parent, false);
        }
        for region in block.each_item() {
            let id = region.get("id");
            if let Some((key, span)) = id.and_then(|id| Some((id.text()?, id.span()))) {
                self.state(key, span, region, parent, true);
            }
        }
    }

    /// Returns the explicit kind, or the one implied by the other keys.
    fn kind(&self, below: &Below<'a>) -> NodeKind {
        let variant = match below.variant.and_then(NodeView::text) {
            Some("deep") => HistoryVariant::Deep,
            _ => HistoryVariant::Shallow,
        };
        match below.kind.and_then(NodeView::text).and_then(|word| kind_of_word(word, variant)) {
            Some(kind) => kind,
            None if below.regions.is_some() => NodeKind::Parallel,
            None if below.states.is_some_and(|states| !is_empty(states)) => NodeKind::Compound,
            None if below.variant.is_some() => NodeKind::History(variant),
            None => NodeKind::Atomic,
        }
    }

    fn check_name(&mut self, key: &str, span: Span) {
        if key.is_empty() || key.contains('.') || key.starts_with('#') {
            let message = format!("`{key}` is not a valid state key");
            self.findings.push(
                Finding::new(INVALID_NAME, Severity::Fatal, span, message)
                    .help("use letters, digits, `_` and `-`; `.` and `#` have a meaning in targets"),
            );
        }
    }

    fn report_conflict(&mut self, node: u32, block: NodeView<'a>) {
        let state = &self.states[node as usize];
        let word = kind_word(state.kind);
        let message = format!("`{}` is {word} but has child states", state.key);
        self.findings.push(
            Finding::new(TYPE_CONFLICT, Severity::Fatal, state.key_span, message)
                .related(block.span(), "these states can never be entered")
                .help("leave `type` out, or make it `compound` or `parallel`"),
        );
    }

    fn check_children(&mut self, parent: u32, below: &Below<'a>) {
        let state = &self.states[parent as usize];
        if !matches!(state.kind, NodeKind::Compound | NodeKind::Parallel) {
            return;
        }
        let is_history = |child: &u32| matches!(self.states[*child as usize].kind, NodeKind::History(_));
        let real = state.children.iter().filter(|child| !is_history(child)).count();
        let span = state.key_span;
        let words = if state.parent.is_some() { format!("`{}`", state.key) } else { "the chart".to_owned() };
        match state.kind {
            NodeKind::Compound if real == 0 => {
                let message = format!("{words} is compound but has no child states");
                let help = "add at least one state under `states`";
                self.findings.push(Finding::new(NO_STATES, Severity::Fatal, span, message).help(help));
            }
            NodeKind::Parallel if real < 2 => {
                let severity = if real == 0 { Severity::Fatal } else { Severity::Error };
                let message = format!("{words} is parallel and needs at least two regions; it has {real}");
                let finding = Finding::new(PARALLEL_NEEDS_REGIONS, severity, span, message);
                let block = below.regions.or(below.states);
                let finding =
                    block.into_iter().fold(finding, |finding, block| finding.related(block.span(), ""));
                self.findings.push(finding.help("add a region, or make it `type: compound`"));
            }
            NodeKind::Atomic
            | NodeKind::Compound
            | NodeKind::Parallel
            | NodeKind::Final
            | NodeKind::History(_) => {}
        }
        if below.regions.is_some() {
            self.check_twins(parent);
        }
    }

    /// Reports a key in both `states` and `regions`, or twice in a list of regions.
    fn check_twins(&mut self, parent: u32) {
        let children = &self.states[parent as usize].children;
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for child in children {
            let child = &self.states[*child as usize];
            if let Some(earlier) = seen.insert(child.key, child.key_span) {
                self.findings.push(
                    Finding::new(
                        DUPLICATE_KEY,
                        Severity::Fatal,
                        child.key_span,
                        format!("two regions are named `{}`", child.key),
                    )
                    .label("same name here")
                    .related(earlier, "first used here")
                    .help("give each region its own name"),
                );
            }
        }
    }

    /// Reports keys that are invalid on this kind of state: often a sign of wrong indentation.
    fn report_misplaced(&mut self, state: &StateDef<'a>, body: NodeView<'a>) {
        let wrong = misplaced(state.kind);
        for pair in body.each_pair().filter(|pair| wrong.contains(&pair.key)) {
            let word = kind_word(state.kind);
            let message = format!("`{}` is not allowed on `{}`, which is {word}", pair.key, state.key);
            let finding = Finding::new(MISPLACED_KEY, Severity::Error, pair.key_span, message);
            self.findings.push(finding.help(misplaced_help(pair.key)));
        }
    }
}

fn is_empty(view: NodeView<'_>) -> bool {
    view.is_null() || view.pairs().is_some_and(|pairs| pairs.len() == 0)
}

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Atomic => "an atomic state",
        NodeKind::Compound => "a compound state",
        NodeKind::Parallel => "a parallel state",
        NodeKind::Final => "a final state",
        NodeKind::History(_) => "a history state",
    }
}

fn misplaced_help(key: &str) -> &'static str {
    match key {
        "target" | "actions" => "transitions go under `on`, `always` or `after`; check the indentation",
        "initial" => "only a state with `states` has an initial state",
        "output" => "only a `type: final` state has a result",
        "variant" => "add `type: history`, or remove it",
        "onDone" | "onAllDone" => {
            "to handle an invoke's result, put it under `invoke`; only states with child states complete"
        }
        _ => "a history state only records: put this on its parent state",
    }
}
