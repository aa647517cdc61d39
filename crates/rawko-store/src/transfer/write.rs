//! Writes an export.

use std::io::{self, Write};
use std::sync::Arc;

use super::lines::{ChartLine, EffectLine, InstanceLine, RecordLine, TransferLine, VERSION};
use super::{FamilyMember, InstanceFamily};
use crate::chain::{self, half};
use rawko_instance::content;

impl InstanceFamily {
    /// Writes the family as JSON lines. The last one has the hash of all others, so that a truncated or changed file is
    /// detected.
    pub fn write(&self, out: &mut dyn Write, exported_ms: i64) -> io::Result<()> {
        let mut lines = TransferWriter { out, hasher: blake3::Hasher::new() };
        let instance = self.members.first().map(|root| Arc::clone(&root.new.id)).unwrap_or_default();
        lines.write(&TransferLine::Export { v: VERSION, instance, exported_ms })?;
        for chart in &self.charts {
            lines.write(&TransferLine::Chart(ChartLine::of(chart)))?;
        }
        for blob in &self.blobs {
            let not_text = || io::Error::other(format!("the blob {} is not text", content::hex(&blob.hash)));
            lines.write(&TransferLine::blob(blob).ok_or_else(not_text)?)?;
        }
        self.members.iter().try_for_each(|member| member.write(&mut lines))?;
        lines.end()
    }
}

impl FamilyMember {
    fn write(&self, lines: &mut TransferWriter<'_>) -> io::Result<()> {
        let (new, head) = (self.new.clone(), self.head.clone());
        lines.write(&TransferLine::Instance(InstanceLine { new, head }))?;
        let mut link = chain::START;
        for record in &self.records {
            link = chain::link(&link, record);
            lines.write(&TransferLine::Record(RecordLine::of(record, &link)))?;
        }
        for snapshot in &self.snapshots {
            lines.write(&TransferLine::Snapshot { step: snapshot.step, body: snapshot.body.clone() })?;
        }
        for effect in &self.effects {
            lines.write(&TransferLine::Effect(EffectLine::of(effect)))?;
        }
        for event in &self.inbound {
            lines.write(&TransferLine::Inbound { event: event.clone() })?;
        }
        for delivery in &self.deliveries {
            lines.write(&TransferLine::Delivery(delivery.clone()))?;
        }
        self.audit.iter().try_for_each(|line| lines.write(&TransferLine::Audit(line.clone())))
    }
}

struct TransferWriter<'o> {
    out: &'o mut dyn Write,
    hasher: blake3::Hasher,
}

impl TransferWriter<'_> {
    fn write(&mut self, line: &TransferLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.hasher.update(&text);
        self.out.write_all(&text)
    }

    fn end(mut self) -> io::Result<()> {
        let hash = content::hex(&half(&self.hasher));
        self.write(&TransferLine::End { hash })
    }
}
