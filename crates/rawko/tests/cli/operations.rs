//! Backup, restore, export, import and pruning from the command line, also beside a running host.

use std::fs;

use expect_test::expect;

use crate::parking::{Background, WAITER};
use crate::running::FILES;
use crate::support::{directory, played, run, store_of};

const RUN: [&str; 6] = ["run", "waiter.yaml", "--id", "w-1", "--patience", "2h"];

/// Removes file sizes, which differ between machines.
fn without_sizes(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let mut out = words.clone();
    for (at, word) in words.iter().enumerate().skip(1) {
        if word.starts_with("KiB") || word.starts_with("MiB") {
            out[at - 1] = out[at - 1].replace(|byte: char| byte.is_ascii_digit(), "") + "N";
        }
    }
    out.join(" ")
}

#[test]
fn a_backup_is_taken_beside_a_host_and_what_needs_the_store_alone_says_who_has_it() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    let meanwhile = played(
        dir.path(),
        &[
            "backup copy.db",
            "backup copy.db",
            "backup copy.db --force",
            "ps --store copy.db --json",
            "restore copy.db",
            "instance export w-1 w-1.jsonl",
            "instance import w-1.jsonl",
            "prune --older-than 1d",
            "prune --older-than 1d --yes",
            "doctor --accept-loss",
        ],
    );
    running.signal("-INT");
    running.end();
    let meanwhile: Vec<&str> = meanwhile.lines().filter(|line| !line.starts_with([' ', '{', '}'])).collect();
    expect![[r#"
        $ rawko backup copy.db
        copy.db: 1 instance, 1 record, N KiB, verified
        $ rawko backup copy.db
        --- stderr
        error: `copy.db` exists; pass --force to overwrite it
        --- exit code 2
        $ rawko backup copy.db --force
        copy.db: 1 instance, 1 record, N KiB, verified
        $ rawko ps --store copy.db --json
        $ rawko restore copy.db
        --- stderr
        error: cannot run `rawko restore`: ~/.local/state/rawko/projects/PROJECT/rawko.db is in use by `rawko run waiter.yaml --id w-1 --patience 2h` (process 0, since 2026-01-05 09:30:00Z); stop that process first
        --- exit code 3
        $ rawko instance export w-1 w-1.jsonl
        w-1.jsonl: `w-1`, 1 record
        $ rawko instance import w-1.jsonl
        --- stderr
        error: cannot run `rawko instance import`: ~/.local/state/rawko/projects/PROJECT/rawko.db is in use by `rawko run waiter.yaml --id w-1 --patience 2h` (process 0, since 2026-01-05 09:30:00Z); stop that process first
        --- exit code 3
        $ rawko prune --older-than 1d
        --- stderr
        none: no matching instances
        $ rawko prune --older-than 1d --yes
        --- stderr
        error: cannot run `rawko prune --yes`: ~/.local/state/rawko/projects/PROJECT/rawko.db is in use by `rawko run waiter.yaml --id w-1 --patience 2h` (process 0, since 2026-01-05 09:30:00Z); stop that process first
        --- exit code 3
        $ rawko doctor --accept-loss
        --- stderr
        error: cannot run `rawko doctor --accept-loss`: ~/.local/state/rawko/projects/PROJECT/rawko.db is in use by `rawko run waiter.yaml --id w-1 --patience 2h` (process 0, since 2026-01-05 09:30:00Z); stop that process first
        --- exit code 3"#]].assert_eq(&without_sizes(&meanwhile.join("\n")));
}

#[test]
fn a_restored_store_has_what_the_backup_had() {
    let dir = directory(&FILES);
    let told = played(
        dir.path(),
        &[
            "run order.yaml --id o-1 --input amount=250",
            "backup copy.db",
            "deny o-1",
            "restore copy.db",
            "ps --json",
            "approve o-1",
            "doctor",
        ],
    );
    let kept: Vec<_> = fs::read_dir(store_of(dir.path()).parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("replaced") && !name.ends_with("-wal") && !name.ends_with("-end"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let kept = store_of(dir.path()).with_file_name(&kept[0]);
    let old = played(dir.path(), &[&format!("show o-1 --store {}", kept.display())]);
    assert!(old.contains("[rejected]"), "{old}");
    assert!(told.contains("[paid]") && told.contains("intact, format"), "{told}");
}

#[test]
fn an_instance_moves_to_another_store_with_its_children_and_continues_there() {
    let dir = directory(&FILES);
    let before = played(
        dir.path(),
        &["run order.yaml --id o-1 --input amount=250", "instance export o-1 o-1.jsonl", "cancel o-1"],
    );
    assert!(before.contains("o-1.jsonl: `o-1`, 1 record"), "{before}");
    let after = played(
        dir.path(),
        &[
            "instance import o-1.jsonl --store other.db",
            "instance import o-1.jsonl --store other.db",
            "instance import o-1.jsonl",
            "approve o-1 --store other.db",
            "instance export nothing",
            "instance import missing.jsonl",
        ],
    );
    expect![[r#"
        $ rawko instance import o-1.jsonl --store other.db
        ~/other.db: `o-1`, 1 record
        $ rawko instance import o-1.jsonl --store other.db
        --- stderr
        error: instance `o-1` already exists in ~/other.db
        --- exit code 2
        $ rawko instance import o-1.jsonl
        --- stderr
        error: instance `o-1` already exists in ~/.local/state/rawko/projects/PROJECT/rawko.db
        --- exit code 2
        $ rawko approve o-1 --store other.db
        approval answered            [charging]
            answer   {"approved":true,"by":"ada","comment":null,"data":null}
            context  by: null → "ada"
            invoked  payment charge_card {"amount":250}
        payment answered             [paid]
            answer   {"receipt":"r-1"}
            context  receipt: null → "r-1"
            log      charged 250
            status   done
            output   {"receipt":"r-1"}
        $ rawko instance export nothing
        --- stderr
        error: instance `nothing` not found; list instances with `rawko ps --all`
        --- exit code 2
        $ rawko instance import missing.jsonl
        --- stderr
        error: cannot read `missing.jsonl`: No such file or directory (os error 2)
        --- exit code 2
    "#]]
    .assert_eq(&after);
    let text = fs::read_to_string(dir.path().join("o-1.jsonl")).unwrap();
    fs::write(dir.path().join("changed.jsonl"), text.replacen("Pay 250?", "Pay 999?", 1)).unwrap();
    let piped = run(dir.path(), &["instance", "import", "-", "--store", "third.db"], &text);
    assert_eq!((piped.code, piped.stderr.as_str()), (Some(0), ""));
    let changed = run(dir.path(), &["instance", "import", "changed.jsonl", "--store", "fourth.db"], "");
    assert_eq!(changed.code, Some(52));
    assert!(changed.stderr.contains("was modified"), "{}", changed.stderr);
    assert!(!dir.path().join("fourth.db").exists());
}

#[test]
fn pruning_shows_what_would_go_and_removes_it_when_told_to() {
    let settings = format!("{}retention: {{age: 1ms, outcomes: [cancelled]}}\n", crate::running::SETTINGS);
    let dir = directory(&FILES);
    fs::write(dir.path().join(".rawko/config.yaml"), &settings).unwrap();
    played(
        dir.path(),
        &[
            "run order.yaml --id paid --input amount=10",
            "run order.yaml --id asking --input amount=250",
            "run order.yaml --id gone --input amount=250",
            "cancel gone",
        ],
    );
    let told = played(
        dir.path(),
        &["prune", "prune --yes", "prune", "prune --max-size 1 --json", "prune --outcome succeeded --yes"],
    );
    expect![[r#"
        $ rawko prune
        ID    OUTCOME    ENDED     INSTANCES  RECORDS  SIZE
        gone  cancelled  just now  1          2        N KiB
        --- stderr
        dry run: would remove 1 instance, about N KiB; pass --yes to remove
        $ rawko prune --yes
        removed 1 instance, 2 records, 0 large values; N KiB → N KiB
        $ rawko prune
        --- stderr
        none: no matching instances
        $ rawko prune --max-size 1 --json
        {
          "v": 1,
          "removed": false,
          "instances": [
            {
              "id": "paid",
              "outcome": "succeeded",
              "ended_ms": 0,
              "instances": 1,
              "records": 2,
              "bytes": 1816
            }
          ],
          "files": {
            "checkpoints": 0,
            "worktrees": 0,
            "leftovers": 0,
            "branches": 0,
            "bytes": 0
          }
        }
        $ rawko prune --outcome succeeded --yes
        removed 1 instance, 2 records, 0 large values; N KiB → N KiB
    "#]]
    .assert_eq(&without_sizes(&told));
    let left = played(dir.path(), &["ps --json", "doctor"]);
    assert!(left.contains("\"asking\"") && !left.contains("\"paid\"") && left.contains("intact"), "{left}");
    fs::write(dir.path().join(".rawko/config.yaml"), settings.replace("cancelled", "finished")).unwrap();
    let wrong = played(dir.path(), &["prune", "doctor"]);
    assert!(wrong.contains("`finished` is not an outcome") && wrong.contains("exit code 52"), "{wrong}");
    fs::write(dir.path().join(".rawko/config.yaml"), crate::running::SETTINGS).unwrap();
    let nothing = run(dir.path(), &["prune"], "");
    assert_eq!(nothing.code, Some(2));
}

#[test]
fn a_lost_log_is_a_problem_until_a_person_accepts_it() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    running.signal("-KILL");
    running.end();
    fs::remove_file(store_of(dir.path()).with_file_name("rawko.db-wal")).unwrap();
    let told = played(dir.path(), &["send w-1 TOLD", "doctor"]);
    assert!(told.contains("write-ahead log") && told.contains("exit code 1"), "{told}");
    let accepted = played(dir.path(), &["doctor --accept-loss"]);
    assert!(accepted.contains("intact"), "{accepted}");
}

/// SQLite takes a log without its last transaction for a torn one.
#[test]
fn a_log_without_its_last_transaction_is_a_problem_until_a_person_accepts_it() {
    let dir = directory(&[("waiter.yaml", WAITER)]);
    let running = Background::start(dir.path(), &RUN, "[waiting]");
    running.signal("-KILL");
    running.end();
    let log = store_of(dir.path()).with_file_name("rawko.db-wal");
    let bytes = fs::read(&log).unwrap();
    // Behind the last frame there is reserved space.
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&log, &bytes[..end - 1]).unwrap();
    let told = played(dir.path(), &["show w-1", "send w-1 TOLD", "doctor"]);
    assert_eq!(told.matches("1 acknowledged commit is lost").count(), 3, "{told}");
    let accepted = played(dir.path(), &["doctor --accept-loss"]);
    assert!(accepted.contains("intact"), "{accepted}");
}
