//! Tasks and phases whose agents lie, talk, go in circles or do nothing end as `stuck`, `loop` or `failed` within six
//! rounds of default settings; honest long work never does. Channels: `crates/rawko-turns/tests/walk/rounds.rs`.

use rawko_core::Value;
use rawko_model::provider::ErrorCode;
use serde_json::json;

use crate::puppet::{Act, Acting, NO_CHECKS, Puppet, Turn, check, decide, fix, part, say, write};
use crate::yard::yard;

const TESTER: &str =
    "---\nname: tester\nwhenToUse: For tests.\ntransitions: {custom: {rejected: worker}}\n---\nYou test.\n";

/// Returns the outcome of a task and its number of rounds.
async fn task(settings: &str, acting: Acting) -> (String, i64, Value) {
    let yard = yard("[]\n").file(".rawko/agents/tester.md", TESTER).settings(settings);
    let yard = yard.answered_by(Puppet::new(acting));
    let output =
        yard.run("rawko", json!({"task": "Make the checks pass", "remember": false, "backoffMs": 1})).await;
    let rounds = output.get("iterations").as_i64().unwrap_or_default();
    (output.get("outcome").as_str().unwrap_or_default().to_owned(), rounds, output)
}

/// Returns the outcome of the phases and their number of passes.
async fn phases(settings: &str, acting: Acting) -> (String, i64, Value) {
    let yard = yard("[]\n").settings(settings).answered_by(Puppet::new(acting));
    let output = yard.run("plan_build", json!({"goal": "Make the checks pass"})).await;
    let passes = output.get("passes").as_i64().unwrap_or_default();
    (output.get("outcome").as_str().unwrap_or_default().to_owned(), passes, output)
}

fn is_dishonest_end(outcome: &str) -> bool {
    ["stuck", "loop_detected", "failed"].contains(&outcome)
}

/// The arbiter lets the worker continue.
fn go_on(turn: &Turn<'_>) -> Option<Act> {
    (turn.agent == "arbiter").then(|| decide(turn, &["CONTINUE"], "worker"))
}

/// The arbiter believes that it is done.
fn believe(turn: &Turn<'_>) -> Option<Act> {
    (turn.agent == "arbiter").then(|| decide(turn, &["COMPLETE", "CONTINUE"], "worker"))
}

/// The arbiter sends worker and tester in turn.
fn alternate(turn: &Turn<'_>) -> Option<Act> {
    let mode = if turn.round % 2 == 1 { "worker" } else { "tester" };
    (turn.agent == "arbiter").then(|| decide(turn, &["SELECT_MODE", "CONTINUE"], mode))
}

/// Writes a plan in the first round.
fn plan(turn: &Turn<'_>, steps: usize) -> Option<Act> {
    let steps: Vec<_> =
        (1..=steps).map(|n| json!({"id": n.to_string(), "title": format!("Step {n}")})).collect();
    (turn.round <= 1 && turn.call == 0).then(|| Act::Call("PlanWrite", json!({"goal": "g", "steps": steps})))
}

fn tick(id: usize, status: &str) -> Act {
    Act::Call("PlanUpdate", json!({"id": id.to_string(), "status": status}))
}

