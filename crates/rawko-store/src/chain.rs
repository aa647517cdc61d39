//! The hash chain of an instance's journal: each record's link covers the record and the link before it, so that a
//! changed, missing or foreign record is detected. Pure and separate from the stores, because exports carry the same
//! links.

use crate::{AuditLine, Record, RecordKind};

/// One link: the first half of a BLAKE3 hash.
pub type ChainLink = [u8; 16];

/// The link before the first record of an instance.
pub const START: ChainLink = [0; 16];

/// Returns the link of a record that follows the one with link `previous`. Neither `seq` nor the instance's key is part
/// of it: both change when an instance is imported into another store.
pub fn link(previous: &ChainLink, record: &Record) -> ChainLink {
    let texts = [&record.event, &record.delta, &record.effects].map(|text| text.as_bytes());
    // Hashed in one piece: for the short texts of most records this takes half the time of an incremental hasher.
    let mut bytes = Vec::with_capacity(41 + texts.iter().map(|text| text.len()).sum::<usize>());
    bytes.extend_from_slice(previous);
    bytes.extend_from_slice(&record.step.to_le_bytes());
    bytes.extend_from_slice(&record.at_ms.to_le_bytes());
    bytes.push(kind_byte(record.kind));
    // Length prefixes ensure that no two different records give the same bytes.
    bytes.extend_from_slice(&len(texts[0]));
    bytes.extend_from_slice(&len(texts[1]));
    texts.iter().for_each(|text| bytes.extend_from_slice(text));
    first_half(&blake3::hash(&bytes))
}

/// Returns the link of a line of the audit that follows the one with link `previous`.
pub fn audit_link(previous: &ChainLink, line: &AuditLine) -> ChainLink {
    let texts =
        [&*line.instance, &*line.effect, &*line.service, &*line.decision, &line.reason, &line.provenance];
    let mut bytes = Vec::with_capacity(48 + texts.iter().map(|text| text.len()).sum::<usize>());
    bytes.extend_from_slice(previous);
    bytes.extend_from_slice(&line.at_ms.to_le_bytes());
    texts.iter().for_each(|text| bytes.extend_from_slice(&len(text.as_bytes())));
    texts.iter().for_each(|text| bytes.extend_from_slice(text.as_bytes()));
    first_half(&blake3::hash(&bytes))
}

/// Returns the first half of the hash so far.
pub(crate) fn half(hasher: &blake3::Hasher) -> ChainLink {
    first_half(&hasher.finalize())
}

/// Returns the first half of the hash of these bytes.
#[cfg(feature = "sqlite")]
pub(crate) fn hash(bytes: &[u8]) -> ChainLink {
    first_half(&blake3::hash(bytes))
}

fn first_half(hash: &blake3::Hash) -> ChainLink {
    let mut link = START;
    link.copy_from_slice(&hash.as_bytes()[..16]);
    link
}

/// SQLite cannot store a text of 4 GiB.
fn len(text: &[u8]) -> [u8; 4] {
    u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// Part of the format: never changes.
fn kind_byte(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Started => 0,
        RecordKind::Forked => 1,
        RecordKind::Stepped => 2,
        RecordKind::Ignored => 3,
        RecordKind::Failed => 4,
        RecordKind::Migrated => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstanceKey;
    use rawko_instance::content::hex;

    fn record() -> Record {
        Record {
            seq: 9,
            instance: InstanceKey(3),
            step: 2,
            at_ms: 1_000,
            kind: RecordKind::Stepped,
            event: "\"a\"".to_owned(),
            delta: "{}".to_owned(),
            effects: "[]".to_owned(),
        }
    }

    #[test]
    fn a_link_is_the_same_in_every_release() {
        let first = link(&START, &record());
        expect_test::expect!["b27a3f8b06ad359ff0d668dcf3e36efe"].assert_eq(&hex(&first));
        expect_test::expect!["620d231641ad15a0678662d32132f7e3"].assert_eq(&hex(&link(&first, &record())));
    }

    #[test]
    fn the_link_of_an_audit_line_is_the_same_in_every_release_and_covers_all_of_it() {
        let line = AuditLine {
            at_ms: 1_000,
            instance: "order-1".into(),
            effect: "order-1/2/0".into(),
            service: "charge_card".into(),
            decision: "allowed".into(),
            reason: "governance.allow".to_owned(),
            provenance: "{}".to_owned(),
        };
        let first = audit_link(&START, &line);
        expect_test::expect!["ee7d6146c9c98f989d42322d4d1cc9ad"].assert_eq(&hex(&first));
        let changes: [fn(&mut AuditLine); 8] = [
            |it| it.at_ms = 1_001,
            |it| it.instance = "order-2".into(),
            |it| it.effect = "order-1/2/1".into(),
            |it| it.service = "refund".into(),
            |it| it.decision = "refused".into(),
            |it| it.reason = String::new(),
            |it| it.provenance = "{ }".to_owned(),
            |it| (it.reason, it.provenance) = ("governance.allow{".to_owned(), "}".to_owned()),
        ];
        for change in changes {
            let mut changed = line.clone();
            change(&mut changed);
            assert_ne!(audit_link(&START, &changed), first, "{changed:?}");
        }
        assert_ne!(audit_link(&first, &line), first);
    }

    #[test]
    fn everything_but_key_and_seq_is_part_of_a_link() {
        type Change = (&'static str, fn(&mut Record), bool);
        let changes: [Change; 9] = [
            ("seq", |it| it.seq = 10, true),
            ("instance", |it| it.instance = InstanceKey(4), true),
            ("step", |it| it.step = 3, false),
            ("at_ms", |it| it.at_ms = 1_001, false),
            ("kind", |it| it.kind = RecordKind::Ignored, false),
            ("event", |it| it.event = "\"b\"".to_owned(), false),
            ("delta", |it| it.delta = "{ }".to_owned(), false),
            ("effects", |it| it.effects = String::new(), false),
            ("a byte moved", |it| (it.event, it.delta) = ("\"a\"{".to_owned(), "}".to_owned()), false),
        ];
        for (what, change, is_same) in changes {
            let mut changed = record();
            change(&mut changed);
            assert_eq!(link(&START, &changed) == link(&START, &record()), is_same, "{what}");
        }
        assert_ne!(link(&[1; 16], &record()), link(&START, &record()), "the link before");
    }
}
