//! Repeated calls: named sequences that must be detected and sequences that must not, followed by properties of all
//! sequences.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use rawko_arbiter::loop_control::{
    CallObservation, Detector, LoopMemory, LoopSettings, LoopVerdict, check_before, observe,
};
use rawko_core::Value;
use serde_json::json;

/// A call with its result.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    input: Value,
    result: String,
}

fn call(name: &'static str, input: serde_json::Value, result: impl Into<String>) -> Call {
    Call { name, input: input.into(), result: result.into() }
}

fn read(path: &str, result: &str) -> Call {
    call("Read", json!({ "path": path }), result)
}

fn bash(command: &str, result: impl Into<String>) -> Call {
    call("Bash", json!({ "command": command }), result)
}

fn edit(path: &str, old: &str, new: &str) -> Call {
    call("Edit", json!({ "path": path, "old": old, "new": new }), "edited")
}

/// The most severe verdict of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worst {
    Fine,
    Notice,
    Block,
    Doom,
}

fn worst_of(verdict: &LoopVerdict) -> Worst {
    match verdict {
        LoopVerdict::Fine => Worst::Fine,
        LoopVerdict::Notice { .. } => Worst::Notice,
        LoopVerdict::Block { .. } => Worst::Block,
        LoopVerdict::Doom { .. } => Worst::Doom,
    }
}

/// Makes one call like a session: checked before, observed after.
fn one(memory: LoopMemory, call: &Call, settings: &LoopSettings) -> (LoopMemory, Worst) {
    let Call { name, input, result } = call;
    let before = check_before(&memory, name, input, settings);
    let observation = match before {
        LoopVerdict::Fine | LoopVerdict::Notice { .. } => {
            CallObservation::Returned { name, input, content: result, is_error: false }
        }
        LoopVerdict::Block { .. } | LoopVerdict::Doom { .. } => CallObservation::Blocked { name, input },
    };
    let (memory, after) = observe(memory, observation, settings);
    (memory, worst_of(&before).max(worst_of(&after)))
}

fn run_from(mut memory: LoopMemory, calls: &[Call], settings: &LoopSettings) -> (LoopMemory, Worst) {
    let mut worst = Worst::Fine;
    for call in calls {
        let (next, said) = one(memory, call, settings);
        memory = next;
        worst = worst.max(said);
    }
    (memory, worst)
}

fn run(calls: &[Call]) -> Worst {
    run_from(LoopMemory::default(), calls, &LoopSettings::default()).1
}

fn times(count: usize, calls: &[Call]) -> Vec<Call> {
    calls.iter().cycle().take(count * calls.len()).cloned().collect()
}

fn each(count: usize, make: impl Fn(usize) -> Call) -> Vec<Call> {
    (0..count).map(make).collect()
}

