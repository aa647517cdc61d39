//! A state's transitions from all blocks, in document order.

use std::sync::Arc;

use rawko_core::{DataTemplate, Delay, InvokeSpec, TransitionSpec, TransitionTrigger};

use super::delay::{looks_like_delay, parse_delay};
use super::expression::ExpressionUse;
use super::template::{ExplicitValue, said};
use super::{EventData, Lowering};
use crate::def::{TransitionBlock, TransitionDef, TriggerDef};
use crate::finding::{Finding, Severity};
use crate::lowered::{InvokePlaces, TransitionPlaces};
use crate::read::{read_delayed, read_event_list, read_invoke, read_transitions};
use crate::source::Span;
use crate::tree::{Data, NodeView};

const INVALID_EVENT: &str = crate::codes::INVALID_EVENT.name;
const INVALID_DELAY: &str = crate::codes::INVALID_DELAY.name;

/// The transitions of one state's blocks.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) transitions: Vec<TransitionSpec>,
    pub(super) transition_places: Vec<TransitionPlaces>,
    pub(super) timers: Vec<Delay>,
    pub(super) invokes: Vec<InvokeSpec>,
    pub(super) invoke_places: Vec<InvokePlaces>,
}

impl<'a> Lowering<'a> {
    pub(super) fn blocks(&mut self, node: u32) -> Blocks {
        let chart = self.chart;
        let mut blocks = Blocks::default();
        for part in chart.states[node as usize].parts.iter() {
            match part {
                TransitionBlock::On(view) => self.on(node, view, &mut blocks),
                TransitionBlock::Always(span, view) => {
                    self.transitions(node, TransitionTrigger::Always, span, view, &mut blocks)
                }
                TransitionBlock::After(view) => self.after(node, view, &mut blocks),
                TransitionBlock::Invoke(view) => self.invokes(node, view, &mut blocks),
                TransitionBlock::Done(span, view) => {
                    let trigger =
                        TransitionTrigger::Event(format!("done.state.{}", self.index.name(node)).into());
                    self.transitions(node, trigger, span, view, &mut blocks);
                }
            }
        }
        blocks
    }

    fn on(&mut self, node: u32, view: NodeView<'a>, blocks: &mut Blocks) {
        if let Some(pairs) = view.pairs() {
            blocks.transitions.reserve_exact(pairs.len());
            blocks.transition_places.reserve_exact(pairs.len());
            for pair in pairs {
                let trigger = TransitionTrigger::Event(self.event(pair.key, pair.key_span));
                self.transitions(node, trigger, pair.key_span, pair.value, blocks);
            }
        }
        for (trigger, transition) in view.each_item().filter_map(read_event_list) {
            if let TriggerDef::Event(event) = trigger {
                let trigger = TransitionTrigger::Event(self.event(event, transition.trigger));
                self.transition(node, trigger, transition, blocks);
            }
        }
    }

    /// Returns an event's name, shared by all its transitions: `NAME`, `foo.*` or `*`.
    fn event(&mut self, name: &'a str, span: Span) -> Arc<str> {
        let known = self.events.entry(name).or_insert_with(|| (name.into(), is_event(name)));
        let (shared, is_event) = (Arc::clone(&known.0), known.1);
        if !is_event {
            let message = format!("`{name}` is not a valid event name");
            self.report(
                Finding::new(INVALID_EVENT, Severity::Fatal, span, message)
                    .help("use a name without spaces, `name.*` for all events that start with `name`, or `*` for all events"),
            );
        }
        self.check_declared(name, span);
        shared
    }

    fn after(&mut self, node: u32, view: NodeView<'a>, blocks: &mut Blocks) {
        for pair in view.each_pair() {
            let trigger = self.timer(TriggerDef::DelayKey(pair.key), pair.key_span, blocks);
            self.transitions(node, trigger, pair.key_span, pair.value, blocks);
        }
        for (trigger, transition) in view.each_item().filter_map(read_delayed) {
            let trigger = self.timer(trigger, transition.trigger, blocks);
            self.transition(node, trigger, transition, blocks);
        }
    }

    fn timer(&mut self, trigger: TriggerDef<'a>, span: Span, blocks: &mut Blocks) -> TransitionTrigger {
        let delay = match trigger {
            TriggerDef::DelayKey(text) | TriggerDef::Event(text) => self.delay_text(text, span),
            TriggerDef::Delay(view) => self.delay(view),
        };
        blocks.timers.push(delay);
        TransitionTrigger::After(blocks.timers.len() - 1)
    }

    fn invokes(&mut self, node: u32, view: NodeView<'a>, blocks: &mut Blocks) {
        for item in view.one_or_many() {
            let invoke = read_invoke(item);
            let (spec, places) = self.invoke(node, &invoke, &blocks.invokes);
            let id = spec.id.clone();
            blocks.invokes.push(spec);
            blocks.invoke_places.push(places);
            let results =
                [("done", invoke.on_done), ("error", invoke.on_error), ("timeout", invoke.on_timeout)];
            let mut written: Vec<_> = results
                .into_iter()
                .filter_map(|(word, part)| part.map(|(span, view)| (word, span, view)))
                .collect();
            written.sort_by_key(|(_, span, _)| *span);
            for (word, span, view) in written {
                let trigger = TransitionTrigger::Event(format!("{word}.invoke.{id}").into());
                self.transitions(node, trigger, span, view, blocks);
            }
            self.item_handlers(node, &invoke, blocks);
        }
    }

