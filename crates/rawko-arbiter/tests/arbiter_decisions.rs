//! The decision procedure: rules, then the model's response, then the fallback; and the enabled decisions in each
//! situation.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::expect;
use rawko_arbiter::{
    AgentProfile, ArbiterSettings, Case, Decision, Inquiry, InquiryStep, Moment, Orchestration, Prompts,
    decide, parse_answer,
};
use rawko_core::Value;
use serde_json::{Value as Json, json};

fn agents() -> Vec<AgentProfile> {
    serde_json::from_value(json!([
        {"name": "planner", "transitions": {"onSuccess": "developer"}},
        {"name": "developer", "transitions": {"onFailure": "planner", "onMaxIterations": "developer"}},
        {"name": "tester", "transitions": {"onSuccess": "reviewer", "onFailure": "developer",
                                           "custom": {"flaky": "tester", "elsewhere": "nobody"}}},
        {"name": "reviewer", "transitions": {"onSuccess": "complete", "custom": {"changes_requested": "developer"}}},
    ]))
    .unwrap()
}

fn entry(agent: &str, result: &str, data: Json) -> Json {
    json!({"agent": agent, "result": result, "startedAt": "2026-01-01T00:00:00Z", "data": data, "output": "Done."})
}

/// An orchestration with this history.
fn after(history: &[Json], more: Json) -> Orchestration {
    let current = history.last().map_or("", |entry| entry["agent"].as_str().unwrap());
    let mut context = json!({
        "task": "t", "history": history, "currentMode": current, "iterationCount": history.len(), "maxIterations": 9,
    });
    for (key, value) in more.as_object().unwrap() {
        context[key] = value.clone();
    }
    Orchestration::of(&Value::from_json(context)).unwrap()
}

fn plan(status: &str) -> Json {
    json!({"steps": [{"id": "a", "title": "Mend", "status": status}]})
}

/// Returns `by kind agent`.
fn decided(moment: Moment, context: &Orchestration, answer: Option<&Decision>) -> String {
    let (agents, settings) = (agents(), ArbiterSettings::default());
    let case = Case { moment, context, agents: &agents, settings: &settings };
    decide(&case, answer).map_or("nobody".into(), |decided| {
        let value = decided.to_value();
        let agent = decided.agent.as_deref().unwrap_or("-");
        format!("{} {} {agent}", decided.by.as_str(), value.get("type"))
    })
}

#[test]
fn rules_come_first_when_progress_is_judged() {
    let success = |agent, data| entry(agent, "success", data);
    let passed = || json!({"verdict": "passed"});
    let failed = || json!({"verdict": "failed"});
    let table = [
        (
            "declared onSuccess",
            success("planner", json!(null)),
            plan("pending"),
            "rule SELECT_MODE developer",
        ),
        ("the plan is complete", success("developer", json!(null)), plan("done"), "rule COMPLETE -"),
        ("complete before onSuccess", success("planner", json!(null)), plan("done"), "rule COMPLETE -"),
        (
            "a bad verdict goes before a complete plan",
            success("tester", failed()),
            plan("done"),
            "rule SELECT_MODE developer",
        ),
        (
            "a good verdict is success",
            success("tester", passed()),
            plan("pending"),
            "rule SELECT_MODE reviewer",
        ),
        (
            "a word of its own",
            success("reviewer", json!({"verdict": "changes_requested"})),
            plan("done"),
            "rule SELECT_MODE developer",
        ),
        (
            "its own word for itself",
            success("tester", json!({"verdict": "flaky"})),
            plan("done"),
            "rule CONTINUE tester",
        ),
        (
            "a word that leads nowhere is left to the model",
            success("tester", json!({"verdict": "elsewhere"})),
            plan("done"),
            "fallback SELECT_MODE developer",
        ),
        (
            "a word nobody explained is left to the model",
            success("reviewer", json!({"verdict": "hm"})),
            plan("done"),
            "fallback SELECT_MODE developer",
        ),
        ("declared complete", success("reviewer", json!(null)), plan("pending"), "rule COMPLETE -"),
        (
            "cut off: onMaxIterations",
            entry("developer", "max_iterations", json!(null)),
            plan("pending"),
            "rule CONTINUE developer",
        ),
        (
            "cut off is not complete",
            entry("developer", "max_iterations", json!(null)),
            plan("done"),
            "rule CONTINUE developer",
        ),
        (
            "cut off without a word",
            entry("reviewer", "max_iterations", json!(null)),
            plan("pending"),
            "fallback RETRY -",
        ),
        (
            "prose decides nothing",
            success("developer", json!("passed, complete, done")),
            plan("pending"),
            "fallback CONTINUE developer",
        ),
    ];
    for (name, last, plan, expected) in table {
        let context = after(&[last], json!({"plan": plan}));
        assert_eq!(decided(Moment::Evaluate, &context, None), expected, "{name}");
    }
}

