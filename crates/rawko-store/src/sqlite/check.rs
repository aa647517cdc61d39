//! Checks a file: SQLite's own check, and the invariants of rawko's tables that SQLite cannot know.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Result};

use super::rows::uint;
use super::schema::FORMAT;
use super::verify::verify;
use super::{audits, contents, marks, row_counts, seals};
use crate::report::{ChainKind, ChainProblem, ChainReport};
use crate::store::StoreReport;

/// Maximum number of reported problems of one kind.
const NAMED_MAX: usize = 10;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Queries that return a row per violation and should return none.
const QUESTIONS: [(&str, &str); 9] = [
    (
        "the journal index is ahead of the journal, up to record {}",
        "SELECT indexed_through FROM marks
         WHERE indexed_through > max((SELECT coalesce(max(seq), 0) FROM journal), pruned_seq)",
    ),
    (
        "records are missing after record {}",
        "SELECT indexed_through FROM marks WHERE (SELECT count(*) FROM journal WHERE seq > indexed_through)
         < (SELECT coalesce(max(seq), 0) FROM journal) - indexed_through",
    ),
    (
        "{} records are missing from the journal",
        "SELECT missing FROM (SELECT max((SELECT coalesce(max(seq), 0) FROM journal), pruned_seq) - pruned_records
                                     - (SELECT count(*) FROM journal) AS missing FROM marks) WHERE missing <> 0",
    ),
    (
        "record {} is missing from the journal index",
        "SELECT j.seq FROM journal j WHERE j.seq <= (SELECT indexed_through FROM marks)
         AND NOT EXISTS (SELECT 1 FROM journal_index i WHERE i.instance = j.instance AND i.seq = j.seq)",
    ),
    (
        "line {} is missing from the audit index",
        "SELECT a.line FROM audit a WHERE a.line <= (SELECT audited_through FROM marks)
         AND NOT EXISTS (SELECT 1 FROM audit_index i WHERE i.instance = a.instance AND i.line = a.line)",
    ),
    (
        "instance `{}` has no snapshot",
        "SELECT id FROM instances WHERE NOT EXISTS (SELECT 1 FROM snapshots WHERE instance = instances.key)",
    ),
    (
        "the chart of instance `{}` is missing",
        "SELECT id FROM instances WHERE NOT EXISTS (SELECT 1 FROM charts WHERE hash = instances.chart)",
    ),
    (
        "records of unknown instance {}",
        "SELECT DISTINCT instance FROM journal_index
         WHERE NOT EXISTS (SELECT 1 FROM instances WHERE key = journal_index.instance)",
    ),
    (
        "open effect of unknown instance {}",
        "SELECT DISTINCT instance FROM effects
         WHERE NOT EXISTS (SELECT 1 FROM instances WHERE key = effects.instance)",
    ),
];

/// Returns a report even for a file that is too damaged to query.
pub(super) fn report(connection: &Connection, place: &Path) -> StoreReport {
    let mut report = StoreReport {
        place: place.display().to_string(),
        format: FORMAT,
        bytes: bytes(place),
        ..StoreReport::default()
    };
    // One transaction, because a host may commit meanwhile.
    let looked = connection.execute_batch("BEGIN").and_then(|()| look(connection, &mut report));
    if let Err(error) = looked.and_then(|()| connection.execute_batch("COMMIT")) {
        report.problems.push(error.to_string());
    }
    report
}

fn look(connection: &Connection, report: &mut StoreReport) -> Result<()> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let mut found = strings(connection, &format!("PRAGMA quick_check({NAMED_MAX})"))?;
    found.retain(|line| line != "ok");
    report.problems.append(&mut found);
    report.instances = uint(number("SELECT count(*) FROM instances")?);
    report.records = uint(number("SELECT count(*) FROM journal")?);
    let recent = format!("SELECT count(*) FROM journal WHERE at_ms > {}", now_ms().saturating_sub(DAY_MS));
    report.recent_records = uint(number(&recent)?);
    let pages = number("PRAGMA freelist_count")?;
    report.free_bytes = uint(pages.saturating_mul(number("PRAGMA page_size")?));
    for (words, sql) in QUESTIONS {
        let offenders = strings(connection, &format!("{sql} LIMIT {}", NAMED_MAX + 1))?;
        name(report, offenders.iter().map(|offender| words.replace("{}", offender)).collect());
    }
    let mut damaged = Vec::new();
    let mut tell = |problem: ChainProblem| {
        if damaged.len() <= NAMED_MAX {
            damaged.push(problem.to_string());
        }
    };
    verify(connection, &mut tell)?;
    seals::verify(connection, &mut tell)?;
    row_counts::verify(connection, &mut tell)?;
    marks::verify(connection, &mut tell)?;
    contents::verify(connection, &mut tell)?;
    audits::verify(connection, &mut tell)?;
    name(report, damaged);
    Ok(())
}

/// Verifies the chains of all instances, and that nothing is missing between them.
pub(super) fn chains(connection: &Connection) -> Result<ChainReport> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(uint);
    let mut report = ChainReport {
        instances: number("SELECT count(*) FROM instances")?,
        records: number("SELECT count(*) FROM journal")?,
        ..ChainReport::default()
    };
    let mut problems = Vec::new();
    verify(connection, &mut |problem| problems.push(problem))?;
    seals::verify(connection, &mut |problem| problems.push(problem))?;
    row_counts::verify(connection, &mut |problem| problems.push(problem))?;
    marks::verify(connection, &mut |problem| problems.push(problem))?;
    contents::verify(connection, &mut |problem| problems.push(problem))?;
    report.audit_lines = audits::verify(connection, &mut |problem| problems.push(problem))?;
    let sql = "SELECT DISTINCT instance FROM audit
               WHERE NOT EXISTS (SELECT 1 FROM instances WHERE id = audit.instance)";
    for id in strings(connection, &format!("{sql} LIMIT {NAMED_MAX}"))? {
        let message = "the audit has lines of this instance, which does not exist".to_owned();
        problems.push(ChainProblem { chain: ChainKind::Audit, instance: Some(id), step: None, message });
    }
    let is_about_chains = |words: &str| ["record", "line", "index"].iter().any(|word| words.contains(word));
    for (words, sql) in QUESTIONS.iter().filter(|(words, _)| is_about_chains(words)) {
        let chain = if words.contains("audit") { ChainKind::Audit } else { ChainKind::Journal };
        for offender in strings(connection, &format!("{sql} LIMIT {NAMED_MAX}"))? {
            let message = words.replace("{}", &offender);
            problems.push(ChainProblem { chain, instance: None, step: None, message });
        }
    }
    report.problems = problems;
    Ok(report)
}

/// Adds problems of one kind, up to the maximum.
fn name(report: &mut StoreReport, mut problems: Vec<String>) {
    let has_more = problems.len() > NAMED_MAX;
    problems.truncate(NAMED_MAX);
    report.problems.append(&mut problems);
    if has_more {
        report.problems.push("… and more".to_owned());
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the first column of all rows, as text.
fn strings(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let text = |row: &rusqlite::Row<'_>| match row.get::<_, rusqlite::types::Value>(0)? {
        rusqlite::types::Value::Integer(number) => Ok(number.to_string()),
        rusqlite::types::Value::Text(text) => Ok(text),
        other => Ok(format!("{other:?}")),
    };
    statement.query_map([], text)?.collect()
}

/// Returns the size of the file and of its write-ahead log.
fn bytes(place: &Path) -> u64 {
    let mut log = place.as_os_str().to_owned();
    log.push("-wal");
    let len = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    len(place) + len(Path::new(&log))
}
