//! The exact input of the arbiter: the three worked examples of SPEC-0006, and the prompts built from them.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::{ExpectFile, expect, expect_file};
use rawko_arbiter::{
    AgentProfile, ArbiterSettings, Case, Inquiry, Moment, Orchestration, Prompts, evaluate_progress_input,
    select_agent_input,
};
use rawko_core::Value;
use serde_json::{Value as Json, json};

fn agents() -> Vec<AgentProfile> {
    serde_json::from_value(json!([
        {"name": "planner", "displayName": "Planning Agent",
         "whenToUse": "Use this agent when starting a new task that needs analysis..."},
        {"name": "developer", "displayName": "Development Agent",
         "whenToUse": "Use when code modifications are required...",
         "tools": {"allowed": ["Read", "Edit", "Bash"], "blocked": ["WebFetch"]}},
    ]))
    .unwrap()
}

fn context(json: &Json) -> Orchestration {
    Orchestration::of(&Value::from_json(json.clone())).unwrap()
}

fn now_ms(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

/// Example 1: the first iteration.
fn first() -> Json {
    json!({
        "task": "Implement user authentication", "plan": null, "history": [], "lastError": null, "agents": null,
        "currentMode": "", "startedAt": "2026-03-01T10:00:00Z", "sessions": {},
        "iterationCount": 0, "maxIterations": 50, "consecutiveFailures": 0, "maxFailures": 3, "timeoutMs": null,
    })
}

/// Example 2: a step failed with a tool error.
fn failing() -> Json {
    json!({
        "task": "Implement user authentication",
        "plan": {"goal": "authentication", "steps": [
            {"id": "a", "title": "Create middleware", "status": "done"},
            {"id": "b", "title": "Login endpoint", "status": "failed"},
            {"id": "c", "title": "Logout endpoint", "status": "pending"},
            {"id": "d", "title": "Tests", "status": "pending"},
            {"id": "e", "title": "Documentation", "status": "pending"},
        ]},
        "history": [
            {"agent": "planner", "iteration": 1, "result": "success",
             "startedAt": "2026-03-01T10:00:00Z", "completedAt": "2026-03-01T10:00:45Z",
             "output": "Analysis complete. Created 5-step plan..."},
            {"agent": "developer", "iteration": 2, "result": "success",
             "startedAt": "2026-03-01T10:01:00Z", "completedAt": "2026-03-01T10:02:30Z",
             "output": "Middleware created successfully..."},
            {"agent": "developer", "iteration": 3, "result": "failure",
             "startedAt": "2026-03-01T10:02:40Z", "completedAt": "2026-03-01T10:03:00Z",
             "output": "Failed at import statement...",
             "error": {"message": "Cannot find module 'jsonwebtoken'", "category": "failed", "tool": "Bash"}},
        ],
        "lastError": {
            "agent": "developer", "tool": "Bash", "category": "tool_failure", "at": "2026-03-01T10:03:00Z",
            "message": "Command failed with exit code 1", "attempted": "npm install jsonwebtoken",
            "recoveryOptions": [
                {"action": "retry", "description": "Retry npm install", "reason": "Transient network error"},
                {"action": "skip", "description": "Skip install, use existing deps",
                 "reason": "Package may already be available"},
            ],
        },
        "currentMode": "developer", "startedAt": "2026-03-01T10:00:00Z",
        "iterationCount": 3, "maxIterations": 50, "consecutiveFailures": 1, "maxFailures": 3,
    })
}

/// Example 3: the developer has just done step 2.
fn going_well() -> Json {
    let entry = |iteration: u64, result: &str| {
        json!({"agent": "developer", "iteration": iteration, "result": result,
               "startedAt": "2026-03-01T10:00:00Z", "completedAt": "2026-03-01T10:01:00Z"})
    };
    let mut last = entry(4, "success");
    last["output"] = json!("Login endpoint implemented. Created src/auth/login.ts with POST /login...");
    last["filesModified"] = json!(["src/auth/login.ts"]);
    last["tokenUsage"] = json!({"input_tokens": 2100, "output_tokens": 1230});
    json!({
        "task": "Implement user authentication",
        "plan": {"goal": "authentication", "steps": [
            {"id": "a", "title": "Create middleware", "status": "done"},
            {"id": "b", "title": "Login endpoint", "status": "done"},
            {"id": "c", "title": "Logout endpoint", "status": "pending"},
        ]},
        "history": [entry(2, "success"), entry(3, "failure"), last],
        "currentMode": "developer", "startedAt": "2026-03-01T10:00:00Z",
        "iterationCount": 4, "maxIterations": 50, "consecutiveFailures": 0, "maxFailures": 3,
    })
}

/// Every field of the seed's example must be present with the same value. Lists have the same length, except where the
/// example omits steps of a plan.
fn assert_shows(actual: &Json, example: &Json, at: &str) {
    match (actual, example) {
        (Json::Object(actual), Json::Object(example)) => {
            for (key, value) in example {
                let found = actual.get(key).unwrap_or_else(|| panic!("{at}.{key} is missing"));
                assert_shows(found, value, &format!("{at}.{key}"));
            }
        }
        (Json::Array(actual), Json::Array(example)) => {
            assert!(actual.len() == example.len() || at.ends_with(".steps"), "{at}: {}", actual.len());
            for (place, (found, value)) in actual.iter().zip(example).enumerate() {
                assert_shows(found, value, &format!("{at}[{place}]"));
            }
        }
        _ => assert_eq!(actual, example, "{at}"),
    }
}

fn golden(actual: &Json, expected: &ExpectFile) {
    expected.assert_eq(&(serde_json::to_string_pretty(actual).unwrap() + "\n"));
}

#[test]
fn example_1_the_planning_phase() {
    let input = select_agent_input(&context(&first()), &agents(), now_ms("2026-03-01T10:00:00Z"));
    let actual = serde_json::to_value(input).unwrap();
    let example = json!({
        "task": "Implement user authentication",
        "plan": null,
        "history": [],
        "lastError": null,
        "availableAgents": [
            {"name": "planner", "displayName": "Planning Agent",
             "whenToUse": "Use this agent when starting a new task that needs analysis..."},
            {"name": "developer", "displayName": "Development Agent",
             "whenToUse": "Use when code modifications are required..."},
        ],
        "constraints": {"maxIterations": 50, "currentIteration": 1, "iterationsRemaining": 49,
                        "consecutiveFailures": 0, "maxConsecutiveFailures": 3},
    });
    assert_shows(&actual, &example, "input");
    golden(&actual, &expect_file!["golden/arbiter_example_1.json"]);
}

#[test]
fn example_2_in_the_middle_with_an_error() {
    let input = select_agent_input(&context(&failing()), &agents(), now_ms("2026-03-01T10:03:10Z"));
    let actual = serde_json::to_value(input).unwrap();
    let example = json!({
        "task": "Implement user authentication",
        "plan": {
            "steps": [
                {"index": 1, "description": "Create middleware", "status": "complete"},
                {"index": 2, "description": "Login endpoint", "status": "failed"},
            ],
            "currentStepIndex": 1,
            "isComplete": false,
        },
        "history": [
            {"agent": "planner", "iteration": 1, "status": "success", "duration_ms": 45000,
             "output": {"summary": "Analysis complete. Created 5-step plan..."}},
            {"agent": "developer", "iteration": 2, "status": "success", "duration_ms": 90000,
             "output": {"summary": "Middleware created successfully..."}},
            {"agent": "developer", "iteration": 3, "status": "failure",
             "output": {"summary": "Failed at import statement..."},
             "error": {"message": "Cannot find module 'jsonwebtoken'", "category": "tool_failure"}},
        ],
        "lastError": {
            "agent": "developer", "tool": "Bash", "planStep": 2, "attempted": "npm install jsonwebtoken",
            "message": "Command failed with exit code 1", "category": "tool_failure",
            "recoveryOptions": [
                {"action": "retry", "description": "Retry npm install", "reason": "Transient network error"},
                {"action": "skip", "description": "Skip install, use existing deps",
                 "reason": "Package may already be available"},
            ],
        },
        "constraints": {"maxIterations": 50, "currentIteration": 4, "iterationsRemaining": 46,
                        "consecutiveFailures": 1, "maxConsecutiveFailures": 3},
    });
    assert_shows(&actual, &example, "input");
    golden(&actual, &expect_file!["golden/arbiter_example_2.json"]);
}

#[test]
fn example_3_the_evaluation() {
    let input = evaluate_progress_input(&context(&going_well()), &agents(), now_ms("2026-03-01T10:05:00Z"));
    let actual = serde_json::to_value(input.unwrap()).unwrap();
    let example = json!({
        "task": "Implement user authentication",
        "plan": {"currentStepIndex": 2, "isComplete": false},
        "lastExecution": {
            "agent": "developer", "status": "success",
            "output": {
                "summary": "Login endpoint implemented. Created src/auth/login.ts with POST /login...",
                "filesModified": ["src/auth/login.ts"],
            },
            "tokens": {"input": 2100, "output": 1230, "total": 3330},
        },
        "history": [
            {"agent": "developer", "iteration": 2, "status": "success"},
            {"agent": "developer", "iteration": 3, "status": "failure"},
            {"agent": "developer", "iteration": 4, "status": "success"},
        ],
        "constraints": {"maxIterations": 50, "currentIteration": 5, "iterationsRemaining": 45},
    });
    assert_shows(&actual, &example, "input");
    golden(&actual, &expect_file!["golden/arbiter_example_3.json"]);
}

fn prompt(moment: Moment, context_json: &Json, now: &str) -> String {
    let (context, agents, settings) = (context(context_json), agents(), ArbiterSettings::default());
    let case = Case { moment, context: &context, agents: &agents, settings: &settings };
    Inquiry::new(&case, &Prompts::default(), now_ms(now)).unwrap().prompt().to_owned()
}

#[test]
fn the_prompt_for_selecting_is_this() {
    expect_file!["golden/arbiter_select.md"].assert_eq(&prompt(
        Moment::Select,
        &failing(),
        "2026-03-01T10:03:10Z",
    ));
}

#[test]
fn the_prompt_for_evaluating_is_this() {
    expect_file!["golden/arbiter_evaluate.md"].assert_eq(&prompt(
        Moment::Evaluate,
        &going_well(),
        "2026-03-01T10:05:00Z",
    ));
}

/// The seed's `buildArbiterPrompt`, verbatim except for the step's number, which we count from 1 as its list does.
fn blocks_of_the_seed(input: &Json) -> Vec<String> {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let mut blocks = Vec::new();
    for agent in list(&input["availableAgents"]) {
        let (name, shown, when) = (&agent["name"], &agent["displayName"], &agent["whenToUse"]);
        blocks.push(format!("- **{}** ({})\n    When to use: {}", text(shown), text(name), text(when)));
    }
    for entry in list(&input["history"]) {
        let output = entry["output"]["summary"].as_str().unwrap_or("N/A");
        blocks.push(format!(
            "- **{}** (iteration {}): {}\n    Output: {output}\n    Duration: {}ms",
            text(&entry["agent"]),
            entry["iteration"],
            text(&entry["status"]),
            entry["duration_ms"]
        ));
    }
    let error = &input["lastError"];
    blocks.push(if error.is_null() {
        "No recent errors".to_owned()
    } else {
        let options = list(&error["recoveryOptions"]);
        let options = options
            .iter()
            .map(|option| format!("- {}: {}", text(&option["action"]), text(&option["description"])));
        format!(
            "**Error**: {}\n   Category: {}\n   Agent: {}\n   Recovery options:\n   {}",
            text(&error["message"]),
            text(&error["category"]),
            text(&error["agent"]),
            options.collect::<Vec<_>>().join("\n   ")
        )
    });
    let plan = &input["plan"];
    blocks.push(if plan.is_null() {
        "No plan yet".to_owned()
    } else {
        let (steps, current) = (list(&plan["steps"]), plan["currentStepIndex"].as_u64().unwrap());
        let at = usize::try_from(current).unwrap();
        format!(
            "**Plan Progress**: Step {} of {}\n   Current: {}",
            current + 1,
            steps.len(),
            text(&steps[at]["description"])
        )
    });
    blocks
}

#[test]
fn the_prompt_has_every_block_of_the_seeds() {
    for (json, now) in [(first(), "2026-03-01T10:00:00Z"), (failing(), "2026-03-01T10:03:10Z")] {
        let input = select_agent_input(&context(&json), &agents(), now_ms(now));
        let prompt = prompt(Moment::Select, &json, now);
        for block in blocks_of_the_seed(&serde_json::to_value(input).unwrap()) {
            assert!(prompt.contains(&block), "{block}\n--- is not in:\n{prompt}");
        }
    }
}

/// The recovery options are of use only if the prompt contains them.
#[test]
fn the_prompt_for_evaluating_work_that_was_cut_off_says_what_could_be_done() {
    let mut json = going_well();
    json["history"][2]["result"] = json!("max_iterations");
    json["history"][2]["error"] = json!({"message": "12 completions, all that it may have", "category": "limit", "code": "max_iterations"});
    let prompt = prompt(Moment::Evaluate, &json, "2026-03-01T10:05:00Z");
    let (_, last) = prompt.split_once("## Last execution\n\n").unwrap();
    expect![[r#"
        **developer** (iteration 4): max_iterations, 60000ms
        Files modified: src/auth/login.ts
        Error (unknown): 12 completions, all that it may have
        Recovery options:
        - Retry the same agent
        - Abort and let a person look
        - Switch to different agent
        Output:
        Login endpoint implemented. Created src/auth/login.ts with POST /login..."#]]
    .assert_eq(last.split_once("\n\n## ").unwrap().0);
}

#[test]
fn outputs_are_cut_where_the_specification_says() {
    let mut json = going_well();
    json["history"][2]["output"] = json!("ä".repeat(2_001));
    let (context, agents) = (context(&json), agents());
    let chars = |text: &str| text.chars().count();
    let selecting = select_agent_input(&context, &agents, 0);
    let evaluating = evaluate_progress_input(&context, &agents, 0).unwrap();
    let last = evaluating.last_execution.output.as_ref().unwrap();
    let of_history = |history: &[rawko_arbiter::ExecutionSummary]| {
        chars(&history.last().unwrap().output.as_ref().unwrap().summary)
    };
    assert_eq!(of_history(&selecting.history), 303);
    assert_eq!(of_history(&evaluating.history), 303);
    assert_eq!(chars(&last.summary), 503);
    assert_eq!(chars(last.full.as_ref().unwrap()), 2_003);
}

#[test]
fn the_arbiters_own_failure_does_not_hide_the_agents() {
    let mut json = failing();
    json["lastError"] = json!({"agent": "arbiter", "message": "slow down", "code": "rate_limited"});
    let input = select_agent_input(&context(&json), &agents(), 0);
    let error = input.last_error.unwrap();
    assert_eq!(
        (error.agent.as_str(), error.message.as_str()),
        ("developer", "Cannot find module 'jsonwebtoken'")
    );
    let mut json = first();
    json["lastError"] = json!({"agent": "arbiter", "message": "slow down", "code": "rate_limited"});
    assert_eq!(select_agent_input(&context(&json), &agents(), 0).last_error, None);
}

#[test]
fn what_is_not_the_orchestrators_context_is_said() {
    let error = Orchestration::of(&Value::from_json(json!({"history": 5}))).unwrap_err();
    expect!["the chart's context does not match the orchestrator's: invalid type: integer `5`, expected a sequence"]
        .assert_eq(&error.to_string());
    let error = evaluate_progress_input(&context(&first()), &agents(), 0).unwrap_err();
    expect!["nothing to evaluate: no agent has run yet"].assert_eq(&error.to_string());
}
