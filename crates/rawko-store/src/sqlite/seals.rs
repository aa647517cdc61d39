//! Hashes of rows that no chain covers and that decide what an instance does next: open effects, deliveries, messages,
//! and the row of the instance. A modified row stops its instance instead of calling something else.

use rusqlite::{Connection, Result, Row, params};

use super::fault::{StoreReadError, cause, is_conversion};
use super::rows::{self, EFFECT, IDENTITY, INBOUND, INSTANCE, int, uint};
use crate::chain::{ChainLink, hash};
use crate::report::{ChainKind, ChainProblem};
use crate::{Head, Inbound, InstanceKey, NewInstance, OpenEffect, Outcome};

/// Collects the columns of a row: each with its length, so that no two rows give the same bytes. Hashed in one piece: for
/// the short columns of a row this takes less than half the time of an incremental hasher.
pub(super) struct Seal(Vec<u8>);

impl Seal {
    pub(super) fn new(table: &str, key: i64) -> Seal {
        let mut seal = Seal(Vec::with_capacity(512));
        seal.text(table);
        seal.number(key);
        seal
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn finish(&self) -> ChainLink {
        hash(&self.0)
    }

    /// The first byte distinguishes an absent value from 0.
    fn optional(&mut self, number: Option<i64>) {
        self.0.push(u8::from(number.is_some()));
        self.number(number.unwrap_or(0));
    }
}

/// Returns the hash of an open effect's row: all of its columns.
pub(super) fn effect(effect: &OpenEffect) -> ChainLink {
    let OpenEffect { instance, step, index, kind, invocation, name, body, opened_ms, due_ms, .. } = effect;
    let mut seal = Seal::new("effects", instance.0);
    seal.number(int(*step));
    seal.number(i64::from(*index));
    seal.text(kind.as_str());
    seal.optional(invocation.map(int));
    seal.text(name);
    seal.text(body);
    seal.number(*opened_ms);
    seal.optional(*due_ms);
    seal.text(&effect.idempotency);
    seal.text(&effect.result);
    seal.number(i64::from(effect.parked));
    seal.number(i64::from(effect.in_doubt));
    seal.finish()
}

/// Returns the hash of a delivery's row.
pub(super) fn delivery(instance: i64, key: &str, step: u64) -> ChainLink {
    let mut seal = Seal::new("deliveries", instance);
    seal.text(key);
    seal.number(int(step));
    seal.finish()
}

/// Returns the hash of a message in flight.
pub(super) fn inbound(inbound: &Inbound) -> ChainLink {
    let mut seal = Seal::new("inbound", inbound.seq);
    seal.number(inbound.to.0);
    seal.text(&inbound.event);
    seal.finish()
}

/// Returns the hash of the columns of an instance that only a migration changes.
pub(super) fn instance(key: i64, new: &NewInstance) -> ChainLink {
    let mut seal = identity(key, new);
    seal.bytes(&new.chart);
    seal.text(&new.chart_id);
    seal.text(&new.version);
    seal.finish()
}

/// The hash of format 7, without the chart.
fn instance_without_chart(key: i64, new: &NewInstance) -> ChainLink {
    identity(key, new).finish()
}

fn identity(key: i64, new: &NewInstance) -> Seal {
    let mut seal = Seal::new("instances", key);
    seal.text(&new.id);
    seal.number(new.created_ms);
    seal.text(&new.policy);
    seal.optional(new.parent.as_ref().map(|parent| int(parent.invocation)));
    if let Some(parent) = &new.parent {
        seal.text(&parent.id);
        seal.text(&parent.invoke);
        seal.number(i64::from(parent.generation));
    }
    seal.optional(new.origin.as_ref().map(|origin| int(origin.step)));
    if let Some(origin) = &new.origin {
        seal.text(&origin.id);
    }
    seal
}

/// Returns the hash of what lists show of an instance, and of the end of its journal beside it.
pub(super) fn head(key: i64, head: &Head, journal_step: i64, journal_chain: &[u8]) -> ChainLink {
    let Head { status, wait, next_due_ms, fault, ledger, outcome } = head;
    let mut seal = Seal::new("heads", key);
    seal.text(status.as_str());
    seal.text(wait.as_str());
    seal.optional(*next_due_ms);
    for text in [fault.as_deref(), ledger.as_deref(), outcome.map(Outcome::as_str)] {
        seal.optional(text.map(|text| int(text.len() as u64)));
        seal.text(text.unwrap_or_default());
    }
    seal.number(journal_step);
    seal.bytes(journal_chain);
    seal.finish()
}

/// Writes the hash of an instance again, after a migration to another chart.
pub(super) fn renew_instance(connection: &Connection, key: i64) -> Result<()> {
    let sql = format!("SELECT {IDENTITY} FROM instances WHERE key = ?1");
    let new = connection.prepare_cached(&sql)?.query_row([key], rows::new_instance)?;
    let sql = "UPDATE instances SET seal = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, instance(key, &new)]).map(drop)
}

/// Returns the open effects of an instance; a modified one is an error that names it and the step.
pub(super) fn effects(
    connection: &Connection,
    key: InstanceKey,
) -> std::result::Result<Vec<OpenEffect>, StoreReadError> {
    let sql = format!("SELECT {EFFECT} FROM effects WHERE instance = ?1 ORDER BY step, \"index\"");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([key.0])?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next()? {
        let step = row.get(1).unwrap_or(0);
        effects.push(match rows::effect(row) {
            Err(error) if is_conversion(&error) => {
                let what = format!("the open effect is damaged: {}", cause(&error));
                return Err(StoreReadError::damaged(connection, key, step, &what));
            }
            other => other?,
        });
    }
    Ok(effects)
}

/// Returns the messages to an instance; a modified one is an error that names it.
pub(super) fn messages(
    connection: &Connection,
    key: InstanceKey,
) -> std::result::Result<Vec<Inbound>, StoreReadError> {
    let sql = format!("SELECT {INBOUND} FROM inbound WHERE \"to\" = ?1 ORDER BY seq");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([key.0])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        messages.push(match rows::inbound(row) {
            Err(error) if is_conversion(&error) => {
                let what = format!("the message {} is damaged: {}", row.get::<_, i64>(0)?, cause(&error));
                return Err(StoreReadError::damaged(connection, key, 0, &what));
            }
            other => other?,
        });
    }
    Ok(messages)
}

