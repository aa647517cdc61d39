//! The plan tools are pure: current plan in, new plan out.

use expect_test::expect;
use rawko_arbiter::Plan;
use rawko_core::Value;
use rawko_tools::{Grant, ToolOutcome};
use serde_json::json;

use super::support::{Bench, call};

async fn run(name: &str, input: serde_json::Value, plan: &Value) -> ToolOutcome {
    let input = Value::from_json(input);
    Bench::new().toolbox.run(call(name, &input, plan), &Grant::default()).await
}

async fn written() -> Value {
    let input = json!({ "goal": "a parser", "steps": [
        { "id": "lex", "title": "Lexer", "acceptance": ["cargo test lex"] },
        { "id": "parse", "title": "Parser", "details": "by hand", "depends_on": ["lex"] },
    ] });
    run("PlanWrite", input, &Value::NULL).await.data.get("plan").clone()
}

#[tokio::test]
async fn a_plan_is_written_read_and_changed() {
    let plan = written().await;
    let changed =
        run("PlanUpdate", json!({ "id": "parse", "status": "in_progress", "notes": "begun" }), &plan).await;
    expect![[r#"
        The step `parse` is changed. It depends on `lex`, not done yet.
        Goal: a parser
        [pending] lex: Lexer
            accepted when: cargo test lex
        [in_progress] parse: Parser (after lex)
            by hand
            notes: begun"#]]
    .assert_eq(&changed.content);
    let plan = changed.data.get("plan");
    assert!(!Plan::checked(plan).unwrap().is_complete());
    let plan =
        run("updatePlan", json!({ "id": "lex", "status": "done" }), plan).await.data.get("plan").clone();
    let plan = run("PlanUpdate", json!({ "id": "parse", "status": "skipped" }), &plan)
        .await
        .data
        .get("plan")
        .clone();
    assert!(Plan::checked(&plan).unwrap().is_complete());
    let read = run("PlanRead", json!({}), &plan).await;
    assert_eq!(read.data.get("plan"), &plan);
}

#[tokio::test]
async fn a_plan_that_cannot_be_followed_is_not_taken() {
    for (steps, expected) in [
        (json!([{ "id": "a", "title": "A" }, { "id": "a", "title": "B" }]), "two steps have the id `a`"),
        (json!([{ "id": " ", "title": "A" }]), "a step has no id"),
        (
            json!([{ "id": "a", "title": "A", "depends_on": ["b"] }]),
            "the step `a` depends on `b`, which does not exist",
        ),
        (json!([{ "id": "a", "title": "A", "depends_on": ["a"] }]), "the steps `a` wait for each other"),
        (
            json!([
                { "id": "a", "title": "A", "depends_on": ["c"] }, { "id": "b", "title": "B" },
                { "id": "c", "title": "C", "depends_on": ["a", "b"] },
            ]),
            "the steps `a`, `c` wait for each other",
        ),
    ] {
        let outcome = run("PlanWrite", json!({ "goal": "x", "steps": steps }), &Value::NULL).await;
        assert_eq!(outcome.content, format!("the plan was rejected: {expected}"));
        assert!(outcome.is_error && outcome.data.is_null());
    }
}

#[tokio::test]
async fn without_a_plan_or_a_step_it_says_so() {
    let none = run("PlanUpdate", json!({ "id": "a" }), &Value::NULL).await;
    assert_eq!(none.content, "there is no plan to change: write one with PlanWrite");
    assert_eq!(
        run("PlanRead", json!({}), &Value::NULL).await.content,
        "There is no plan yet: write one with PlanWrite."
    );
    let unknown = run("PlanUpdate", json!({ "id": "a", "status": "done" }), &written().await).await;
    assert_eq!(unknown.content, "the plan has no step `a`; its steps are lex, parse");
    let wrong = run("PlanUpdate", json!({ "id": "lex", "status": "finished" }), &written().await).await;
    assert!(wrong.is_error && wrong.content.contains("\"finished\" is not one of"), "{}", wrong.content);
}
