//! Transitions and states that lead nowhere.

use super::check;

#[test]
fn a_candidate_behind_an_unguarded_one_is_never_chosen() {
    check(
        "
        a: GO -> b; STOP -> b; GO -> c; * -> c
        b
        c
        ",
        &["unreachable_transition: this `GO` transition of `a` can never be chosen"],
    );
}

#[test]
fn a_state_that_is_left_at_once_waits_for_nothing() {
    check(
        "
        a: GO -> b; always -> b
        b
        ",
        &["unreachable_transition: `a` never waits for `GO`"],
    );
}

#[test]
fn a_final_state_is_the_end() {
    check(
        "
        a: GO -> f; STOP -> g
        f (final): GO -> a
        g (final)
          x
        ",
        &[
            "final_with_transitions: final state `f` has a transition",
            "final_with_transitions: final state `g` has child states",
        ],
    );
}

#[test]
fn a_state_beside_final_ones_can_be_left() {
    check("a: GO -> b; STOP -> c\nb\nc (final)", &["dead_end: state `b` cannot be left"]);
    check("a: GO -> b\nb", &[]);
}
