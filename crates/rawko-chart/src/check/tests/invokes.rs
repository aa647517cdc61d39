//! Unhandled failures, and ids shared by two invokes.

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
