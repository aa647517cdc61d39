//! Settings of tasks, the arbiter and memories, and their findings.

use std::fmt::Write;
use std::fs;

use expect_test::expect;
use rawko_agents::work::AgentServices;
use rawko_host::{Environment, Settings};

fn read(files: &[(&str, &str)]) -> (AgentServices, String) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let environment: Environment = [("HOME", "/nonexistent")].into_iter().collect();
    let (settings, problems) = Settings::read_in(dir.path(), &environment);
    assert!(problems.is_empty(), "{problems:?}");
    let (agent_services, problems) = AgentServices::read(dir.path(), &settings);
    let mut told = String::new();
    for (source, findings) in problems {
        for finding in findings {
            let help = finding.help.unwrap_or_default();
            writeln!(told, "{}: {:?}: {} ({help})", source.name, finding.severity, finding.message).unwrap();
        }
    }
    (agent_services, told)
}

const AGENT: &str = "---\nname: developer\nwhenToUse: For code.\n---\nYou write code.\n";

#[tokio::test]
async fn everything_that_can_be_said() {
    let settings = "
arbiter: {model: demo/judge, fallback_agent: developer, planner: planner, retries: 1, select_prompt: 'Who? {agents}'}
task: {max_iterations: 7, max_failures: 2, timeout: 1h, agent_timeout: 10m, arbiter_timeout: 1m, back_off_first: 5ms}
memories: {remember: false, tokens_max: 50, model: demo/small}
";
    let files = [
        (".rawko/config.yaml", settings),
        (".rawko/agents/developer.md", AGENT),
        (".rawko/prompts/evaluate.md", "How? {last}"),
    ];
    let (agent_services, told) = read(&files);
    assert_eq!(told, "");
    assert_eq!(agent_services.arbiter.model.as_deref(), Some("demo/judge"));
    assert_eq!((agent_services.arbiter.retries, agent_services.arbiter.planner.as_str()), (1, "planner"));
    assert_eq!((agent_services.memories.remember, agent_services.memories.tokens_max), (false, 50));
    expect![[r#"{"maxIterations":7,"maxFailures":2,"timeoutMs":3600000,"agentTimeoutMs":600000,"arbiterTimeoutMs":60000,"backoffMs":5}"#]]
        .assert_eq(&rawko_core::Value::Map(agent_services.task.input.clone().into()).to_string());
    let names: Vec<String> = agent_services.profiles().into_iter().map(|profile| profile.name).collect();
    assert_eq!(names, ["developer"], "rawko's own agents step back");
    let names: Vec<String> = read(&[]).0.profiles().into_iter().map(|profile| profile.name).collect();
    assert_eq!(names, ["builder", "explorer", "planner"], "where there are no others");
}

#[tokio::test]
async fn memories_that_cannot_be_read_are_mentioned() {
    let (_, told) = read(&[(".rawko/memories", "a file where a folder should be")]);
    expect![[r#"
        .rawko/memories: Warning: memories cannot be read: Not a directory (os error 20) ()
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn everything_that_can_be_wrong() {
    let settings = "
arbiter: {fallback_agent: devloper, retries: -1, modell: x}
task: {max_iterations: 0, timeout: soon}
memories: {remember: maybe, tokens_max: few}
";
    let files = [
        (".rawko/config.yaml", settings),
        (".rawko/agents/developer.md", AGENT),
        (".rawko/prompts/select.md", "Do {taks}"),
        (".rawko/memories/broken.md", "---\ntitle: [\n---\n"),
    ];
    expect![[r#"
        .rawko/config.yaml: Error: `arbiter` has no key `modell` (did you mean `model`?)
        .rawko/config.yaml: Error: there is no agent `devloper` (did you mean `developer`?)
        .rawko/config.yaml: Error: `retries` of `arbiter` must be at least 0 (write a larger number)
        .rawko/config.yaml: Error: `max_iterations` of `task` must be at least 1 (write a larger number)
        .rawko/config.yaml: Error: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H` (`timeout` of `task` is a duration)
        .rawko/config.yaml: Error: `remember` of `memories` must be true or false ()
        .rawko/config.yaml: Error: `tokens_max` of `memories` must be a whole number ()
        .rawko/prompts: Warning: the prompt `select` has an unknown placeholder `{taks}` (the placeholders are task, plan, agents, history, error, last, checks, iteration, maxIterations, constraints and decisions)
        .rawko/memories/broken.md: Warning: invalid YAML: unclosed bracket '[' ()
        .rawko/memories/broken.md: Warning: this memory has no text ()
    "#]].assert_eq(&read(&files).1);
}
