//! Encodes spans as OTLP protobuf. A pure function from spans to bytes; field numbers are those of
//! `opentelemetry/proto/trace/v1/trace.proto` and its imports.

use std::time::SystemTime;

use super::span::{Attribute, SpanKind, TraceSpan};

/// Wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// Message under construction.
#[derive(Default)]
struct ProtoMessage(Vec<u8>);

impl ProtoMessage {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.key(field, VARINT);
        self.varint(number);
    }

    fn fixed(&mut self, field: u64, bits: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&bits.to_le_bytes());
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut ProtoMessage)) {
        let mut inner = ProtoMessage::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// Encodes an `ExportTraceServiceRequest`: all spans under one resource and one scope.
pub(super) fn request(resource: &[(String, String)], spans: &[TraceSpan]) -> Vec<u8> {
    let mut request = ProtoMessage::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |described| {
            for (key, value) in resource {
                let value = Attribute::Text(value.clone());
                described.message(1, |entry| key_value(entry, key, &value));
            }
        });
        of_resource.message(2, |of_scope| {
            of_scope.message(1, |scope| {
                scope.bytes(1, b"rawko");
                scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
            });
            spans.iter().for_each(|each| of_scope.message(2, |message| span(message, each)));
        });
    });
    request.0
}

fn span(message: &mut ProtoMessage, span: &TraceSpan) {
    message.bytes(1, &span.trace.0);
    message.bytes(2, &span.id.0);
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.0);
    }
    message.bytes(5, span.name.as_bytes());
    message.number(
        6,
        match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
        },
    );
    message.fixed(7, nanos(span.start));
    message.fixed(8, nanos(span.end));
    for (key, value) in &span.attributes {
        message.message(9, |entry| key_value(entry, key, value));
    }
    if span.is_error {
        message.message(15, |status| status.number(3, 2));
    }
}

fn key_value(message: &mut ProtoMessage, key: &str, value: &Attribute) {
    message.bytes(1, key.as_bytes());
    message.message(2, |any| any_value(any, value));
}

fn any_value(message: &mut ProtoMessage, value: &Attribute) {
    match value {
        Attribute::Text(text) => message.bytes(1, text.as_bytes()),
        Attribute::Int(number) => message.number(3, *number as u64),
        Attribute::Float(number) => message.fixed(4, number.to_bits()),
        Attribute::Texts(texts) => message.message(5, |array| {
            texts.iter().for_each(|text| array.message(1, |item| item.bytes(1, text.as_bytes())));
        }),
    }
}

fn nanos(moment: SystemTime) -> u64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::expect;

    use super::*;
    use crate::lineage::{SpanId, TraceId};

    /// The expected bytes come from the official definitions (Python package `opentelemetry-proto`).
    #[test]
    fn a_span_as_bytes() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000);
        let span = TraceSpan {
            trace: TraceId([0xab; 16]),
            id: SpanId([0xcd; 8]),
            parent: Some(SpanId([0xef; 8])),
            name: "chat m".to_owned(),
            kind: SpanKind::Client,
            start,
            end: start + Duration::from_nanos(300),
            attributes: vec![
                ("text", "ü".into()),
                ("int", (-1).into()),
                ("float", 0.5.into()),
                ("texts", Attribute::Texts(vec!["stop".to_owned(), "length".to_owned()])),
            ],
            is_error: true,
        };
        let bytes = request(&[("service.name".to_owned(), "rawko".to_owned())], &[span]);
        let rows: Vec<String> = bytes
            .chunks(32)
            .map(|row| row.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            .collect();
        expect![[r#"
            0acc010a190a170a0c736572766963652e6e616d6512070a057261776b6f12ae
            010a0e0a057261776b6f1205302e312e30129b010a10abababababababababab
            abababababab1208cdcdcdcdcdcdcdcd2208efefefefefefefef2a0663686174
            206d30033900002a36fe9c9717412c012a36fe9c97174a0c0a04746578741204
            0a02c3bc4a120a03696e74120b18ffffffffffffffffff014a120a05666c6f61
            74120921000000000000e03f4a1d0a05746578747312142a120a060a0473746f
            700a080a066c656e6774687a021802"#]]
        .assert_eq(&rows.join("\n"));
    }
}