#[tokio::test(flavor = "multi_thread")]
async fn dishonest_tasks_end_within_six_rounds() {
    let (red, none) = (check(3), NO_CHECKS.to_owned());
    let table: Vec<(&str, &str, Acting)> = vec![
        ("a liar that is believed", &red, |turn| {
            believe(turn).unwrap_or_else(|| say("All checks pass now."))
        }),
        ("a liar that is not", &red, |turn| go_on(turn).unwrap_or_else(|| say("All checks pass now."))),
        ("a talker", &red, |turn| {
            go_on(turn).unwrap_or_else(|| Act::Say(format!("Thought number {}.", turn.round)))
        }),
        ("a talker without checks", &none, |turn| {
            go_on(turn).unwrap_or_else(|| Act::Say(format!("Thought {}.", turn.round)))
        }),
        ("nothing to say", &red, |turn| go_on(turn).unwrap_or_else(|| say("OK."))),
        ("nothing to say without checks", &none, |turn| go_on(turn).unwrap_or_else(|| say("OK."))),
        ("back and forth", &red, |turn| {
            go_on(turn).unwrap_or_else(|| write(turn, "a.txt", ["one", "two"][turn.round % 2]))
        }),
        ("back and forth without checks", &none, |turn| {
            go_on(turn).unwrap_or_else(|| write(turn, "a.txt", ["one", "two"][turn.round % 2]))
        }),
        ("three versions in turn", &red, |turn| {
            go_on(turn).unwrap_or_else(|| write(turn, "a.txt", ["one", "two", "three"][turn.round % 3]))
        }),
        ("busy with other files", &red, |turn| {
            go_on(turn).unwrap_or_else(|| write(turn, &format!("junk/{}", turn.round), "x"))
        }),
        ("worker and tester in turn", &red, |turn| {
            alternate(turn).unwrap_or_else(|| match turn.agent {
                "tester" => Act::Say(json!({"verdict": "rejected", "report": "It fails."}).to_string()),
                _ => say("Fixed."),
            })
        }),
        ("worker and tester in turn, with changes", &red, |turn| {
            alternate(turn).unwrap_or_else(|| match turn.agent {
                "tester" => Act::Say(json!({"verdict": "rejected", "report": "It fails."}).to_string()),
                _ => write(turn, &format!("junk/{}", turn.round), "x"),
            })
        }),
        ("RETRY without end", &red, |turn| match turn.agent {
            "arbiter" => decide(turn, &["RETRY"], "worker"),
            _ => say("Once more."),
        }),
        ("a step ticked back and forth", &red, |turn| {
            go_on(turn).or_else(|| plan(turn, 3)).unwrap_or_else(|| match turn.call {
                0 => tick(1, ["done", "pending"][turn.round % 2]),
                _ => say("Ticked."),
            })
        }),
        ("a plan that is ticked off at once", &red, |turn| {
            go_on(turn).or_else(|| plan(turn, 2)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 1) => tick(1, "done"),
                (1, 2) => tick(2, "done"),
                _ => say("All steps are done."),
            })
        }),
        ("a plan that grows by a finished step", &red, |turn| {
            let steps: Vec<_> = (1..=turn.round)
                .map(|n| json!({"id": n.to_string(), "title": format!("Step {n}"), "status": "done"}))
                .collect();
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => Act::Call("PlanWrite", json!({"goal": "g", "steps": steps})),
                _ => say("Another step is done."),
            })
        }),
        ("an agent that only fails", &red, |turn| go_on(turn).unwrap_or(Act::Fail(ErrorCode::Unknown))),
        ("the same call without end", &red, |turn| {
            go_on(turn).unwrap_or_else(|| Act::Call("Read", json!({"path": "missing.txt"})))
        }),
        ("more errors each round", &red, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => {
                    Act::Call("Bash", json!({"command": "mkdir -p done; rm -f done/*; date +%N > noise.txt"}))
                }
                _ => say("Progress!"),
            })
        }),
    ];
    assert!(table.len() >= 19);
    for (name, settings, acting) in table {
        let (outcome, rounds, output) = task(settings, acting).await;
        assert!(is_dishonest_end(&outcome), "{name}: {outcome} after {rounds}: {output}");
        assert!(rounds <= 6, "{name}: {outcome} after {rounds} rounds: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dishonest_phases_end_within_six_passes() {
    /// The planner does its part.
    fn planned(turn: &Turn<'_>) -> Option<Act> {
        match (turn.agent, turn.occasion) {
            ("planner", "plan.design") => Some(plan(turn, 3).unwrap_or_else(|| say("Three steps."))),
            ("planner", occasion) => Some(Act::Say(format!("Report of {occasion}."))),
            _ => None,
        }
    }
    let (red, none) = (check(3), NO_CHECKS.to_owned());
    let strict = format!("{red}loop: {{stuck_after: 2}}\n");
    let table: Vec<(&str, &str, Acting)> = vec![
        ("a liar", &red, |turn| planned(turn).unwrap_or_else(|| say("All checks pass."))),
        ("the same change", &red, |turn| planned(turn).unwrap_or_else(|| write(turn, "a.txt", "same"))),
        ("back and forth", &red, |turn| {
            planned(turn).unwrap_or_else(|| write(turn, "a.txt", ["one", "two"][turn.round % 2]))
        }),
        ("busy with other files", &red, |turn| {
            planned(turn).unwrap_or_else(|| write(turn, &format!("junk/{}", turn.round), "x"))
        }),
        ("a step ticked back and forth", &red, |turn| {
            planned(turn).unwrap_or_else(|| match turn.call {
                0 => tick(1, ["pending", "done"][turn.round % 2]),
                1 => Act::Call("Write", json!({"path": "a.txt", "content": turn.round.to_string()})),
                _ => say("Ticked."),
            })
        }),
        ("a planner that only talks", &red, |turn| Act::Say(format!("Thought {}.", turn.call))),
        ("a planner that says the same in each phase", &strict, |_| say("OK.")),
        ("nothing is built", &none, |turn| planned(turn).unwrap_or_else(|| say("OK."))),
        ("the builder fails", &red, |turn| planned(turn).unwrap_or(Act::Fail(ErrorCode::Unknown))),
    ];
    for (name, settings, acting) in table {
        let (outcome, passes, output) = phases(settings, acting).await;
        assert!(is_dishonest_end(&outcome), "{name}: {outcome} after {passes}: {output}");
        assert!(passes <= 6, "{name}: {outcome} after {passes} passes: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_tasks_go_on() {
    /// The arbiter believes it is done after this many rounds.
    fn until(turn: &Turn<'_>, rounds: usize) -> Option<Act> {
        let kind = if turn.round > rounds { "COMPLETE" } else { "CONTINUE" };
        (turn.agent == "arbiter").then(|| decide(turn, &[kind], "worker"))
    }
    let (one, three, four, five, six) = (check(1), check(3), check(4), check(5), check(6));
    let (eight, twelve, fifteen, none) = (check(8), check(12), check(15), NO_CHECKS.to_owned());
    let table: Vec<(&str, &str, i64, Acting)> = vec![
        ("one error a round", &twelve, 12, |turn| until(turn, 12).unwrap_or_else(|| fix(turn, turn.round))),
        ("one error every second round", &six, 12, |turn| {
            until(turn, 12)
                .unwrap_or_else(|| if turn.round % 2 == 0 { fix(turn, turn.round) } else { say("Reading.") })
        }),
        ("one error every fourth round", &three, 12, |turn| {
            until(turn, 12)
                .unwrap_or_else(|| if turn.round % 4 == 0 { fix(turn, turn.round) } else { say("Reading.") })
        }),
        ("a step of the plan each round", &one, 10, |turn| {
            until(turn, 10).or_else(|| plan(turn, 9)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, _) => say("Nine steps."),
                (round, 0) => tick(round - 1, "done"),
                (10, 1) => Act::Call("Write", json!({"path": "done/1", "content": "x"})),
                (round, 1) => part(round),
                _ => say("One step further."),
            })
        }),
        ("a refactoring without checks", &none, 8, |turn| {
            until(turn, 8).unwrap_or_else(|| match turn.call {
                0 => part(turn.round),
                _ => say("Moved."),
            })
        }),
        ("new tests raise the number first", &eight, 10, |turn| {
            until(turn, 10).unwrap_or_else(|| match turn.round {
                2 => write(turn, "notes.txt", "two more tests"),
                3 => write(turn, "notes.txt", "and where they fail"),
                round => fix(turn, round),
            })
        }),
        ("an attempt is taken back", &eight, 10, |turn| {
            until(turn, 10).unwrap_or_else(|| match turn.round {
                2 => write(turn, "a.txt", "attempt"),
                3 => write(turn, "a.txt", "no"),
                round => fix(turn, round),
            })
        }),
        ("failures between progress", &six, 12, |turn| {
            until(turn, 12).unwrap_or_else(|| match turn.round % 2 {
                0 => fix(turn, turn.round),
                _ => Act::Fail(ErrorCode::Unknown),
            })
        }),
        ("worker and tester in turn", &five, 9, |turn| match turn.agent {
            "arbiter" if turn.round > 9 => decide(turn, &["COMPLETE"], "worker"),
            "arbiter" => decide(turn, &["SELECT_MODE"], ["tester", "worker"][turn.round % 2]),
            "tester" => Act::Say(json!({"verdict": "rejected", "report": "One less."}).to_string()),
            _ => fix(turn, turn.round),
        }),
        ("three looks before the first change", &four, 8, |turn| {
            until(turn, 8)
                .unwrap_or_else(|| if turn.round > 4 { fix(turn, turn.round) } else { say("Looking.") })
        }),
        ("a busy provider", &eight, 8, |turn| {
            until(turn, 8).unwrap_or_else(|| match turn.call {
                0 if turn.round % 2 == 0 => Act::Fail(ErrorCode::RateLimited),
                _ => match turn.call - usize::from(turn.round % 2 == 0) {
                    0 => Act::Call("Write", json!({"path": format!("done/{}", turn.round), "content": "x"})),
                    _ => say("Fixed."),
                },
            })
        }),
        ("fifteen small steps", &fifteen, 15, |turn| {
            until(turn, 15).unwrap_or_else(|| fix(turn, turn.round))
        }),
    ];
    for (name, settings, rounds, acting) in table {
        let settings = format!("{settings}task: {{max_failures: 3}}\n");
        let (outcome, made, output) = task(&settings, acting).await;
        assert_eq!((outcome.as_str(), made), ("complete", rounds), "{name}: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_phases_go_on() {
    fn planned(turn: &Turn<'_>, steps: usize) -> Option<Act> {
        match (turn.agent, turn.occasion) {
            ("planner", "plan.design") => Some(plan(turn, steps).unwrap_or_else(|| say("Steps."))),
            ("planner", occasion) => Some(Act::Say(format!("Report of {occasion}."))),
            _ => None,
        }
    }
    let table: Vec<(&str, String, i64, Acting)> = vec![
        ("one error a pass", check(10), 10, |turn| planned(turn, 2).unwrap_or_else(|| fix(turn, turn.round))),
        ("twelve passes", check(12), 12, |turn| planned(turn, 2).unwrap_or_else(|| fix(turn, turn.round))),
        ("one error every second pass", check(4), 8, |turn| {
            planned(turn, 2).unwrap_or_else(|| match turn.round % 2 {
                0 => fix(turn, turn.round),
                _ => write(turn, "notes.txt", &turn.round.to_string()),
            })
        }),
        ("a step each pass", check(1), 4, |turn| {
            planned(turn, 4).unwrap_or_else(|| match (turn.round, turn.call) {
                (round, 0) => tick(round, "done"),
                (4, 1) => Act::Call("Write", json!({"path": "done/1", "content": "x"})),
                (round, 1) => part(round),
                _ => say("One step further."),
            })
        }),
        ("at once", check(1), 1, |turn| planned(turn, 1).unwrap_or_else(|| fix(turn, 1))),
    ];
    for (name, settings, passes, acting) in table {
        let (outcome, made, output) = phases(&settings, acting).await;
        assert_eq!((outcome.as_str(), made), ("done", passes), "{name}: {output}");
    }
}
