//! Infinite loops of eventless transitions.

use super::check;

#[test]
fn a_cycle_without_a_guard_is_named() {
    check(
        "
        a: GO -> b
        b: always -> c
        c
          d: always -> b
        ",
        &["eventless_cycle: eventless transitions without a guard loop forever: `b` → `c.d` → `b`"],
    );
}

#[test]
fn a_state_that_goes_on_inside_itself_is_asked_again() {
    check(
        "
        a: always -> c
          b
          c
        ",
        &["eventless_cycle: eventless transitions without a guard loop forever: `a` → `a`"],
    );
}

#[test]
fn a_transition_without_target_is_taken_for_ever() {
    check(
        "a: always -",
        &["eventless_cycle: eventless transition of `a` has neither guard nor target, so it loops forever"],
    );
}

#[test]
fn an_event_a_delay_or_the_end_breaks_the_circle() {
    check(
        "
        a: always -> b
        b: after -> c
        c: always -> d
        d: NEXT -> a; STOP -> e
        e (final)
        ",
        &[],
    );
    check(
        "
        a: always -> b
          x: always -> y
          y
        b (final)
        ",
        &[],
    );
}

#[test]
fn an_inner_transition_goes_before_an_outer_one() {
    check(
        "
        a: always -> out
          x: always -> y
          y: always -> x
        out (final)
        ",
        &["eventless_cycle: eventless transitions without a guard loop forever: `a.x` → `a.y` → `a.x`"],
    );
}