#[test]
fn repeated_calls_that_must_fire() {
    let a = || read("src/a.rs", "fn a() {}");
    let b = || call("Grep", json!({ "pattern": "b" }), "no matches");
    let c = || call("Glob", json!({ "pattern": "*.c" }), "");
    let d = || bash("ls", "a b");
    let e = || bash("pwd", "/project");
    let cases: Vec<(&str, Vec<Call>, Worst)> = vec![
        ("one call three times is noticed", times(3, &[a()]), Worst::Notice),
        ("one call five times is blocked", times(5, &[a()]), Worst::Block),
        ("one call for ever is doom", times(9, &[a()]), Worst::Doom),
        ("a circle of two is noticed", times(3, &[a(), b()]), Worst::Notice),
        ("a circle of two for ever is doom", times(9, &[a(), b()]), Worst::Doom),
        ("a circle of three", times(3, &[a(), b(), c()]), Worst::Notice),
        ("a circle of three for ever", times(9, &[a(), b(), c()]), Worst::Doom),
        ("a circle of four", times(3, &[a(), b(), c(), d()]), Worst::Notice),
        ("a circle of five", times(3, &[a(), b(), c(), d(), e()]), Worst::Notice),
        ("a circle of five for ever", times(9, &[a(), b(), c(), d(), e()]), Worst::Doom),
        (
            "after honest work",
            [each(20, |n| read(&format!("src/{n}.rs"), "x")), times(9, &[a()])].concat(),
            Worst::Doom,
        ),
        (
            "keys in another order",
            each(9, |n| {
                let (one, other) = (json!({ "path": "a", "limit": 10 }), json!({ "limit": 10, "path": "a" }));
                call("Read", if n % 2 == 0 { one } else { other }, "x")
            }),
            Worst::Doom,
        ),
        (
            "paths in another spelling",
            each(9, |n| read(["src/a.rs", "./src/a.rs", " src//a.rs ", "src/./a.rs"][n % 4], "x")),
            Worst::Doom,
        ),
        (
            "numbers in another spelling",
            each(9, |n| {
                call(
                    "Read",
                    [
                        json!({"path": "a", "limit": 5}),
                        json!({"path": "a", "limit": 5.0}),
                        json!({"path": "a", "limit": "5"}),
                    ][n % 3]
                        .clone(),
                    "x",
                )
            }),
            Worst::Doom,
        ),
        (
            "null and absent",
            each(9, |n| {
                call(
                    "Read",
                    if n % 2 == 0 { json!({"path": "a"}) } else { json!({"path": "a", "limit": null}) },
                    "x",
                )
            }),
            Worst::Doom,
        ),
        (
            "blanks in a command",
            each(9, |n| bash(["cargo test", "cargo  test ", "cargo test\n"][n % 3], "3 failed")),
            Worst::Doom,
        ),
        (
            "only the duration differs",
            each(9, |n| bash("pytest", format!("3 failed in 0.{n}1s"))),
            Worst::Doom,
        ),
        (
            "only the time of day differs",
            each(9, |n| bash("make", format!("[12:00:0{n}] error: no rule"))),
            Worst::Doom,
        ),
        (
            "only the timestamp differs",
            each(9, |n| bash("run", format!("2026-01-0{}T10:00:00Z failed", n + 1))),
            Worst::Doom,
        ),
        (
            "only the temporary path differs",
            each(9, |n| bash("npm test", format!("log in /tmp/npm-{n}/debug.log, failed"))),
            Worst::Doom,
        ),
        (
            "only the process number differs",
            each(9, |n| bash("serve", format!("pid {n}4711: address in use"))),
            Worst::Doom,
        ),
        (
            "only an address differs",
            each(9, |n| bash("python3 x.py", format!("<A object at 0x7f00{n}abc>"))),
            Worst::Doom,
        ),
        (
            "only colours differ",
            each(9, |n| bash("lint", if n % 2 == 0 { "\u{1b}[31merror\u{1b}[0m" } else { "error" })),
            Worst::Doom,
        ),
        ("an edit and its opposite", times(9, &[edit("a", "x", "y"), edit("a", "y", "x")]), Worst::Doom),
        (
            "two results that take turns",
            each(20, |n| bash("flip", if n % 2 == 0 { "heads" } else { "tails" })),
            Worst::Doom,
        ),
        (
            "a refusal that is not believed",
            times(9, &[bash("rm -rf x", "refused: `rm` is blocked by the project")]),
            Worst::Doom,
        ),
        ("a file that is not there", times(9, &[read("missing.txt", "no such file")]), Worst::Doom),
        (
            "an edit that does not apply, and reading the file",
            times(9, &[call("Edit", json!({"path": "a", "old": "q"}), "not found"), a()]),
            Worst::Doom,
        ),
        ("test, read, test, read", times(9, &[bash("cargo test", "1 failed"), a()]), Worst::Doom),
    ];
    assert!(cases.len() >= 25);
    for (name, calls, expected) in cases {
        assert_eq!(run(&calls), expected, "{name}");
    }
}

