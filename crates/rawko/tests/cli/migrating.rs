//! `rawko migrate`: dry run, gaps and the map that closes them, the migration itself, the way back, and kills in the
//! middle of many instances.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use expect_test::expect;
use rawko_core::Value;
use rawko_host::{Edition, Host, RestoredSnapshot, SnapshotReader};
use rawko_store::{Filter, InstanceRow, OpenEffect, RecordKind, SqliteOptions, SqliteStore, Store};
use serde_json::Value as Json;

use crate::running::{CHARGE, SETTINGS};
use crate::serving::serve;
use crate::support::{command, directory, operator, played, run, store_of};

const FIRST: &str = "\
statechart:
  id: article
  version: 1.0.0
  initial: draft
  context: {points: 3}
  states:
    draft: {on: {SUBMIT: review}}
    review:
      initial: open
      after: {24h: draft}
      states:
        open: {on: {LOOK: looking}}
        looking: {invoke: {id: ask, src: human, onDone: '#published', onError: '#published'}}
    published: {id: published, type: final}
";

/// `review.open` is now `reviewing`, the question has another id, and points are a score.
const SECOND: &str = "\
statechart:
  id: article
  version: 2.0.0
  initial: draft
  context: {score: 0}
  context_schema: {type: object, properties: {score: {type: integer, maximum: 100}}}
  states:
    draft: {on: {SUBMIT: reviewing}}
    reviewing:
      after: {48h: draft}
      on: {LOOK: looking}
    looking:
      after: {48h: draft}
      invoke: {id: question, src: human, onDone: published, onError: published}
    published: {type: final}
";

const MAP: &str = "\
states: {review: reviewing, review.looking: looking}
context: {score: old.points * 10}
invokes: {ask: question}
timers: {review: {24h: 48h}}
";

/// Like [`played`], with the name of the operator as `ada` also in the records of migrations.
fn shown(dir: &Path, commands: &[&str]) -> String {
    played(dir, commands).replace(&format!(" by {} [", operator()), " by ada [")
}

