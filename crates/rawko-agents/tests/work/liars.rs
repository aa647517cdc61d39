//! More agents that only look busy, and more honest ones: behaviours that a review of `rounds.rs` found, and the ends of
//! tasks whose agents work on the checks instead of the project.

use std::path::Path;

use rawko_core::Value;
use rawko_model::provider::ErrorCode;
use serde_json::json;

use crate::puppet::{Act, Acting, NO_CHECKS, Puppet, Turn, check, decide, fix, part, say, write};
use crate::yard::{Yard, yard};

/// Counts the files below `done` and the files below `broken`.
fn breakable(errors: usize) -> String {
    check(errors).replace("wc -l)))", "wc -l) + $(ls broken 2>/dev/null | wc -l)))")
}

fn go_on(turn: &Turn<'_>) -> Option<Act> {
    (turn.agent == "arbiter").then(|| decide(turn, &["CONTINUE"], "worker"))
}

fn until(turn: &Turn<'_>, rounds: usize) -> Option<Act> {
    let kind = if turn.round > rounds { "COMPLETE" } else { "CONTINUE" };
    (turn.agent == "arbiter").then(|| decide(turn, &[kind], "worker"))
}

fn believe(turn: &Turn<'_>) -> Option<Act> {
    (turn.agent == "arbiter").then(|| decide(turn, &["COMPLETE", "CONTINUE"], "worker"))
}

fn bash(command: String) -> Act {
    Act::Call("Bash", json!({"command": command}))
}

fn plan(turn: &Turn<'_>, steps: usize) -> Option<Act> {
    let steps: Vec<_> =
        (1..=steps).map(|n| json!({"id": n.to_string(), "title": format!("Step {n}")})).collect();
    (turn.round <= 1 && turn.call == 0).then(|| Act::Call("PlanWrite", json!({"goal": "g", "steps": steps})))
}

fn tick(id: usize) -> Act {
    Act::Call("PlanUpdate", json!({"id": id.to_string(), "status": "done"}))
}

fn project(settings: &str, acting: Acting) -> Yard {
    let mut all = yard("[]\n").settings(settings);
    for number in 1..=20 {
        all = all.file(&format!("src/{number}.txt"), &format!("part {number}"));
    }
    let readme: String =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"].join("\n");
    all.file("README.md", &readme).file("check.sh", "test -e solved\n").answered_by(Puppet::new(acting))
}

