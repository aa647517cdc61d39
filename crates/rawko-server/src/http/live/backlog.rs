//! Missed entries of one client, read separately and at the client's pace.

use axum::body::Bytes;
use rawko_store::Record;
use rawko_view::ViewError;
use rawko_view::journal::{Player, family};

use super::frames;
use super::members::Group;
use crate::http::app::App;

/// Records per read.
const RECORDS_PER_READ: usize = 128;
/// Limit on cached snapshots.
const MET_MAX: usize = 256;

pub(super) struct Backlog {
    app: App,
    group: Group,
    player: Player,
    /// Sequence number up to which everything was read.
    at: u64,
}

impl Backlog {
    pub(super) fn new(app: App, group: Group, at: u64) -> Backlog {
        let player = Player::moving(app.reader().clone(), app.world().clone());
        Backlog { app, group, player, at }
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the next frames, up to the record `through` or the last one. `None`: there are no more.
    pub(super) fn read(&mut self, through: Option<u64>) -> Result<Option<Bytes>, ViewError> {
        let through = match through {
            Some(through) => through,
            None => self.app.reader().store().last_seq()?,
        };
        while self.at < through {
            let records = self.records(through)?;
            self.at = match records.last() {
                Some(last) if records.len() >= RECORDS_PER_READ => last.seq,
                Some(_) | None => through,
            };
            let mut frames = Vec::new();
            for record in &records {
                frames.extend(self.frame(record));
            }
            if self.player.met() > MET_MAX {
                self.player.forget_all();
            }
            if !frames.is_empty() {
                return Ok(Some(frames.into()));
            }
        }
        Ok(None)
    }

    /// Returns records in store order. Descendants are looked up after `through` was fixed, so that every one with
    /// earlier records is included.
    fn records(&self, through: u64) -> Result<Vec<Record>, ViewError> {
        let reader = self.app.reader();
        let store = &**reader.store();
        let members = match &self.group {
            Group::Everything => {
                let mut records = store.tail(self.at, RECORDS_PER_READ)?;
                records.retain(|record| record.seq <= through);
                return Ok(records);
            }
            Group::One(id) => vec![reader.find(id)?],
            Group::Below(id) => family::of(store, reader.find(id)?)?,
        };
        Ok(family::after(store, &members, self.at, through, RECORDS_PER_READ)?)
    }

    /// Unreadable records are skipped; reading the instance reports the error.
    fn frame(&mut self, record: &Record) -> Vec<u8> {
        let told = match self.group {
            Group::Everything => self.player.glance(record).map(|entry| frames::glimpse(&entry)),
            Group::One(_) | Group::Below(_) => self.player.entry(record).map(|entry| frames::whole(&entry)),
        };
        told.unwrap_or_else(|_| {
            self.player.forget(record.instance);
            Vec::new()
        })
    }
}
