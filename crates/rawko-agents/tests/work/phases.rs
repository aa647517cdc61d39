//! A phase's restrictions hold for every form of a call, and the model's next prompt contains the reason.

use serde_json::json;

use crate::yard::{Yard, exists, yard};

/// The read-only phases.
const LOOKING: [&str; 5] = ["analyze_code", "research", "design", "validate", "explore"];

/// Ways to write a file, each as a model's tool call. All of them must fail in a read-only phase.
fn ways_to_write() -> Vec<(&'static str, &'static str, serde_json::Value)> {
    let bash = |command: &str| json!({"command": command});
    vec![
        ("the tool itself", "Write", json!({"path": "out.txt", "content": "x"})),
        ("an edit", "Edit", json!({"path": "a.txt", "old_string": "a", "new_string": "b"})),
        ("an alias", "writeFile", json!({"path": "out.txt", "content": "x"})),
        ("another alias", "editFile", json!({"path": "a.txt", "old_string": "a", "new_string": "b"})),
        ("the name of an MCP server's tool", "mcp__files__write", json!({"path": "out.txt"})),
        ("a redirection", "Bash", bash("echo x > out.txt")),
        ("a pipeline", "Bash", bash("echo x | tee out.txt")),
        ("the second of two commands", "Bash", bash("ls && touch out.txt")),
        ("a substitution", "Bash", bash("echo $(touch out.txt)")),
        ("backticks", "Bash", bash("echo `touch out.txt`")),
        ("a shell in the shell", "Bash", bash("sh -c 'touch out.txt'")),
        ("an absolute path", "Bash", bash("/usr/bin/touch out.txt")),
        ("a wrapper", "Bash", bash("env X=1 nice touch out.txt")),
        ("find", "Bash", bash("find . -name a.txt -exec cp {} out.txt \\;")),
        ("a file outside", "Write", json!({"path": "/tmp/rawko-out.txt", "content": "x"})),
        ("a symlink out", "Write", json!({"path": "link/out.txt", "content": "x"})),
    ]
}

fn script(tool: &str, input: &serde_json::Value) -> String {
    let call = json!([{ "name": tool, "input": input }]);
    let steps = json!([{"steps": [{"tool_calls": call}, {"text": "I see."}]}]);
    serde_yaml(&steps)
}

/// JSON is valid YAML.
fn serde_yaml(value: &serde_json::Value) -> String {
    value.to_string()
}

fn project(tool: &str, input: &serde_json::Value) -> Yard {
    let yard = yard(&script(tool, input)).file("a.txt", "a\n");
    // Starting a server takes longer than the rest of this test.
    let yard = if tool.starts_with("mcp__") { with_files_server(yard) } else { yard };
    std::os::unix::fs::symlink(std::env::temp_dir(), yard.root().join("link")).unwrap();
    yard
}

/// An MCP server whose only tool writes a file.
const FILES_SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    if ask["method"] == "initialize":
        answer = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    elif ask["method"] == "tools/list":
        answer = {"tools": [{"name": "write", "description": "Writes out.txt.", "inputSchema": {"type": "object"}}]}
    else:
        open("out.txt", "w").write("x")
        answer = {"content": [{"type": "text", "text": "written"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answer}), flush=True)
"#;

fn with_files_server(yard: Yard) -> Yard {
    let servers = json!({"mcpServers": {"files": {"command": "python3", "args": ["files_server.py"]}}});
    yard.file("files_server.py", FILES_SERVER).file(".mcp.json", &servers.to_string())
}

/// The server is real: where its tool is allowed, it writes.
#[tokio::test]
async fn a_tool_of_an_mcp_server_works_where_it_is_allowed() {
    let yard = project("mcp__files__write", &json!({}));
    yard.run("one", json!({})).await;
    assert!(yard.last_prompt().contains("written"), "{}", yard.last_prompt());
    assert!(exists(&yard.root(), "out.txt"));
}

#[tokio::test]
async fn a_phase_that_looks_writes_in_no_way() {
    for phase in LOOKING {
        for (way, tool, input) in ways_to_write() {
            let yard = project(tool, &input);
            // The phase's exit requirements are not tested here.
            yard.run("one", json!({"phase": phase, "goal": {"needs": []}})).await;
            let prompt = yard.last_prompt();
            assert!(prompt.contains("refused"), "{phase}: {way}: {prompt}");
            assert!(!exists(&yard.root(), "out.txt"), "{phase}: {way}");
            assert_eq!(yard.read("a.txt").as_deref(), Some("a\n"), "{phase}: {way}");
        }
    }
}

#[tokio::test]
async fn a_refusal_names_the_rule_and_where_to_change_it() {
    let yard = project("Write", &json!({"path": "out.txt", "content": "x"}));
    yard.run("one", json!({"phase": "research", "goal": {"needs": []}})).await;
    let prompt = yard.last_prompt();
    for words in ["`Write`", "the phase `research`", "phases.research.tools", "tool_not_allowed"] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
}

