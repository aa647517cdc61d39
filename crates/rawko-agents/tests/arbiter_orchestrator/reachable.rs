//! A walk through all reachable states of the orchestrator's chart: no path leads to success while a check fails.

use rawko_core::{Event, Now, Snapshot, Value, start, step};
use serde_json::{Value as Json, json};

use crate::{chart, configuration, events, world};

/// The result of `checks:base`, for a project with one check.
pub(crate) fn based() -> Json {
    json!({"done": {"base": {"checks": []}, "progress": {"without": 0, "forgiven": 0, "returns": 0}}})
}

/// The result of `checks:round`.
pub(crate) fn round(standing: &str, clean: bool) -> Json {
    json!({
        "standing": standing,
        "notice": "nothing gets better",
        "progress": {"without": 0, "forgiven": 0, "returns": 0},
        "evidence": {"verified": true, "clean": clean, "tree": "t", "text": "", "restored": [], "report": {"errors_total": 1, "checks": []}},
    })
}

/// With any answer and any event: while the checks fail, no reachable state is a success.
#[test]
fn no_path_leads_to_success_while_a_check_fails() {
    let reached = reachable(|_| false);
    assert!(reached.len() > 100, "{}", reached.len());
    assert!(!reached.iter().any(|place| place.starts_with("complete ")), "a failing check was passed by");
    for end in ["failed", "stuck", "loop_detected", "cancelled", "at_limit", "asking"] {
        assert!(reached.iter().any(|place| place.starts_with(end)), "{end} is not reached");
    }
    // The deciding run fails; earlier runs may have found either.
    let reached = reachable(|decisive| !decisive);
    assert!(reached.len() > 100 && !reached.iter().any(|place| place.starts_with("complete ")));
    // The same walk with checks that pass gets there.
    assert!(reachable(|_| true).iter().any(|place| place.starts_with("complete ")));
}

/// Walks through all answers and events, and returns the places: state, counters and decision. `checks`: whether the
/// checks pass, in the deciding run and in others.
fn reachable(checks: fn(bool) -> bool) -> Vec<String> {
    let (chart, world) = (chart(), world());
    let input = json!({"task": "t", "maxIterations": 2, "maxFailures": 2, "askPeople": true,
        "plan": {"steps": [{"id": "a", "title": "Fix", "status": "pending"}]}});
    let first = start(&chart, Value::from_json(input), Now::new(0, &world)).unwrap().0;
    let (mut open, mut seen) = (vec![first], std::collections::BTreeSet::new());
    while let Some(snapshot) = open.pop() {
        let context = snapshot.context_map(&chart);
        let counters = [
            "iterationCount",
            "consecutiveFailures",
            "asked",
            "failedIn",
            "forcedAgent",
            "attempts",
            "arbiterModel",
            "ending",
        ];
        let counters: Vec<String> = counters.iter().map(|key| context.get(key).to_string()).collect();
        let place = format!("{} {}", configuration(&chart, &snapshot), counters.join(" "));
        let is_over = |key: &str, most: i64| context.get(key).as_i64() > Some(most);
        if is_over("asked", 2) || is_over("attempts", 2) || is_over("arbiterModel", 1) || !seen.insert(place)
        {
            continue;
        }
        for event in possible(&snapshot, checks) {
            let mut after = snapshot.clone();
            if step(&chart, &mut after, event, Now::new(0, &world)).is_ok() {
                open.push(after);
            }
        }
    }
    seen.into_iter().collect()
}

fn possible(snapshot: &Snapshot, checks: fn(bool) -> bool) -> Vec<Event> {
    let mut all: Vec<Event> =
        events().into_iter().map(|(name, data)| Event::named(name, Value::from_json(data))).collect();
    let decisions = ["SELECT_MODE", "CONTINUE", "COMPLETE", "RETRY", "SKIP", "ABORT", "ASK"];
    for invocation in snapshot.invocations() {
        let id = invocation.id;
        let clean = checks(invocation.input.get("decisive").as_bool() == Some(true));
        let decided = decisions.iter().flat_map(|kind| {
            let decision = json!({"type": kind, "mode": "planner", "reason": "r", "question": "q"});
            [decision.clone(), json!({"agent": {"name": "planner"}, "decision": decision})]
        });
        let rounds = ["progress", "fine", "tell", "stuck", "loop"].map(|standing| round(standing, clean));
        let work = json!({"text": "Done.", "data": {"verdict": "passed"}});
        let closed = json!({"evidence": {"verified": false, "clean": clean, "tree": "u", "restored": ["x"], "report": {}}});
        let based = based()["done"].clone();
        let answers = [json!({"approved": true}), json!({"approved": false}), based, work, closed];
        let done = decided.chain(rounds).chain(answers).map(Value::from_json);
        all.extend(done.map(|data| Event::InvokeDone { invocation: id, data }));
        let mut errors: Vec<Json> = ["failed", "limit", "timeout", "loop", "network"]
            .map(|category| json!({"category": category, "message": "no", "retries_max": 1}))
            .into();
        let model = |transient: bool, permanent: bool, next: Json| {
            json!({"category": "failed", "code": "model_unavailable", "message": "no", "transient": transient,
                "permanent": permanent, "retries_max": 1, "model": "a", "next_model": next})
        };
        errors.extend([
            model(true, false, json!("b")),
            model(false, false, json!("b")),
            model(true, false, json!(null)),
            model(false, true, json!(null)),
        ]);
        let failed = |error| Event::InvokeFailed { invocation: id, error: Value::from_json(error) };
        all.extend(errors.into_iter().map(failed));
    }
    all
}

