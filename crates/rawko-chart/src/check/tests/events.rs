//! Events that cannot occur and events that nothing handles.

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
            "event_never_sent: `done.state.bb` never occurs: no state is named `bb`",
            "event_never_sent: `error.exection` never occurs: the event is named `error.execution`",
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
        &["event_never_handled: nothing handles `READY`", "event_never_handled: nothing handles `nobody`"],
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
        &["event_never_sent: `region-failed` never occurs: the event is named `REGION_FAILED`"],
    );
}

#[test]
fn a_wildcard_takes_the_name_before_it() {
    check("a: raise event; raise other.part; event.* -> b; other.* -> b\nb: GO -> a", &[]);
}
