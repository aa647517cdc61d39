//! Grants: layers only narrow, a tool is refused under all its names, and a refusal names the rule and its source.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_core::Value;
use rawko_model::ToolSpec;
use rawko_tools::{
    BashFilter, Grant, GrantLayer, ProjectAccess, ToolFuture, ToolOutcome, ToolSettings, ToolSource, Toolbox,
};
use serde_json::json;

use super::support::{Bench, allowing, blocking, call, verdict};

/// A source with two tools.
struct Elsewhere;

impl ToolSource for Elsewhere {
    fn specs(&self, _: ProjectAccess) -> Pin<Box<dyn Future<Output = Vec<ToolSpec>> + Send + '_>> {
        let spec =
            |name: &str| ToolSpec { name: name.into(), description: "…".into(), input_schema: Value::NULL };
        Box::pin(async move { vec![spec("mcp__git__log"), spec("mcp__git__push")] })
    }

    fn has(&self, name: &str) -> bool {
        name.starts_with("mcp__git__")
    }

    fn is_safe_to_repeat(&self, name: &str) -> bool {
        name == "mcp__git__log"
    }

    fn call<'a>(&'a self, name: &'a str, input: Value, _: ProjectAccess) -> ToolFuture<'a> {
        Box::pin(async move { ToolOutcome::ok(format!("{name} {input}")) })
    }
}

async fn names(toolbox: &Toolbox, grant: &Grant) -> String {
    toolbox.specs(grant).await.into_iter().map(|spec| spec.name).collect::<Vec<_>>().join(" ")
}

fn toolbox(bench: &Bench) -> Toolbox {
    Toolbox::new(&bench.root(), ToolSettings::default()).with_source(Arc::new(Elsewhere))
}

#[tokio::test]
async fn a_model_is_told_of_what_it_may_use() {
    let bench = Bench::new();
    let toolbox = toolbox(&bench);
    for (grant, expected) in [
        (
            Grant::default(),
            "Read Write Edit Glob Grep Bash WebFetch PlanWrite PlanRead PlanUpdate Think mcp__git__log mcp__git__push",
        ),
        (
            Grant::new([allowing(&["grep", "readFile", "mcp__git__*"])]),
            "Read Grep mcp__git__log mcp__git__push",
        ),
        (
            Grant::new([allowing(&["*"]), blocking(&["mcp__*", "Plan*", "Bash"])]),
            "Read Write Edit Glob Grep WebFetch Think",
        ),
        (Grant::new([allowing(&["Read", "Write"]), allowing(&["Write", "Edit"])]), "Write"),
        (Grant::new([allowing(&["Bash(git log:*)"])]), "Bash"),
        (Grant::new([allowing(&[])]), ""),
    ] {
        assert_eq!(names(&toolbox, &grant).await, expected, "{grant:?}");
    }
}

#[tokio::test]
async fn a_refusal_says_which_rule_and_what_is_allowed() {
    let bench = Bench::new();
    let grant = Grant::new([allowing(&["Read", "Grep"])]);
    let refused = bench.run_in(&grant, "writeFile", json!({ "path": "x", "content": "" })).await;
    assert_eq!(
        refused.content,
        "refused: `Write` is not allowed in the phase `research` (`phases.research.tools`) (rule tool_not_allowed). \
         Allowed here: Read, Grep."
    );
    let grant = Grant::new([blocking(&["editFile"])]);
    let refused = bench.run_in(&grant, "Edit", json!({})).await;
    assert!(
        refused.content.starts_with(
            "refused: `Edit` is blocked by `editFile` in the agent `reviewer` (rule tool_blocked"
        )
    );
}

/// Every name of a tool, under a layer that blocks any other name of it.
#[tokio::test]
async fn a_tool_is_blocked_under_all_its_names() {
    let bench = Bench::new();
    for names in [
        ["Read", "readFile", "read_file"],
        ["Write", "createFile", "WRITE_FILE"],
        ["Edit", "editFile", "strReplace"],
        ["Glob", "listFiles", "glob"],
        ["Grep", "searchCode", "search"],
        ["Bash", "runCommand", "execute-command"],
        ["WebFetch", "fetch", "web_fetch"],
        ["PlanUpdate", "updatePlan", "planupdate"],
    ] {
        for blocked in names {
            for called in names {
                let outcome = bench.run_in(&Grant::new([blocking(&[blocked])]), called, json!({})).await;
                assert_eq!(verdict(&outcome), "tool_blocked", "{called} where {blocked} is blocked");
                let outcome = bench.run_in(&Grant::new([allowing(&[blocked])]), called, json!({})).await;
                assert_ne!(verdict(&outcome), "tool_not_allowed", "{called} where {blocked} is allowed");
            }
        }
    }
}

#[tokio::test]
async fn sources_are_behind_the_same_gate() {
    let bench = Bench::new();
    let toolbox = toolbox(&bench);
    let (input, plan) = (Value::from_json(json!({ "n": 1 })), Value::NULL);
    let grant = Grant::new([blocking(&["mcp__git__push"])]);
    let run = async |name: &'static str| toolbox.run(call(name, &input, &plan), &grant).await;
    assert_eq!(run("mcp__git__log").await.content, "mcp__git__log {\"n\":1}");
    assert_eq!(verdict(&run("mcp__git__push").await), "tool_blocked");
    let unknown = run("mcp__other__x").await;
    assert!(
        unknown.content.starts_with("there is no tool `mcp__other__x`. Allowed here: Read,"),
        "{}",
        unknown.content
    );
}

#[test]
fn what_is_safe_to_repeat_is_known() {
    let bench = Bench::new();
    let toolbox = toolbox(&bench);
    for (name, expected) in [
        ("Read", true),
        ("Write", true),
        ("Edit", true),
        ("Bash", false),
        ("shell", false),
        ("PlanUpdate", true),
        ("mcp__git__log", true),
        ("mcp__git__push", false),
    ] {
        assert_eq!(toolbox.is_safe_to_repeat(name), expected, "{name}");
    }
    assert_eq!(toolbox.canonical_name("read_file").as_deref(), Some("Read"));
}

#[tokio::test]
async fn wrong_input_is_explained() {
    let bench = Bench::new();
    let outcome = bench.run("Edit", json!({ "path": 3, "file": "x" })).await;
    assert!(outcome.is_error && outcome.refusal.is_none());
    for part in [
        "the input of `Edit` is wrong: ",
        "\"old_string\" is a required property",
        "/path: 3 is not of type \"string\"",
        "('file' was unexpected)",
        "It takes path, old_string, new_string, replace_all (optional).",
    ] {
        assert!(outcome.content.contains(part), "{part} in {}", outcome.content);
    }
}

#[test]
fn problems_of_rules_are_told() {
    let layer = GrantLayer {
        source: "the agent".into(),
        allowed: Some(vec!["Read(src/**)".into()]),
        bash: Some(BashFilter { blocked_patterns: vec!["rm (".into()], ..BashFilter::default() }),
        ..GrantLayer::default()
    };
    assert_eq!(
        Grant::new([layer]).problems(),
        [
            "the agent: `rm (` is not a regular expression: unclosed group",
            "the agent: `Read(src/**)`: only Bash can be narrowed in parentheses, `Read` cannot",
        ]
    );
}