#[test]
fn gaps_are_named_a_map_closes_them_and_the_instance_continues() {
    let dir = directory(&[("article.yaml", FIRST)]);
    played(dir.path(), &["run article.yaml --id a-1", "send a-1 SUBMIT", "run article.yaml --id a-2"]);
    std::fs::write(dir.path().join("article.yaml"), SECOND).unwrap();
    std::fs::write(dir.path().join("map.yaml"), MAP).unwrap();
    expect![[r#"
        $ rawko migrate a-1 a-2 --to article@2.0.0
        INSTANCE  FROM           VERDICT   STATES
        a-1       article 1.0.0  refused   review.open  state `review.open` is not in the new chart; map it under `states`
        a-2       article 1.0.0  possible  draft        drops `context.points`
        --- stderr
        proof: 2 of 3 configurations of article 1.0.0 have no image
        no image: review.looking: state `review.looking` is not in the new chart; map it under `states`; open call `ask` has no heir in the new chart; map it under `invokes`, to `null` to end it
        no image: review.open: state `review.open` is not in the new chart; map it under `states`
        dry run: 1 of 2 instances can be migrated to article 2.0.0; pass --apply to migrate
        --- exit code 1
        $ rawko migrate a-1 a-2 --to article@2.0.0 --map map.yaml
        INSTANCE  FROM           VERDICT   STATES
        a-1       article 1.0.0  possible  reviewing  drops `context.points`
        a-2       article 1.0.0  possible  draft      drops `context.points`
        --- stderr
        proof: all 3 reachable configurations of article 1.0.0 have an image
        dry run: 2 of 2 instances can be migrated to article 2.0.0; pass --apply to migrate
        $ rawko migrate --all --from article@^1 --to article@2.0.0 --map map.yaml --apply
        INSTANCE  FROM           VERDICT   STATES
        a-1       article 1.0.0  migrated  reviewing  drops `context.points`
        a-2       article 1.0.0  migrated  draft      drops `context.points`
        --- stderr
        proof: all 3 reachable configurations of article 1.0.0 have an image
        migrated: 2 of 2 instances to article 2.0.0
        $ rawko migrate --all --from article@^1 --to article@2.0.0 --map map.yaml --apply
        INSTANCE  FROM           VERDICT   STATES
        a-1       article 2.0.0  migrated  reviewing  it is on this chart already
        a-2       article 2.0.0  migrated  draft      it is on this chart already
        --- stderr
        migrated: 2 of 2 instances to article 2.0.0
        $ rawko show a-1
        a-1  article 2.0.0
        status     waiting
        states     [reviewing]
        step       2, just now
        started    just now
        context    score: 30
        timers     after 2d in reviewing, in 24h
        accepts    LOOK → looking
        $ rawko history a-1
           0  2026-01-05 09:30:00Z  start                        [draft]
                  context  points: 3
           1  2026-01-05 09:30:00Z  > SUBMIT                     [review.open]
                  timer    after 24h in review (in 24h)
           2  2026-01-05 09:30:00Z  > migrate to article 2.0.0 by ada [reviewing]
                  context  score: 30
        $ rawko send a-1 LOOK
        > LOOK                       [looking]
            timer    after 2d in looking (in 2d)
            invoked  question human
        --- stderr
        waiting: a-1 is parked; continue with `rawko resume a-1`
          pending request: question
            rawko approve a-1, or rawko deny a-1
          timer: after 2d in looking (in 2d)
        $ rawko approve a-1
        question answered            [published]
            answer   {"approved":true,"by":"ada","comment":null,"data":null}
            status   done
        $ rawko audit verify
        ~/.local/state/rawko/projects/PROJECT/rawko.db: intact: 2 instances, 7 records, 3 audit lines
    "#]].assert_eq(&shown(
        dir.path(),
        &[
            "migrate a-1 a-2 --to article@2.0.0",
            "migrate a-1 a-2 --to article@2.0.0 --map map.yaml",
            "migrate --all --from article@^1 --to article@2.0.0 --map map.yaml --apply",
            "migrate --all --from article@^1 --to article@2.0.0 --map map.yaml --apply",
            "show a-1",
            "history a-1",
            "send a-1 LOOK",
            "approve a-1",
            "audit verify",
        ],
    ));
}

