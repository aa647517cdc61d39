//! Reads instances. Their step and time of change are not stored in their row, which would then be written at every
//! step: they are read from the last record of each requested instance.

use rusqlite::types::Value;
use rusqlite::{Connection, Params, Result, Row, params, params_from_iter};
use rustc_hash::FxHashMap;

use super::fault::{StoreReadError, cause, is_conversion};
use super::rows::{self, FAILED, INSTANCE, int, uint};
use crate::store::{ChangedInstances, DrivenInstances, Filter, InstancePage, InstanceTally};
use crate::{FamilySize, InstanceKey, InstanceRow, InstanceStatus};

pub(super) fn find(
    connection: &Connection,
    id: &str,
) -> std::result::Result<Option<InstanceRow>, StoreReadError> {
    only(select(connection, "WHERE id = ?1", [id], rows::instance), id)
}

pub(super) fn instance(
    connection: &Connection,
    key: InstanceKey,
) -> std::result::Result<Option<InstanceRow>, StoreReadError> {
    only(select(connection, "WHERE key = ?1", [key.0], rows::instance), &format!("#{}", key.0))
}

/// Returns the only row, with the instance's name in the error if it is unreadable.
fn only(
    rows: Result<Vec<InstanceRow>>,
    name: &str,
) -> std::result::Result<Option<InstanceRow>, StoreReadError> {
    match rows {
        Ok(mut rows) => Ok(rows.pop()),
        Err(error) if is_conversion(&error) => {
            Err(StoreReadError::Damaged(format!("instance `{name}`: unreadable row: {}", cause(&error))))
        }
        Err(error) => Err(error.into()),
    }
}

/// Keys of one query.
const KEYS_AT_ONCE: usize = 500;

/// Returns the instances with these keys, in their order.
pub(super) fn rows_of(connection: &Connection, keys: &[InstanceKey]) -> Result<Vec<InstanceRow>> {
    let mut found = FxHashMap::default();
    for some in keys.chunks(KEYS_AT_ONCE) {
        let rest = format!("WHERE key IN ({})", vec!["?"; some.len()].join(", "));
        let values = params_from_iter(some.iter().map(|key| key.0));
        found.extend(select(connection, &rest, values, rows::listed)?.into_iter().map(|row| (row.key, row)));
    }
    Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
}

pub(super) fn changes_after(connection: &Connection, after: u64) -> Result<ChangedInstances> {
    let sql = "SELECT instance, max(seq) FROM journal WHERE seq > ?1 GROUP BY instance";
    let mut changed = ChangedInstances { instances: Vec::new(), through: after };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([int(after)])?;
    while let Some(row) = rows.next()? {
        changed.instances.push(InstanceKey(row.get(0)?));
        changed.through = changed.through.max(uint(row.get(1)?));
    }
    Ok(changed)
}

pub(super) fn children(connection: &Connection, id: &str) -> Result<Vec<InstanceRow>> {
    select(connection, "WHERE parent_id = ?1 ORDER BY key", [id], rows::listed)
}

/// The id of a descendant begins with that of its root and a dot; a dot is followed by a slash.
pub(super) fn family_size(connection: &Connection, root: &str, since_ms: i64) -> Result<FamilySize> {
    let sql = "SELECT count(*) FILTER (WHERE status IN ('active', 'error')),
                      count(*) FILTER (WHERE parent_id IS NOT NULL AND created_ms >= ?4)
               FROM instances WHERE id = ?1 OR (id > ?2 AND id < ?3 AND parent_id IS NOT NULL)";
    let size = |row: &Row<'_>| Ok(FamilySize { living: uint(row.get(0)?), begun: uint(row.get(1)?) });
    let values = params![root, format!("{root}."), format!("{root}/"), since_ms];
    connection.prepare_cached(sql)?.query_row(values, size)
}

pub(super) fn timers(connection: &Connection) -> Result<Vec<(InstanceKey, i64)>> {
    let sql =
        "SELECT key, next_due_ms FROM instances WHERE next_due_ms IS NOT NULL ORDER BY next_due_ms, key";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([], |row| Ok((InstanceKey(row.get(0)?), row.get(1)?)))?.collect()
}

/// Counts the instances on all pages of a list.
pub(super) fn total(connection: &Connection, filter: &Filter) -> Result<i64> {
    let wanted = SqlCondition::new(filter);
    let count = format!("SELECT count(*) FROM instances WHERE {}", wanted.condition);
    connection.prepare_cached(&count)?.query_row(params_from_iter(&wanted.values), |row| row.get(0))
}