    pub(super) fn transitions(
        &mut self,
        node: u32,
        trigger: TransitionTrigger,
        span: Span,
        view: NodeView<'a>,
        blocks: &mut Blocks,
    ) {
        // One transition is the common case and needs no copy of the trigger.
        if view.items().is_none() {
            let mut only = None;
            read_transitions(span, view, |transition| only = Some(transition));
            if let Some(transition) = only {
                self.transition(node, trigger, transition, blocks);
            }
            return;
        }
        let mut all = Vec::new();
        read_transitions(span, view, |transition| all.push(transition));
        for transition in all {
            self.transition(node, trigger.clone(), transition, blocks);
        }
    }

    fn transition(
        &mut self,
        node: u32,
        trigger: TransitionTrigger,
        def: TransitionDef<'a>,
        blocks: &mut Blocks,
    ) {
        let targets = def.target.map(|view| self.targets(node, view));
        self.event_data = self.data_of(&trigger, &blocks.invokes);
        let guard = def.guard.map(|view| self.guard(view));
        let (actions, action_places) = self.optional_actions(def.actions);
        self.event_data = None;
        let docs = self.docs(&def.docs);
        blocks.transitions.push(TransitionSpec {
            trigger,
            guard,
            targets,
            reenter: def.reenter,
            actions,
            docs,
        });
        blocks.transition_places.push(TransitionPlaces {
            trigger: def.trigger,
            body: def.body,
            guard: def.guard.map(NodeView::span),
            target: def.target.map(NodeView::span),
            actions: action_places,
        });
    }

    /// Returns the schema of `event.data` for a transition: from the event's declaration, or the result of an invoke.
    fn data_of(&self, trigger: &TransitionTrigger, invokes: &[InvokeSpec]) -> Option<EventData> {
        if let TransitionTrigger::Item { invoke, failed } = trigger {
            return self.item_data(invokes.get(*invoke)?, *failed);
        }
        let TransitionTrigger::Event(name) = trigger else { return None };
        let result = ["done", "error", "timeout"].into_iter().find_map(|word| {
            let id = name.strip_prefix(word)?.strip_prefix(".invoke.")?;
            Some((word, invokes.iter().find(|invoke| &*invoke.id == id)?))
        });
        let Some((word, invoke)) = result else {
            return self.declared_data(name).map(|schema| EventData { schema, is_open_ended: false });
        };
        if invoke.each.is_some() {
            return self.each_data(invoke, word);
        }
        if word != "done" {
            return Some(self.failure_data(&invoke.src));
        }
        let spec = self.spec_of(&invoke.src)?;
        Some(EventData { schema: spec.output.clone()?, is_open_ended: self.is_open_ended(spec) })
    }

    /// Returns the schema of `event.data` after a failure of a service.
    pub(super) fn failure_data(&self, src: &DataTemplate) -> EventData {
        let schema = self.registry.failure_of(self.spec_of(src));
        EventData { schema, is_open_ended: !self.registry.is_strict() }
    }

    pub(super) fn delay(&mut self, view: NodeView<'a>) -> Delay {
        match view.data() {
            Data::Str(text) => self.delay_text(text, view.span()),
            Data::Int(millis) if millis >= 0 => Delay::Millis(millis as u64),
            Data::Float(millis) if millis >= 0.0 => Delay::Millis(millis.round() as u64),
            Data::Map { .. } => match said(view) {
                Some(ExplicitValue::Expr(expr)) => match expr.text() {
                    Some(text) => self.delay_expression(text, expr.span()),
                    None => self.invalid_delay("this", view.span()),
                },
                Some(ExplicitValue::Literal(_)) | None => self.invalid_delay("this", view.span()),
            },
            Data::Int(number) => self.negative_delay(&number.to_string(), view.span()),
            Data::Float(number) if number < 0.0 => self.negative_delay(&number.to_string(), view.span()),
            Data::Float(number) => self.invalid_delay(&format!("`{number}`"), view.span()),
            // Already reported as a wrong type.
            Data::Null | Data::Bool(_) | Data::List { .. } => Delay::Millis(0),
        }
    }

    fn delay_text(&mut self, text: &str, span: Span) -> Delay {
        if let Some(millis) = parse_delay(text) {
            return Delay::Millis(millis);
        }
        if looks_like_delay(text) || text.trim().is_empty() {
            return self.invalid_delay(&format!("`{text}`"), span);
        }
        self.delay_expression(text, span)
    }

    /// `-5` and `-5s` would be parsed as expressions that always fail.
    fn delay_expression(&mut self, text: &str, span: Span) -> Delay {
        let negative = text.trim().strip_prefix('-').map(str::trim_start);
        if negative.is_some_and(|rest| parse_delay(rest).is_some_and(|millis| millis > 0)) {
            return self.negative_delay(text, span);
        }
        Delay::Expr(self.expression(text, span, ExpressionUse::Delay), text.into())
    }

    fn negative_delay(&mut self, text: &str, span: Span) -> Delay {
        let message = format!("`{text}` is negative; a delay must be 0 or more");
        self.report(
            Finding::new(INVALID_DELAY, Severity::Fatal, span, message).help("remove the minus sign"),
        );
        Delay::Millis(0)
    }

    pub(super) fn invalid_delay(&mut self, words: &str, span: Span) -> Delay {
        self.report(
            Finding::new(INVALID_DELAY, Severity::Fatal, span, format!("{words} is not a valid delay"))
                .help("write milliseconds, `250ms`, `30s`, `15m`, `24h`, `7d`, `PT1H`, or an expression"),
        );
        Delay::Millis(0)
    }
}

/// Returns true for a valid event name.
pub(super) fn is_event(event: &str) -> bool {
    let stem = event.strip_suffix(".*").unwrap_or(event);
    event == "*" || (!stem.is_empty() && !stem.contains('*') && !stem.contains(char::is_whitespace))
}