#[test]
fn the_json_of_a_dry_run_and_of_a_refusal() {
    let dir = directory(&[("article.yaml", FIRST), ("new.yaml", SECOND), ("map.yaml", MAP)]);
    played(dir.path(), &["run article.yaml --id a-1", "send a-1 SUBMIT"]);
    let refused = run(dir.path(), &["migrate", "a-1", "--to", "new.yaml@2", "--json"], "");
    let json: Json = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(refused.code, Some(1));
    expect![[r#"
        [
          {
            "id": "a-1",
            "verdict": "refused",
            "configuration": [
              "review.open"
            ],
            "reasons": [
              "state `review.open` is not in the new chart; map it under `states`"
            ]
          }
        ]"#]]
    .assert_eq(&format!("{:#}", json["instances"]));
    let possible =
        run(dir.path(), &["migrate", "a-1", "--to", "new.yaml", "--map", "map.yaml", "--json"], "");
    let json: Json = serde_json::from_str(&possible.stdout).unwrap();
    assert_eq!(possible.code, Some(0));
    expect![[r#"
        {
          "instances": [
            {
              "id": "a-1",
              "verdict": "possible",
              "configuration": [
                "reviewing"
              ],
              "reasons": [],
              "notes": [
                "drops `context.points`"
              ]
            }
          ],
          "to": {
            "chart": "article",
            "version": "2.0.0"
          },
          "proof": [
            {
              "chart": "article",
              "version": "1.0.0",
              "configurations": 3,
              "complete": true,
              "without_image": []
            }
          ]
        }"#]]
    .assert_eq(&format!("{json:#}"));
}

#[test]
fn what_is_a_usage_error_and_what_is_invalid() {
    let bad = "states: {review: nowhere}\ncontext: {score: context.points}\nstats: {}\n";
    let files = [
        ("article.yaml", FIRST),
        ("new.yaml", SECOND),
        ("bad.yaml", bad),
        ("typo.yaml", "states: {reviw: draft}"),
    ];
    let dir = directory(&files);
    played(dir.path(), &["run article.yaml --id a-1"]);
    let table: [(&[&str], i32); 10] = [
        (&["migrate", "a-1"], 2),
        (&["migrate", "--to", "new.yaml"], 2),
        (&["migrate", "--all", "--to", "new.yaml"], 2),
        (&["migrate", "a-1", "--all", "--from", "article", "--to", "new.yaml"], 2),
        (&["migrate", "nobody", "--to", "new.yaml"], 2),
        (&["migrate", "a-1", "--to", "article@7"], 2),
        (&["migrate", "a-1", "--to", "new.yaml", "--map", "bad.yaml"], 52),
        (&["migrate", "a-1", "--to", "new.yaml", "--map", "typo.yaml"], 52),
        (&["migrate", "a-1", "--back"], 1),
        (&["migrate", "a-1", "--to", "new.yaml"], 0),
    ];
    for (args, code) in table {
        let run = run(dir.path(), args, "");
        assert_eq!(run.code, Some(code), "{args:?}\n{}{}", run.stdout, run.stderr);
    }
}

/// The second version calls a service in a state that only waited before.
const CALLING: [(&str, &str); 4] = [
    (
        "one.yaml",
        "statechart: {id: hold, version: 1.0.0, initial: wait, states: {wait: {on: {GO: done}}, done: {type: final}}}",
    ),
    (
        "two.yaml",
        "statechart: {id: hold, version: 2.0.0, initial: wait, states: {wait: {invoke: {id: payment, src: charge_card, input: {amount: 1}, onDone: done, onError: failed}}, done: {type: final}, failed: {type: final, tags: [error]}}}",
    ),
    (".rawko/config.yaml", SETTINGS),
    ("charge.sh", CHARGE),
];

#[test]
fn a_migration_drives_nothing_and_can_be_undone_until_the_next_step() {
    let dir = directory(&CALLING);
    played(dir.path(), &["trust --yes", "run one.yaml --id h-1", "run one.yaml --id h-2", "pause h-2"]);
    expect![[r#"
        $ rawko migrate h-1 h-2 --to two.yaml --apply
        INSTANCE  FROM        VERDICT   STATES
        h-1       hold 1.0.0  migrated  wait    starts `payment`
        h-2       hold 1.0.0  migrated  wait    starts `payment`
        --- stderr
        proof: all 1 reachable configurations of hold 1.0.0 have an image
        migrated: 2 of 2 instances to hold 2.0.0
        $ rawko ps
        ID   CHART       STATUS   WAITS FOR  STEP  UPDATED   STATES
        h-2  hold 2.0.0  paused   resume     2     just now  [wait]
        h-1  hold 2.0.0  waiting  host       1     just now  [wait]
        $ rawko migrate h-1 --back --apply
        INSTANCE  FROM        VERDICT   STATES
        h-1       hold 2.0.0  migrated  wait
        --- stderr
        migrated: 1 of 1 instance back
        $ rawko show h-1
        h-1  hold 1.0.0
        status     waiting
        states     [wait]
        step       2, just now
        started    just now
        accepts    GO → done
        $ rawko migrate h-1 --to two.yaml --apply
        INSTANCE  FROM        VERDICT   STATES
        h-1       hold 1.0.0  migrated  wait    starts `payment`
        --- stderr
        proof: all 1 reachable configurations of hold 1.0.0 have an image
        migrated: 1 of 1 instance to hold 2.0.0
        $ rawko resume h-1
        h-1                          [wait]
        payment answered             [done]
            answer   {"receipt":"r-1"}
            status   done
        $ rawko migrate h-1 --back
        INSTANCE  FROM        VERDICT  STATES
        h-1       hold 2.0.0  refused  done    its last step is not a migration; only a migration without a later step can be undone
        --- stderr
        dry run: 0 of 1 instance can be migrated back
        --- exit code 1
        $ rawko resume h-2
        h-2                          [wait]
        > resume by ada              [wait]
        payment answered             [done]
            answer   {"receipt":"r-1"}
            status   done
        $ rawko history h-1
           0  2026-01-05 09:30:00Z  start                        [wait]
           1  2026-01-05 09:30:00Z  > migrate to hold 2.0.0 by ada [wait]
                  invoked  payment charge_card {"amount":1}
           2  2026-01-05 09:30:00Z  > migrate back to hold 1.0.0 by ada [wait]
                  stopped  payment
           3  2026-01-05 09:30:00Z  > migrate to hold 2.0.0 by ada [wait]
                  invoked  payment charge_card {"amount":1}
           4  2026-01-05 09:30:00Z  payment answered             [done]
                  answer   {"receipt":"r-1"}
                  status   done
    "#]].assert_eq(&shown(
        dir.path(),
        &[
            "migrate h-1 h-2 --to two.yaml --apply",
            "ps",
            "migrate h-1 --back --apply",
            "show h-1",
            "migrate h-1 --to two.yaml --apply",
            "resume h-1",
            "migrate h-1 --back",
            "resume h-2",
            "history h-1",
        ],
    ));
}

#[test]
fn a_running_host_migrates_through_its_socket() {
    let dir = directory(&[("article.yaml", FIRST), ("new.yaml", SECOND), ("map.yaml", MAP)]);
    played(dir.path(), &["run article.yaml --id a-1", "send a-1 SUBMIT", "send a-1 LOOK"]);
    let serving = serve(dir.path());
    let done = run(dir.path(), &["migrate", "a-1", "--to", "new.yaml", "--map", "map.yaml", "--apply"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let answered = run(dir.path(), &["approve", "a-1"], "");
    assert!(answered.stdout.contains("question answered"), "{}{}", answered.stdout, answered.stderr);
    serving.signal("-TERM");
    serving.end();
}

/// Starts many instances that wait: half of them for a person, all of them with a timer.
fn fill(dir: &Path, instances: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = store_of(dir);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(&place, SqliteOptions::default()).unwrap());
        let edition = Edition::read("article.yaml", FIRST).unwrap();
        let host = Host::builder().store(store).chart(edition.clone()).start().await.unwrap();
        for number in 0..instances {
            let id = format!("a-{number:05}");
            host.start_edition(edition.clone(), Value::Null, Some(id.clone())).await.unwrap();
            for event in ["SUBMIT", "LOOK"].iter().take(1 + number % 2) {
                let event = rawko_core::NamedEvent::new(*event, Value::Null);
                host.send(&id, event, None).await.unwrap();
            }
        }
        host.close().await;
    });
}

/// Everything of an instance that a migration must not lose.
struct HeldInstance {
    row: InstanceRow,
    effects: Vec<OpenEffect>,
    /// When its timers are due.
    timers: Vec<i64>,
    /// Open invocations: id, service, input, attempt.
    open: Vec<String>,
    /// Migrations in its journal.
    migrated: usize,
}

fn read_store(dir: &Path) -> Arc<SqliteStore> {
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    Arc::new(SqliteStore::open(&store_of(dir), options).unwrap())
}

fn held(dir: &Path) -> Vec<HeldInstance> {
    let store = read_store(dir);
    let mut rows = store.list(&Filter::default()).unwrap().rows;
    rows.sort_by_key(|row| row.key);
    let restored = SnapshotReader::new(store.clone()).snapshots(&rows).unwrap();
    let of = |(row, restored): (InstanceRow, Option<RestoredSnapshot>)| {
        let snapshot = restored.unwrap().snapshot;
        let mut timers: Vec<i64> = snapshot.timers().iter().map(|timer| timer.due_ms).collect();
        timers.sort_unstable();
        let open = snapshot
            .pending()
            .into_iter()
            .map(|open| format!("{} {} {} {}", open.id, open.src, open.input, open.attempt));
        let records = store.records(row.key, 0, usize::MAX).unwrap();
        let migrated = records.iter().filter(|record| record.kind == RecordKind::Migrated).count();
        let effects = store.open_effects(Some(row.key)).unwrap();
        HeldInstance { open: open.collect(), row, effects, timers, migrated }
    };
    rows.into_iter().zip(restored).map(of).collect()
}

/// Compares each instance with what it was before; returns how many run on the new chart.
fn nothing_is_lost(before: &[HeldInstance], now: &[HeldInstance]) -> usize {
    assert_eq!(before.len(), now.len());
    let mut migrated = 0;
    for (old, new) in before.iter().zip(now) {
        let id = &new.row.new.id;
        assert_eq!(&old.row.new.id, id);
        let version = if new.migrated == 0 { "1.0.0" } else { "2.0.0" };
        assert_eq!((&*new.row.new.version, new.migrated <= 1), (version, true), "{id}");
        assert_eq!((&old.timers, old.timers.len()), (&new.timers, 1), "{id}");
        assert_eq!(old.open, new.open, "{id}");
        assert_eq!(old.effects, new.effects, "{id}");
        assert_eq!(
            (old.row.head.next_due_ms, old.row.head.wait),
            (new.row.head.next_due_ms, new.row.head.wait)
        );
        migrated += new.migrated;
    }
    migrated
}

#[test]
fn killed_again_and_again_nothing_is_lost_and_nothing_migrated_twice() {
    const KILLS: usize = 6;
    // The nightly tier asks for 10,000.
    let instances = std::env::var("RAWKO_MIGRATE_INSTANCES").ok().and_then(|text| text.parse().ok());
    let instances: usize = instances.unwrap_or(300);
    let dir = directory(&[("article.yaml", FIRST), ("new.yaml", SECOND), ("map.yaml", MAP)]);
    played(dir.path(), &["ps"]);
    fill(dir.path(), instances);
    let before = held(dir.path());
    assert!(before.iter().any(|held| !held.open.is_empty() && !held.effects.is_empty()));
    let args = [
        "migrate", "--all", "--from", "article", "--to", "new.yaml", "--map", "map.yaml", "--apply", "--json",
    ];
    let (store, mut kills) = (read_store(dir.path()), Vec::new());
    let so_far = || {
        let rows = store.list(&Filter::default()).unwrap().rows;
        rows.iter().filter(|row| &*row.new.version == "2.0.0").count()
    };
    for round in 1..=KILLS {
        let wanted = instances * round / (KILLS + 1);
        let mut child =
            command(dir.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            if so_far() >= wanted {
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
        kills.push(nothing_is_lost(&before, &held(dir.path())));
    }
    assert!(kills.iter().any(|migrated| (1..instances).contains(migrated)), "killed too late: {kills:?}");
    let began = std::time::Instant::now();
    let last = run(dir.path(), &args, "");
    println!(
        "{instances} instances, killed when these had migrated: {kills:?}, the last run took {:?}",
        began.elapsed()
    );
    assert_eq!(last.code, Some(0), "{}{}", last.stdout, last.stderr);
    let json: Json = serde_json::from_str(&last.stdout).unwrap();
    let reports = json["instances"].as_array().unwrap();
    assert_eq!(reports.len(), instances);
    assert!(reports.iter().all(|report| report["verdict"] == "migrated"));
    assert_eq!(nothing_is_lost(&before, &held(dir.path())), instances);
    let verified = run(dir.path(), &["audit", "verify"], "");
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
}
