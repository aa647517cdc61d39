//! Catch-alls that consume events of an enclosing state.

use super::check;

#[test]
fn a_catch_all_inside_takes_the_completion_of_an_invoke() {
    check(
        "
        a: invoke job; done.invoke.job -> b; error.invoke.job -> b
          x: * -
        b
        ",
        &["wildcard_swallows_completion: `*` in `a.x` handles `done.invoke.job` before `a` can"],
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
        &["wildcard_swallows_completion: `*` in `a.i` handles `done.state.i` before `a` can"],
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
        &["wildcard_swallows_completion: `*` in `p.r1` handles `done.state.p` before `p` can"],
    );
}
