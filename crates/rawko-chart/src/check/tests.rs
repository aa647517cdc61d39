//! Tables of small drawings and what is found in them. Where a finding points and how it reads is in `tests/broken`.

use super::sketch::lowered;

/// Checks that a drawing has exactly these findings, each as `code: message`.
#[track_caller]
fn check(sketch: &str, expected: &[&str]) {
    let mut found: Vec<String> = super::analyse(&lowered(sketch))
        .into_iter()
        .map(|finding| format!("{}: {}", finding.code.trim_start_matches("rawko::chart::"), finding.message))
        .collect();
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "\n{sketch}");
}

mod reachability {
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
            format!("circular_history: history `{path}` leads back to itself when nothing was recorded")
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
}

mod regions {
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
}

mod eventless {
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
            &["eventless_cycle: eventless transitions without a guard go round for ever: `b` → `c.d` → `b`"],
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
            &["eventless_cycle: eventless transitions without a guard go round for ever: `a` → `a`"],
        );
    }

    #[test]
    fn a_transition_without_target_is_taken_for_ever() {
        check(
            "a: always -",
            &[
                "eventless_cycle: eventless transition of `a` has neither guard nor target, so it is taken for ever",
            ],
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
            &[
                "eventless_cycle: eventless transitions without a guard go round for ever: `a.x` → `a.y` → `a.x`",
            ],
        );
    }
}

mod guarded_cycles {
    use super::check;

    const FOUND: &str =
        "guarded_eventless_cycle: once the guard holds, eventless transitions go round for ever: ";

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
}

mod guards {
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
}

mod shared_keys {
    use super::check;

    #[test]
    fn two_regions_that_assign_one_key_are_named_once() {
        check(
            "
            p (parallel): STOP -> off
              r1
                a: set x; set y; N -> b
                b: set x
              r2
                c: set x
              r3
                d: set x
            off: set x; ON -> p
            ",
            &["regions_assign_same_key: regions `r1` and `r2` both assign `context.x`"],
        );
    }
}

mod events {
    use super::check;

    #[test]
    fn completions_need_something_to_complete() {
        check(
            "
            a: done.state.a -> b; done.state.bb -> b; done.invoke.job -> b; done.state.* -> b
              x
            b: invoke jobs; error.invoke.jobs -> a; STOP -> c
            c: done.invoke.jobs -> a; error.exection -> b; error.custom -> b
            ",
            &[
                "event_never_sent: `done.invoke.job` never occurs: no invoke has the id `job`",
                "event_never_sent: `done.invoke.jobs` never occurs: invoke `jobs` of `b` has stopped when `c` is active",
                "event_never_sent: `done.state.a` never occurs: `a` has no final state",
                "event_never_sent: `done.state.bb` never occurs: no state is called `bb`",
                "event_never_sent: `error.exection` never occurs: the event is called `error.execution`",
            ],
        );
    }

    #[test]
    fn what_is_raised_should_be_handled() {
        check(
            "
            a: raise READY; raise part.one; REDY -> b; part.* -> b
            b: raise nobody
            ",
            &[
                "event_never_handled: nothing handles `READY`",
                "event_never_handled: nothing handles `nobody`",
            ],
        );
        check("a: raise READY; * -", &[]);
    }

    #[test]
    fn a_handler_that_differs_only_in_case_waits_in_vain() {
        check(
            "
            a: raise REGION_FAILED; REGION_FAILED -> b
            b: region-failed -> a; GO -> a
            ",
            &["event_never_sent: `region-failed` never occurs: the event is called `REGION_FAILED`"],
        );
    }
}

mod invokes {
    use super::check;

    #[test]
    fn a_failure_needs_a_handler_here_or_above() {
        let found = ["invoke_without_on_error: nothing handles a failure of invoke `job`"];
        check("a: invoke job", &found);
        check("a: invoke job; done.invoke.job -> b\nb: error.* -> a", &found);
        check("a: invoke job; error.invoke.job -> b\nb", &[]);
        check("o: error.* -> b\n  a: invoke job\nb", &[]);
        check("o: * -> b\n  a: invoke job\nb", &[]);
    }

