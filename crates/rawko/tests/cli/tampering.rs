//! Rows that were deleted or modified behind rawko's back, beside the journal: `doctor` names the instance and the step,
//! and a command that would continue the instance refuses.

use std::path::Path;

use rusqlite::Connection;

use crate::support::{directory, run, store_of};

/// A question to a person, a reminder and an order that is over.
const REVIEW: &str = "
id: review
initial: asking
states:
  asking:
    invoke: {id: approval, src: human, onDone: accepted, onError: refused}
    after: {1h: refused}
    on: {NOTE: {actions: [{type: log, message: noted}]}}
  accepted: {type: final}
  refused: {type: final}
";

fn damaged(sql: &str) -> (tempfile::TempDir, Connection, String) {
    let dir = directory(&[("review.yaml", REVIEW)]);
    let started = run(dir.path(), &["run", "review.yaml", "--id", "r-1"], "");
    assert_eq!(started.code, Some(55), "{}", started.stderr);
    run(dir.path(), &["run", "review.yaml", "--id", "r-2"], "");
    // The last connection to close would remove the write-ahead log, which is noticed by itself.
    let keeper = Connection::open(store_of(dir.path())).unwrap();
    assert_eq!(keeper.execute(sql, []).unwrap(), 1, "{sql}");
    let told = doctor(dir.path());
    (dir, keeper, told)
}

/// Returns the line about the store.
fn doctor(dir: &Path) -> String {
    let told = run(dir, &["doctor", "--offline"], "").stdout;
    told.lines().find(|line| line.contains("store")).unwrap_or_default().to_owned()
}

#[test]
fn doctor_and_commands_refuse_rows_that_contradict_the_journal() {
    let table = [
        ("DELETE FROM effects WHERE instance = 1", "step 0: 1 of 1 open effects are missing"),
        ("UPDATE effects SET invocation = 99 WHERE instance = 1", "step 0: the open effect is damaged: it was modified"),
        ("UPDATE effects SET body = replace(body, 'human', 'humen') WHERE instance = 1", "step 0: the open effect is damaged"),
        ("UPDATE effects SET idempotency = 'r-1/0/9' WHERE instance = 1", "step 0: the open effect is damaged"),
        ("UPDATE effects SET in_doubt = 1 WHERE instance = 1", "step 0: the open effect is damaged"),
        ("UPDATE instances SET parent_id = 'r-2', parent_invocation = 0, parent_invoke = 'x' WHERE key = 1", "step 0: unreadable row: id, chart, parent,"),
        (
            "INSERT INTO effects SELECT instance, step, 7, 'service', 99, name, body, opened_ms, due_ms, idempotency, result, parked, in_doubt, seal
             FROM effects WHERE instance = 1",
            "step 0: the open effect is damaged: it was modified",
        ),
        ("UPDATE instances SET status = 'done' WHERE key = 1", "step 0: unreadable row: status, wait, due time, fault,"),
        ("UPDATE instances SET next_due_ms = 1 WHERE key = 1", "step 0: unreadable row: status, wait, due time, fault,"),
        ("UPDATE instances SET next_due_ms = NULL WHERE key = 1", "step 0: unreadable row: status, wait, due time, fault,"),
        ("UPDATE instances SET fault = 'stopped' WHERE key = 1", "step 0: unreadable row: status, wait, due time, fault,"),
        ("UPDATE instances SET ledger = '{}' WHERE key = 1", "step 0: unreadable row: status, wait, due time, fault,"),
        (
            "UPDATE charts SET text = replace(text, 'onDone: accepted', 'onDone: refused')",
            "instance `r-2`: cannot use the stored snapshot",
        ),
    ];
    for (sql, expected) in table {
        let (dir, _keeper, told) = damaged(sql);
        assert!(told.contains("damaged: instance `r-") && told.contains(expected), "{sql}\n{told}");
        let sent = run(dir.path(), &["send", "r-1", "NOTE"], "");
        assert_ne!(sent.code, Some(0), "{sql}\n{}{}", sent.stdout, sent.stderr);
    }
}

#[test]
fn a_sound_store_has_no_contradictions() {
    let (dir, _keeper, told) = damaged("UPDATE instances SET created_ms = created_ms WHERE key = 1");
    assert!(told.contains("intact"), "{told}");
    assert_eq!(run(dir.path(), &["send", "r-1", "NOTE"], "").code, Some(0));
    assert!(doctor(dir.path()).contains("intact"));
}

/// A backup and a restore find what `doctor` finds, and change nothing then.
#[test]
fn backup_restore_and_audit_verify_find_a_changed_chart() {
    let changed = "UPDATE charts SET text = replace(text, 'onDone: accepted', 'onDone: refused')";
    let (dir, keeper, told) = damaged(changed);
    assert!(told.contains("damaged"), "{told}");
    let verified = run(dir.path(), &["audit", "verify"], "");
    assert_eq!(verified.code, Some(1), "{}{}", verified.stdout, verified.stderr);
    assert!(verified.stdout.contains("instance `r-1`"), "{}", verified.stdout);
    let saved = run(dir.path(), &["backup", "copy.db"], "");
    assert_eq!(saved.code, Some(1), "{}{}", saved.stdout, saved.stderr);
    assert!(saved.stdout.contains("damaged") && !saved.stdout.contains("verified"), "{}", saved.stdout);
    keeper
        .execute("UPDATE charts SET text = replace(text, 'onDone: refused', 'onDone: accepted')", [])
        .unwrap();
    drop(keeper);
    let restored = run(dir.path(), &["restore", "copy.db"], "");
    assert_ne!(restored.code, Some(0), "{}", restored.stdout);
    assert!(restored.stderr.contains("instance `r-1`"), "{}", restored.stderr);
    assert!(doctor(dir.path()).contains("intact"), "the store was replaced");
}

#[test]
fn a_truncated_store_is_a_problem_and_no_new_one() {
    let dir = directory(&[("review.yaml", REVIEW)]);
    run(dir.path(), &["run", "review.yaml", "--id", "r-1"], "");
    run(dir.path(), &["backup", "copy.db"], "");
    std::fs::write(store_of(dir.path()), "").unwrap();
    let told = doctor(dir.path());
    assert!(told.contains("was truncated to 0 bytes"), "{told}");
    for command in
        [&["run", "review.yaml", "--id", "r-3"][..], &["ps"], &["backup", "other.db"], &["audit", "verify"]]
    {
        let refused = run(dir.path(), command, "");
        assert_ne!(refused.code, Some(0), "{command:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("was truncated to 0 bytes"), "{command:?}: {}", refused.stderr);
    }
    assert_eq!(std::fs::metadata(store_of(dir.path())).unwrap().len(), 0);
    assert_eq!(run(dir.path(), &["restore", "copy.db"], "").code, Some(0));
    assert!(doctor(dir.path()).contains("intact"));
}