#[test]
fn repeated_calls_that_must_not_fire() {
    let cases: Vec<(&str, Vec<Call>)> = vec![
        ("nothing", vec![]),
        ("once more to be sure", times(2, &[read("a", "x")])),
        ("reading many files", each(200, |n| read(&format!("src/{n}.rs"), "the same licence in each"))),
        (
            "pages of one file",
            each(50, |n| call("Read", json!({"path": "a", "offset": n * 100, "limit": 100}), "…")),
        ),
        ("pages of a list", each(50, |n| call("mcp__shop__orders", json!({"page": n}), "[]"))),
        (
            "a search with other words",
            each(50, |n| call("Grep", json!({"pattern": format!("word{n}")}), "no matches")),
        ),
        ("sleep", times(100, &[bash("sleep 5", "")])),
        ("sleep and look", times(100, &[bash("sleep 5; cat status.txt", "running")])),
        ("sleep, then look", times(100, &[bash("sleep 30", ""), read("status.txt", "running")])),
        ("waiting for a workflow", times(100, &[bash("gh run watch 12", "in progress")])),
        ("looking at a workflow", times(100, &[bash("gh run view 12 --json status", "in_progress")])),
        ("a health check", times(100, &[bash("curl -sf http://localhost:8080/healthz", "503")])),
        ("waiting for a rollout", times(100, &[bash("kubectl rollout status deploy/web", "waiting")])),
        ("output of a command in the background", times(100, &[call("BashOutput", json!({"id": "1"}), "")])),
        (
            "a tool of an MCP server that waits",
            times(100, &[call("mcp__ci__job_wait", json!({"id": 1}), "pending")]),
        ),
        ("polling whose answer changes", each(100, |n| bash("make progress", format!("{n} percent")))),
        ("retries that make progress", each(20, |n| bash("cargo test", format!("{} failed", 20 - n)))),
        ("a count that falls slowly", each(40, |n| bash("cargo test", format!("{} failed", 20 - n / 2)))),
        (
            "the same test after other edits",
            (0..30)
                .flat_map(|n| {
                    [edit("a", &format!("v{n}"), &format!("v{}", n + 1)), bash("cargo test", "1 failed")]
                })
                .collect(),
        ),
        (
            "the same build after other files",
            (0..30)
                .flat_map(|n| {
                    [
                        call("Write", json!({"path": format!("f{n}"), "content": "x"}), "written"),
                        bash("cargo build", "ok"),
                    ]
                })
                .collect(),
        ),
        ("a log that grows", each(30, |n| read("log.txt", &"line\n".repeat(n)))),
        ("a queue that is worked off", each(30, |n| call("mcp__queue__next", json!({}), format!("job {n}")))),
        ("many edits of one file", each(60, |n| edit("a", &format!("l{n}"), "new"))),
        (
            "git status between commits",
            (0..20)
                .flat_map(|n| {
                    [bash("git status", "clean"), bash(&format!("git commit -m 'part {n}'"), "done")]
                })
                .collect(),
        ),
        (
            "blanks that mean something",
            each(30, |n| call("Write", json!({"path": "a", "content": " ".repeat(n)}), "written")),
        ),
        ("a plan that is ticked off", each(12, |n| call("TodoWrite", json!({"done": n}), "ok"))),
        ("a circle of six, which may be a routine", times(6, &each(6, |n| read(&format!("{n}"), "x")))),
        (
            "the same text, once an error and once not, then done",
            vec![bash("t", "x"), read("a", "1"), bash("t", "x"), read("b", "2"), bash("t", "x")],
        ),
    ];
    assert!(cases.len() >= 25);
    for (name, calls) in cases {
        assert_eq!(run(&calls), Worst::Fine, "{name}");
    }
}

#[test]
fn what_settings_call_polling_is_exempt() {
    let settings = LoopSettings {
        polling_tools: vec!["mcp__deploy__*".into()],
        polling_commands: vec!["./wait-for *".into()],
        ..LoopSettings::default()
    };
    for polled in [call("mcp__deploy__state", json!({}), "x"), bash("./wait-for db", "no")] {
        let calls = times(50, &[polled]);
        assert_eq!(run_from(LoopMemory::default(), &calls, &settings).1, Worst::Fine);
        assert_eq!(run(&calls), Worst::Doom);
    }
}