pub(super) fn list(connection: &Connection, filter: &Filter, total: i64) -> Result<InstancePage> {
    let mut wanted = SqlCondition::new(filter);
    if let Some(before) = filter.before {
        wanted.and("key < ?", [before.0.into()]);
    }
    // One more than requested, to detect a next page.
    let limit = if filter.limit == 0 { -1 } else { int(filter.limit as u64).saturating_add(1) };
    let rest = format!("WHERE {} ORDER BY key DESC LIMIT {limit}", wanted.condition);
    let mut rows = select(connection, &rest, params_from_iter(&wanted.values), rows::listed)?;
    let has_next = filter.limit > 0 && rows.len() > filter.limit;
    if has_next {
        rows.truncate(filter.limit);
    }
    let next = rows.last().map(|row| row.key).filter(|_| has_next);
    Ok(InstancePage { rows, next, total: uint(total) })
}

pub(super) fn tally(connection: &Connection, filter: &Filter) -> Result<Vec<InstanceTally>> {
    let wanted = SqlCondition::new(&filter.of_any_kind());
    let sql = format!(
        "SELECT status, wait, fault IS NOT NULL, parent_id IS NULL, count(*) FROM instances WHERE {}
         GROUP BY 1, 2, 3, 4",
        wanted.condition
    );
    connection.prepare_cached(&sql)?.query_map(params_from_iter(&wanted.values), rows::tally)?.collect()
}

/// The condition of instances that can still move by themselves.
const MOVES: &str = "status = 'active' AND fault IS NULL AND wait <> 'paused'";

/// [`DrivenInstances::includes`] as a condition with its values.
fn driven(driven: &DrivenInstances) -> (String, Vec<Value>) {
    let roots = match driven {
        DrivenInstances::All => return ("true".to_owned(), Vec::new()),
        DrivenInstances::Only(roots) => roots,
    };
    let one = "id = ? OR (parent_id IS NOT NULL AND substr(id, 1, ?) = ?)";
    let conditions: Vec<&str> = std::iter::once("false").chain(roots.iter().map(|_| one)).collect();
    let values = roots.iter().flat_map(|root| {
        let lead = format!("{root}.");
        let length = Value::Integer(int(lead.chars().count() as u64));
        [Value::Text(root.clone()), length, Value::Text(lead)]
    });
    (format!("({})", conditions.join(" OR ")), values.collect())
}

/// A condition with its values.
struct SqlCondition {
    condition: String,
    values: Vec<Value>,
}

impl SqlCondition {
    fn new(filter: &Filter) -> Self {
        let mut wanted = SqlCondition { condition: "true".to_owned(), values: Vec::new() };
        wanted.any_of("status", filter.statuses.iter().map(|status| status.as_str()));
        wanted.any_of("wait", filter.waits.iter().map(|wait| wait.as_str()));
        wanted.any_of("outcome", filter.outcomes.iter().map(|outcome| outcome.as_str()));
        wanted.shown(filter);
        wanted.any_of("chart_id", filter.chart.as_deref());
        for chart in &filter.except {
            wanted.and("chart_id <> ?", [Value::Text(chart.clone())]);
        }
        if let Some(part) = &filter.part {
            wanted.and("instr(lower(id), ?) > 0", [Value::Text(part.to_ascii_lowercase())]);
        }
        if filter.roots_only {
            wanted.and("parent_id IS NULL", []);
        }
        wanted
    }

    /// [`InstanceStatus::of`] as conditions, so that pages and totals are those of the filter.
    fn shown(&mut self, filter: &Filter) {
        if filter.shown.is_empty() {
            return;
        }
        let (driven, roots) = driven(&filter.driven);
        let mut values = Vec::new();
        let conditions: Vec<String> = filter
            .shown
            .iter()
            .map(|status| match status {
                InstanceStatus::Ended => "status IN ('done', 'cancelled')".to_owned(),
                InstanceStatus::Paused => "(status IN ('active', 'error') AND wait = 'paused')".to_owned(),
                InstanceStatus::Stalled => {
                    "(wait <> 'paused' AND (status = 'error' OR (status = 'active' AND \
                                            (fault IS NOT NULL OR wait = 'nothing'))))"
                        .to_owned()
                }
                InstanceStatus::Running => {
                    values.extend(roots.iter().cloned());
                    format!("({MOVES} AND wait = 'work' AND {driven})")
                }
                InstanceStatus::Waiting => {
                    values.extend(roots.iter().cloned());
                    format!("({MOVES} AND wait <> 'nothing' AND (wait <> 'work' OR NOT {driven}))")
                }
            })
            .collect();
        self.and(&format!("({})", conditions.join(" OR ")), values);
    }

