//! Every row of every table of a store is deleted, and every column of it modified: `doctor` names the damage, and so does
//! loading, except where the table below has a reason.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_core::{NamedEvent, Value};
use rawko_host::{SnapshotReader, StartOptions};
use rawko_store::{Commit, Filter, Inbound, InstanceKey, SqliteOptions, SqliteStore, Store, StoreError};
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::json;

use crate::bench::{Act, bench, rest};

const PARENT: &str = "
statechart:
  id: parent
  initial: busy
  context: {news: [], text: ''}
  states:
    busy:
      on:
        NEWS: {actions: [{type: assign, context_updates: {news: 'context.news + [event.data]'}}]}
        TEXT: {actions: [{type: assign, context_updates: {text: event.data}}]}
        END: done
      after: {1h: done}
      invoke:
        - {id: job, src: job, onDone: done, onError: done}
        - {id: kid, src: 'statechart:kid', onDone: done, onError: done}
    done: {type: final}
";

const KID: &str = "
statechart:
  id: kid
  initial: asking
  states:
    asking:
      invoke: {id: ask, src: human, input: {title: \"'Ready?'\"}, onDone: done, onError: done}
    done: {type: final}
";

/// A change that goes unnoticed, with the reason. The column `*` is the deletion of a row.
struct Exception {
    table: &'static str,
    column: &'static str,
    /// True if `doctor` finds it, and only loading does not.
    by_doctor: bool,
    /// For the reader of this table.
    _why: &'static str,
}

const fn never(table: &'static str, column: &'static str, why: &'static str) -> Exception {
    Exception { table, column, by_doctor: false, _why: why }
}

/// Loading an instance does not find it, `doctor` does.
const fn doctor_only(table: &'static str, column: &'static str, why: &'static str) -> Exception {
    Exception { table, column, by_doctor: true, _why: why }
}

const LOADED: &str = "loading reads the last snapshot and what follows";

const LOOKED_UP: &str = "a delivery is read when its key comes again";

const EXCEPTIONS: &[Exception] = &[
    never("charts", "name", "for messages only"),
    never("charts", "added_ms", "shown only"),
    never("charts", "id", "read from the text"),
    never("charts", "version", "read from the text"),
    never("owner", "epoch", "every host counts it up from any number"),
    never("owner", "probes", "a counter that nothing reads"),
    never("journal", "open_effects", "only that of the last record is read"),
    never("journal", "deliveries", "only that of the last record is read"),
    never("journal", "audit_lines", "only those that no index covers yet are read"),
    never("journal", "audit_chain", "only those that no index covers yet are read"),
    never("snapshots", "*", "an earlier one and the records give the same state"),
    doctor_only("instances", "*", "nothing of it is left to load"),
    never("instances", "parent_invocation", "read only beside a parent"),
    never("instances", "parent_invoke", "read only beside a parent"),
    never("instances", "parent_generation", "read only beside a parent"),
    never("instances", "origin_step", "read only beside an origin"),
    never(
        "journal_index",
        "step",
        "a wrong step within the range that is read is found, one that leaves it is not",
    ),
    doctor_only("journal", "*", LOADED),
    doctor_only("journal", "seq", LOADED),
    doctor_only("journal", "instance", LOADED),
    doctor_only("journal", "step", LOADED),
    doctor_only("journal", "at_ms", LOADED),
    doctor_only("journal", "kind", LOADED),
    doctor_only("journal", "event", LOADED),
    doctor_only("journal", "delta", LOADED),
    doctor_only("journal", "effects", LOADED),
    doctor_only("journal", "chain", LOADED),
    doctor_only("journal_index", "*", LOADED),
    doctor_only("journal_index", "instance", LOADED),
    doctor_only("journal_index", "seq", LOADED),
    doctor_only("deliveries", "key", LOOKED_UP),
    doctor_only("deliveries", "step", LOOKED_UP),
    doctor_only("deliveries", "seal", LOOKED_UP),
    doctor_only("snapshots", "step", LOADED),
    doctor_only("snapshots", "after_seq", LOADED),
    doctor_only("snapshots", "body", LOADED),
    doctor_only("snapshots", "chain", LOADED),
    doctor_only("snapshots", "hash", LOADED),
    doctor_only("snapshots", "instance", LOADED),
];

/// A table with the columns that identify its rows.
struct Table {
    name: String,
    columns: Vec<String>,
    key: Vec<String>,
}

fn tables(connection: &Connection) -> Vec<Table> {
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let names = texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    let with_columns = |name: String| {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{name}')"));
        let mut key = texts(&format!("SELECT name FROM pragma_table_info('{name}') WHERE pk > 0"));
        if key.is_empty() {
            key.push("rowid".to_owned());
        }
        Table { name, columns, key }
    };
    names.into_iter().map(with_columns).collect()
}

fn literal(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Cell::Blob(bytes) => format!("x'{}'", rawko_store::content::hex(bytes)),
    }
}

/// Returns a value that differs in one bit or by one.
fn modified(cell: &Cell) -> Cell {
    match cell {
        Cell::Null => Cell::Integer(1),
        Cell::Integer(number) => Cell::Integer(number ^ 1),
        Cell::Real(number) => Cell::Real(number + 1.0),
        Cell::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(b'{'),
            }
            Cell::Text(String::from_utf8(bytes).unwrap())
        }
        Cell::Blob(bytes) => {
            let mut bytes = bytes.clone();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(1),
            }
            Cell::Blob(bytes)
        }
    }
}