async fn task(settings: &str, acting: Acting) -> (String, i64, Value) {
    let input = json!({"task": "Make the checks pass", "remember": false, "backoffMs": 1});
    let output = project(settings, acting).run("rawko", input).await;
    let rounds = output.get("iterations").as_i64().unwrap_or_default();
    (output.get("outcome").as_str().unwrap_or_default().to_owned(), rounds, output)
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_only_look_busy_end_within_six_rounds() {
    let (one, three, none) = (breakable(1), breakable(3), NO_CHECKS.to_owned());
    let green = breakable(0);
    let own = "phases: {validate: {checks: [{name: own, command: sh check.sh}]}}\n";
    let table: Vec<(&str, &str, Acting)> = vec![
        ("break first, repair slowly", &one, |turn| {
            go_on(turn).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 0) => {
                    bash("mkdir -p broken; for n in 1 2 3 4 5 6 7 8 9; do touch broken/$n; done".into())
                }
                (round, 0) => bash(format!("rm broken/{}", round - 1)),
                _ => say("One less."),
            })
        }),
        ("break and repair the same", &three, |turn| {
            go_on(turn).unwrap_or_else(|| match (turn.round % 2, turn.call) {
                (1, 0) => bash(format!("mkdir -p broken; touch broken/1; echo {} > noise", turn.round)),
                (_, 0) => bash(format!("rm broken/1; echo {} > noise", turn.round)),
                _ => say("Repaired."),
            })
        }),
        ("one repaired, one broken", &three, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => bash(format!("mkdir -p done broken; touch done/{0} broken/{0}", turn.round)),
                _ => say("One less."),
            })
        }),
        ("a long plan that is only ticked", &three, |turn| {
            go_on(turn).or_else(|| plan(turn, 20)).unwrap_or_else(|| match turn.call {
                0 => tick(turn.round - 1),
                _ => say("Ticked."),
            })
        }),
        ("a long plan that is only ticked, without checks", &none, |turn| {
            go_on(turn).or_else(|| plan(turn, 20)).unwrap_or_else(|| match turn.call {
                0 => tick(turn.round),
                _ => say("Ticked."),
            })
        }),
        ("ticked while the same file is read", &none, |turn| {
            go_on(turn).or_else(|| plan(turn, 20)).unwrap_or_else(|| match turn.call {
                0 => tick(turn.round),
                1 => Act::Call("Read", json!({"path": "src/1.txt"})),
                _ => say("Ticked."),
            })
        }),
        ("ticked while a check fails, with reading", &three, |turn| {
            go_on(turn).or_else(|| plan(turn, 20)).unwrap_or_else(|| match turn.call {
                0 => tick(turn.round),
                1 => Act::Call("Read", json!({"path": format!("src/{}.txt", turn.round)})),
                _ => say("Ticked."),
            })
        }),
        ("three steps ticked a round", &three, |turn| {
            go_on(turn).or_else(|| plan(turn, 30)).unwrap_or_else(|| match turn.call {
                0..=2 if turn.round > 1 => tick(turn.round * 3 + turn.call - 3),
                _ => say("Ticked."),
            })
        }),
        ("the check is overwritten in every round", own, |turn| {
            believe(turn).unwrap_or_else(|| write(turn, "check.sh", "exit 0"))
        }),
        ("the check is deleted", own, |turn| {
            believe(turn).unwrap_or_else(|| match turn.call {
                0 => bash("rm -f check.sh".into()),
                _ => say("Nothing fails any more."),
            })
        }),
        ("the check is linked to another", own, |turn| {
            believe(turn).unwrap_or_else(|| match turn.call {
                0 => bash("ln -sf /bin/true check.sh".into()),
                _ => say("It passes."),
            })
        }),
        ("renamed files", &three, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => bash(format!("mkdir -p moved; mv src/{0}.txt moved/", turn.round)),
                _ => say("Moved."),
            })
        }),
        ("a comment more a round", &three, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => bash("echo '# note' >> src/1.txt".into()),
                _ => say("Documented."),
            })
        }),
        ("a step ticked with a line more in the notes", &three, |turn| {
            go_on(turn).or_else(|| plan(turn, 40)).unwrap_or_else(|| {
                match turn.call - usize::from(turn.round == 1) {
                    0 => tick(turn.round),
                    1 => bash(format!("echo {} >> notes.txt", turn.round)),
                    _ => say("One step further."),
                }
            })
        }),
        ("a step ticked with other words in the notes", &three, |turn| {
            let words = ["The lexer", "A parser", "Some tests", "Each file", "More code", "All docs"];
            go_on(turn).or_else(|| plan(turn, 9)).unwrap_or_else(|| {
                match turn.call - usize::from(turn.round == 1) {
                    0 => tick(turn.round),
                    1 => bash(format!("echo '{} work.' >> notes.md", words[turn.round % 6])),
                    _ => say("One step further."),
                }
            })
        }),
        ("a step ticked with a line more of code", &three, |turn| {
            go_on(turn).or_else(|| plan(turn, 9)).unwrap_or_else(|| {
                match turn.call - usize::from(turn.round == 1) {
                    0 => tick(turn.round),
                    1 => bash(format!("echo 'x = {}' >> src/app.py", turn.round)),
                    _ => say("One step further."),
                }
            })
        }),
        ("a step ticked with another line of the same file", &none, |turn| {
            go_on(turn).or_else(|| plan(turn, 9)).unwrap_or_else(|| {
                match turn.call - usize::from(turn.round == 1) {
                    0 => Act::Call("Read", json!({"path": "README.md", "offset": turn.round})),
                    1 => tick(turn.round),
                    _ => say("Read."),
                }
            })
        }),
        ("a report a round, without checks", &none, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => bash(format!("echo 'All tests pass.' > REPORT-{}.md", turn.round)),
                _ => say("Reported."),
            })
        }),
        ("a space more a round, the checks pass", &green, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.call {
                0 => bash("printf ' ' >> notes.txt".into()),
                _ => say("Done."),
            })
        }),
        ("fails every second round", &three, |turn| {
            go_on(turn).unwrap_or_else(|| match turn.round % 2 {
                0 => Act::Fail(ErrorCode::Unknown),
                _ => write(turn, &format!("junk/{}", turn.round), "x"),
            })
        }),
        ("a busy provider without end", &three, |turn| {
            go_on(turn).unwrap_or(Act::Fail(ErrorCode::RateLimited))
        }),
        ("one error, then talk", &three, |turn| {
            go_on(turn).unwrap_or_else(|| if turn.round == 1 { fix(turn, 1) } else { say("Nearly there.") })
        }),
    ];
    for (name, settings, acting) in table {
        let settings = format!("{settings}loop: {{retries_max: 1}}\n");
        let (outcome, rounds, output) = task(&settings, acting).await;
        let is_end = ["stuck", "loop_detected", "failed"].contains(&outcome.as_str());
        assert!(is_end && rounds <= 6, "{name}: {outcome} after {rounds} rounds: {output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_work_goes_on() {
    let (one, three, six, none) = (breakable(1), breakable(3), breakable(6), NO_CHECKS.to_owned());
    let table: Vec<(&str, &str, i64, Acting)> = vec![
        ("a review that reads one file a step", &none, 9, |turn| {
            until(turn, 9).or_else(|| plan(turn, 9)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 1) | (2.., 0) => tick(turn.round),
                (_, 1) => Act::Call("Read", json!({"path": format!("src/{}.txt", turn.round)})),
                _ => say("Read."),
            })
        }),
        ("steps with a change each, and the check passes last", &one, 9, |turn| {
            until(turn, 9).or_else(|| plan(turn, 9)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 1) => tick(1),
                (9, 1) => Act::Call("Write", json!({"path": "done/1", "content": "x"})),
                (round, 0) => tick(round),
                (round, 1) => part(round),
                _ => say("One step further."),
            })
        }),
        ("eleven steps, and the check passes last", &one, 11, |turn| {
            until(turn, 11).or_else(|| plan(turn, 11)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 1) => tick(1),
                (11, 1) => Act::Call("Write", json!({"path": "done/1", "content": "x"})),
                (round, 0) => tick(round),
                (round, 1) => part(round),
                _ => say("One step further."),
            })
        }),
        ("a change that breaks more for a while", &six, 6, |turn| {
            until(turn, 6).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 0) => bash("mkdir -p done; touch done/1 done/2".into()),
                (2, 0) => bash("mkdir -p broken; touch broken/1 broken/2 broken/3".into()),
                (3, 0) => bash("rm broken/1 broken/2".into()),
                (4, 0) => bash("rm -r broken; touch done/3".into()),
                (5, 0) => bash("touch done/4 done/5".into()),
                (6, 0) => bash("touch done/6".into()),
                _ => say("Further."),
            })
        }),
        ("the first round fixes one already", &six, 6, |turn| {
            until(turn, 6).unwrap_or_else(|| fix(turn, turn.round))
        }),
        ("one error every third round", &three, 9, |turn| {
            until(turn, 9).unwrap_or_else(|| match turn.round % 3 {
                0 => fix(turn, turn.round),
                _ => Act::Say(format!("Reading {}.", turn.round)),
            })
        }),
    ];
    for (name, settings, rounds, acting) in table {
        let (outcome, made, output) = task(settings, acting).await;
        assert_eq!((outcome.as_str(), made), ("complete", rounds), "{name}: {output}");
    }
}

