//! Reachability of states.

use super::check;

#[test]
fn the_outermost_orphan_is_named() {
    check(
        "
        a: GO -> b
        b
        c: BACK -> a
          d: X -> b
        ",
        &["unreachable_state: state `c` can never be reached"],
    );
}

#[test]
fn entering_a_state_enters_what_surrounds_it_and_the_regions_beside_it() {
    check(
        "
        a: GO -> x2
        p (parallel): STOP -> a
          r1
            x1: N -> x2
            x2: N -> x1
          r2
            y1: N -> y2
            y2: N -> y1
        ",
        &[],
    );
}

#[test]
fn a_state_entered_through_a_child_does_not_start_at_its_initial() {
    check(
        "
        a: GO -> c2
        c = c1
          c1: N -> c2
          c2
        ",
        &["unreachable_state: state `c.c1` can never be reached"],
    );
}

#[test]
fn regions_that_a_target_speaks_for_do_not_start_at_their_initial() {
    check(
        "
        a: GO -> x2, y2
        p (parallel): STOP -> a
          r1 = x1
            x1: N -> x2
            x2
          r2 = y1
            y1: N -> y2
            y2
        ",
        &[
            "unreachable_state: state `p.r1.x1` can never be reached",
            "unreachable_state: state `p.r2.y1` can never be reached",
        ],
    );
}

#[test]
fn history_leads_to_its_default_and_restarts_what_it_recorded() {
    check(
        "
        off: BACK -> h; DEEP -> c2
        on = b
          b: OFF -> off
          c = c1
            c1: N -> c2
            c2: OFF -> off
          h (history)
        ",
        &[],
    );
    check(
        "
        off: BACK -> h; DEEP -> c2
        on = b
          b: OFF -> off
          c = c1
            c1: N -> c2
            c2: OFF -> off
          h (deep)
        ",
        &["unreachable_state: state `on.c.c1` can never be reached"],
    );
    check(
        "
        a
          b
          h (history)
        ",
        &["unreachable_state: history `a.h` is never used"],
    );
}

#[test]
fn history_needs_somewhere_to_start() {
    let found = |path: &str| {
        format!("circular_history: history `{path}` leads back to itself when nothing is recorded")
    };
    check("a = h\n  b: GO -> b\n  h (history)", &[&found("a.h")]);
    check(
        "a = h\n  b: GO -> b\n  h (deep) = a",
        &[&found("a.h"), "unreachable_state: state `a.b` can never be reached"],
    );
    check("a = h\n  b: GO -> b\n  h (history) = b", &[]);
}

#[test]
fn completions_and_failures_lead_somewhere_too() {
    check(
        "
        a: done.state.a -> b; invoke i; error.invoke.i -> c
          f (final)
        b
        c
        ",
        &[],
    );
}
