//! A walk through all reachable states of the orchestrator's chart: no path leads to success while a check fails.

use std::fmt::Write;

use rawko_core::{Event, Now, Snapshot, Value, start, step};
use serde_json::{Value as Json, json};

use crate::{CHART, chart, chart_of, configuration, events, world};

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

/// With any answer, event and timer, also after a limit was raised: while the checks fail, no reachable state is a success.
#[test]
fn no_path_leads_to_success_while_a_check_fails() {
    let raised = CHART.replace("    raised: false\n", "    raised: true\n");
    assert_ne!(raised, CHART, "the chart has a key for a higher limit");
    for text in [CHART, &raised] {
        let reached = reachable(text, |_| false);
        assert!(reached.len() > 100, "{}", reached.len());
        assert!(!is_complete(&reached), "a failing check was passed by");
        let ends = ["failed", "stuck", "loop_detected", "cancelled", "at_limit", "limit_reached", "asking"];
        for end in ends {
            assert!(reached.iter().any(|place| place.starts_with(end)), "{end} is not reached");
        }
        // The deciding run fails; earlier runs may have found either.
        let reached = reachable(text, |decisive| !decisive);
        assert!(reached.len() > 100 && !is_complete(&reached));
        // The same walk with checks that pass gets there.
        assert!(is_complete(&reachable(text, |_| true)));
    }
}

/// A chart with a way to success finds it: the walk sends this event and fires this timer.
#[test]
fn a_way_to_success_is_found() {
    let table = [
        (
            "    MESSAGE: {actions: [takeMessage]}\n",
            "    MESSAGE: {target: complete, actions: [takeMessage]}\n",
        ),
        (
            "{providerName: \"event.data.model\"}}\n",
            "{providerName: \"event.data.model\"}}\n      target: complete\n",
        ),
        (
            "          - target: limit_reached\n",
            "          - {target: complete, guard: context.iterationCount >= 0}\n          - target: limit_reached\n",
        ),
        (
            "          - target: selecting\n            guard: \"context.raised and",
            "          - target: complete\n            guard: \"context.raised and",
        ),
        (
            "      - target: closing\n        actions: *unfit\n",
            "      - target: complete\n        actions: *unfit\n",
        ),
    ];
    for (honest, mutant) in table {
        assert!(CHART.contains(honest), "{honest}");
        let text = CHART.replacen(honest, mutant, 1).replace("    raised: false\n", "    raised: true\n");
        assert!(is_complete(&reachable(&text, |_| false)), "{mutant}");
    }
}

fn is_complete(reached: &[String]) -> bool {
    reached.iter().any(|place| place.starts_with("complete "))
}

/// Walks through all answers, events and timers, and returns the places: state, counters and decision. `checks`: whether
/// the checks pass, in the deciding run and in others.
fn reachable(text: &str, checks: fn(bool) -> bool) -> Vec<String> {
    let (chart, world) = (chart_of(text), world());
    let names: Vec<String> = chart.event_names().map(str::to_owned).collect();
    let input = json!({"task": "t", "maxIterations": 1, "maxFailures": 1, "askPeople": true, "timeoutMs": 1000,
        "plan": {"steps": [{"id": "a", "title": "Fix", "status": "pending"}]}});
    let first = start(&chart, Value::from_json(input), Now::new(0, &world)).unwrap().0;
    let (mut open, mut seen) = (vec![first], std::collections::BTreeSet::new());
    let slot = |key: &str| chart.context_names().iter().position(|name| **name == *key).unwrap();
    let counters = [
        "iterationCount",
        "consecutiveFailures",
        "failedIn",
        "forcedAgent",
        "arbiterModel",
        "ending",
        "resumeAt",
        "raised",
        "asked",
        "attempts",
    ];
    let counters = counters.map(slot);
    let (said, limited) = (slot("said"), [("asked", 1), ("attempts", 1), ("arbiterModel", 1)]);
    let limited = limited.map(|(key, most)| (slot(key), Some(most)));
    while let Some(snapshot) = open.pop() {
        let context = snapshot.context();
        let messages = context[said].as_list().map_or(0, <[Value]>::len);
        let is_far = limited.iter().any(|(slot, most)| context[*slot].as_i64() > *most);
        let mut place = format!("{} {messages}", configuration(&chart, &snapshot));
        for slot in counters {
            write!(place, " {}", context[slot]).unwrap();
        }
        if is_far || messages > 1 || !seen.insert(place.clone()) {
            continue;
        }
        // A way is enough.
        if place.starts_with("complete ") {
            return vec![place];
        }
        for event in possible(&snapshot, &names, checks) {
            let mut after = snapshot.clone();
            if step(&chart, &mut after, event, Now::new(0, &world)).is_ok() && after != snapshot {
                open.push(after);
            }
        }
    }
    seen.into_iter().collect()
}

/// Every event that the chart handles, every pending timer and every answer of what runs.
fn possible(snapshot: &Snapshot, names: &[String], checks: fn(bool) -> bool) -> Vec<Event> {
    let with_data = events();
    let data = |name: &str| match name {
        "MESSAGE" => json!({"text": "Go on."}),
        "SET_MODEL" => json!({"model": "b"}),
        "error.execution" => json!({"message": "a number is no plan"}),
        name => {
            with_data.iter().find(|(known, _)| *known == name).map_or(Json::Null, |(_, data)| data.clone())
        }
    };
    let mut all: Vec<Event> =
        names.iter().map(|name| Event::named(name.as_str(), Value::from_json(data(name)))).collect();
    all.extend(snapshot.timers().iter().map(|timer| Event::TimerFired { timer: timer.id }));
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
