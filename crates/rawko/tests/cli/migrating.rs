//! `rawko migrate`: dry run, gaps and the map that closes them, the migration itself, and the way back.

use std::path::Path;

use expect_test::expect;
use serde_json::Value as Json;

use crate::running::{CHARGE, SETTINGS};
use crate::serving::serve;
use crate::support::{directory, operator, played, run};

pub(crate) const FIRST: &str = "\
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
pub(crate) const SECOND: &str = "\
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

pub(crate) const MAP: &str = "\
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
           1  2026-01-05 09:30:00Z  > SUBMIT                     [review.open]
                  timer    after 24h in review (in 24h)
           2  2026-01-05 09:30:00Z  > migrate to article 2.0.0 by ada [reviewing]
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