/// One change: a table, a column (`*`: the row is deleted), and the statement.
struct Change {
    table: String,
    column: String,
    sql: String,
}

fn changes(path: &Path) -> Vec<Change> {
    let connection = Connection::open(path).unwrap();
    let mut changes = Vec::new();
    for Table { name, columns, key } in tables(&connection) {
        let wanted: Vec<String> = key.iter().chain(&columns).map(|column| format!("\"{column}\"")).collect();
        let mut statement = connection.prepare(&format!("SELECT {} FROM {name}", wanted.join(", "))).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut count = 0;
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            let cell = |at: usize| row.get::<_, Cell>(at).unwrap();
            let conditions =
                key.iter().enumerate().map(|(at, column)| format!("\"{column}\" = {}", literal(&cell(at))));
            let place = conditions.collect::<Vec<_>>().join(" AND ");
            let sql = format!("DELETE FROM {name} WHERE {place}");
            changes.push(Change { table: name.clone(), column: "*".to_owned(), sql });
            for (at, column) in columns.iter().enumerate() {
                let value = literal(&modified(&cell(key.len() + at)));
                let sql = format!("UPDATE OR IGNORE {name} SET \"{column}\" = {value} WHERE {place}");
                changes.push(Change { table: name.clone(), column: column.clone(), sql });
            }
        }
        assert!(count > 0, "the store has no row in {name}");
    }
    changes
}

/// A closed store with rows in every table: calls, a request, timers, deliveries, held events, a message in flight.
async fn filled(path: &Path) {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, SqliteOptions::default()).unwrap());
    let bench = bench(&[PARENT, KID]).service("job", &[Act::Hang]).store(Arc::clone(&store));
    let host = bench.host().await;
    for id in ["open", "paused", "ended"] {
        let start = StartOptions { chart: "parent".into(), input: json!({}).into(), id: Some(id.into()) };
        host.start(start).await.unwrap();
        let news = |number: i64| NamedEvent::new("NEWS", Value::Int(number));
        for number in 1..=3 {
            host.send(id, news(number), Some(&format!("key-{number}"))).await.unwrap();
        }
        host.send(id, NamedEvent::new("TEXT", Value::from("long ".repeat(200))), None).await.unwrap();
    }
    host.pause("paused", Value::str("ada")).await.unwrap();
    host.send("paused", NamedEvent::new("NEWS", Value::Int(4)), Some("held")).await.unwrap();
    host.send("ended", NamedEvent::new("END", Value::Null), None).await.unwrap();
    rest(&host, "ended").await;
    host.close().await;
    let (from, to) = (store.find("open").unwrap().unwrap().key, store.find("open.kid.0").unwrap());
    let to = to.map_or(from, |row| row.key);
    let seq = store.marks().unwrap().inbound + 1;
    let message = Inbound { seq, to, event: r#"{"event":{"type":"NOTE"}}"#.to_owned() };
    store.commit(&[Commit { instance: from, sent: vec![message], ..Commit::default() }]).unwrap();
    store.close();
}