/// Returns the step at which an instance took a delivery.
pub(super) fn delivered(
    connection: &Connection,
    key: InstanceKey,
    of: &str,
) -> std::result::Result<Option<u64>, StoreReadError> {
    let sql = "SELECT step, seal FROM deliveries WHERE instance = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key.0, of])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let step = row.get(0)?;
    match rows::link(row, 1)? == Some(delivery(key.0, of, uint(step))) {
        true => Ok(Some(uint(step))),
        false => {
            Err(StoreReadError::damaged(connection, key, step, &format!("the delivery `{of}` was modified")))
        }
    }
}

/// Passes each modified effect, delivery and message to the callback. Instances are checked with their journals.
pub(super) fn verify(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    verify_open(connection, tell)?;
    let mut statement = connection.prepare("SELECT instance, key, step, seal FROM deliveries")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, step): (i64, i64) = (row.get(0)?, row.get(2)?);
        let name = String::from_utf8_lossy(row.get_ref(1)?.as_bytes()?).into_owned();
        if rows::link(row, 3)? != Some(delivery(key, &name, uint(step))) {
            tell(problem(connection, key, step, format!("the delivery `{name}` was modified")));
        }
    }
    Ok(())
}

fn problem(connection: &Connection, key: i64, step: i64, message: String) -> ChainProblem {
    let sql = "SELECT id FROM instances WHERE key = ?1";
    let id = connection.query_row(sql, [key], |row| row.get(0)).unwrap_or_else(|_| format!("#{key}"));
    ChainProblem { chain: ChainKind::Journal, instance: Some(id), step: Some(uint(step)), message }
}

