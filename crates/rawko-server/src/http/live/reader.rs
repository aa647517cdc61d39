//! The blocking part of the hub: reads the end of the store's journal and serializes it for each group.

use rawko_host::CallProgress;
use rawko_store::{Record, StoreError};
use rawko_view::journal::Player;
use rawko_view::standing::InstanceStanding;

use super::ended::EndedFilter;
use super::frames;
use super::members::{Bundle, Group, Interest};
use super::path::Kinship;
use crate::http::app::App;

/// Records per read.
const RECORDS_PER_READ: usize = 256;
/// Limit on cached snapshots.
const MET_MAX: usize = 2_048;
/// Id prefix of channel instances.
const CHANNEL: &str = "channel.";

pub(super) struct RecordReader {
    app: App,
    player: Player,
    kinship: Kinship,
    ended: EndedFilter,
}

/// A batch of records, serialized.
pub(super) struct RecordBatch {
    pub(super) bundle: Bundle,
    /// Sequence number of the last record.
    pub(super) seq: u64,
    /// True if there are more records.
    pub(super) is_full: bool,
    /// Channels with changes.
    pub(super) channels: Vec<String>,
    /// Progress that follows records to come.
    pub(super) unsent: Vec<CallProgress>,
}

impl RecordReader {
    pub(super) fn new(app: App) -> RecordReader {
        let player = Player::moving(app.reader().clone(), app.world().clone());
        RecordReader { app, player, kinship: Kinship::default(), ended: EndedFilter::default() }
    }

    /// Returns the records after a position.
    pub(super) fn records(&self, after: u64) -> Result<Vec<Record>, StoreError> {
        self.app.reader().store().tail(after, RECORDS_PER_READ)
    }

    /// Serializes the records after a position, and progress: that of a call before the record with its result, the rest
    /// at the end.
    pub(super) fn serialize(
        &mut self,
        after: u64,
        records: &[Record],
        mut unsent: Vec<CallProgress>,
        interest: &Interest,
    ) -> Result<RecordBatch, StoreError> {
        unsent.retain(|one| interest.is_about_instances() && !self.ended.covers(one));
        let mut told = RecordBatch {
            bundle: Bundle::default(),
            seq: records.last().map_or(after, |record| record.seq),
            is_full: records.len() == RECORDS_PER_READ,
            channels: Vec::new(),
            unsent,
        };
        for record in records {
            self.tell(record, interest, &mut told)?;
        }
        if !told.is_full {
            let rest = std::mem::take(&mut told.unsent);
            self.progress(&rest, interest, &mut told.bundle)?;
        }
        if self.player.met() > MET_MAX {
            self.player.forget_all();
        }
        Ok(told)
    }

    fn tell(
        &mut self,
        record: &Record,
        interest: &Interest,
        told: &mut RecordBatch,
    ) -> Result<(), StoreError> {
        let store = self.app.reader().store();
        let Some(kin) = self.kinship.of(record.instance, &**store)? else { return Ok(()) };
        if let Some(name) = kin.id.strip_prefix(CHANNEL) {
            told.channels.push(name.to_owned());
        }
        let mut groups = interest.in_detail(&kin).peekable();
        let in_detail = groups.peek().is_some();
        if !in_detail && !interest.everything {
            // The next record must restore its snapshot from the store.
            self.player.forget(record.instance);
            return Ok(());
        }
        let entry = if in_detail { self.player.entry(record) } else { self.player.glance(record) };
        // Unreadable records are skipped; reading the instance reports the error.
        let Ok(entry) = entry else {
            self.player.forget(record.instance);
            return Ok(());
        };
        if in_detail {
            self.ended.note(&entry);
            let ended: Vec<_> = told.unsent.extract_if(.., |one| self.ended.covers(one)).collect();
            self.progress(&ended, interest, &mut told.bundle)?;
            let frame = frames::whole(&entry);
            groups.for_each(|group| told.bundle.add(group, &frame));
        }
        if interest.everything {
            told.bundle.add(&Group::Everything, &frames::glimpse(&entry));
        }
        if entry.status.is_over() {
            self.player.forget(record.instance);
        }
        Ok(())
    }

    /// Serializes progress for the clients of the instances.
    fn progress(
        &mut self,
        all: &[CallProgress],
        interest: &Interest,
        bundle: &mut Bundle,
    ) -> Result<(), StoreError> {
        let store = self.app.reader().store();
        for one in all {
            let Some(kin) = self.kinship.named(&one.instance, &**store)? else { continue };
            let mut groups = interest.in_detail(&kin).peekable();
            if groups.peek().is_some() {
                let frame = frames::progress(one, kin.agent.as_deref());
                groups.for_each(|group| bundle.add(group, &frame));
            }
        }
        Ok(())
    }

    /// Serializes the text so far of the calls that still run.
    pub(super) fn so_far(&mut self, all: &[CallProgress], interest: &Interest) -> Result<Bundle, StoreError> {
        let mut open = Vec::new();
        for one in all {
            let store = self.app.reader().store();
            let Some(kin) = self.kinship.named(&one.instance, &**store)? else { continue };
            if interest.in_detail(&kin).next().is_some() && !self.ended.covers(one) && self.is_open(one) {
                open.push(one.clone());
            }
        }
        let mut bundle = Bundle::default();
        self.progress(&open, interest, &mut bundle)?;
        Ok(bundle)
    }

    /// Returns true if a call has no result yet.
    fn is_open(&self, told: &CallProgress) -> bool {
        let standing =
            InstanceStanding::of(self.app.reader(), &told.instance, self.app.world(), self.app.now_ms());
        standing.is_ok_and(|standing| standing.running.iter().any(|running| *running.invoke == *told.id))
    }
}
