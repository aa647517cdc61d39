//! Every place of a chart's text that names a state: what an editor follows and renames. Separate from loading, which
//! resolves the same names but does not keep their locations.

use std::cell::RefCell;
use std::ops::Range;

use rawko_core::NodeId;

use crate::def::{ChartDef, TransitionBlock};
use crate::load::file_stem;
use crate::lower::{StateIndex, lower};
use crate::lowered::LoweredChart;
use crate::property::state_names;
use crate::read::{ReadDocument, classify, read_chart};
use crate::registry::Registry;
use crate::source::{SourceFile, Span};
use crate::tree::{NodeView, TextTree, locate};

/// One name of a state in the text: a part of a target such as `b` in `#a.b`, or an explicit id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateReference {
    /// Location of the name, without quotes, dots and `#`.
    pub span: Span,
    /// The state that it resolves to.
    pub node: NodeId,
    /// True if the text is the state's explicit `id:`, which a new key does not change.
    pub is_id: bool,
}

/// A chart with resolved names and every location that names a state, in the order of the text.
#[derive(Clone, Debug)]
pub struct StateReferences {
    /// The chart; its places have the locations of the definitions.
    pub lowered: LoweredChart,
    /// The names in targets, `initial`, history defaults, `stateIn`, `done.state.…`, properties and migrations.
    pub references: Vec<StateReference>,
}

impl StateReferences {
    /// Reads a text. Returns `None` if it is not a chart; names that do not resolve are left out.
    pub fn of(source: &SourceFile, registry: &Registry) -> Option<StateReferences> {
        let mut findings = Vec::new();
        let tree = TextTree::read(&source.text).ok()?;
        let ReadDocument::Chart(body) = classify(tree.root(), &mut findings) else { return None };
        let chart = read_chart(body, &mut findings);
        let recorder = ReferenceRecorder { text: &source.text, chart: &chart, found: RefCell::default() };
        let stem = file_stem(&source.name);
        let lowered = lower(&source.text, &chart, stem, registry, &mut findings, Some(&recorder));
        recorder.events();
        recorder.properties();
        recorder.migrations();
        let mut references = recorder.found.into_inner();
        references.sort_unstable();
        references.dedup();
        Some(StateReferences { lowered, references })
    }
}

/// Collects references while a chart is lowered.
pub(crate) struct ReferenceRecorder<'a> {
    text: &'a str,
    chart: &'a ChartDef<'a>,
    found: RefCell<Vec<StateReference>>,
}

impl ReferenceRecorder<'_> {
    /// Records the name in a part of a value that was written at `span`.
    pub(crate) fn record(&self, span: Span, value: &str, name: Range<usize>, node: NodeId) {
        let (mut end, mut number) = (name.end, node.0);
        let mut found = self.found.borrow_mut();
        loop {
            let state = &self.chart.states[number as usize];
            let start = end.checked_sub(state.key.len()).filter(|start| *start >= name.start);
            let Some(start) = start.filter(|start| value.get(*start..end) == Some(state.key)) else { break };
            let before = value[name.start..start].chars().next_back();
            let is_id = before == Some('#') && state.more().id.is_some_and(|(id, _)| id == state.key);
            if !matches!(before, None | Some('.' | '#')) || is_id {
                break;
            }
            let place = locate(self.text, span, value, start..end);
            found.push(StateReference { span: place, node: NodeId(number), is_id: false });
            match state.parent {
                Some(parent) if parent > 0 && before == Some('.') => (end, number) = (start - 1, parent),
                Some(_) | None => return,
            }
        }
        let id = self.chart.states[number as usize].more().id.map(|(id, _)| id);
        let prefix = value.get(name.start..end).unwrap_or_default();
        if let Some(id) = id.filter(|id| prefix.trim_start_matches('#') == *id) {
            let place = locate(self.text, span, value, end - id.len()..end);
            found.push(StateReference { span: place, node: NodeId(number), is_id: true });
        }
    }

    fn record_path(&self, index: &StateIndex<'_>, span: Span, value: &str, name: Range<usize>) {
        let path = value.get(name.clone()).unwrap_or_default();
        if let Some(node) = index.state_in(path) {
            self.record(span, value, name, node);
        }
    }

    /// Records the states in `done.state.…`.
    fn events(&self) {
        const DONE: &str = "done.state.";
        let index = StateIndex::new(self.chart);
        for state in &self.chart.states {
            for part in state.parts.iter() {
                let TransitionBlock::On(block) = part else { continue };
                for pair in block.each_pair().filter(|pair| pair.key.starts_with(DONE)) {
                    self.record_path(&index, pair.key_span, pair.key, DONE.len()..pair.key.len());
                }
            }
        }
    }

    /// Records `in('…')` in properties.
    fn properties(&self) {
        let index = StateIndex::new(self.chart);
        let block = self.chart.body.get("properties");
        for pair in block.into_iter().flat_map(NodeView::each_pair) {
            each_text(pair.value, &mut |view, text| {
                for name in state_names(text) {
                    self.record_path(&index, view.span(), text, name);
                }
            });
        }
    }

    /// Records the new states in `migrations:`; old ones belong to another version.
    fn migrations(&self) {
        let index = StateIndex::new(self.chart);
        let block = self.chart.body.get("migrations");
        for migration in block.into_iter().flat_map(|block| block.each_pair().map(|pair| pair.value)) {
            for pair in migration.get("states").into_iter().flat_map(NodeView::each_pair) {
                for image in pair.value.one_or_many() {
                    for view in image.get("target").unwrap_or(image).one_or_many() {
                        if let Some(text) = view.text() {
                            self.record_path(&index, view.span(), text, 0..text.len());
                        }
                    }
                }
            }
        }
    }
}

/// Recursion is bounded by the tree's depth.
fn each_text<'a>(view: NodeView<'a>, take: &mut dyn FnMut(NodeView<'a>, &'a str)) {
    if let Some(text) = view.text() {
        take(view, text);
    }
    view.each_item().for_each(|item| each_text(item, take));
    view.each_pair().for_each(|pair| each_text(pair.value, take));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `name → path` for every reference, in the order of the text.
    fn check(text: &str, expected: &[&str]) {
        let source = SourceFile::new("a.yaml", text);
        let found = StateReferences::of(&source, &Registry::default()).unwrap();
        let nodes = &found.lowered.blueprint.nodes;
        let shown: Vec<String> = found
            .references
            .iter()
            .map(|it| {
                let key = &nodes[it.node.index()].key;
                format!("{} {}{key}", &text[it.span.range()], if it.is_id { "#" } else { "" })
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn every_kind_of_reference_is_found() {
        check(
            "statechart:\n  id: c\n  initial: a\n  context: {n: 0}\n  states:\n    a:\n      initial: x\n      \
             on:\n        GO: b\n        IN: .x\n        ID: '#own.x'\n        KEY: \"#a.x\"\n        \
             done.state.b: b\n      states:\n        x: {on: {T: {target: b, guard: \"stateIn('a.x')\"}}}\n    \
             b: {id: own, initial: h, states: {x: {}, h: {type: history, target: x}}}\n  properties:\n    \
             p: {never: \"in('a.x') and in(\\\"b\\\")\"}\n",
            &[
                "a a", "x x", "b b", "x x", "own #b", "x x", "a a", "x x", "b b", "b b", "b b", "a a", "x x",
                "h h", "x x", "a a", "x x", "b b",
            ],
        );
        check(
            "{\"id\": \"c\", \"initial\": \"a\", \"states\": {\"a\": {\"on\": {\"E\": \"a\"}}}}",
            &["a a", "a a"],
        );
    }
}