#[test]
fn rules_come_first_when_an_agent_is_selected() {
    let ok = |agent| entry(agent, "success", json!(null));
    let broken = |agent| entry(agent, "failure", json!(null));
    let table = [
        ("nothing yet: the planner", vec![], json!({}), "fallback SELECT_MODE planner"),
        (
            "a failure: onFailure",
            vec![broken("developer")],
            json!({"plan": plan("failed")}),
            "rule SELECT_MODE planner",
        ),
        (
            "a failure without onFailure",
            vec![broken("reviewer")],
            json!({"plan": plan("pending")}),
            "fallback RETRY reviewer",
        ),
        (
            "the last step was skipped",
            vec![ok("developer")],
            json!({"plan": plan("skipped")}),
            "rule COMPLETE -",
        ),
        (
            "the arbiter wants it once more",
            vec![ok("developer")],
            json!({"plan": plan("done"), "lastArbiterDecision": {"type": "RETRY"}}),
            "fallback SELECT_MODE developer",
        ),
        (
            "a planner that left no plan is not asked again",
            vec![ok("planner"), ok("tester"), ok("planner")],
            json!({"agents": ["developer", "planner"]}),
            "fallback SELECT_MODE developer",
        ),
        ("one agent", vec![], json!({"agents": ["tester"]}), "rule SELECT_MODE tester"),
        ("nobody", vec![], json!({"agents": []}), "nobody"),
    ];
    for (name, history, more, expected) in table {
        assert_eq!(decided(Moment::Select, &after(&history, more), None), expected, "{name}");
    }
}

#[test]
fn the_model_is_believed_within_what_is_enabled() {
    let context = after(&[entry("developer", "success", json!(null))], json!({"plan": plan("pending")}));
    let select = |mode: &str| Decision::SelectMode { mode: mode.into(), reason: "r".into() };
    let table = [
        (select("tester"), "model SELECT_MODE tester"),
        (Decision::Continue { reason: "r".into() }, "model CONTINUE developer"),
        (Decision::Complete { summary: "s".into() }, "model COMPLETE -"),
        (Decision::Retry { reason: "r".into() }, "model RETRY -"),
        (select("nobody"), "fallback CONTINUE developer"),
    ];
    for (answer, expected) in table {
        assert_eq!(decided(Moment::Evaluate, &context, Some(&answer)), expected, "{answer:?}");
    }
}