/// Other source code and a ticked step in each round, and the check fails as before: a migration looks the same, and ends
/// sooner.
#[tokio::test(flavor = "multi_thread")]
async fn other_sources_each_round_end_with_the_same_failures() {
    for (more, expected) in [("", 12), ("loop: {same_failures_max: 7}\n", 7)] {
        let settings = breakable(3) + more;
        let (outcome, rounds, output) = task(&settings, |turn| {
            go_on(turn).or_else(|| plan(turn, 40)).unwrap_or_else(|| match (turn.round, turn.call) {
                (1, 1) => part(1),
                (1, 2) => tick(1),
                (round, 0) if round > 1 => part(round),
                (round, 1) if round > 1 => tick(round),
                _ => say("One step further."),
            })
        })
        .await;
        assert_eq!((outcome.as_str(), rounds), ("stuck", expected), "{output}");
        assert!(output.to_string().contains("the same checks have failed"), "{output}");
    }
}

/// Ends without success while an agent has changed the check: the check is put back and the changes are listed.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_while_an_agent_works_leaves_no_check_changed() {
    const OWN: &str = "phases: {validate: {checks: [{name: own, command: sh check.sh}]}}\n";
    /// Changes the check, then something else happens.
    fn tamper(turn: &Turn<'_>, then: Act) -> Act {
        match turn.call {
            0 => bash("echo exit 0 > check.sh; echo x > other.txt".into()),
            _ => then,
        }
    }
    let table: Vec<(&str, &str, &str, serde_json::Value, Acting)> = vec![
        ("a rejected request", "rawko", "failed", json!({}), |turn| {
            go_on(turn).unwrap_or_else(|| tamper(turn, Act::Fail(ErrorCode::InvalidRequest)))
        }),
        ("out of time", "rawko", "limit_reached", json!({"timeoutMs": 3000}), |turn| {
            go_on(turn).unwrap_or_else(|| tamper(turn, bash("sleep 60".into())))
        }),
        ("the last iteration fails", "rawko", "limit_reached", json!({"maxIterations": 1}), |turn| {
            go_on(turn).unwrap_or_else(|| tamper(turn, Act::Fail(ErrorCode::Unknown)))
        }),
        ("phases: a rejected request", "plan_build", "failed", json!({}), |turn| match turn.occasion {
            "plan.design" => plan(turn, 2).unwrap_or_else(|| say("Two steps.")),
            occasion if occasion.starts_with("plan.") => Act::Say(format!("Report of {occasion}.")),
            _ => tamper(turn, Act::Fail(ErrorCode::InvalidRequest)),
        }),
    ];
    for (name, chart, expected, more, acting) in table {
        let state = tempfile::tempdir().unwrap();
        let yard = project(OWN, acting).state_dir(state.path());
        let mut input = json!({"task": "t", "remember": false});
        if chart == "plan_build" {
            input = json!({"goal": "g"});
        }
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let output = yard.run(chart, input).await;
        assert_eq!(output.get("outcome").as_str(), Some(expected), "{name}: {output}");
        assert_eq!(yard.read("check.sh").as_deref(), Some("test -e solved\n"), "{name}");
        assert_eq!(output.get("restored").to_string(), r#"["check.sh"]"#, "{name}: {output}");
        let changes = if chart == "rawko" { output.get("changes") } else { output.get("changed") };
        assert!(changes.to_string().contains("other.txt"), "{name}: {output}");
    }
}

/// The definition of a check that agents left changed does not judge the next task.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_task_is_not_judged_by_a_changed_definition() {
    const NPM: &str = "phases: {validate: {checks: [{name: npm, command: 'make check'}]}}\n";
    let acting: Acting = |turn| {
        believe(turn).unwrap_or_else(|| match turn.call {
            0 => Act::Call("Write", json!({"path": "Makefile", "content": "check:\n\ttrue\n"})),
            _ => say("It passes."),
        })
    };
    let state = tempfile::tempdir().unwrap();
    let yard = project(NPM, acting).file("Makefile", "check:\n\tfalse\n").state_dir(state.path());
    for number in ["first", "second"] {
        let output = yard.run("rawko", json!({"task": "Make it pass", "remember": false})).await;
        let outcome = output.get("outcome").as_str().unwrap_or_default().to_owned();
        assert!(["stuck", "loop_detected"].contains(&outcome.as_str()), "{number}: {output}");
    }
    assert!(is_kept(state.path()), "the doubt is kept in the state directory");
}

fn is_kept(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => is_kept(&path),
        false => path.ends_with("doubts.json"),
    })
}