    #[test]
    fn ids_are_shared_only_by_invokes_that_never_run_together() {
        let found = ["duplicate_invoke_id: two invokes that can run at the same time have the id `job`"];
        check("a: invoke job; error.* -> b\nb: invoke job; error.* -> a", &[]);
        check("a: invoke job; invoke job; error.* -> b\nb", &found);
        check("a: invoke job; error.* -> b\n  c: invoke job\nb", &found);
        check(
            "
            p (parallel): error.* -> b
              r1
                x: invoke job; N -> x2
                x2: invoke job
              r2
                y: invoke job
            b
            ",
            &found,
        );
    }
}

mod transitions {
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
                "final_with_transitions: final state `g` has states of its own",
            ],
        );
    }

    #[test]
    fn a_state_beside_final_ones_can_be_left() {
        check("a: GO -> b; STOP -> c\nb\nc (final)", &["dead_end: state `b` cannot be left"]);
        check("a: GO -> b\nb", &[]);
    }
}

mod wildcards {
    use super::check;

    #[test]
    fn a_catch_all_inside_takes_the_completion_of_an_invoke() {
        check(
            "
            a: invoke job; done.invoke.job -> b; error.invoke.job -> b
              x: * -
            b
            ",
            &["wildcard_swallows_completion: `*` in `a.x` takes `done.invoke.job` before `a` can"],
        );
        check(
            "
            a: invoke job; done.invoke.job -> b; error.invoke.job -> b
              x: done.invoke.job -> b; error.invoke.job -> b; * -
            b
            ",
            &[],
        );
    }

    #[test]
    fn a_catch_all_between_takes_the_completion_of_a_state() {
        check(
            "
            a: done.state.i -> b
              i: * -
                f (final)
            b
            ",
            &["wildcard_swallows_completion: `*` in `a.i` takes `done.state.i` before `a` can"],
        );
        check(
            "
            a: done.state.a -> b
              x: * -; GO -> f
              f (final)
            b
            ",
            &[],
        );
    }

    #[test]
    fn a_region_that_exits_nothing_stands_in_nobodys_way() {
        let chart = |star: &str| {
            format!(
                "p (parallel): done.state.p -> b\n  r1: {star}\n    f1 (final)\n  r2\n    f2 (final)\nb: X -> f1"
            )
        };
        check(&chart("* -"), &[]);
        check(
            &chart("* -> f1"),
            &["wildcard_swallows_completion: `*` in `p.r1` takes `done.state.p` before `p` can"],
        );
    }
}

mod failures {
    use super::check;

    #[test]
    fn a_failure_beside_success_looks_like_one() {
        check(
            "
            a: invoke job; done.invoke.job -> complete; error.invoke.job -> complete
            complete (final)
            ",
            &["failure_reports_success: `error.invoke.job` in `a` ends in `complete`, like a success"],
        );
        check(
            "
            a: OK -> done; BAD -> failed
            failed: always -> done
            done (final)
            ",
            &["failure_reports_success: `failed` ends in `done`, like a success"],
        );
        check(
            "
            a: invoke job; done.invoke.job -> complete; error.invoke.job -> failed
            complete (final)
            failed (final)
            ",
            &[],
        );
    }

    #[test]
    fn a_limit_beside_success_looks_like_one() {
        check(
            "
            a: always [context.tries >= context.max_tries] -> complete; OK -> complete; AGAIN -> a
            complete (final)
            ",
            &[
                "failure_reports_success: the limit `context.tries >= context.max_tries` in `a` ends in `complete`, like a success",
            ],
        );
        check(
            "
            a: always [context.tries >= context.max_tries] -> done; AGAIN -> a
            done (final)
            ",
            &[],
        );
        check(
            "
            a: OK [context.tries < context.max_tries] -> done; STOP -> done
            done (final)
            ",
            &[],
        );
    }

    #[test]
    fn an_output_says_what_the_way_and_the_name_say() {
        let chart = |name: &str, output: &str| {
            format!(
                "a: invoke job; done.invoke.job -> end; error.invoke.job -> {name}\nend (final)\n{name} (final): output {output}"
            )
        };
        check(
            &chart("failed", r#"{"status": "success"}"#),
            &["failure_reports_success: final state `failed` reports success"],
        );
        check(
            &chart("closed", r#"{"success": true}"#),
            &[
                "failure_reports_success: final state `closed` is only reached by failures, but reports success",
            ],
        );
        check(&chart("failed", r#"{"status": "error"}"#), &[]);
        check(&chart("closed", r#"{"success": false}"#), &[]);
        check(&chart("failed", r#"{"reason": "ok"}"#), &[]);
    }
}
