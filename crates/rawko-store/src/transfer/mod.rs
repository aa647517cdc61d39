//! One instance as a file: the instance with its descendants and all of their data, for transfer between stores.
//! Separate from the stores, which read and write a [`InstanceFamily`], and from backups, which copy a whole store.

mod lines;
mod read;
mod write;

use std::sync::Arc;

use rawko_instance::content;
use rustc_hash::FxHashSet;

use crate::references;
use crate::store::HighestNumbers;
use crate::{
    AuditLine, Blob, ChartHash, ChartRow, Commit, Head, Inbound, InstanceKey, KeyedDelivery, NewInstance,
    OpenEffect, Record, RecordKind, SavedSnapshot,
};

pub use read::ReadExportError;

/// An instance with its descendants, parents before their children, and their charts and blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceFamily {
    /// Each chart of a member once.
    pub charts: Vec<ChartRow>,
    /// The root first; each parent precedes its children.
    pub members: Vec<FamilyMember>,
    /// All blobs that the texts of the members refer to.
    pub blobs: Vec<Blob>,
}

/// One instance of a family. Keys and sequence numbers are those of the original store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyMember {
    /// Id, chart and parent, as committed at its start.
    pub new: NewInstance,
    /// Status, wait and outcome at the time of the export.
    pub head: Head,
    /// The complete journal, in the order of steps.
    pub records: Vec<Record>,
    /// All stored snapshots, by step.
    pub snapshots: Vec<SavedSnapshot>,
    /// Effects that were open at the time of the export, by step and index.
    pub effects: Vec<OpenEffect>,
    /// Events in flight to it, packed, in order.
    pub inbound: Vec<String>,
    /// Keys of past deliveries from outside, so that duplicates are still detected after the import.
    pub deliveries: Vec<KeyedDelivery>,
    /// Its audit lines, oldest first.
    pub audit: Vec<AuditLine>,
}

impl InstanceFamily {
    /// Returns the commits that add a family to a store with these marks; they must be committed together.
    pub fn commits(self, marks: HighestNumbers) -> Vec<Commit> {
        let (mut key, mut seq) = (marks.instance, marks.inbound);
        let mut commits = Vec::new();
        for member in self.members {
            key += 1;
            member.add_commits(InstanceKey(key), &mut seq, &mut commits);
        }
        if let Some(first) = commits.first_mut() {
            first.blobs = self.blobs;
        }
        commits
    }

    /// Returns the ids, the root's first.
    pub fn ids(&self) -> Vec<Arc<str>> {
        self.members.iter().map(|member| Arc::clone(&member.new.id)).collect()
    }
}

impl FamilyMember {
    /// Returns the charts that it was migrated from.
    pub(crate) fn earlier_charts(&self) -> Vec<ChartHash> {
        let migrated = self.records.iter().filter(|record| record.kind == RecordKind::Migrated);
        let hash = |record: &Record| {
            let event: serde_json::Value = serde_json::from_str(&record.event).ok()?;
            content::from_hex(event.get("from")?.get("hash")?.as_str()?)
        };
        migrated.filter_map(hash).collect()
    }

    /// Adds the names of all blobs that its texts refer to.
    pub(crate) fn collect_names(&self, names: &mut FxHashSet<[u8; 16]>) {
        for record in &self.records {
            for text in [&record.event, &record.delta, &record.effects] {
                references::collect(text, names);
            }
        }
        self.snapshots.iter().for_each(|snapshot| references::collect(&snapshot.body, names));
        for effect in &self.effects {
            references::collect(&effect.body, names);
            references::collect(&effect.result, names);
        }
        self.inbound.iter().for_each(|event| references::collect(event, names));
    }

    /// Adds a commit for each snapshot, with the records up to it, and one for the rest.
    fn add_commits(self, key: InstanceKey, seq: &mut i64, commits: &mut Vec<Commit>) {
        let mut snapshots = self.snapshots.into_iter().peekable();
        let mut commit = Commit { instance: key, create: Some(Box::new(self.new)), ..Commit::default() };
        for record in self.records {
            let (step, is_taken) = (record.step, record.kind != RecordKind::Failed);
            commit.records.push(Record { instance: key, seq: 0, ..record });
            if is_taken && let Some(snapshot) = snapshots.next_if(|snapshot| snapshot.step <= step) {
                commit.snapshot = Some(Box::new(snapshot));
                let next = Commit { instance: key, ..Commit::default() };
                commits.push(std::mem::replace(&mut commit, next));
            }
        }
        commit.snapshot = snapshots.next().map(Box::new);
        commit.head = Some(Box::new(self.head));
        commit.opened =
            self.effects.into_iter().map(|effect| OpenEffect { instance: key, ..effect }).collect();
        for event in self.inbound {
            *seq += 1;
            commit.sent.push(Inbound { seq: *seq, to: key, event });
        }
        commit.deliveries = self.deliveries;
        commit.audit = self.audit;
        commits.push(commit);
    }
}