/// The phases, likewise: with any answer, `done` is not reached while a check fails.
#[test]
fn no_path_of_the_phases_leads_to_done_while_a_check_fails() {
    let text = include_str!("../../../../charts/plan_build.yaml");
    let loaded = rawko_chart::load(
        &rawko_chart::SourceFile::new("plan_build.yaml", text),
        &rawko_chart::Registry::default(),
    );
    let chart = loaded.chart.unwrap();
    let walk = |clean: bool| {
        let world = world();
        let input = Value::from_json(json!({"goal": "g", "askPeople": true}));
        let first = start(&chart, input, Now::new(0, &world)).unwrap().0;
        let (mut open, mut seen) = (vec![first], std::collections::BTreeSet::new());
        while let Some(snapshot) = open.pop() {
            let place = format!(
                "{} {} {}",
                configuration(&chart, &snapshot),
                snapshot.context_map(&chart).get("resume"),
                snapshot.context_map(&chart).get("ending")
            );
            if !seen.insert(place) {
                continue;
            }
            for event in answers(&snapshot, clean) {
                let mut after = snapshot.clone();
                if step(&chart, &mut after, event, Now::new(0, &world)).is_ok() {
                    open.push(after);
                }
            }
        }
        seen
    };
    let reached = walk(false);
    assert!(!reached.iter().any(|place| place.starts_with("done ")), "{reached:?}");
    for end in ["failed", "stuck", "loop_detected", "limit_reached", "asking", "build.validate.diagnosing"] {
        assert!(reached.iter().any(|place| place.starts_with(end)), "{end} is not reached");
    }
    assert!(walk(true).iter().any(|place| place.starts_with("done ")));
}

fn answers(snapshot: &Snapshot, clean: bool) -> Vec<Event> {
    let mut all = Vec::new();
    for invocation in snapshot.invocations() {
        let id = invocation.id;
        let report = json!({"clean": clean, "errors_total": 1, "text": "", "checks": []});
        let mut done = vec![
            based()["done"].clone(),
            json!({"text": "Done.", "plan": {"steps": []}, "changes": 1}),
            json!({"approved": true}),
            json!({"approved": false}),
            json!({"evidence": {"verified": false, "clean": clean, "tree": "u", "restored": ["x"], "report": {"clean": clean}}}),
        ];
        for standing in ["progress", "fine", "tell", "stuck", "loop"] {
            for verdict in ["fine", "doom"] {
                done.push(json!({"report": report, "history": {"passes": []}, "verdict": verdict, "notice": "n",
                    "standing": standing, "tell": "t", "progress": {"without": 0, "forgiven": 0, "returns": 0}}));
            }
        }
        all.extend(
            done.into_iter().map(|data| Event::InvokeDone { invocation: id, data: Value::from_json(data) }),
        );
        for category in ["failed", "limit", "loop"] {
            let error = Value::from_json(json!({"category": category, "message": "no"}));
            all.push(Event::InvokeFailed { invocation: id, error });
        }
    }
    all
}

/// The time of a pause is not time of the task.
#[test]
fn a_pause_delays_the_deadline_of_a_task() {
    let (chart, world) = (chart(), world());
    let input = Value::from_json(json!({"task": "t", "timeoutMs": 1000}));
    let mut snapshot = start(&chart, input, Now::new(0, &world)).unwrap().0;
    let first = |snapshot: &Snapshot| snapshot.timers().iter().map(|timer| timer.due_ms).min();
    assert_eq!(first(&snapshot), Some(1000));
    let by = Value::str("kim");
    let pause = Event::PauseRequested { by: by.clone() };
    step(&chart, &mut snapshot, pause, Now::new(400, &world)).unwrap();
    let resume = Event::ResumeRequested { by, paused_ms: 60_000 };
    step(&chart, &mut snapshot, resume, Now::new(60_400, &world)).unwrap();
    assert_eq!(first(&snapshot), Some(61_000));
}
