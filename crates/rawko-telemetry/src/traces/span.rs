//! `TraceSpan`: the common data of all exported spans.

use std::time::{Duration, SystemTime};

use super::attributes::{ERROR_TYPE, INSTANCE, STEP};
use crate::lineage::{Lineage, SpanId, TraceId};
use rawko_settings::Redactor;

/// OpenTelemetry span kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Internal,
    /// Call to another service.
    Client,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    Text(String),
    Int(i64),
    Float(f64),
    Texts(Vec<String>),
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Attribute::Text(text)
    }
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Attribute::Text(text.to_owned())
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Attribute::Int(number)
    }
}

impl From<f64> for Attribute {
    fn from(number: f64) -> Self {
        Attribute::Float(number)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TraceSpan {
    pub(crate) trace: TraceId,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    pub(crate) is_error: bool,
}

impl TraceSpan {
    /// Creates a span within an instance.
    pub(super) fn new(lineage: &Lineage, id: SpanId, parent: Option<SpanId>, name: String) -> Self {
        let span = Self {
            trace: lineage.trace,
            id,
            parent,
            name,
            kind: SpanKind::Internal,
            start: SystemTime::UNIX_EPOCH,
            end: SystemTime::UNIX_EPOCH,
            attributes: Vec::new(),
            is_error: false,
        };
        span.with(INSTANCE, &*lineage.new.id)
    }

    pub(super) fn client(self) -> Self {
        Self { kind: SpanKind::Client, ..self }
    }

    pub(super) fn between(self, start: SystemTime, end: SystemTime) -> Self {
        Self { start, end: end.max(start), ..self }
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Attribute>) -> Self {
        self.attributes.push((key, value.into()));
        self
    }

    pub(super) fn with_some(self, key: &'static str, value: Option<impl Into<Attribute>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds a number, unless it is zero.
    pub(super) fn with_count(self, key: &'static str, count: u64) -> Self {
        if count == 0 { self } else { self.with(key, i64::try_from(count).unwrap_or(i64::MAX)) }
    }

    /// Adds the step number, counted from 0.
    pub(super) fn in_step(self, step: u64) -> Self {
        self.with(STEP, i64::try_from(step).unwrap_or(i64::MAX))
    }

    /// Marks the span as failed. Only the kind is exported, because an error message may contain anything.
    pub(super) fn failed(self, kind: &str) -> Self {
        Self { is_error: true, ..self.with(ERROR_TYPE, kind) }
    }

    /// Removes secrets.
    pub(super) fn clean(mut self, redactor: &Redactor) -> Self {
        self.name = redactor.hide(&self.name).into_owned();
        for (_, attribute) in &mut self.attributes {
            match attribute {
                Attribute::Text(text) => *text = redactor.hide(text).into_owned(),
                // These hold numbers or fixed words, never secrets.
                Attribute::Texts(_) | Attribute::Int(_) | Attribute::Float(_) => {}
            }
        }
        self
    }
}

pub(super) fn moment(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
