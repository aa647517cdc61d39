//! From definitions to `LoweredChart`: resolves every name, parses every expression and collects the findings.

mod action;
mod conform;
mod context;
mod delay;
mod docs;
mod each;
mod events;
mod expression;
mod guard;
mod index;
mod invoke;
mod language;
mod policy;
mod recipient;
mod schema;
mod service;
mod state;
mod target;
mod template;
mod transition;

use std::sync::Arc;

use rawko_core::{Blueprint, EventSpec, NodeId, Schema, Unhandled};
use rustc_hash::FxHashMap;

use crate::def::ChartDef;
use crate::finding::{FINDINGS_MAX, Finding, Severity};
use crate::lowered::{LoweredChart, Places};
use crate::references::ReferenceRecorder;
use crate::registry::Registry;
use crate::source::Span;
use crate::tree::{Data, NodeView, content_hash};

use action::ActionTable;
use context::ContextSlots;
use guard::GuardTable;
pub(crate) use index::StateIndex;
use recipient::Recipient;

const MISSING_ID: &str = crate::codes::MISSING_ID.name;
const INVALID_VERSION: &str = crate::codes::INVALID_VERSION.name;
const MICROSTEPS_DEFAULT: u32 = 1000;

/// The state of lowering a chart.
pub(crate) struct Lowering<'a> {
    text: &'a str,
    chart: &'a ChartDef<'a>,
    registry: &'a Registry,
    index: StateIndex<'a>,
    context: ContextSlots,
    actions: ActionTable<'a>,
    guards: GuardTable<'a>,
    /// Names of the locals of the enclosing `foreach`es: item, index, item, index …
    locals: Vec<&'a str>,
    /// The event names so far, with true if they are valid: a chart repeats a few of them often.
    events: FxHashMap<&'a str, (Arc<str>, bool)>,
    /// Schemas of the locals of an `each`, as far as they are known.
    local_schemas: Vec<Option<Schema>>,
    /// Literal targets of `send`, checked once all invoke ids are known.
    recipients: Vec<Recipient<'a>>,
    /// The `events:` of the chart, if it has them.
    declared: Option<Vec<EventSpec>>,
    /// Schema of `event.data` at the current place, if known.
    event_data: Option<EventData>,
    findings: Vec<Finding>,
    /// The keys of `input` that expressions read; `None` once one reads all of it.
    input_keys: Option<Vec<Arc<str>>>,
    /// Keeps the locations of state names, for editors.
    recorder: Option<&'a ReferenceRecorder<'a>>,
}

/// The schema of an event's data.
pub(crate) struct EventData {
    schema: Schema,
    /// True if it may have more than its schema mentions, as failures and results of agents do.
    is_open_ended: bool,
}

/// Lowers a chart. Findings may be fatal; the result is then only good for drawing and for further checks.
pub(crate) fn lower<'a>(
    text: &'a str,
    chart: &'a ChartDef<'a>,
    file_stem: &str,
    registry: &'a Registry,
    findings: &mut Vec<Finding>,
    recorder: Option<&'a ReferenceRecorder<'a>>,
) -> LoweredChart {
    lower_with_input(text, chart, file_stem, registry, findings, recorder).0
}

/// Like [`lower`]; also returns the keys of `input` that expressions read, `None` if one reads all of it.
pub(crate) fn lower_with_input<'a>(
    text: &'a str,
    chart: &'a ChartDef<'a>,
    file_stem: &str,
    registry: &'a Registry,
    findings: &mut Vec<Finding>,
    recorder: Option<&'a ReferenceRecorder<'a>>,
) -> (LoweredChart, Option<Vec<Arc<str>>>) {
    let mut lowering = Lowering {
        text,
        chart,
        registry,
        index: StateIndex::new(chart),
        context: ContextSlots::new(chart, findings),
        actions: ActionTable::new(chart.actions),
        guards: GuardTable::new(chart.guards),
        locals: Vec::new(),
        local_schemas: Vec::new(),
        events: FxHashMap::default(),
        recipients: Vec::new(),
        declared: None,
        event_data: None,
        findings: std::mem::take(findings),
        input_keys: Some(Vec::new()),
        recorder,
    };
    let lowered = lowering.chart(file_stem);
    let Lowering { context, findings: mut all, input_keys, .. } = lowering;
    let (keys, places) = context.finish(&mut all);
    *findings = all;
    let LoweredChart { mut blueprint, places: mut node_places } = lowered;
    blueprint.context = keys;
    node_places.context = places;
    (LoweredChart { blueprint, places: node_places }, input_keys)
}