    fn any_of<'a>(&mut self, column: &str, words: impl IntoIterator<Item = &'a str>) {
        let words: Vec<Value> = words.into_iter().map(|word| Value::Text(word.to_owned())).collect();
        if !words.is_empty() {
            let places = vec!["?"; words.len()].join(", ");
            self.and(&format!("{column} IN ({places})"), words);
        }
    }

    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.condition.push_str(" AND ");
        self.condition.push_str(condition);
        self.values.extend(values);
    }
}

fn select(
    connection: &Connection,
    rest: &str,
    values: impl Params,
    read: fn(&Row<'_>) -> Result<InstanceRow>,
) -> Result<Vec<InstanceRow>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {INSTANCE} FROM instances {rest}"))?;
    let mut rows = statement.query_map(values, read)?.collect::<Result<Vec<_>>>()?;
    add_steps(connection, &mut rows)?;
    Ok(rows)
}

/// The step and times from an instance's latest records, as far as they were read.
#[derive(Default)]
struct Latest {
    step: Option<u64>,
    updated_ms: Option<i64>,
}

impl Latest {
    /// Adds the next older record. Uses the number of its kind: an unreadable record must not hide other instances.
    fn add(&mut self, step: u64, at_ms: i64, kind: i64) {
        self.updated_ms.get_or_insert(at_ms);
        if kind != FAILED {
            self.step.get_or_insert(step);
        }
    }
}

fn add_steps(connection: &Connection, rows: &mut [InstanceRow]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut latest: FxHashMap<i64, Latest> = rows.iter().map(|row| (row.key.0, Latest::default())).collect();
    let mark = read_unindexed(connection, &mut latest)?;
    for row in rows {
        let mut found = latest.remove(&row.key.0).unwrap_or_default();
        if found.step.is_none() {
            read_indexed(connection, row.key, mark, &mut found)?;
        }
        row.step = found.step.unwrap_or(0);
        row.updated_ms = found.updated_ms.unwrap_or(row.updated_ms);
    }
    Ok(())
}

/// Reads the unindexed records in one pass, newest first, until every instance was found: an active one is near the
/// end. Returns the position after which they begin.
fn read_unindexed(connection: &Connection, latest: &mut FxHashMap<i64, Latest>) -> Result<i64> {
    let mark = super::journal::indexed_through(connection)?;
    // For one instance, SQLite filters the other records faster than we do.
    let only = latest.keys().next().copied().filter(|_| latest.len() == 1);
    let sql = "SELECT instance, step, at_ms, kind FROM journal
               WHERE seq > ?1 AND (?2 IS NULL OR instance = ?2) ORDER BY seq DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![mark, only])?;
    let mut missing = latest.len();
    while missing > 0
        && let Some(row) = rows.next()?
    {
        let Some(found) = latest.get_mut(&row.get(0)?) else { continue };
        let was_missing = found.step.is_none();
        found.add(uint(row.get(1)?), row.get(2)?, row.get(3)?);
        missing -= usize::from(was_missing && found.step.is_some());
    }
    Ok(mark)
}

/// Reads the indexed records of one instance backwards, until one of a successful step.
fn read_indexed(connection: &Connection, key: InstanceKey, mark: i64, found: &mut Latest) -> Result<()> {
    let sql = "SELECT j.step, j.at_ms, j.kind FROM journal_index i JOIN journal j ON j.seq = i.seq
               WHERE i.instance = ?1 AND i.seq <= ?2 ORDER BY i.seq DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key.0, mark])?;
    while found.step.is_none()
        && let Some(row) = rows.next()?
    {
        found.add(uint(row.get(0)?), row.get(1)?, row.get(2)?);
    }
    Ok(())
}

pub(super) fn highest_key(connection: &Connection) -> Result<i64> {
    let sql = "SELECT max((SELECT coalesce(max(key), 0) FROM instances), (SELECT pruned_key FROM marks))";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0))
}