/// Like [`verify`], for open work: effects and messages.
pub(super) fn verify_open(connection: &Connection, tell: &mut dyn FnMut(ChainProblem)) -> Result<()> {
    let mut problem = |key, step, message| tell(problem(connection, key, step, message));
    let mut statement = connection.prepare(&format!("SELECT {EFFECT} FROM effects"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match rows::effect(row) {
            Err(error) if is_conversion(&error) => {
                problem(
                    row.get(0)?,
                    row.get(1).unwrap_or(0),
                    format!("the open effect is damaged: {}", cause(&error)),
                );
            }
            other => drop(other?),
        }
    }
    let mut statement = connection.prepare(&format!("SELECT {INBOUND} FROM inbound"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match rows::inbound(row) {
            Err(error) if is_conversion(&error) => {
                let (seq, to): (i64, i64) = (row.get(0)?, row.get(1).unwrap_or(0));
                problem(to, 0, format!("the message {seq} is damaged: {}", cause(&error)));
            }
            other => drop(other?),
        }
    }
    Ok(())
}

/// Adds the hashes of existing rows, for the migration.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(&format!("SELECT {EFFECT} FROM effects"))?;
    let effects: Vec<OpenEffect> = statement.query_map([], rows::effect_unchecked)?.collect::<Result<_>>()?;
    for open in effects {
        let sql = "UPDATE effects SET seal = ?4 WHERE instance = ?1 AND step = ?2 AND \"index\" = ?3";
        let row = params![open.instance.0, int(open.step), open.index, effect(&open)];
        connection.prepare_cached(sql)?.execute(row)?;
    }
    let mut statement = connection.prepare("SELECT instance, key, step FROM deliveries")?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let deliveries: Vec<(i64, String, i64)> = statement.query_map([], read)?.collect::<Result<_>>()?;
    for (key, of, step) in deliveries {
        let sql = "UPDATE deliveries SET seal = ?3 WHERE instance = ?1 AND key = ?2";
        connection.prepare_cached(sql)?.execute(params![key, of, delivery(key, &of, uint(step))])?;
    }
    for (key, new, _) in identities(connection)? {
        let sql = "UPDATE instances SET seal = ?2 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![key, instance_without_chart(key, &new)])?;
    }
    Ok(())
}

/// Format 8: adds the other hashes. Rows that do not match the hash of format 7 keep it, so that they stay damaged.
pub(super) fn add_heads(connection: &Connection) -> Result<()> {
    for (key, new, seal) in identities(connection)? {
        if seal == Some(instance_without_chart(key, &new)) {
            renew_instance(connection, key)?;
        }
    }
    let mut statement = connection.prepare(&format!("SELECT {INSTANCE} FROM instances"))?;
    let read = |row: &Row<'_>| match rows::head(row) {
        // The row is damaged, and stays so.
        Err(error) if is_conversion(&error) => Ok(None),
        found => {
            Ok(Some((row.get(0)?, head(row.get(0)?, &found?, row.get(20)?, row.get_ref(21)?.as_blob()?))))
        }
    };
    let heads: Vec<Option<(i64, ChainLink)>> = statement.query_map([], read)?.collect::<Result<_>>()?;
    for (key, seal) in heads.into_iter().flatten() {
        let sql = "UPDATE instances SET head_seal = ?2 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![key, seal])?;
    }
    let mut statement = connection.prepare(&format!("SELECT {INBOUND} FROM inbound"))?;
    let messages: Vec<Inbound> = statement.query_map([], rows::inbound_unchecked)?.collect::<Result<_>>()?;
    for message in messages {
        let sql = "UPDATE inbound SET seal = ?2 WHERE seq = ?1";
        connection.prepare_cached(sql)?.execute(params![message.seq, inbound(&message)])?;
    }
    Ok(())
}

type Identity = (i64, NewInstance, Option<ChainLink>);

/// Returns the instances whose rows can be read, with their hashes.
fn identities(connection: &Connection) -> Result<Vec<Identity>> {
    let mut statement = connection.prepare(&format!("SELECT {IDENTITY} FROM instances"))?;
    let read = |row: &Row<'_>| match rows::new_instance(row) {
        Err(error) if is_conversion(&error) => Ok(None),
        new => Ok(Some((row.get(0)?, new?, rows::link(row, 19)?))),
    };
    let found: Vec<Option<Identity>> = statement.query_map([], read)?.collect::<Result<_>>()?;
    Ok(found.into_iter().flatten().collect())
}
