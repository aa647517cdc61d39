//! The chart's own keys. Its root is a state node like the others, so half of them go there.

use super::state::StateReader;
use crate::def::{ChartDef, ChartKey, StateDef, TransitionBlock};
use crate::finding::Finding;
use crate::tree::NodeView;

/// Reads a chart; parts that do not match the format were reported before and are skipped.
pub(crate) fn read_chart<'a>(body: NodeView<'a>, findings: &mut Vec<Finding>) -> ChartDef<'a> {
    let mut chart = ChartDef {
        body,
        id: None,
        version: None,
        context: None,
        context_schema: None,
        events: None,
        actions: None,
        guards: None,
        unhandled: None,
        max_microsteps: None,
        states: Vec::new(),
    };
    let mut root = StateDef::new("", body.span(), body.span(), None);
    let (mut states, mut regions, mut kind) = (None, None, None);
    for pair in body.each_pair() {
        let Some(key) = ChartKey::parse(pair.key) else { continue };
        let value = pair.value;
        match key {
            ChartKey::Id => {
                chart.id = value.text();
                root.key_span = value.span();
            }
            ChartKey::Version => chart.version = Some(value),
            ChartKey::Initial => root.more_mut().initial = Some(value),
            ChartKey::Context => chart.context = Some(value),
            ChartKey::ContextSchema => chart.context_schema = Some(value),
            ChartKey::Events => chart.events = Some(value),
            ChartKey::States => states = Some(value),
            ChartKey::Regions => regions = Some(value),
            ChartKey::Type => kind = Some(value),
            ChartKey::Actions => chart.actions = Some(value),
            ChartKey::Guards => chart.guards = Some(value),
            ChartKey::On => root.parts.push(TransitionBlock::On(value)),
            ChartKey::Always => root.parts.push(TransitionBlock::Always(pair.key_span, value)),
            ChartKey::After => root.parts.push(TransitionBlock::After(value)),
            ChartKey::Entry => root.more_mut().entry = Some(value),
            ChartKey::Exit => root.more_mut().exit = Some(value),
            ChartKey::Invoke => root.parts.push(TransitionBlock::Invoke(value)),
            ChartKey::Unhandled => chart.unhandled = Some(value),
            ChartKey::MaxMicrosteps => chart.max_microsteps = Some(value),
            ChartKey::Description => root.more_mut().docs.description = Some(value),
            ChartKey::Tags => root.more_mut().docs.tags = Some(value),
            ChartKey::Meta => root.more_mut().docs.meta = Some(value),
            ChartKey::Tools => root.more_mut().policy.tools = Some(value),
            ChartKey::Budget => root.more_mut().policy.budget = Some(value),
            ChartKey::Loop => root.more_mut().policy.loop_control = Some(value),
            // Read once the chart is compiled (`property`, `migration`).
            ChartKey::Properties | ChartKey::Migrations | ChartKey::Schema => {}
        }
    }
    if root.key_span == body.span() {
        root.key_span =
            body.pairs().and_then(|mut pairs| pairs.next()).map_or(body.span(), |pair| pair.key_span);
    }
    chart.states = StateReader::new(findings).read(root, kind, states, regions);
    chart
}
