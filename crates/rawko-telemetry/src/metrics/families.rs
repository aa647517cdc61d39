//! The metric families by name: the stable interface for dashboards.

use super::family::{MetricFamily, MetricKind};

pub(super) struct Families {
    pub(super) instances_started: MetricFamily,
    pub(super) instances_ended: MetricFamily,
    pub(super) timer_lag: MetricFamily,
    pub(super) effects: MetricFamily,
    pub(super) effect_time: MetricFamily,
    pub(super) retries: MetricFamily,
    pub(super) model_calls: MetricFamily,
    pub(super) model_time: MetricFamily,
    pub(super) model_tokens: MetricFamily,
    pub(super) model_cost: MetricFamily,
    pub(super) tool_calls: MetricFamily,
    pub(super) troubles: MetricFamily,
    pub(super) requests: MetricFamily,
    pub(super) request_time: MetricFamily,
    pub(super) exports: MetricFamily,
    pub(super) dropped: MetricFamily,
}

impl Families {
    pub(super) fn all(&self) -> [&MetricFamily; 16] {
        [
            &self.instances_started,
            &self.instances_ended,
            &self.timer_lag,
            &self.effects,
            &self.effect_time,
            &self.retries,
            &self.model_calls,
            &self.model_time,
            &self.model_tokens,
            &self.model_cost,
            &self.tool_calls,
            &self.troubles,
            &self.requests,
            &self.request_time,
            &self.exports,
            &self.dropped,
        ]
    }
}

impl Default for Families {
    fn default() -> Self {
        let counter = |name, labels, help| MetricFamily::new(name, MetricKind::Counter, labels, help);
        let histogram = |name, labels, help| MetricFamily::new(name, MetricKind::Histogram, labels, help);
        Self {
            instances_started: counter(
                "rawko_instances_started_total",
                &["chart"],
                "Instances that began, by chart.",
            ),
            instances_ended: counter(
                "rawko_instances_ended_total",
                &["chart", "status"],
                "Instances that came to an end or failed, by chart.",
            ),
            timer_lag: histogram("rawko_timer_lag_seconds", &[], "How long after their time timers fired."),
            effects: counter(
                "rawko_effects_total",
                &["kind", "outcome"],
                "Effects that are over, by kind and how they ended.",
            ),
            effect_time: histogram("rawko_effect_duration_seconds", &["kind"], "How long effects took."),
            retries: counter(
                "rawko_retries_total",
                &["what"],
                "Attempts after the first, of invocations and of completions.",
            ),
            model_calls: counter(
                "rawko_model_calls_total",
                &["provider", "model", "outcome"],
                "Completions, by how they ended.",
            ),
            model_time: histogram(
                "rawko_model_call_duration_seconds",
                &["provider", "model"],
                "How long completions took.",
            ),
            model_tokens: counter(
                "rawko_model_tokens_total",
                &["provider", "model", "direction"],
                "Tokens that went in, out, and were read from a cache.",
            ),
            model_cost: counter(
                "rawko_model_cost_usd_total",
                &["provider", "model"],
                "What completions cost, where the price is known.",
            ),
            tool_calls: counter(
                "rawko_tool_calls_total",
                &["tool", "outcome"],
                "Calls of tools, by how they ended.",
            ),
            troubles: counter("rawko_troubles_total", &[], "Errors without a waiting caller."),
            requests: counter(
                "rawko_http_requests_total",
                &["method", "route", "status"],
                "HTTP requests, by route and status.",
            ),
            request_time: histogram(
                "rawko_http_request_duration_seconds",
                &["route"],
                "How long HTTP requests took.",
            ),
            exports: counter(
                "rawko_telemetry_exports_total",
                &["outcome"],
                "Batches of spans that were sent.",
            ),
            dropped: counter(
                "rawko_telemetry_dropped_total",
                &[],
                "Observations that were too many to trace or log.",
            ),
        }
    }
}