/// A sub-agent whose own file allows everything has no more rights than its caller.
#[tokio::test]
async fn a_sub_agent_has_no_more_rights_than_its_caller() {
    for (way, tool, input) in ways_to_write() {
        let call = json!([{ "name": tool, "input": input }]);
        let send = json!([{"name": "Task", "input": {"agent": "helper", "prompt": "Write it for me."}}]);
        let scripts = json!([
            {"agent": "worker", "steps": [{"tool_calls": send}, {"text": "It would not."}]},
            {"agent": "helper", "steps": [{"tool_calls": call}, {"expect": "refused", "text": "I may not."}]},
        ]);
        let yard = yard(&scripts.to_string());
        let yard = if tool.starts_with("mcp__") { with_files_server(yard) } else { yard };
        let yard = yard
            .file("a.txt", "a\n")
            .file(".rawko/agents/helper.md", "---\nname: helper\nwhenToUse: For help.\n---\nYou help.\n");
        std::os::unix::fs::symlink(std::env::temp_dir(), yard.root().join("link")).unwrap();
        let output = yard.run("one", json!({"phase": "analyze_code", "goal": {"needs": []}})).await;
        assert_eq!(output.get("text").as_str(), Some("It would not."), "{way}: {output}");
        assert!(!exists(&yard.root(), "out.txt"), "{way}");
        assert_eq!(yard.read("a.txt").as_deref(), Some("a\n"), "{way}");
    }
}

/// In a writing phase the restrictions of an enclosing state still apply, and everything else works.
#[tokio::test]
async fn a_state_narrows_what_a_phase_allows() {
    const STRICT: &str = "
statechart:
  id: strict
  initial: working
  context: {result: null}
  states:
    working:
      tools: {blocked: [editFile]}
      invoke:
        id: work
        src: agent:worker
        input: {prompt: \"'Do it.'\", phase: \"'implement'\", goal: {needs: []}}
        onDone: {target: done, actions: [{type: assign, context_updates: {result: event.data}}]}
        onError: {target: done, actions: [{type: assign, context_updates: {result: event.data}}]}
    done: {type: final, output: context.result}
";
    let edit = json!({"path": "a.txt", "old_string": "a", "new_string": "b"});
    let yard = project("Edit", &edit).chart(STRICT);
    yard.run("strict", json!({})).await;
    assert!(
        yard.last_prompt().contains("the state `working` of the chart `strict`"),
        "{}",
        yard.last_prompt()
    );
    assert_eq!(yard.read("a.txt").as_deref(), Some("a\n"));

    let yard = project("Edit", &edit);
    yard.run("one", json!({"phase": "implement"})).await;
    assert_eq!(yard.read("a.txt").as_deref(), Some("b\n"));
}

/// A tool that governance denies is denied under all its names.
#[tokio::test]
async fn an_alias_does_not_get_past_governance() {
    let yard = project("editFile", &json!({"path": "a.txt", "old_string": "a", "new_string": "b"}))
        .replace_settings(
            "governance: {allow: ['agent:*', 'checks:*', 'note']}",
            "governance: {allow: ['agent:*'], deny: ['tool:Edit']}",
        );
    yard.run("one", json!({})).await;
    assert!(yard.last_prompt().contains("governance.deny"), "{}", yard.last_prompt());
    assert_eq!(yard.read("a.txt").as_deref(), Some("a\n"));
}

#[tokio::test]
async fn a_scripted_agent_has_a_script_of_its_own() {
    let yard =
        project("Read", &json!({"path": "a.txt"})).file("own.yaml", "- text: From my own script.\n").file(
            ".rawko/agents/parrot.md",
            "---\nname: parrot\nwhenToUse: Never.\nkind: scripted\nscript: own.yaml\n---\nYou repeat.\n",
        );
    let output = yard.run("one", json!({"agent": "parrot"})).await;
    assert_eq!(output.get("text").as_str(), Some("From my own script."), "{output}");
}

/// The writing phase has its limits too: tools it does not name, and everything outside the project.
#[tokio::test]
async fn the_phase_that_writes_stays_within_its_tools_and_the_project() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("out.txt").display().to_string();
    let bash = |command: String| json!({"command": command});
    let ways = [
        ("a tool it does not name", "WebFetch", json!({"url": "http://example.test/"})),
        ("an alias of it", "fetch", json!({"url": "http://example.test/"})),
        ("the name of an MCP server's tool", "mcp__files__write", json!({})),
        ("an absolute path", "Write", json!({"path": target, "content": "x"})),
        ("a path upward", "Write", json!({"path": "../out.txt", "content": "x"})),
        ("a symlink out", "Write", json!({"path": "link/rawko-out.txt", "content": "x"})),
        ("a redirection out", "Bash", bash(format!("echo x > {target}"))),
        ("a pipeline out", "Bash", bash(format!("echo x | tee {target}"))),
        ("a substitution", "Bash", bash(format!("echo $(echo x > {target})"))),
        ("a shell in the shell", "Bash", bash(format!("sh -c 'echo x > {target}'"))),
    ];
    for (way, tool, input) in ways {
        let yard = project(tool, &input);
        yard.run("one", json!({"phase": "implement", "goal": {"needs": []}})).await;
        // Rules refuse it, or there is no such place in the sandbox.
        let held = ["refused", "No such file or directory", "Directory nonexistent"]
            .iter()
            .any(|word| yard.last_prompt().contains(word));
        assert!(held, "{way}: {}", yard.last_prompt());
        assert!(!outside.path().join("out.txt").exists(), "{way}");
        assert!(!exists(&yard.root(), "out.txt") && !exists(&yard.root(), "link/rawko-out.txt"), "{way}");
    }
}
