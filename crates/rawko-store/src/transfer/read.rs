//! Reads an export. Everything is verified by its hashes: the file as a whole, every record, every blob.

use std::io::BufRead;

use super::lines::{InstanceLine, RecordLine, TransferLine, VERSION, parse_hash};
use super::{FamilyMember, InstanceFamily};
use crate::chain::{self, ChainLink, half};
use crate::{Blob, SavedSnapshot};
use rawko_instance::content;

/// The reason that a file cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadExportError {
    /// The source returned an error, or its text is not UTF-8.
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    /// A line is not valid JSON, has an unknown kind or an invalid hash, or is misplaced.
    #[error("line {line} is invalid: {why}")]
    Malformed {
        /// Line number, from 1.
        line: usize,
        /// The parse error or the violated rule.
        why: String,
    },
    /// The export has this version, which is not supported.
    #[error("unsupported export version {0}; this rawko reads version {VERSION}")]
    Version(u32),
    /// A record or a blob does not match its hash.
    #[error("line {line} was modified: {what}")]
    Changed {
        /// Line number, from 1.
        line: usize,
        /// Description of the mismatch.
        what: String,
    },
    /// The last line is missing or has another hash, or the file contains no instance.
    #[error(
        "the file is incomplete or was modified: its last line does not match; export the instance again"
    )]
    NotWhole,
}

impl InstanceFamily {
    /// Reads and verifies an export.
    pub fn read(mut from: impl BufRead) -> Result<InstanceFamily, ReadExportError> {
        let mut reading = TransferReader::default();
        let mut hasher = blake3::Hasher::new();
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            if from.read_line(&mut text)? == 0 {
                break;
            }
            let before = half(&hasher);
            hasher.update(text.as_bytes());
            let parsed = serde_json::from_str(&text);
            let parsed =
                parsed.map_err(|error| ReadExportError::Malformed { line, why: error.to_string() })?;
            reading.take(parsed, line, &before)?;
        }
        reading.finish()
    }
}

#[derive(Default)]
struct TransferReader {
    family: InstanceFamily,
    /// The link of the last record of the last instance.
    link: ChainLink,
    is_begun: bool,
    is_ended: bool,
}

impl TransferReader {
    /// `before` is the hash of all lines above.
    fn take(&mut self, line: TransferLine, number: usize, before: &ChainLink) -> Result<(), ReadExportError> {
        let malformed = |why: &str| ReadExportError::Malformed { line: number, why: why.to_owned() };
        if self.is_ended {
            return Err(malformed("unexpected data after the last line"));
        }
        if !self.is_begun && !matches!(line, TransferLine::Export { .. }) {
            return Err(malformed("the first line must be `export`"));
        }
        let changed = |what: &str| ReadExportError::Changed { line: number, what: what.to_owned() };
        match line {
            TransferLine::Export { v, .. } if v != VERSION => return Err(ReadExportError::Version(v)),
            TransferLine::Export { .. } if self.is_begun => return Err(malformed("duplicate `export` line")),
            TransferLine::Export { .. } => self.is_begun = true,
            TransferLine::Chart(chart) => {
                self.family.charts.push(chart.into_chart().ok_or_else(|| malformed("invalid hash"))?);
            }
            TransferLine::Instance(InstanceLine { new, head }) => {
                self.link = chain::START;
                self.family.members.push(FamilyMember::begun(new, head));
            }
            TransferLine::Blob { hash, body } => {
                let body = body.into_bytes();
                let hash = parse_hash(&hash).ok_or_else(|| malformed("invalid hash"))?;
                if content::hash(&body) != hash {
                    return Err(changed("the blob does not match its hash"));
                }
                self.family.blobs.push(Blob { hash, body });
            }
            TransferLine::End { hash } => {
                if parse_hash(&hash) != Some(*before) {
                    return Err(ReadExportError::NotWhole);
                }
                self.is_ended = true;
            }
            part => {
                let member =
                    self.family.members.last_mut().ok_or_else(|| malformed("no instance precedes it"))?;
                match part {
                    TransferLine::Record(record) => {
                        if !take_record(member, record, &mut self.link) {
                            return Err(changed("the record does not match the one before it"));
                        }
                    }
                    TransferLine::Snapshot { step, body } => {
                        member.snapshots.push(SavedSnapshot { step, body })
                    }
                    TransferLine::Effect(effect) => member.effects.push(effect.into_effect()),
                    TransferLine::Inbound { event } => member.inbound.push(event),
                    TransferLine::Delivery(delivery) => member.deliveries.push(delivery),
                    TransferLine::Audit(line) => member.audit.push(line),
                    TransferLine::Export { .. }
                    | TransferLine::Chart(_)
                    | TransferLine::Instance(_)
                    | TransferLine::Blob { .. }
                    | TransferLine::End { .. } => {}
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<InstanceFamily, ReadExportError> {
        match self.is_ended && !self.family.members.is_empty() {
            true => Ok(self.family),
            false => Err(ReadExportError::NotWhole),
        }
    }
}

/// Adds a record. Returns true if it follows the last one.
fn take_record(member: &mut FamilyMember, line: RecordLine, link: &mut ChainLink) -> bool {
    let claimed = parse_hash(&line.chain);
    let record = line.into_record();
    *link = chain::link(link, &record);
    member.records.push(record);
    claimed == Some(*link)
}

impl FamilyMember {
    fn begun(new: crate::NewInstance, head: crate::Head) -> FamilyMember {
        FamilyMember {
            new,
            head,
            records: Vec::new(),
            snapshots: Vec::new(),
            effects: Vec::new(),
            inbound: Vec::new(),
            deliveries: Vec::new(),
            audit: Vec::new(),
        }
    }
}