/// A child's calls continue from its parent's and are merged back afterwards.
#[test]
fn circles_across_agents() {
    let settings = LoopSettings::default();
    let look = [read("a", "x"), call("Grep", json!({"pattern": "y"}), "none")];
    let delegate = call("Task", json!({"prompt": "find y"}), "there is no y");

    // A parent that gives the same task to one child after another.
    let (mut parent, mut worst) = (LoopMemory::default(), Worst::Fine);
    for _ in 0..3 {
        let (child, said) = run_from(parent.hand_over(), &look, &settings);
        let (next, after) = one(parent.merge(&child), &delegate, &settings);
        (parent, worst) = (next, worst.max(said).max(after));
    }
    assert_eq!(worst, Worst::Notice, "a circle of three through children");

    // A child that continues its parent's cycle.
    let (parent, _) = run_from(LoopMemory::default(), &times(2, &look[..1]), &settings);
    assert_eq!(
        run_from(parent.hand_over(), &look[..1], &settings).1,
        Worst::Notice,
        "the third time, by the child"
    );

    // A child of a child.
    let (grandchild, _) = run_from(parent.hand_over().hand_over(), &look[..1], &settings);
    let parent = parent.merge(&LoopMemory::default().hand_over().merge(&grandchild));
    assert_eq!(run_from(parent, &look[..1], &settings).1, Worst::Notice, "the fourth time, at home again");

    // Children with different calls.
    let mut parent = LoopMemory::default();
    let mut worst = Worst::Fine;
    for n in 0..10 {
        let (child, said) =
            run_from(parent.hand_over(), &each(5, |m| read(&format!("{n}/{m}"), "x")), &settings);
        parent = parent.merge(&child);
        worst = worst.max(said);
    }
    assert_eq!(worst, Worst::Fine);
    assert_eq!(parent.len(), 50, "nothing is counted twice");
}

#[test]
fn it_escalates() {
    let settings = LoopSettings::default();
    let again = read("a", "x");
    let mut memory = LoopMemory::default();
    let mut said = Vec::new();
    for _ in 0..7 {
        let (next, worst) = one(memory, &again, &settings);
        memory = next;
        said.push(worst);
    }
    use Worst::{Block, Doom, Fine, Notice};
    assert_eq!(said, [Fine, Fine, Notice, Notice, Block, Block, Doom]);
    let LoopVerdict::Doom { detector, text } = check_before(&memory, again.name, &again.input, &settings)
    else {
        panic!()
    };
    assert_eq!((detector, text.as_str()), (Detector::RepeatedCalls, "`Read` 4 times with the same results"));
    assert_eq!(
        check_before(&memory, "Read", &json!({"path": "b"}).into(), &settings),
        LoopVerdict::Fine,
        "anything else may be done"
    );
}

/// Without `check_before`, `observe` still reports the loop.
#[test]
fn whoever_never_asks_before_is_told_after() {
    let settings = LoopSettings::default();
    let input: Value = json!({"path": "a"}).into();
    let mut memory = LoopMemory::default();
    let mut last = LoopVerdict::Fine;
    for _ in 0..8 {
        (memory, last) = observe(
            memory,
            CallObservation::Returned { name: "Read", input: &input, content: "x", is_error: false },
            &settings,
        );
    }
    assert!(matches!(last, LoopVerdict::Doom { detector: Detector::RepeatedCalls, .. }));
}

fn any_call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![any::<u8>().prop_map(|_| "Read"), any::<u8>().prop_map(|_| "Bash")];
    (name, 0..3_i64, 0..2_i64).prop_map(|(name, input, result)| {
        call(name, json!({ "command": format!("c{input}"), "path": input }), format!("r{result}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A memory that is serialised between any two calls gives the same verdicts, so does a repeated run, and its size
    /// stays bounded.
    #[test]
    fn a_memory_is_plain_bounded_data(calls in proptest::collection::vec(any_call(), 0..400)) {
        let settings = LoopSettings::default();
        let (mut kept, mut saved) = (LoopMemory::default(), LoopMemory::default());
        for call in &calls {
            let (next, said) = one(kept, call, &settings);
            let json = serde_json::to_string(&saved).unwrap();
            let (other, said_again) = one(serde_json::from_str(&json).unwrap(), call, &settings);
            prop_assert_eq!(said, said_again);
            prop_assert_eq!(&next, &other);
            prop_assert!(next.len() <= 256);
            (kept, saved) = (next, other);
        }
        prop_assert!(serde_json::to_string(&kept).unwrap().len() < 64 * 1024);
    }

    /// A hand-over and a merge without calls in between change only the start of counting.
    #[test]
    fn a_child_that_does_nothing_changes_nothing(calls in proptest::collection::vec(any_call(), 0..60)) {
        let (memory, _) = run_from(LoopMemory::default(), &calls, &LoopSettings::default());
        prop_assert_eq!(memory.clone().merge(&memory.hand_over()), memory);
    }
}
