//! The lines of an export, version 1: one JSON object per line, described in `docs/formats/export.md`. Their names are
//! the format.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::chain::ChainLink;
use crate::{
    AuditLine, Blob, ChartRow, EffectKind, Head, InstanceKey, KeyedDelivery, NewInstance, OpenEffect, Record,
    RecordKind,
};
use rawko_instance::content;

/// The version that this rawko writes, and the only one so far.
pub(super) const VERSION: u32 = 1;

/// One line. The data of an instance follows its `instance` line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum TransferLine {
    /// The first line.
    Export {
        v: u32,
        instance: Arc<str>,
        exported_ms: i64,
    },
    Chart(ChartLine),
    Instance(InstanceLine),
    Record(RecordLine),
    Snapshot {
        step: u64,
        body: String,
    },
    Effect(EffectLine),
    Inbound {
        event: String,
    },
    Delivery(KeyedDelivery),
    Audit(AuditLine),
    Blob {
        hash: String,
        body: String,
    },
    /// The last line: the hash of all bytes before it.
    End {
        hash: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChartLine {
    hash: String,
    id: String,
    version: String,
    name: String,
    text: String,
    added_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InstanceLine {
    pub(super) new: NewInstance,
    pub(super) head: Head,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordLine {
    step: u64,
    at_ms: i64,
    kind: RecordKind,
    event: String,
    delta: String,
    effects: String,
    pub(super) chain: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EffectLine {
    step: u64,
    index: u32,
    kind: EffectKind,
    invocation: Option<u64>,
    name: Arc<str>,
    body: String,
    opened_ms: i64,
    due_ms: Option<i64>,
    idempotency: Arc<str>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    result: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    parked: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_doubt: bool,
}

impl ChartLine {
    pub(super) fn of(chart: &ChartRow) -> Self {
        ChartLine {
            hash: content::hex(&chart.hash),
            id: chart.id.clone(),
            version: chart.version.clone(),
            name: chart.name.clone(),
            text: chart.text.clone(),
            added_ms: chart.added_ms,
        }
    }

    pub(super) fn into_chart(self) -> Option<ChartRow> {
        let hash = parse_hash(&self.hash)?;
        let ChartLine { id, version, name, text, added_ms, .. } = self;
        Some(ChartRow { hash, id, version, name, text, added_ms })
    }
}

impl RecordLine {
    pub(super) fn of(record: &Record, link: &ChainLink) -> Self {
        RecordLine {
            step: record.step,
            at_ms: record.at_ms,
            kind: record.kind,
            event: record.event.clone(),
            delta: record.delta.clone(),
            effects: record.effects.clone(),
            chain: content::hex(link),
        }
    }

    pub(super) fn into_record(self) -> Record {
        let RecordLine { step, at_ms, kind, event, delta, effects, .. } = self;
        Record { seq: 0, instance: InstanceKey(0), step, at_ms, kind, event, delta, effects }
    }
}

impl EffectLine {
    pub(super) fn of(effect: &OpenEffect) -> Self {
        let OpenEffect { step, index, kind, invocation, opened_ms, due_ms, parked, in_doubt, .. } = *effect;
        let result = effect.result.clone();
        let (name, body, idempotency) =
            (Arc::clone(&effect.name), effect.body.clone(), Arc::clone(&effect.idempotency));
        EffectLine {
            step,
            index,
            kind,
            invocation,
            name,
            body,
            opened_ms,
            due_ms,
            idempotency,
            result,
            parked,
            in_doubt,
        }
    }

    pub(super) fn into_effect(self) -> OpenEffect {
        OpenEffect {
            instance: InstanceKey(0),
            step: self.step,
            index: self.index,
            kind: self.kind,
            invocation: self.invocation,
            name: self.name,
            body: self.body,
            opened_ms: self.opened_ms,
            due_ms: self.due_ms,
            idempotency: self.idempotency,
            result: self.result,
            parked: self.parked,
            in_doubt: self.in_doubt,
        }
    }
}

impl TransferLine {
    /// A blob always holds text.
    pub(super) fn blob(blob: &Blob) -> Option<TransferLine> {
        let body = std::str::from_utf8(&blob.body).ok()?.to_owned();
        Some(TransferLine::Blob { hash: content::hex(&blob.hash), body })
    }
}

pub(super) fn parse_hash(hex: &str) -> Option<[u8; 16]> {
    if hex.len() != 32 {
        return None;
    }
    let mut hash = [0; 16];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}
