//! Guards that can never hold, and those that always do.

use super::check;

#[track_caller]
fn never_holds(guard: &str) {
    let found = format!("guard_always_false: guard `{guard}` of `GO` in `a` can never hold");
    check(&format!("a: GO [{guard}] -> b\nb"), &[&found]);
}

#[track_caller]
fn may_hold(guard: &str) {
    check(&format!("a: GO [{guard}] -> b\nb"), &[]);
}

#[test]
fn parts_that_exclude_each_other_never_hold() {
    never_holds("false");
    never_holds("1 > 2");
    never_holds("context.x == 1 and context.x == 2");
    never_holds("context.x == 'a' and context.y and context.x != 'a'");
    never_holds("context.x > 5 and context.x < 3");
    never_holds("context.x > 5 and context.x <= 5");
    never_holds("context.x >= 5 and not (context.x >= 5)");
    never_holds("context.x == 7 and 5 > context.x");
    never_holds("context.ready and not context.ready");
    never_holds("context.x < context.y and context.y < context.x");
    never_holds("context.x > context.x");
    never_holds("event.data.kind == 'a' and event.data.kind == 'b'");
}

#[test]
fn parts_that_leave_room_may_hold() {
    may_hold("context.x == 1 or context.x == 2");
    may_hold("context.x == 1 and context.y == 2");
    may_hold("context.x >= 5 and context.x <= 5");
    may_hold("context.x > 3 and context.x < 5 and context.x != 4");
    may_hold("context.x == 1 and context.x == 1.0");
    may_hold("context.x.a == 1 and context.x.b == 2");
    may_hold("context.x <= context.y and context.y <= context.x");
    may_hold("context.x != null and context.x != 'a'");
}

#[test]
fn a_guard_that_always_holds_is_like_none() {
    check(
        "a: GO [1 < 2] -> b; GO -> c\nb\nc",
        &["unreachable_transition: this `GO` transition of `a` can never be chosen"],
    );
    check("a: GO [context.ready] -> b; GO -> c\nb\nc", &[]);
}
