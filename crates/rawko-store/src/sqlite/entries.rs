//! The rows of a commit besides its records: open effects, messages in flight, deliveries and the audit. Separate from
//! the batch, which decides whether they may be written.

use rusqlite::params;

use super::batch::{Batch, Failure, not_its_own};
use super::rows::int;
use crate::{Commit, OpenEffect};

impl Batch<'_> {
    pub(super) fn effects(&self, key: i64, commit: &Commit) -> Result<(), Failure> {
        for effect in &commit.opened {
            if effect.instance.0 != key {
                return Err(not_its_own(key));
            }
            self.open_effect(key, effect)?;
        }
        for (step, index) in &commit.closed {
            self.run(
                "DELETE FROM effects WHERE instance = ?1 AND step = ?2 AND \"index\" = ?3",
                params![key, int(*step), index],
            )?;
        }
        Ok(())
    }

    fn open_effect(&self, key: i64, effect: &OpenEffect) -> Result<(), Failure> {
        self.run(
            "INSERT OR REPLACE INTO effects
                 (instance, step, \"index\", kind, invocation, name, body, opened_ms, due_ms, idempotency,
                  result, parked, in_doubt)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
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
                effect.in_doubt
            ],
        )
    }

    pub(super) fn messages(&mut self, commit: &Commit) -> Result<(), Failure> {
        for event in &commit.sent {
            let row = params![event.seq, event.to.0, event.event];
            self.run("INSERT INTO inbound (seq, \"to\", event) VALUES (?1, ?2, ?3)", row)?;
            self.inbound = self.inbound.max(event.seq);
        }
        for seq in &commit.taken {
            self.run("DELETE FROM inbound WHERE seq = ?1", [seq])?;
        }
        Ok(())
    }

    pub(super) fn lines(&self, key: i64, commit: &Commit) -> Result<(), Failure> {
        for delivery in &commit.deliveries {
            let row = params![key, delivery.key, int(delivery.step)];
            self.run("INSERT OR IGNORE INTO deliveries (instance, key, step) VALUES (?1, ?2, ?3)", row)?;
        }
        self.audit(commit)
    }
}
