//! Failures that end as successes.

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
        failed (final): tag failed
        ",
        &[],
    );
}

#[test]
fn only_tags_make_the_outcome_a_failure() {
    let chart = |key: &str, way: &str, more: &str| {
        format!(
            "a: invoke job; done.invoke.job -> end; {way} -> {key}; OTHER -> end\nend (final)\n{key} (final){more}"
        )
    };
    let found = "failure_reports_success: instances that end in `failed` have the outcome `succeeded`";
    check(&chart("failed", "error.invoke.job", ""), &[found]);
    check(&chart("failed", "error.invoke.job", ": tag important"), &[found]);
    check(&chart("failed", "error.invoke.job", r#": output {"reason": "ok"}"#), &[found]);
    for tag in ["failed", "error", "limit", "loop", "stuck", "cancelled"] {
        check(&chart("failed", "error.invoke.job", &format!(": tag {tag}")), &[]);
    }
    check(&chart("failed", "error.invoke.job", r#": output {"ok": false}"#), &[]);
    check(&chart("failed", "error.invoke.job -> b; DENIED", "\nb: AGAIN -> a"), &[]);
    check(&chart("closed", "error.invoke.job", ""), &[]);
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
        &["failure_reports_success: final state `closed` is only reached by failures, but reports success"],
    );
    check(&chart("failed", r#"{"status": "error"}"#), &[]);
    check(&chart("closed", r#"{"success": false}"#), &[]);
}
