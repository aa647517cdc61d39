//! Parallel states: if they can be left, and the effect of leaving a region on the others.

use super::check;

#[test]
fn each_region_needs_a_final_state() {
    check(
        "
        p (parallel): done.state.p -> end
          r1
            a: N -> f
            f (final)
          r2
            b: N -> b
          r3
        end (final)
        ",
        &[
            "region_without_final: region `p.r2` has no final state, so `p` never completes",
            "region_without_final: region `p.r3` has no final state, so `p` never completes",
        ],
    );
}

#[test]
fn another_way_out_is_enough_but_its_completion_stays_impossible() {
    let ways = ["p (parallel): STOP -> end", "p (parallel): after -> end"];
    for way in ways {
        check(&format!("{way}\n  r1\n    a\n  r2\n    b\nend (final)"), &[]);
    }
    check(
        "
        p (parallel): done.state.p -> end
          r1
            a: STOP -> end
          r2
            b
        end (final)
        ",
        &["event_never_sent: `done.state.p` never occurs: region `p.r1` cannot complete"],
    );
    check(
        "
        all: STOP -> end
          p (parallel)
            r1
              a
            r2
              b
        end (final)
        ",
        &[],
    );
}

#[test]
fn going_back_in_is_no_way_out() {
    check(
        "
        p (parallel): AGAIN => p
          r1
            a
          r2
            f (final)
        ",
        &["region_without_final: region `p.r1` has no final state, so `p` never completes"],
    );
}

#[test]
fn a_nested_parallel_is_judged_by_its_own_regions() {
    check(
        "
        p (parallel)
          q (parallel)
            r1
              f1 (final)
            r2
              a
          r3
            f3 (final)
        ",
        &["region_without_final: region `p.q.r2` has no final state, so `p.q` never completes"],
    );
}

#[test]
fn leaving_a_region_for_another_resets_them() {
    check(
        "
        p (parallel): OFF -> off
          r1
            a: GO -> y
          r2
            x: N -> y
            y
        off: ON -> p
        ",
        &["resets_sibling_regions: transition `GO` of `p.r1.a` re-enters `p`: region `r1` starts over"],
    );
    check(
        "
        p (parallel): OFF -> off; BOTH -> a, y; ALL -> p; ONE -> y
          r1
            a: GO => a
          r2
            x: N -> y
            y
        off: ON -> p
        ",
        &["resets_sibling_regions: transition `ONE` of `p` re-enters `p`: region `r1` starts over"],
    );
}