#[test]
fn what_can_be_decided_when() {
    let ok = |agent| entry(agent, "success", json!(null));
    let broken = |agent| entry(agent, "failure", json!(null));
    let four = "SELECT_MODE(planner developer tester reviewer)";
    let table = [
        ("at the start", Moment::Select, vec![], json!({}), format!("{four} ASK")),
        (
            "after a failure",
            Moment::Select,
            vec![broken("tester")],
            json!({}),
            format!("{four} RETRY ABORT ASK"),
        ),
        (
            "everything planned is done",
            Moment::Select,
            vec![ok("tester")],
            json!({"plan": plan("done")}),
            format!("{four} COMPLETE ASK"),
        ),
        (
            "after work",
            Moment::Evaluate,
            vec![ok("tester")],
            json!({}),
            "SELECT_MODE(planner developer reviewer) CONTINUE COMPLETE RETRY ASK".to_owned(),
        ),
        (
            "cut off",
            Moment::Evaluate,
            vec![entry("tester", "max_iterations", json!(null))],
            json!({}),
            "SELECT_MODE(planner developer reviewer) CONTINUE RETRY ABORT ASK".to_owned(),
        ),
        (
            "at the cap",
            Moment::Evaluate,
            vec![ok("tester")],
            json!({"maxIterations": 1}),
            "SELECT_MODE(planner developer reviewer) CONTINUE COMPLETE ASK".to_owned(),
        ),
        (
            "whoever worked is gone",
            Moment::Evaluate,
            vec![ok("tester")],
            json!({"agents": ["planner"]}),
            "SELECT_MODE(planner) COMPLETE RETRY ASK".to_owned(),
        ),
        (
            "a check fails",
            Moment::Evaluate,
            vec![ok("tester")],
            json!({"evidence": {"verified": true, "clean": false, "text": "tests: failed"}}),
            "SELECT_MODE(planner developer reviewer) CONTINUE RETRY ABORT ASK".to_owned(),
        ),
        (
            "everything planned is done, and a check fails",
            Moment::Select,
            vec![ok("tester")],
            json!({"plan": plan("done"), "evidence": {"verified": true, "clean": false, "text": "tests: failed"}}),
            format!("{four} ABORT ASK"),
        ),
        (
            "a step is open",
            Moment::Evaluate,
            vec![ok("tester")],
            json!({"plan": plan("pending")}),
            "SELECT_MODE(planner developer reviewer) CONTINUE COMPLETE RETRY SKIP ASK".to_owned(),
        ),
    ];
    for (name, moment, history, more, expected) in table {
        let (context, agents, settings) = (after(&history, more), agents(), ArbiterSettings::default());
        let enabled = Case { moment, context: &context, agents: &agents, settings: &settings }.enabled();
        let kinds = enabled.kinds().into_iter().map(|kind| match kind.as_str() {
            "SELECT_MODE" => format!("SELECT_MODE({})", enabled.modes.join(" ")),
            other => other.to_owned(),
        });
        assert_eq!(kinds.collect::<Vec<_>>().join(" "), expected, "{name}");
    }
}

/// Every decision satisfies the chart's guards. At the cap, where no continuing decision is enabled, the chart stops
/// after any decision but COMPLETE.
#[test]
fn no_decision_breaks_a_guard() {
    let results = ["success", "failure", "timeout", "cancelled", "max_iterations"];
    let verdicts =
        [json!(null), json!({"verdict": "passed"}), json!({"verdict": "failed"}), json!({"verdict": "hm"})];
    let plans = [json!(null), plan("pending"), plan("done")];
    let teams = [json!(null), json!(["tester"]), json!(["planner", "developer"])];
    let agents = agents();
    let mut seen = 0;
    for (result, verdict) in
        results.iter().flat_map(|result| verdicts.iter().map(move |verdict| (result, verdict)))
    {
        for (plan, team) in plans.iter().flat_map(|plan| teams.iter().map(move |team| (plan, team))) {
            for (worker, cap) in agents.iter().flat_map(|agent| [1, 9].map(|cap| (agent.name.as_str(), cap)))
            {
                let last = entry(worker, result, verdict.clone());
                let context = after(&[last], json!({"plan": plan, "agents": team, "maxIterations": cap}));
                for moment in [Moment::Select, Moment::Evaluate] {
                    let settings = ArbiterSettings::default();
                    let case = Case { moment, context: &context, agents: &agents, settings: &settings };
                    let decided = decide(&case, None).unwrap();
                    let stops = context.is_at_cap() && !matches!(decided.decision, Decision::Complete { .. });
                    assert!(case.enabled().allows(&decided.decision) || stops, "{context:?}: {decided:?}");
                    seen += 1;
                }
            }
        }
    }
    assert_eq!(seen, 5 * 4 * 3 * 3 * 4 * 2 * 2);
}

