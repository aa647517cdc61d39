//! Inputs to parked instances: a person's answer, an event.

use expect_test::{Expect, expect};

use crate::running::FILES;
use crate::support::{directory, played, run};

fn check(files: &[(&str, &str)], commands: &[&str], expect: Expect) {
    let dir = directory(files);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn what_waits_for_a_person_is_parked_and_goes_on_with_the_answer() {
    check(
        &FILES,
        &[
            "run order.yaml --id o-1 --input amount=250",
            "show o-1",
            "approve o-1 --comment fine",
            "resume o-1",
            "approve o-1",
        ],
        expect![[r#"
            $ rawko run order.yaml --id o-1 --input amount=250
            o-1  order 1.0.0
            start                        [asking]
                context  amount: 250
                context  by: null
                context  receipt: null
                timer    after 24h in asking (in 24h)
                invoked  approval human {"title":"Pay 250?"}
            --- stderr
            waiting: o-1 is parked; continue with `rawko resume o-1`
              pending request: approval: Pay 250?
                rawko approve o-1, or rawko deny o-1
              accepts WAIVED
                rawko send o-1 WAIVED
              timer: after 24h in asking (in 24h)
            --- exit code 55
            $ rawko show o-1
            o-1  order 1.0.0
            status     waiting
            states     [asking]
            step       0, just now
            started    just now
            context    amount: 250
                       by: null
                       receipt: null
            requests   approval: Pay 250?
                         `rawko approve o-1` or `rawko deny o-1`
            timers     after 24h in asking, in 24h
            accepts    WAIVED → charging
            $ rawko approve o-1 --comment fine
            approval answered            [charging]
                answer   {"approved":true,"by":"ada","comment":"fine","data":null}
                context  by: null → "ada"
                invoked  payment charge_card {"amount":250}
            payment answered             [paid]
                answer   {"receipt":"r-1"}
                context  receipt: null → "r-1"
                log      charged 250
                status   done
                output   {"receipt":"r-1"}
            $ rawko resume o-1
            o-1                          [paid]
                status   done
                output   {"receipt":"r-1"}
            $ rawko approve o-1
            --- stderr
            error: instance `o-1` has no pending request
            --- exit code 1
        "#]],
    );
}

#[test]
fn saying_no_is_an_answer() {
    check(
        &FILES,
        &["run order.yaml --id o-1 --input amount=250 --output-format json", "deny o-1 --as bo"],
        expect![[r#"
            $ rawko run order.yaml --id o-1 --input amount=250 --output-format json
            {"v":1,"type":"result","id":"o-1","outcome":"waiting","exit_code":55,"status":"waiting","configuration":["asking"],"context":{"amount":250,"by":null,"receipt":null},"output":null,"error":null,"step":0,"waits":{"asks":[{"id":"o-1","invoke":"approval","input":{"title":"Pay 250?"},"since_ms":0,"expires_ms":null}],"events":["WAIVED"],"timers":[{"kind":"after","for":"after 24h in asking","due_ms":0}]}}
            --- stderr
            waiting: o-1 is parked; continue with `rawko resume o-1`
              pending request: approval: Pay 250?
                rawko approve o-1, or rawko deny o-1
              accepts WAIVED
                rawko send o-1 WAIVED
              timer: after 24h in asking (in 24h)
            --- exit code 55
            $ rawko deny o-1 --as bo
            approval answered            [rejected]
                answer   {"approved":false,"by":"ada","as":"bo","comment":null,"data":null}
                context  by: null → "ada"
                status   done
                output   {"by":"ada"}
        "#]],
    );
}

/// The person saw a request that is over; the pending one of the same name is another.
#[test]
fn an_answer_with_the_time_of_an_earlier_request_is_refused() {
    let chart = "\
statechart:
  id: ask
  initial: asking
  states:
    asking:
      invoke:
        id: approval
        src: human
        onDone: [{target: yes, guard: event.data.approved}, {target: asking, reenter: true}]
    yes: {type: final}
";
    let dir = directory(&[("ask.yaml", chart)]);
    run(dir.path(), &["run", "ask.yaml", "--id", "a-1"], "");
    let since = || {
        let shown = run(dir.path(), &["show", "a-1", "--json"], "").stdout;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["waits"]["asks"][0]["since_ms"].to_string()
    };
    let first = since();
    let denied = run(dir.path(), &["deny", "a-1", "--since", &first], "");
    assert_eq!(denied.code, Some(0), "{}", denied.stderr);
    let stale = run(dir.path(), &["approve", "a-1", "--ask", "approval", "--since", &first], "");
    assert_eq!(stale.code, Some(1), "{}", stale.stdout);
    assert!(stale.stderr.contains("a later one is pending"), "{}", stale.stderr);
    let approved = run(dir.path(), &["approve", "a-1", "--since", &since()], "");
    assert!(approved.stdout.contains("[yes]"), "{}{}", approved.stdout, approved.stderr);
}

#[test]
fn events_reach_parked_instances() {
    check(
        &FILES,
        &[
            "run order.yaml --id o-1 --input amount=250 --output-format json",
            "send o-1 NONSENSE",
            "send o-1 WAIVED --key k-1 --data why=vip",
            "send o-1 WAIVED",
        ],
        expect![[r#"
            $ rawko run order.yaml --id o-1 --input amount=250 --output-format json
            {"v":1,"type":"result","id":"o-1","outcome":"waiting","exit_code":55,"status":"waiting","configuration":["asking"],"context":{"amount":250,"by":null,"receipt":null},"output":null,"error":null,"step":0,"waits":{"asks":[{"id":"o-1","invoke":"approval","input":{"title":"Pay 250?"},"since_ms":0,"expires_ms":null}],"events":["WAIVED"],"timers":[{"kind":"after","for":"after 24h in asking","due_ms":0}]}}
            --- stderr
            waiting: o-1 is parked; continue with `rawko resume o-1`
              pending request: approval: Pay 250?
                rawko approve o-1, or rawko deny o-1
              accepts WAIVED
                rawko send o-1 WAIVED
              timer: after 24h in asking (in 24h)
            --- exit code 55
            $ rawko send o-1 NONSENSE
            --- stderr
            error: instance `o-1` refuses the event: no state of the chart handles the event `NONSENSE`; its events are `WAIVED`
            --- exit code 1
            $ rawko send o-1 WAIVED --key k-1 --data why=vip
            > WAIVED {"why":"vip"}       [charging]
                stopped  approval
                invoked  payment charge_card {"amount":250}
            payment answered             [paid]
                answer   {"receipt":"r-1"}
                context  receipt: null → "r-1"
                log      charged 250
                status   done
                output   {"receipt":"r-1"}
            $ rawko send o-1 WAIVED
            --- stderr
            error: instance `o-1` is done and accepts no more input
            --- exit code 1
        "#]],
    );
}

#[test]
fn the_same_key_again_changes_nothing() {
    let chart = "statechart: {id: c, initial: a, states: {a: {on: {GO: b}}, b: {on: {LATER: a}}}}";
    let dir = directory(&[("c.yaml", chart)]);
    played(dir.path(), &["run c.yaml --id c-1", "send c-1 LATER --key a", "send c-1 LATER --key a"]);
    let history = run(dir.path(), &["history", "c-1", "--json"], "").stdout;
    assert_eq!(history.matches("LATER").count(), 1, "{history}");
}

const PARENT: &str = "\
statechart:
  id: shop
  initial: deciding
  states:
    deciding:
      invoke: {id: decision, src: 'statechart:decision', onDone: done, onError: done}
    done: {type: final}
";

const CHILD: &str = "\
statechart:
  id: decision
  initial: asking
  states:
    asking:
      invoke: {id: form, src: human, onDone: decided, onError: decided}
    decided: {type: final}
";

#[test]
fn what_a_child_asks_is_answered_by_its_parents_name() {
    check(
        &[("shop.yaml", PARENT), (".rawko/charts/decision.yaml", CHILD)],
        &[
            "run shop.yaml --id s-1",
            "show s-1",
            "ps",
            "approve s-1 --ask nothing",
            "approve s-1 --data colour=red",
        ],
        expect![[r#"
            $ rawko run shop.yaml --id s-1
            s-1  shop 0.0.0
            start                        [deciding]
                invoked  decision statechart:decision
              decision.0  start                        [asking]
              decision.0      invoked  form human
            --- stderr
            waiting: s-1 is parked; continue with `rawko resume s-1`
              pending request: form
                rawko approve s-1.decision.0, or rawko deny s-1.decision.0
            --- exit code 55
            $ rawko show s-1
            s-1  shop 0.0.0
            status     waiting
                       no host runs it; continue with `rawko resume s-1`
            states     [deciding]
            step       0, just now
            started    just now
            requests   form
                         `rawko approve s-1.decision.0` or `rawko deny s-1.decision.0`
            running    decision statechart:decision, started just now, key s-1/0/0
            children   s-1.decision.0 waiting, step 0, just now
            $ rawko ps
            ID   CHART       STATUS   WAITS FOR  STEP  UPDATED   STATES
            s-1  shop 0.0.0  waiting  person     0     just now  [deciding]
            $ rawko approve s-1 --ask nothing
            --- stderr
            error: instance `s-1` has no pending request
            --- exit code 1
            $ rawko approve s-1 --data colour=red
              decision.0  form answered                [decided]
              decision.0      answer   {"approved":true,"by":"ada","comment":null,"data":{"colour":"red"}}
              decision.0      status   done
            decision answered            [done]
                status   done
        "#]],
    );
}

#[test]
fn attempts_that_follow_are_waited_for() {
    let order = crate::running::ORDER.replace(
        "src: charge_card\n",
        "src: charge_card\n        retry: {max_attempts: 2, initial_delay: 20ms}\n",
    );
    let once = "if [ -e tried ]; then echo '{\"receipt\": \"r-2\"}'; else touch tried; exit 1; fi\n";
    let settings = crate::running::SETTINGS;
    let files = [("order.yaml", order.as_str()), (".rawko/config.yaml", settings), ("charge.sh", once)];
    let dir = directory(&files);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=250"]);
    let told = played(dir.path(), &["approve o-1"]);
    expect![[r#"
        $ rawko approve o-1
        approval answered            [charging]
            answer   {"approved":true,"by":"ada","comment":null,"data":null}
            context  by: null → "ada"
            invoked  payment charge_card {"amount":250}
        payment failed               [charging]
            error    failed: `sh` exited with code 1
            retry    next attempt of payment in 20ms
        next attempt of payment      [charging]
            invoked  payment charge_card {"amount":250} (attempt 2)
        payment answered             [paid]
            answer   {"receipt":"r-2"}
            context  receipt: null → "r-2"
            log      charged 250
            status   done
            output   {"receipt":"r-2"}
    "#]]
    .assert_eq(&told);
}
