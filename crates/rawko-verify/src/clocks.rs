//! `Clocks`: the delays of a chart, and the steps in which time has to pass so that every order of timers and inputs is
//! explored.

use rawko_chart::PropertyKind;
use rawko_core::{Backoff, DataTemplate, Delay, Retry, ServiceClass, Value, duration};

use crate::model::{Model, class_of};

/// Steps of the longest delay, beyond which time is sampled instead.
const STEPS_MAX: i64 = 1_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// Timers, deadlines of questions and deadlines of properties that may run.
    pub(crate) count: usize,
    /// The greatest common divisor of all delays that are written out.
    pub(crate) unit_ms: i64,
    longest_ms: i64,
    /// False if a delay is computed.
    is_fixed: bool,
}

impl Clocks {
    pub(crate) fn of(model: &Model) -> Self {
        let mut clocks = Clocks { count: 0, unit_ms: 0, longest_ms: 0, is_fixed: true };
        for node in &model.blueprint.nodes {
            node.timers.iter().for_each(|delay| clocks.add_delay(delay));
            for invoke in &node.invokes {
                invoke.timeout.iter().for_each(|delay| clocks.add_delay(delay));
                invoke.retry.iter().for_each(|retry| clocks.add_retry(retry));
                if class_of(invoke) == Some(ServiceClass::Human) {
                    clocks.add_question(&invoke.input);
                }
            }
        }
        for delay in crate::parts::delays_of_sends(&model.blueprint) {
            clocks.add_delay(delay);
        }
        for property in &model.properties {
            if let PropertyKind::Within { time_ms, .. } = &property.kind {
                clocks.add(i64::try_from(*time_ms).unwrap_or(i64::MAX));
            }
        }
        clocks.unit_ms = clocks.unit_ms.max(1);
        clocks
    }

    fn add_delay(&mut self, delay: &Delay) {
        match delay {
            Delay::Millis(ms) => self.add(i64::try_from(*ms).unwrap_or(i64::MAX)),
            Delay::Expr(..) => {
                self.count += 1;
                self.is_fixed = false;
            }
        }
    }

    fn add_retry(&mut self, retry: &Retry) {
        let count = self.count + 1;
        for attempt in 1..retry.max_attempts.min(32) {
            let factor = match retry.backoff {
                Backoff::Fixed => 1,
                Backoff::Linear => u64::from(attempt),
                Backoff::Exponential => 1 << (attempt - 1),
            };
            let ms = retry.initial_delay_ms.saturating_mul(factor).min(retry.max_delay_ms);
            self.add(i64::try_from(ms).unwrap_or(i64::MAX));
        }
        self.count = count;
    }

    fn add_question(&mut self, input: &DataTemplate) {
        let DataTemplate::Map(entries) = input else { return };
        let Some((_, expires)) = entries.iter().find(|(key, _)| &**key == "expires") else { return };
        let value = match expires {
            DataTemplate::Literal(value) => Some(value.clone()),
            DataTemplate::Expr(expr) => expr.constant(),
            DataTemplate::List(_) | DataTemplate::Map(_) => None,
        };
        match value {
            Some(Value::Int(ms)) => self.add(ms),
            Some(Value::Str(text)) => match duration::parse_ms(&text) {
                Ok(ms) => self.add(i64::try_from(ms).unwrap_or(i64::MAX)),
                Err(_) => self.is_fixed = false,
            },
            _ => self.is_fixed = false,
        }
    }

    fn add(&mut self, ms: i64) {
        self.count += 1;
        self.unit_ms = divisor(self.unit_ms, ms);
        self.longest_ms = self.longest_ms.max(ms);
    }

    /// Returns a step with which no order of inputs and at most `running` clocks is missed; `None` if it would be too
    /// short. Between two whole units, only the order of the clocks matters, so that one step for each of them and one
    /// more is enough.
    pub(crate) fn tick_ms(&self, running: usize) -> Option<i64> {
        let parts = (running as i64 + 1..=2 * running as i64 + 3).find(|parts| self.unit_ms % parts == 0)?;
        let tick_ms = self.unit_ms / parts;
        (self.is_fixed && tick_ms > 0 && self.longest_ms / tick_ms <= STEPS_MAX).then_some(tick_ms)
    }
}

fn divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