/// For every set of enabled decisions, the schema and the parser agree on every decision.
#[test]
fn the_schema_says_what_the_reader_takes() {
    let contexts = [
        after(&[], json!({})),
        after(&[entry("tester", "success", json!(null))], json!({})),
        after(&[entry("tester", "success", json!(null))], json!({"maxIterations": 1})),
        after(&[entry("tester", "failure", json!(null))], json!({})),
    ];
    let answers = [
        json!({"type": "SELECT_MODE", "mode": "planner", "reason": "r"}),
        json!({"type": "SELECT_MODE", "mode": "nobody", "reason": "r"}),
        json!({"type": "CONTINUE", "mode": null, "reason": "r"}),
        json!({"type": "COMPLETE", "mode": null, "reason": "r"}),
        json!({"type": "RETRY", "mode": null, "reason": "r"}),
        json!({"type": "GIVE_UP", "mode": null, "reason": "r"}),
        json!({"type": "RETRY", "mode": null}),
    ];
    for context in &contexts {
        for moment in [Moment::Select, Moment::Evaluate] {
            let (agents, settings) = (agents(), ArbiterSettings::default());
            let enabled = Case { moment, context, agents: &agents, settings: &settings }.enabled();
            let validator = jsonschema::validator_for(&enabled.schema()).unwrap();
            for answer in &answers {
                let mut answer = answer.clone();
                if enabled.modes.is_empty() && answer["mode"].is_null() {
                    answer.as_object_mut().unwrap().remove("mode");
                }
                let taken = parse_answer(&answer.to_string(), &enabled).is_ok();
                assert_eq!(validator.is_valid(&answer), taken, "{answer} with {enabled:?}");
            }
        }
    }
}

