//! Edits of the store with SQL: each is named by `rawko audit verify`.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::scene::{Outcome, Scene, Table, ensure, said};

/// `{id}` and `{key}` are those of the instance `o-2`, whose approval is the last line of the audit.
const EDITS: [(&str, &str); 19] = [
    ("the last line of the audit is deleted", "DELETE FROM audit WHERE line = (SELECT max(line) FROM audit)"),
    (
        "the last line is deleted with its index",
        "DELETE FROM audit_index WHERE line = (SELECT max(line) FROM audit);
         DELETE FROM audit WHERE line = (SELECT max(line) FROM audit);
         UPDATE marks SET audited_through = (SELECT coalesce(max(line), 0) FROM audit)",
    ),
    ("all lines of an instance are deleted", "DELETE FROM audit WHERE instance = 'o-2'"),
    (
        "all lines of an instance are deleted with their index",
        "DELETE FROM audit WHERE instance = 'o-2'; DELETE FROM audit_index WHERE instance = 'o-2'",
    ),
    ("the whole audit is deleted", "DELETE FROM audit; DELETE FROM audit_index; UPDATE marks SET audited_through = 0"),
    ("a decision is changed", "UPDATE audit SET decision = 'denied' WHERE instance = 'o-2' AND decision = 'approved'"),
    ("a name is changed", "UPDATE audit SET reason = 'ada' WHERE instance = 'o-2' AND decision = 'approved'"),
    ("a time is changed", "UPDATE audit SET at_ms = at_ms - 1 WHERE instance = 'o-2'"),
    ("a provenance is changed", "UPDATE audit SET provenance = '{}' WHERE instance = 'o-2'"),
    ("a line is given to another instance", "UPDATE audit SET instance = 'o-1' WHERE instance = 'o-2'"),
    (
        "a line is added",
        "INSERT INTO audit (at_ms, instance, effect, service, decision, reason, provenance)
         VALUES (1, 'o-2', 'o-2/9/0', 'human', 'approved', 'ada', '{}')",
    ),
    ("the last record is deleted", "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)"),
    (
        "the last record of an instance is deleted with its index",
        "DELETE FROM journal_index WHERE instance = {key} AND step = 1; DELETE FROM journal WHERE instance = {key} AND step = 1",
    ),
    ("a record is changed", "UPDATE journal SET event = replace(event, 'true', 'false') WHERE instance = {key} AND step = 1"),
    ("two records change places", "UPDATE journal SET step = 1 - step WHERE instance = {key}"),
    (
        "an approval is forged",
        "INSERT INTO journal (instance, step, at_ms, kind, event, delta, effects)
         SELECT (SELECT key FROM instances WHERE id = 'o-1'), 1, at_ms, kind, event, delta, effects FROM journal
         WHERE instance = {key} AND step = 1",
    ),
    ("the chain of an instance is removed", "UPDATE journal SET chain = x'' WHERE instance = {key}"),
    ("the chain of the audit is removed", "UPDATE audit SET chain = x''"),
    (
        "an instance disappears",
        "DELETE FROM journal WHERE instance = {key}; DELETE FROM journal_index WHERE instance = {key};
         DELETE FROM snapshots WHERE instance = {key}; DELETE FROM effects WHERE instance = {key};
         DELETE FROM audit WHERE instance = 'o-2'; DELETE FROM audit_index WHERE instance = 'o-2';
         DELETE FROM instances WHERE key = {key}",
    ),
];

pub(crate) fn attempts(table: &mut Table) {
    let scene = Scene::asking(&["o-1", "o-2"]);
    let answered = scene.run(&["approve", "o-2"]);
    assert!(answered.status.success(), "{}", said(&answered));
    let copy = scene.home.path().join("copy.db");
    assert!(scene.run(&["backup", copy.to_str().unwrap()]).status.success());
    let mut rows = Vec::new();
    for (name, sql) in EDITS {
        let edited = scene.home.path().join("edited.db");
        fs::copy(&copy, &edited).unwrap();
        let connection = Connection::open(&edited).unwrap();
        let key: i64 =
            connection.query_row("SELECT key FROM instances WHERE id = 'o-2'", [], |row| row.get(0)).unwrap();
        connection.execute_batch(&sql.replace("{key}", &key.to_string())).unwrap();
        drop(connection);
        rows.push((name.to_owned(), found(&scene, &edited)));
    }
    let verified = scene.run(&["audit", "verify", "--json", "--store", copy.to_str().unwrap()]);
    let is_intact = verified.status.success() && said(&verified).contains(r#""ok":true"#);
    table.group("edits of the store", ensure(is_intact, said(&verified)), rows);
}

/// Holds if `audit verify` finds an edit, and names an instance where one is left to name.
fn found(scene: &Scene, store: &Path) -> Outcome {
    let verified = scene.run(&["audit", "verify", "--json", "--store", store.to_str().unwrap()]);
    let text = said(&verified);
    let is_gone = ["records are missing from the journal", "the journal index is ahead of the journal"];
    let is_named = text.contains(r#""instance":"o-"#) || is_gone.iter().any(|words| text.contains(words));
    ensure(verified.status.code() == Some(1) && text.contains(r#""ok":false"#) && is_named, text)
}
