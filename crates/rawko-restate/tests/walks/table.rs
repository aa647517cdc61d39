//! The walks: one behaviour each, as a user would try it.

use crate::walk::Act::{Approve, Beside, Cancel, Deny, Fork, Retry, Send, SendOnce, SendTo, Settle, Until};
use crate::walk::Walk;

const LONG: &str = "\"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"";

const fn walk(name: &'static str, chart: &'static str, acts: &'static [crate::walk::Act]) -> Walk {
    Walk { name, chart, input: "{}", budget: "null", acts }
}

const fn told(
    name: &'static str,
    chart: &'static str,
    input: &'static str,
    acts: &'static [crate::walk::Act],
) -> Walk {
    Walk { name, chart, input, budget: "null", acts }
}

pub(crate) const WALKS: &[Walk] = &[
    told("order-small", "order", r#"{"order_id": "o-1", "amount": 5}"#, &[Settle]),
    told(
        "order-large",
        "order",
        r#"{"order_id": "o-2", "amount": 500}"#,
        &[
            Settle,
            Send("NONSENSE", "1"),
            Send("APPROVED", r#"{"by": "ada"}"#),
            Settle,
            Send("APPROVED", "null"),
        ],
    ),
    told(
        "order-unpaid",
        "order",
        r#"{"order_id": "o-3", "amount": 13}"#,
        &[Settle, Send("PAYMENT_RETRIED", "null"), Settle, Send("ORDER_CANCELLED", "null"), Settle],
    ),
    walk("child", "parent", &[Settle, Send("TELL", "null"), Settle]),
    walk("child-left", "parent", &[Send("LEAVE", "null"), Until(".kid.0", 2), Settle]),
    walk("child-told", "parent", &[SendTo(".kid.0", "GO"), Settle]),
    walk("child-cancelled", "parent", &[Cancel, Until(".kid.0", 2), Settle, Cancel]),
    walk("grandchild", "family", &[Settle]),
    walk("each", "each", &[Settle]),
    walk("each-nested", "each_nested", &[Settle]),
    walk("each-any", "each_any", &[Until("", 2), Send("LEAVE", "null"), Settle]),
    walk(
        "each-people",
        "each_people",
        &[Settle, Approve(None), Approve(Some("ask[1]")), Deny(Some("ask[0]")), Until("", 3), Settle],
    ),
    Walk { name: "each-limit", chart: "each", input: "{}", budget: r#"{"tool_calls": 3}"#, acts: &[Settle] },
    walk("no-chart", "orphaned", &[Settle]),
    walk("timers", "timers", &[Settle]),
    walk(
        "person",
        "person",
        &[Settle, Approve(Some("other")), Approve(None), Until("", 3), Settle, Approve(None)],
    ),
    walk("person-no", "person", &[Deny(Some("ask")), Until("", 3), Settle]),
    walk("two-people", "two_people", &[Approve(None), Deny(Some("second")), Approve(None), Settle]),
    told(
        "sends",
        "sender",
        r#"{"other": "sends-2"}"#,
        &[
            Beside("-2", "sender", r#"{"other": "nobody"}"#),
            Send("HIT", "null"),
            Until("-2", 3),
            Send("PRINT", "null"),
            Settle,
            Send("JAM", "null"),
            Settle,
            Send("LOSE", "null"),
            Until("", 7),
            Send("UP", "null"),
            Settle,
            Send("CALL", "null"),
            Settle,
            Send("BAD", "null"),
            Settle,
            Send("END", "null"),
        ],
    ),
    walk("retries", "retries", &[Settle]),
    walk("unhandled", "unhandled", &[Settle, Retry, Settle, Send("MEND", "null"), Retry, Settle]),
    walk("unhandled-cancelled", "unhandled", &[Settle, Cancel, Retry]),
    walk("budgets", "budgets", &[Settle]),
    Walk {
        name: "budget-of-all",
        chart: "budgets",
        input: "{}",
        budget: r#"{"tokens": 15}"#,
        acts: &[Settle],
    },
    walk(
        "agents",
        "office",
        &[Settle, SendTo(".clerk.0", "GO"), Until("", 3), Settle, Approve(None), Settle],
    ),
    walk("runaway", "runaway", &[Send("GO", "null"), Send("STAY", "null"), Retry, Settle]),
    walk("stubborn", "stubborn", &[Settle, Retry, Settle]),
    walk("once", "runaway", &[SendOnce("STAY", "k1"), SendOnce("STAY", "k1"), SendOnce("STAY", "k2")]),
    walk(
        "forks",
        "long",
        &[
            Send("ADD", "1"),
            Send("ADD", "2"),
            Fork("-2", 1, ("texts", "append(context.texts, 7)")),
            Fork("-3", 1, ("no_such", "1")),
            Fork("-4", 9, ("texts", "[]")),
            SendTo("-2", "ASK"),
            Until("-2", 3),
        ],
    ),
    walk("fork-over", "at_once", &[Settle, Fork("-2", 0, ("n", "1"))]),
    walk("fork-running", "parent", &[Fork("-2", 0, ("got", "1")), SendTo("-2", "TELL"), Until("-2", 4)]),
    walk("exists", "runaway", &[Beside("", "runaway", "{}")]),
    walk(
        "long",
        "long",
        &[
            Send("ADD", LONG),
            Send("ADD", LONG),
            Send("ADD", "3"),
            Send("ADD", LONG),
            Send("ADD", LONG),
            Send("ADD", "6"),
            Send("ADD", LONG),
            Send("ADD", LONG),
            Send("ADD", "9"),
            Send("ADD", LONG),
            Send("ASK", "null"),
            Settle,
        ],
    ),
];