#[test]
fn answers_are_read_and_never_guessed() {
    let context = after(&[entry("tester", "success", json!(null))], json!({}));
    let (agents, settings) = (agents(), ArbiterSettings::default());
    let enabled =
        Case { moment: Moment::Evaluate, context: &context, agents: &agents, settings: &settings }.enabled();
    let table = [
        (r#"{"type":"COMPLETE","reason":"all green"}"#, r#"Complete { summary: "all green" }"#),
        (r#"{"type":"COMPLETE","summary":"all green"}"#, r#"Complete { summary: "all green" }"#),
        ("```json\n{\"type\":\"CONTINUE\",\"reason\":\"r\"}\n```", r#"Continue { reason: "r" }"#),
        ("The task is COMPLETE.", "it is not one JSON object: expected value at line 1 column 1"),
        (
            r#"I say {"type":"COMPLETE","reason":"x"}"#,
            "it is not one JSON object: expected value at line 1 column 1",
        ),
        ("[]", "it is not one JSON object: it is another kind of value"),
        ("{}", "`type` must be one of SELECT_MODE, CONTINUE, COMPLETE, RETRY, ASK, not nothing"),
        (
            r#"{"type":"complete","reason":"x"}"#,
            "`type` must be one of SELECT_MODE, CONTINUE, COMPLETE, RETRY, ASK, not \"complete\"",
        ),
        (
            r#"{"type":"SELECT_MODE","mode":"bob","reason":"x"}"#,
            "SELECT_MODE needs `mode`, one of planner, developer, reviewer, not \"bob\"",
        ),
        (r#"{"type":"RETRY"}"#, "`reason` must be a text"),
        (r#"{"type":"ASK","reason":"Which one?"}"#, r#"Ask { question: "Which one?" }"#),
        (
            r#"{"type":"ABORT","reason":"I do not like it."}"#,
            "`type` must be one of SELECT_MODE, CONTINUE, COMPLETE, RETRY, ASK, not \"ABORT\"",
        ),
    ];
    for (answer, expected) in table {
        let seen = match parse_answer(answer, &enabled) {
            Ok(decision) => format!("{decision:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(seen, expected, "{answer}");
    }
}

#[test]
fn an_answer_that_cannot_be_used_is_asked_for_again_with_the_problem_and_then_the_fallback_decides() {
    let context = after(&[entry("developer", "success", json!(null))], json!({"plan": plan("pending")}));
    let (agents, settings) = (agents(), ArbiterSettings { retries: 1, ..ArbiterSettings::default() });
    let case = Case { moment: Moment::Evaluate, context: &context, agents: &agents, settings: &settings };
    let mut inquiry = Inquiry::new(&case, &Prompts::default(), 0).unwrap();
    assert!(matches!(inquiry.next(&case), InquiryStep::Ask { turns, .. } if turns.len() == 1));
    let InquiryStep::Ask { turns, .. } = inquiry.answered(&case, "Looks incomplete, 0 failed.") else {
        panic!()
    };
    expect![[r#"
        [
            Answer(
                "Looks incomplete, 0 failed.",
            ),
            Prompt(
                "This answer is invalid: it is not one JSON object: expected value at line 1 column 1. Answer again with one JSON object and nothing else.",
            ),
        ]
    "#]].assert_debug_eq(&&turns[1..]);
    let InquiryStep::Decided(decided) = inquiry.answered(&case, "COMPLETE") else { panic!() };
    expect![[r#"{"type":"CONTINUE","reason":"it is the default agent","by":"fallback","why":"no rule applies, and no answer could be used"}"#]].assert_eq(&decided.to_value().to_string());
    let record = inquiry.record();
    assert_eq!(record.attempts.len(), 2);
    assert_eq!(record.input["task"], "t");
}

#[test]
fn an_answer_that_can_be_used_decides() {
    let context = after(&[entry("developer", "success", json!(null))], json!({"plan": plan("pending")}));
    let (agents, settings) = (agents(), ArbiterSettings::default());
    let case = Case { moment: Moment::Evaluate, context: &context, agents: &agents, settings: &settings };
    let mut inquiry = Inquiry::new(&case, &Prompts::default(), 0).unwrap();
    let answer = r#"{"type":"SELECT_MODE","mode":"tester","reason":"see whether it works"}"#;
    let InquiryStep::Decided(decided) = inquiry.answered(&case, answer) else { panic!() };
    expect![[r#"{"agent":{"name":"tester"},"decision":{"type":"SELECT_MODE","mode":"tester","reason":"see whether it works","by":"model","why":"decided by the arbiter's model"}}"#]].assert_eq(&decided.to_selection().to_string());
}

#[test]
fn a_project_brings_its_own_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join(".rawko/prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("select.md"), "Who does {task}? {agents}").unwrap();
    let settings =
        ArbiterSettings { evaluate_prompt: Some("Is {task} done?".into()), ..ArbiterSettings::default() };
    let read = Prompts::read(folder.path(), &settings).unwrap();
    let context = after(&[entry("developer", "success", json!(null))], json!({"task": "{agents}"}));
    let agents: Vec<AgentProfile> =
        serde_json::from_value(json!([{"name": "ada", "whenToUse": "always"}])).unwrap();
    let text = |moment| {
        let case = Case { moment, context: &context, agents: &agents, settings: &settings };
        Inquiry::new(&case, &read, 0).unwrap().prompt().to_owned()
    };
    assert_eq!(text(Moment::Select), "Who does {agents}? - **ada** (ada)\n    When to use: always");
    assert_eq!(text(Moment::Evaluate), "Is {agents} done?");
    assert_eq!(
        Prompts::read(&folder.path().join("nowhere"), &ArbiterSettings::default()).unwrap(),
        Prompts::default()
    );
}