/// Returns what `doctor` finds.
fn doctor(path: &Path) -> Vec<String> {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let store: Arc<dyn Store> = match SqliteStore::open(path, options) {
        Ok(store) => Arc::new(store),
        Err(error) => return vec![error.to_string()],
    };
    let mut problems = match store.report() {
        Ok(report) => report.problems,
        Err(error) => return vec![error.to_string()],
    };
    let reader = SnapshotReader::new(Arc::clone(&store));
    for row in store.list(&Filter::default()).map(|page| page.rows).unwrap_or_default() {
        problems.extend(reader.verify(row).err().map(|error| error.to_string()));
    }
    problems
}

/// Opens the store as a host does, and loads every instance with all that it needs to continue.
fn load(path: &Path) -> Vec<String> {
    let store: Arc<dyn Store> = match SqliteStore::open(path, SqliteOptions::default()) {
        Ok(store) => Arc::new(store),
        Err(error) => return vec![error.to_string()],
    };
    let reader = SnapshotReader::new(Arc::clone(&store));
    let mut problems = Vec::new();
    let mut note = |error: Option<StoreError>| problems.extend(error.map(|error| error.to_string()));
    for key in 1..=9 {
        note(store.inbound(Some(InstanceKey(key))).err());
        for delivery in ["key-1", "key-2", "key-3", "held"] {
            note(store.delivered(InstanceKey(key), delivery).err());
        }
    }
    let mut after = None;
    loop {
        match store.damage(after) {
            Ok(part) => {
                problems.extend(part.problems);
                after = part.last;
            }
            Err(error) => problems.push(error.to_string()),
        }
        if after.is_none() {
            break;
        }
    }
    for row in store.list(&Filter::default()).map(|page| page.rows).unwrap_or_default() {
        problems.extend(reader.verify(row).err().map(|error| error.to_string()));
    }
    problems
}

fn copy(path: &Path) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("store.db");
    std::fs::copy(path, &to).unwrap();
    (directory, to)
}

#[tokio::test]
async fn every_deleted_row_and_every_modified_column_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    filled(&path).await;
    assert_eq!((doctor(&path), load(&copy(&path).1)), (Vec::new(), Vec::new()));
    let mut wrong = Vec::new();
    let changes = changes(&path);
    for Change { table, column, sql } in &changes {
        let (_directory, path) = copy(&path);
        // A value that another row has is refused, and so no change.
        if Connection::open(&path).unwrap().execute(sql, []).unwrap() == 0 {
            continue;
        }
        let (by_doctor, by_loading) = (!doctor(&path).is_empty(), !load(&path).is_empty());
        let known = EXCEPTIONS.iter().position(|it| (it.table, it.column) == (table, column));
        let may_miss = |is_doctor: bool| known.is_some_and(|at| !is_doctor || !EXCEPTIONS[at].by_doctor);
        if (!by_doctor && !may_miss(true)) || (!by_loading && !may_miss(false)) {
            wrong.push(format!("{sql}: doctor {by_doctor}, loading {by_loading}"));
        }
    }
    assert!(changes.len() > 300, "{}", changes.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), changes.len(), wrong.join("\n"));
}
