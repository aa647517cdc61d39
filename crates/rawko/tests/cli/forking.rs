//! Forking: a new instance continues from a past step.

use expect_test::{Expect, expect};

use crate::running::FILES;
use crate::support::{directory, played};

fn check(commands: &[&str], expect: Expect) {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=250", "deny o-1"]);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn a_fork_has_other_values_and_leaves_the_first_one_alone() {
    check(
        &[
            "fork o-1 --at 0 --set amount=context.amount-200 --set by='bo' --id o-2",
            "approve o-2",
            "show o-1",
            "show o-2",
        ],
        expect![[r#"
            $ rawko fork o-1 --at 0 --set amount=context.amount-200 --set by='bo' --id o-2
            o-2
            forked from o-1 at step 0    [asking]
                context  amount: 50
                context  by: "bo"
                context  receipt: null
            --- stderr
            waiting: o-2 is parked; continue with `rawko resume o-2`
              pending request: approval: Pay 250?
                rawko approve o-2, or rawko deny o-2
              accepts WAIVED
                rawko send o-2 WAIVED
              timer: after 24h in asking (in 24h)
            $ rawko approve o-2
            approval answered            [charging]
                answer   {"approved":true,"by":"ada","comment":null,"data":null}
                context  by: "bo" → "ada"
                invoked  payment charge_card {"amount":50}
            payment answered             [paid]
                answer   {"receipt":"r-1"}
                context  receipt: null → "r-1"
                log      charged 50
                status   done
                output   {"receipt":"r-1"}
            $ rawko show o-1
            o-1  order 1.0.0
            status     succeeded
            states     [rejected]
            step       1, just now
            started    just now
            output     {"by":"ada"}
            context    amount: 250
                       by: "ada"
                       receipt: null
            $ rawko show o-2
            o-2  order 1.0.0
            status     succeeded
            states     [paid]
            step       2, just now
            started    just now
            forked     from o-1 at step 0
            output     {"receipt":"r-1"}
            context    amount: 50
                       by: "ada"
                       receipt: "r-1"
        "#]],
    );
}

#[test]
fn a_fork_can_be_followed() {
    check(
        &["fork o-1 --at 0 --id o-2 --run --patience 0s --output-format json"],
        expect![[r#"
            $ rawko fork o-1 --at 0 --id o-2 --run --patience 0s --output-format json
            {"v":1,"type":"result","id":"o-2","outcome":"waiting","exit_code":55,"status":"waiting","configuration":["asking"],"context":{"amount":250,"by":null,"receipt":null},"output":null,"error":null,"step":0,"waits":{"asks":[{"id":"o-2","invoke":"approval","input":{"title":"Pay 250?"},"since_ms":0,"expires_ms":null}],"events":["WAIVED"],"timers":[{"kind":"after","for":"after 24h in asking","due_ms":0}]}}
            --- stderr
            waiting: o-2 is parked; continue with `rawko resume o-2`
              pending request: approval: Pay 250?
                rawko approve o-2, or rawko deny o-2
              accepts WAIVED
                rawko send o-2 WAIVED
              timer: after 24h in asking (in 24h)
            --- exit code 55
        "#]],
    );
}

#[test]
fn what_cannot_be_forked() {
    check(
        &[
            "fork o-1 --id o-2",
            "fork o-1 --at 9",
            "fork o-1 --at 0 --set amuont=1",
            "fork o-1 --at 0 --set amount",
            "fork o-1 --at 0 --set amount=nope",
        ],
        expect![[r#"
            $ rawko fork o-1 --id o-2
            --- stderr
            error: instance `o-1 at step 1` is done and accepts no more input
            --- exit code 1
            $ rawko fork o-1 --at 9
            --- stderr
            error: instance `o-1` has no step 9; the last step is 1
            --- exit code 2
            $ rawko fork o-1 --at 0 --set amuont=1
            --- stderr
            error: cannot set `amuont`: the context has no such key; it has amount, by, receipt
            --- exit code 2
            $ rawko fork o-1 --at 0 --set amount
            --- stderr
            error: invalid --set `amount`: expected KEY=EXPRESSION
            --- exit code 2
            $ rawko fork o-1 --at 0 --set amount=nope
            --- stderr
            error: cannot set `amount`: unknown name `nope`
            --- exit code 2
        "#]],
    );
}
