//! The rows of a commit besides its records: open effects, messages in flight, deliveries and the audit. Separate from
//! the batch, which decides whether they may be written.

use rusqlite::params;

use super::batch::{Batch, BatchFailure, not_its_own};
use super::rows::int;
use super::seals;
use crate::{Commit, OpenEffect};

macro_rules! insert_effect {
    ($verb:literal) => {
        concat!(
            $verb,
            " INTO effects (instance, step, \"index\", kind, invocation, name, body, opened_ms, due_ms, idempotency,
                            result, parked, in_doubt, seal)
              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        )
    };
}

impl Batch<'_> {
    /// Returns by how many there are more.
    pub(super) fn effects(&self, key: i64, commit: &Commit) -> Result<i64, BatchFailure> {
        if commit.opened.iter().any(|effect| effect.instance.0 != key) {
            return Err(not_its_own(key));
        }
        if let ([opened], [closed]) = (&*commit.opened, &*commit.closed)
            && self.replace_effect(key, opened, *closed)?
        {
            return Ok(0);
        }
        let mut more = 0;
        for effect in &commit.opened {
            // Whether there is one already shows only in the number of rows that are inserted.
            let is_new = self.open_effect(insert_effect!("INSERT OR IGNORE"), key, effect)? > 0;
            more += i64::from(is_new);
            if !is_new {
                self.open_effect(insert_effect!("INSERT OR REPLACE"), key, effect)?;
            }
        }
        for (step, index) in &commit.closed {
            more -= self.change(
                "DELETE FROM effects WHERE instance = ?1 AND step = ?2 AND \"index\" = ?3",
                params![key, int(*step), index],
            )?;
        }
        Ok(more)
    }

    /// Writes an opened effect in the place of a closed one: a call that follows another is one statement. Returns false if
    /// the closed one is not stored, or the opened one is.
    fn replace_effect(
        &self,
        key: i64,
        opened: &OpenEffect,
        closed: (u64, u32),
    ) -> Result<bool, BatchFailure> {
        if (opened.step, opened.index) == closed {
            return Ok(false);
        }
        let sql = "UPDATE OR IGNORE effects
                   SET step = ?2, \"index\" = ?3, kind = ?4, invocation = ?5, name = ?6, body = ?7, opened_ms = ?8,
                       due_ms = ?9, idempotency = ?10, result = ?11, parked = ?12, in_doubt = ?13,
                       seal = ?16
                   WHERE instance = ?1 AND step = ?14 AND \"index\" = ?15";
        let row = params![
            key,
            int(opened.step),
            opened.index,
            opened.kind.as_str(),
            opened.invocation.map(int),
            opened.name,
            opened.body,
            opened.opened_ms,
            opened.due_ms,
            opened.idempotency,
            opened.result,
            opened.parked,
            opened.in_doubt,
            int(closed.0),
            closed.1,
            seals::effect(opened)
        ];
        Ok(self.connection.prepare_cached(sql)?.execute(row)? > 0)
    }

    fn open_effect(&self, sql: &str, key: i64, effect: &OpenEffect) -> Result<i64, BatchFailure> {
        self.change(
            sql,
            params![
                key,
                int(effect.step),
                effect.index,
                effect.kind.as_str(),
                effect.invocation.map(int),
                effect.name,
                effect.body,
                effect.opened_ms,
                effect.due_ms,
                effect.idempotency,
                effect.result,
                effect.parked,
                effect.in_doubt,
                seals::effect(effect)
            ],
        )
    }

    pub(super) fn messages(&mut self, commit: &Commit) -> Result<(), BatchFailure> {
        for event in &commit.sent {
            let row = params![event.seq, event.to.0, event.event, seals::inbound(event)];
            let sql = "INSERT INTO inbound (seq, \"to\", event, seal) VALUES (?1, ?2, ?3, ?4)";
            self.in_flight += self.change(sql, row)?;
            self.inbound = self.inbound.max(event.seq);
        }
        for seq in &commit.taken {
            self.in_flight -= self.change("DELETE FROM inbound WHERE seq = ?1", [seq])?;
        }
        Ok(())
    }

    /// Returns by how many there are more.
    pub(super) fn deliveries(&self, key: i64, commit: &Commit) -> Result<i64, BatchFailure> {
        let mut more = 0;
        for delivery in &commit.deliveries {
            let seal = seals::delivery(key, &delivery.key, delivery.step);
            let row = params![key, delivery.key, int(delivery.step), seal];
            let sql = "INSERT OR IGNORE INTO deliveries (instance, key, step, seal) VALUES (?1, ?2, ?3, ?4)";
            more += self.change(sql, row)?;
        }
        Ok(more)
    }
}
