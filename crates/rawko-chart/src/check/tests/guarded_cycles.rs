//! Eventless cycles whose guards nothing changes.

use super::check;

const FOUND: &str = "guarded_eventless_cycle: once the guard holds, eventless transitions loop forever: ";

#[test]
fn a_guard_that_nothing_changes_does_not_stop_a_cycle() {
    check("a: always [context.x > 1] -> b\nb: always -> a", &[&format!("{FOUND}`a` → `b` → `a`")]);
    check("a: always [context.x > 1] -", &[&format!("{FOUND}`a` → `a`")]);
    check(
        "a: always [context.x > 1] -> b\nb: always [context.x < 9] -> a",
        &[&format!("{FOUND}`a` → `b` → `a`")],
    );
}

#[test]
fn a_guard_that_something_changes_may() {
    check("a: always [context.x > 1] -> b; set x\nb: always -> a", &[]);
    check("a: always [context.x > 1] -> b\nb: set y; always -> a", &[&format!("{FOUND}`a` → `b` → `a`")]);
}

#[test]
fn guards_that_exclude_each_other_do() {
    check("a: always [context.x > 1] -> b\nb: always [context.x <= 1] -> a", &[]);
    check("a: always [context.ready] -> b\nb: always [not context.ready] -> a", &[]);
}

#[test]
fn what_cannot_be_told_is_left_to_the_bound_at_run_time() {
    check("a: always [context.x > 1 or context.y] -> b\nb: always -> a", &[]);
    check("a: always [stateIn('a')] -> b\nb: always -> a", &[]);
    check("a: always [context.x > 1] -> c; always -> b\nb: always -> a\nc", &[]);
}
