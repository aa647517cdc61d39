//! A span on its way to the exporter: what all of ours have in common.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, Key, KeyValue, SpanId, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::attributes::{ERROR_TYPE, INSTANCE};
use crate::lineage::Lineage;
use crate::redact::Redactor;

pub(super) struct Draft {
    data: SpanData,
}

impl Draft {
    /// A span within an instance.
    pub(super) fn new(lineage: &Lineage, id: SpanId, parent: Option<SpanId>, name: String) -> Self {
        let context = SpanContext::new(lineage.trace, id, TraceFlags::SAMPLED, false, TraceState::default());
        let scope = InstrumentationScope::builder("rawko").with_version(env!("CARGO_PKG_VERSION")).build();
        let data = SpanData {
            span_context: context,
            parent_span_id: parent.unwrap_or(SpanId::INVALID),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: SystemTime::UNIX_EPOCH,
            end_time: SystemTime::UNIX_EPOCH,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: scope,
        };
        Self { data }.with(INSTANCE, lineage.new.id.to_string())
    }

    /// It calls somebody else.
    pub(super) fn client(mut self) -> Self {
        self.data.span_kind = SpanKind::Client;
        self
    }

    pub(super) fn between(mut self, start: SystemTime, end: SystemTime) -> Self {
        self.data.start_time = start;
        self.data.end_time = end.max(start);
        self
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.data.attributes.push(KeyValue::new(key, value));
        self
    }

    pub(super) fn with_some(self, key: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// A number, unless it is nothing.
    pub(super) fn with_count(self, key: &'static str, count: u64) -> Self {
        if count == 0 { self } else { self.with(key, i64::try_from(count).unwrap_or(i64::MAX)) }
    }

    /// It did not work. What exactly was said may hold anything, so the kind has to do.
    pub(super) fn failed(mut self, kind: &str) -> Self {
        self.data.status = Status::error("");
        self.with(ERROR_TYPE, kind.to_owned())
    }

    /// Ready to leave, without secrets.
    pub(super) fn finish(mut self, redactor: &Redactor) -> SpanData {
        self.data.name = redactor.hide(&self.data.name).into_owned().into();
        for attribute in &mut self.data.attributes {
            hide(attribute, redactor);
        }
        self.data
    }
}

fn hide(attribute: &mut KeyValue, redactor: &Redactor) {
    // Our arrays hold words of closed sets.
    if let Value::String(text) = &attribute.value {
        let key: Key = attribute.key.clone();
        *attribute = KeyValue::new(key, redactor.hide(text.as_str()).into_owned());
    }
}

pub(super) fn moment(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}
