//! Invokes: the work that a state runs while it is active.

use std::sync::Arc;

use rawko_core::{Backoff, DataTemplate, Delay, InvokeSpec, Retry, ServiceClass, ServiceName, Value};

use super::Lowering;
use super::delay::parse_delay;
use super::docs::texts;
use super::template::TextRule;
use crate::codes::TYPE_MISMATCH;
use crate::def::{InvokeDef, RetryKey};
use crate::lowered::InvokePlaces;
use crate::tree::{Data, NodeView};

const RETRY_DEFAULT: Retry =
    Retry { max_attempts: 3, backoff: Backoff::Exponential, initial_delay_ms: 1000, max_delay_ms: 60_000 };

impl<'a> Lowering<'a> {
    pub(super) fn invoke(
        &mut self,
        node: u32,
        invoke: &InvokeDef<'a>,
        earlier: &[InvokeSpec],
    ) -> (InvokeSpec, InvokePlaces) {
        let id = self.invoke_id(node, invoke, earlier);
        let each = self.each(invoke);
        self.enter_each(each.as_deref(), invoke);
        let src = self.optional_template(invoke.src, TextRule::Data);
        if let (DataTemplate::Literal(value), Some(view)) = (&src, invoke.src)
            && let Some(text) = value.as_str()
        {
            self.check_service(text, view.span());
        }
        let input = self.optional_template(invoke.input, TextRule::Expression);
        self.check_input(&src, &input, invoke);
        let isolated = self.isolated(node, &src, invoke);
        let spec = InvokeSpec {
            id,
            src,
            input,
            timeout: invoke.timeout.map(|view| self.delay(view)),
            on_timeout: invoke.on_timeout.is_some(),
            retry: invoke.retry.map(|view| self.retry(view)),
            each,
            isolated,
            guards: invoke.guards.map(texts).unwrap_or_default().into_iter().map(Into::into).collect(),
        };
        self.leave_each();
        let places = InvokePlaces {
            body: invoke.body,
            src: invoke.src.map_or(invoke.body, NodeView::span),
            on_error: invoke.on_error.is_some(),
            each: invoke.each.map(NodeView::span),
            max_concurrent: invoke.max_concurrent.is_some(),
        };
        (spec, places)
    }

    /// Returns true with `isolation: worktree`, on the invoke or on the nearest state that has a value.
    fn isolated(&mut self, node: u32, src: &DataTemplate, invoke: &InvokeDef<'a>) -> bool {
        let is_worktree = |view: NodeView<'a>| view.text() == Some("worktree");
        let Some(view) = invoke.isolation else {
            let states = &self.chart.states;
            let mut above = std::iter::successors(Some(node), |at| states[*at as usize].parent);
            return above.find_map(|at| states[at as usize].more().isolation).is_some_and(is_worktree);
        };
        if is_worktree(view)
            && let DataTemplate::Literal(Value::Str(src)) = src
            && ServiceName::of(src).class != ServiceClass::Agent
        {
            let message = format!("`isolation` takes effect only on agents, and `{src}` is none");
            self.report(TYPE_MISMATCH.at(view.span(), message).help("isolate the agents that it runs"));
        }
        is_worktree(view)
    }

    /// The input against the spec of the service, where the service is known.
    fn check_input(&mut self, src: &DataTemplate, input: &DataTemplate, invoke: &InvokeDef<'a>) {
        let Some(spec) = self.spec_of(src) else { return };
        let class = spec.class;
        let Some((schema, view)) = spec.input.clone().zip(invoke.input.or(invoke.src)) else { return };
        let name = match src {
            DataTemplate::Literal(Value::Str(src)) => src.to_string(),
            _ => format!("{}…", spec.name),
        };
        let what = format!("the input of `{name}`");
        self.check_fits(input, view, &schema, &what);
        if class == ServiceClass::Chart {
            self.check_no_lost_key(input, view, &schema, &what);
        }
    }

    /// The author's id, or the node's path with a number from the second on.
    fn invoke_id(&self, node: u32, invoke: &InvokeDef<'a>, earlier: &[InvokeSpec]) -> Arc<str> {
        let Some((id, _)) = invoke.id else {
            let path = self.index.path(node);
            let path = if path.is_empty() { self.chart.id.unwrap_or("chart").to_owned() } else { path };
            return if earlier.is_empty() { path.into() } else { format!("{path}.{}", earlier.len()).into() };
        };
        id.into()
    }

    fn retry(&mut self, view: NodeView<'a>) -> Retry {
        let mut retry = RETRY_DEFAULT;
        for pair in view.each_pair() {
            match RetryKey::parse(pair.key) {
                Some(RetryKey::MaxAttempts) => {
                    if let Data::Int(number) = pair.value.data() {
                        retry.max_attempts = u32::try_from(number).unwrap_or(u32::MAX);
                    }
                }
                Some(RetryKey::Backoff) => retry.backoff = backoff(pair.value),
                Some(RetryKey::InitialDelay) => retry.initial_delay_ms = self.fixed_delay(pair.value),
                Some(RetryKey::MaxDelay) => retry.max_delay_ms = self.fixed_delay(pair.value),
                None => {}
            }
        }
        retry
    }

    /// Parses a delay that cannot be an expression.
    pub(super) fn fixed_delay(&mut self, view: NodeView<'a>) -> u64 {
        if let Some(text) = view.text() {
            return parse_delay(text).unwrap_or_else(|| {
                self.invalid_delay(&format!("`{text}`"), view.span());
                0
            });
        }
        if let Delay::Millis(millis) = self.delay(view) { millis } else { 0 }
    }
}

fn backoff(view: NodeView<'_>) -> Backoff {
    match view.text() {
        Some("fixed") => Backoff::Fixed,
        Some("linear") => Backoff::Linear,
        _ => Backoff::Exponential,
    }
}