impl<'a> Lowering<'a> {
    fn chart(&mut self, file_stem: &str) -> LoweredChart {
        self.check_context();
        let context_schema = self.context_schema();
        self.declared = self.declared_events();
        self.check_ids();
        let (mut nodes, mut places) = (Vec::with_capacity(self.chart.states.len()), Vec::new());
        places.reserve(self.chart.states.len());
        for number in 0..self.chart.states.len() as u32 {
            let parent = self.chart.states[number as usize].parent;
            let inherited = parent.map(|parent: u32| &nodes[parent as usize]).map(policy_of);
            let (node, place) = self.state(number, inherited);
            nodes.push(node);
            places.push(place);
        }
        self.unused_actions();
        self.unused_guards();
        self.check_recipients(&nodes);
        let blueprint = Blueprint {
            id: self.chart_id(file_stem),
            version: self.version(),
            hash: content_hash(self.chart.body),
            description: nodes.first().and_then(description_of),
            nodes,
            context: Vec::new(),
            unhandled: self.unhandled(),
            microsteps_max: self.microsteps_max(),
            events: self.declared.take(),
            context_schema,
        };
        LoweredChart { blueprint, places: Places { nodes: places, context: Vec::new() } }
    }

    fn chart_id(&mut self, file_stem: &str) -> String {
        if let Some(id) = self.chart.id.filter(|id| !id.is_empty()) {
            return id.to_owned();
        }
        let id = if file_stem.is_empty() { "chart" } else { file_stem };
        let message = format!("the chart has no `id`; `{id}` is used");
        let finding = Finding::new(MISSING_ID, Severity::Warning, self.chart.states[0].key_span, message);
        self.report(finding.help(format!("add `id: {id}`")));
        id.to_owned()
    }

    fn version(&mut self) -> String {
        let Some(view) = self.chart.version else { return "0.0.0".into() };
        let text = view.text().map_or_else(|| crate::tree::to_value(view).to_string(), str::to_owned);
        if crate::version::ChartVersion::parse(&text).is_none() {
            let message = format!("`{text}` is not a valid version");
            let finding = Finding::new(INVALID_VERSION, Severity::Error, view.span(), message);
            self.report(finding.help("write three numbers, as in `version: \"1.2.0\"`"));
        }
        text
    }

    fn unhandled(&self) -> Unhandled {
        match self.chart.unhandled.and_then(NodeView::text) {
            Some("error") => Unhandled::Error,
            Some("defer") => Unhandled::Defer,
            _ => Unhandled::Ignore,
        }
    }

    fn microsteps_max(&self) -> u32 {
        match self.chart.max_microsteps.map(NodeView::data) {
            Some(Data::Int(number)) => u32::try_from(number).unwrap_or(u32::MAX),
            _ => MICROSTEPS_DEFAULT,
        }
    }

    /// Initial values are plain data; reports one that looks like an expression.
    fn check_context(&mut self) {
        for pair in self.chart.context.and_then(NodeView::pairs).into_iter().flatten() {
            if let Some(text) = pair.value.text() {
                self.warn_initial_value(text, pair.value.span());
            }
        }
    }

    /// Explicit ids must be unique.
    fn check_ids(&mut self) {
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for (id, span) in self.chart.states.iter().filter_map(|state| state.more().id) {
            if let Some(earlier) = seen.insert(id, span) {
                let message = format!("two states have the id `{id}`");
                self.report(
                    Finding::new(crate::codes::DUPLICATE_ID.name, Severity::Fatal, span, message)
                        .label("used again here")
                        .related(earlier, "first used here")
                        .help("ids must be unique in a chart"),
                );
            }
        }
    }

    /// Keeps the location of a name that was resolved, if an editor wants them.
    fn record(&self, span: Span, text: &str, node: NodeId) {
        if let Some(recorder) = self.recorder {
            recorder.record(span, text, 0..text.len(), node);
        }
    }

    fn report(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

fn description_of(node: &rawko_core::NodeSpec) -> Option<String> {
    node.docs.as_ref().and_then(|docs| docs.description.clone())
}

fn policy_of(node: &rawko_core::NodeSpec) -> rawko_core::Value {
    node.policy.clone()
}
