//! Reading a store: `ps`, `show`, `history`, `logs`, `charts`, `doctor`.

use expect_test::{Expect, expect};

use crate::running::{FILES, ORDER};
use crate::support::{directory, played, run, store_of};

/// Collapses spaces: columns are as wide as their content, and ages differ in length.
fn squeezed(text: &str) -> String {
    let lines =
        text.lines().map(|line| line.split("  ").filter(|part| !part.is_empty()).map(str::trim).collect());
    lines.map(|parts: Vec<_>| parts.join("  ") + "\n").collect()
}

fn check(commands: &[&str], expect: Expect) {
    let dir = directory(&FILES);
    let starts = [
        "run order.yaml --id o-1 --input amount=30",
        "run order.yaml --id o-2 --input amount=250",
        "run order.yaml --id o-3 --input amount=251",
        "cancel o-3",
    ];
    played(dir.path(), &starts);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn instances_are_listed_newest_first() {
    let dir = directory(&FILES);
    let empty = played(dir.path(), &["ps", "charts", "show o-1"]);
    played(
        dir.path(),
        &["run order.yaml --id o-1 --input amount=30", "run order.yaml --id o-2 --input amount=250"],
    );
    let listed = played(
        dir.path(),
        &[
            "ps",
            "ps --waiting person",
            "ps --status error",
            "ps --limit 1",
            "ps --limit 1 --before 2",
            "charts",
        ],
    );
    expect![[r#"
        $ rawko ps
        --- stderr
        none: no instances yet; start one with `rawko task` or `rawko run`
        $ rawko charts
        ID  VERSION  HASH  PUBLISHED  INSTANCES  FROM
        agent  1.0.0  4995fb0a1016  yes  0  rawko's own agent.yaml
        dry_run  1.0.0  d32c3b955fb0  yes  0  rawko's own dry_run.yaml
        issue_to_patch  1.0.0  73d73e93295e  yes  0  rawko's own issue_to_patch.yaml
        parallel  1.0.0  60efd2c9011a  yes  0  rawko's own parallel.yaml
        pipeline  1.0.0  930a22d98705  yes  0  rawko's own pipeline.yaml
        plan_build  1.0.0  1db0f601fb4a  yes  0  rawko's own plan_build.yaml
        program_agent  1.0.0  c5325c650a66  yes  0  rawko's own program_agent.yaml
        rawko  1.0.0  ad8be85b82f1  yes  0  rawko's own orchestrator.yaml
        refactor_files  1.0.0  ef99cb60e916  yes  0  rawko's own refactor_files.yaml
        research  1.0.0  1562cd380ab6  yes  0  rawko's own research.yaml
        review_diff  1.0.0  1518bd941a3b  yes  0  rawko's own review_diff.yaml
        sequential  1.0.0  e1da381002af  yes  0  rawko's own sequential.yaml
        task_queue  1.0.0  d4af0250aea1  yes  0  rawko's own task_queue.yaml
        trigger_log  1.0.0  e2f5ed0b379d  yes  0  rawko's own trigger_log.yaml
        $ rawko show o-1
        --- stderr
        error: store `~/.local/state/rawko/projects/PROJECT/rawko.db` not found; start an instance with `rawko run CHART` to create it
        --- exit code 2
        $ rawko ps
        ID  CHART  STATUS  WAITS FOR  STEP  UPDATED  STATES
        o-2  order 1.0.0  waiting  person  0  just now  [asking]
        o-1  order 1.0.0  succeeded  -  1  just now  [paid]
        $ rawko ps --waiting person
        ID  CHART  STATUS  WAITS FOR  STEP  UPDATED  STATES
        o-2  order 1.0.0  waiting  person  0  just now  [asking]
        $ rawko ps --status error
        --- stderr
        none: no matching instances
        $ rawko ps --limit 1
        ID  CHART  STATUS  WAITS FOR  STEP  UPDATED  STATES
        o-2  order 1.0.0  waiting  person  0  just now  [asking]
        --- stderr
        more: 1 of 2; continue with --before 2
        $ rawko ps --limit 1 --before 2
        ID  CHART  STATUS  WAITS FOR  STEP  UPDATED  STATES
        o-1  order 1.0.0  succeeded  -  1  just now  [paid]
        $ rawko charts
        ID  VERSION  HASH  PUBLISHED  INSTANCES  FROM
        agent  1.0.0  4995fb0a1016  yes  0  rawko's own agent.yaml
        dry_run  1.0.0  d32c3b955fb0  yes  0  rawko's own dry_run.yaml
        issue_to_patch  1.0.0  73d73e93295e  yes  0  rawko's own issue_to_patch.yaml
        order  1.0.0  9ec09f79dfae  -  2  order.yaml
        parallel  1.0.0  60efd2c9011a  yes  0  rawko's own parallel.yaml
        pipeline  1.0.0  930a22d98705  yes  0  rawko's own pipeline.yaml
        plan_build  1.0.0  1db0f601fb4a  yes  0  rawko's own plan_build.yaml
        program_agent  1.0.0  c5325c650a66  yes  0  rawko's own program_agent.yaml
        rawko  1.0.0  ad8be85b82f1  yes  0  rawko's own orchestrator.yaml
        refactor_files  1.0.0  ef99cb60e916  yes  0  rawko's own refactor_files.yaml
        research  1.0.0  1562cd380ab6  yes  0  rawko's own research.yaml
        review_diff  1.0.0  1518bd941a3b  yes  0  rawko's own review_diff.yaml
        sequential  1.0.0  e1da381002af  yes  0  rawko's own sequential.yaml
        task_queue  1.0.0  d4af0250aea1  yes  0  rawko's own task_queue.yaml
        trigger_log  1.0.0  e2f5ed0b379d  yes  0  rawko's own trigger_log.yaml
    "#]]
    .assert_eq(&squeezed(&(empty + &listed)));
}

#[test]
fn json_for_programs() {
    check(
        &["ps --json --status done", "show o-2 --json"],
        expect![[r#"
            $ rawko ps --json --status done
            {
              "v": 1,
              "instances": [
                {
                  "id": "o-1",
                  "chart": "order",
                  "version": "1.0.0",
                  "chart_hash": "9ec09f79dfaecb4dce0e4c3d317795d7",
                  "status": "ended",
                  "outcome": "succeeded",
                  "title": null,
                  "waiting_for": null,
                  "reason": null,
                  "hint": null,
                  "waits_for": "nothing",
                  "next_due_ms": null,
                  "fault": null,
                  "step": 1,
                  "created_ms": 0,
                  "updated_ms": 0,
                  "updated": "2026-01-05 09:30:00Z",
                  "parent": null,
                  "forked_from": null,
                  "agent": null,
                  "spent": {
                    "tokens": 0,
                    "cost_usd": 0.0,
                    "time_ms": 0,
                    "tool_calls": 0
                  },
                  "configuration": [
                    "paid"
                  ]
                }
              ],
              "total": 1,
              "next": null
            }
            $ rawko show o-2 --json
            {
              "id": "o-2",
              "chart": "order",
              "version": "1.0.0",
              "chart_hash": "9ec09f79dfaecb4dce0e4c3d317795d7",
              "status": "waiting",
              "outcome": null,
              "title": null,
              "waiting_for": "person",
              "reason": null,
              "hint": "rawko approve o-2, or rawko deny o-2",
              "waits_for": "person",
              "next_due_ms": 0,
              "fault": null,
              "step": 0,
              "created_ms": 0,
              "updated_ms": 0,
              "updated": "2026-01-05 09:30:00Z",
              "parent": null,
              "forked_from": null,
              "agent": null,
              "spent": {
                "tokens": 0,
                "cost_usd": 0.0,
                "time_ms": 0,
                "tool_calls": 0
              },
              "configuration": [
                "asking"
              ],
              "v": 1,
              "last_step": 0,
              "at_ms": 0,
              "active": [
                "asking"
              ],
              "context": {
                "amount": 250,
                "by": null,
                "receipt": null
              },
              "input": {
                "amount": 250
              },
              "output": null,
              "failure": null,
              "faults": {
                "count": 0,
                "last": null
              },
              "running": [],
              "waits": {
                "asks": [
                  {
                    "id": "o-2",
                    "invoke": "approval",
                    "input": {
                      "title": "Pay 250?"
                    },
                    "since_ms": 0,
                    "expires_ms": null
                  }
                ],
                "events": [
                  "WAIVED"
                ],
                "timers": [
                  {
                    "kind": "after",
                    "for": "after 24h in asking",
                    "due_ms": 0
                  }
                ]
              },
              "children": [],
              "child_rows": []
            }
        "#]],
    );
}

#[test]
fn history_tells_every_step_and_why() {
    check(
        &["history o-1", "history o-1 -v --after 1", "history o-1 --limit 1", "history o-3 --json"],
        expect![[r#"
            $ rawko history o-1
               0  2026-01-05 09:30:00Z  start                        [charging]
                      invoked  payment charge_card {"amount":30}
               1  2026-01-05 09:30:00Z  payment answered             [paid]
                      answer   {"receipt":"r-1"}
                      log      charged 30
                      status   done
                      output   {"receipt":"r-1"}
            $ rawko history o-1 -v --after 1
               1  2026-01-05 09:30:00Z  payment answered             [paid]
                      answer   {"receipt":"r-1"}
                      context  receipt: null → "r-1"
                      log      charged 30
                      status   done
                      output   {"receipt":"r-1"}
                          event done.invoke.payment
                            taken     charging: onDone payment → paid
                            left      charging
                            ran       assign receipt
                            assigned  receipt = "r-1"
                            ran       log
                            entered   paid
                            left      paid
                            left      order
            $ rawko history o-1 --limit 1
               0  2026-01-05 09:30:00Z  start                        [charging]
                      invoked  payment charge_card {"amount":30}
            --- stderr
            more: continue with --after 1
            $ rawko history o-3 --json
            {"v":1,"type":"started","id":"o-3","step":0,"at_ms":0,"seq":4,"chart":"order","version":"1.0.0","parent":null,"input":{"amount":251},"configuration":["asking"],"context":{"amount":251,"by":null,"receipt":null},"status":"active"}
            {"v":1,"type":"timer","id":"o-3","step":0,"at_ms":0,"kind":"after","for":"after 24h in asking","due_ms":0}
            {"v":1,"type":"invoked","id":"o-3","step":0,"at_ms":0,"invoke":"approval","src":"human","input":{"title":"Pay 251?"},"attempt":1}
            {"v":1,"type":"step","id":"o-3","step":1,"at_ms":0,"seq":5,"event":{"kind":"cancel","reason":null},"configuration":["asking"],"context":{},"status":"cancelled"}
            {"v":1,"type":"stopped","id":"o-3","step":1,"at_ms":0,"invoke":"approval"}
        "#]],
    );
}

#[test]
fn the_past_can_be_shown() {
    check(
        &["show o-1 --at 0", "show o-1 --at 7", "show o-3"],
        expect![[r#"
        $ rawko show o-1 --at 0
        o-1  order 1.0.0
        status     active
        states     [charging]
        step       0 of 1, just now
        started    just now
        context    amount: 30
                   by: null
                   receipt: null
        running    payment charge_card
        $ rawko show o-1 --at 7
        --- stderr
        error: instance `o-1` has no step 7; the last step is 1
        --- exit code 2
        $ rawko show o-3
        o-3  order 1.0.0
        status     cancelled
        states     [asking]
        step       1, just now
        started    just now
        context    amount: 251
                   by: null
                   receipt: null
    "#]],
    );
}

#[test]
fn logs_of_one_or_all() {
    check(
        &["logs", "logs o-1 -f", "logs o-1 --json", "logs o-1 --audit"],
        expect![[r#"
        $ rawko logs
        2026-01-05 09:30:00Z  o-1  log      charged 30
        $ rawko logs o-1 -f
        2026-01-05 09:30:00Z  o-1  log      charged 30
        $ rawko logs o-1 --json
        {"v":1,"type":"log","id":"o-1","step":1,"at_ms":0,"message":"charged 30"}
        $ rawko logs o-1 --audit
        2026-01-05 09:30:00Z  o-1/0/0  allowed  charge_card `charge_card` is allowed by `charge_card` in `governance.allow` of .rawko/config.yaml
        2026-01-05 09:30:00Z  o-1/0/0  answered charge_card
    "#]],
    );
}

#[test]
fn a_name_that_is_nearly_right() {
    check(
        &["show o-4", "show somethingelse", "send o-22 X"],
        expect![[r#"
        $ rawko show o-4
        --- stderr
        error: instance `o-4` not found; list instances with `rawko ps --all`
        --- exit code 2
        $ rawko show somethingelse
        --- stderr
        error: instance `somethingelse` not found; list instances with `rawko ps --all`
        --- exit code 2
        $ rawko send o-22 X
        --- stderr
        error: instance `o-22` not found; did you mean `o-2`?
        --- exit code 2
    "#]],
    );
}

#[test]
fn logs_follow_until_the_instance_is_over() {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=250"]);
    let following = crate::support::command(dir.path(), &["logs", "o-1", "-f"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let sent = run(dir.path(), &["approve", "o-1"], "");
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let output = following.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("log      charged 250\n"));
}

#[test]
fn charts_that_are_offered_and_charts_that_ran() {
    let dir = directory(&[(".rawko/charts/order.yaml", ORDER)]);
    played(dir.path(), &["run .rawko/charts/order.yaml --id o-1 --input amount=250"]);
    let changed = ORDER.replace("24h", "48h");
    std::fs::write(dir.path().join(".rawko/charts/order.yaml"), changed).unwrap();
    let listed = run(dir.path(), &["charts", "--json"], "");
    let document: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let lines: Vec<_> = document["charts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|chart| !chart["from"].as_str().unwrap().starts_with("rawko's own"))
        .map(|chart| (chart["id"].clone(), chart["offered"].clone(), chart["instances"].clone()))
        .collect();
    assert_eq!(lines, [("order".into(), true.into(), 0.into()), ("order".into(), false.into(), 1.into())]);
}

#[test]
fn doctor_says_what_is_wrong_and_what_to_do() {
    let settings = "\
services:
  charge_card: {command: [no-such-program]}
  refund: {command: [sh, refund.sh]}
  ship: {http: {url: 'http://127.0.0.1:1/ship'}}
  broken: {}
governance: {allow: [charge_card, ship]}
";
    let files = [
        (".rawko/config.yaml", settings),
        (".rawko/charts/order.yaml", ORDER),
        (".rawko/charts/bad.yaml", "statechart: {id: bad, initial: nowhere, states: {a: {}}}\n"),
        (".rawko/agents/ada.md", "---\nname: ada\nwhenToUse: For reviews.\n---\nReview.\n"),
    ];
    let dir = directory(&files);
    let told = played(dir.path(), &["doctor"]);
    let told: String =
        told.lines().filter(|line| !line.contains("  disk  ")).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        $ rawko doctor
        ok       store     ~/.local/state/rawko/projects/PROJECT/rawko.db: not created yet; `rawko run` creates it
        problem  settings  .rawko/config.yaml:5: service `broken` has none of `command`, `http` and `remote`
                           add `command: [program, argument]`, `http: {url: …}` or `remote: {}`
        ok       trust     the files of this project are trusted
        problem  service   broken: invalid settings
        problem  service   charge_card: program `no-such-program` not found
                           install it, or give its path
        warn     service   refund: every call is refused
                           `refund` is not in `governance.allow` of .rawko/config.yaml
        ok       service   ship: allowed, calls http://127.0.0.1:1/ship
        ok       sandbox   own session, user namespace, PID namespace, network namespace, mount namespace, dropped privileges, Landlock vN, seccomp
        ok       sandbox   network of programs: none
        ok       sandbox   confined: Bash, checks, service:charge_card, service:refund
        ok       agents    ada, builder, explorer, planner
        ok       search    not configured, so agents have no WebSearch; set `tools.search: {provider: searxng | brave | tavily | model}` in .rawko/config.yaml
        problem  chart     .rawko/charts/bad.yaml: the chart starts in `nowhere`, which is not a state inside it
                           see `rawko check .rawko/charts/bad.yaml`
        warn     chart     .rawko/charts/order.yaml: nothing handles a failure of invoke `payment`
                           see `rawko check .rawko/charts/order.yaml`
        --- exit code 1
    "#]]
    .assert_eq(&told);
    let sound = directory(&FILES);
    assert_eq!(run(sound.path(), &["doctor"], "").code, Some(0));
}

#[test]
fn doctor_finds_a_damaged_store() {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=30"]);
    let store = store_of(dir.path());
    for file in ["rawko.db-wal", "rawko.db-shm"] {
        let _ = std::fs::remove_file(store.with_file_name(file));
    }
    std::fs::write(&store, "this is no store, though it is where one should be").unwrap();
    let told = played(dir.path(), &["doctor", "ps"]);
    assert!(told.contains("problem  store") && told.contains("is not a rawko store"), "{told}");
}
