//! A project directory with agents: read, trusted, scripted, streamed, and a whole task.

use std::path::Path;
use std::sync::Arc;

use rawko::{Error, Event, Project, ProjectOptions, Scripted, ServiceError, service, task};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

#[derive(Serialize, Deserialize)]
struct Draft {
    text: String,
}

#[derive(Serialize, Deserialize)]
struct Published {
    url: String,
}

async fn publish(draft: Draft) -> Result<Published, ServiceError> {
    Ok(Published { url: format!("https://example.test/{}", draft.text) })
}

/// Copies the project of the outside program.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/embed/project");
    for file in [".rawko/config.yaml", ".rawko/agents/writer.md", ".rawko/charts/article.yaml"] {
        std::fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
        std::fs::copy(from.join(file), dir.path().join(file)).unwrap();
    }
    dir
}

fn options(script: &str) -> (ProjectOptions, Arc<Scripted>) {
    let script = Arc::new(Scripted::of_text("script.yaml", script).unwrap());
    let options = Project::options().service(service("publish", publish)).scripted(Arc::clone(&script));
    (options.in_memory().trust_files(), script)
}

#[tokio::test]
async fn an_agent_writes_and_a_typed_service_publishes() {
    let dir = project();
    let (options, script) = options("- {agent: writer, text: hello}");
    let project = options.open(dir.path()).await.unwrap();
    assert!(project.agents().contains(&"writer".to_owned()));
    let article = project.actor_of("article", json!({"topic": "greetings"})).await.unwrap();
    let mut events = article.events();
    let output: Published = article.result().await.unwrap();
    assert_eq!(output.url, "https://example.test/hello");
    let mut said = String::new();
    while let Some(event) = events.next().await {
        if let Event::Text { agent, text } = event {
            assert_eq!(agent, "writer");
            said.push_str(&text);
        }
    }
    assert_eq!(said, "hello");
    assert_eq!(script.unused(), Vec::<String>::new());
    project.close().await;
}

#[tokio::test]
async fn tool_calls_are_events_with_their_input() {
    let dir = project();
    let writer = "---\nname: writer\ndescription: Writes\ntools: {allowed: [Read]}\n---\nYou write.\n";
    std::fs::write(dir.path().join(".rawko/agents/writer.md"), writer).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "hello\n").unwrap();
    let (options, _) = options(
        "- agent: writer\n  steps:\n    - tool_calls: [{name: Read, input: {path: notes.txt}}]\n    - text: hello\n",
    );
    let project = options.open(dir.path()).await.unwrap();
    let article = project.actor_of("article", json!({"topic": "greetings"})).await.unwrap();
    let mut events = article.events();
    article.result::<Published>().await.unwrap();
    let mut calls = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::ToolCall { agent, name, input, .. } = event {
            calls.push((agent, name, input));
        }
    }
    assert_eq!(calls, [("writer".to_owned(), "Read".to_owned(), json!({"path": "notes.txt"}))]);
    project.close().await;
}

#[tokio::test]
async fn a_script_that_does_not_fit_fails_instead_of_asking_a_model() {
    let dir = project();
    let (options, script) = options("- {agent: painter, text: hello}");
    let project = options.open(dir.path()).await.unwrap();
    let article = project.actor_of("article", json!({"topic": "greetings"})).await.unwrap();
    assert_eq!(article.result::<Json>().await.unwrap(), json!({"url": "none"}));
    assert_eq!(script.unused().len(), 1);
}

#[tokio::test]
async fn untrusted_files_are_not_used() {
    // `.cargo/config.toml` trusts the projects of this repository, so this test runs again without that.
    if std::env::var_os("RAWKO_TRUST").is_some() {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "agents::untrusted_files_are_not_used"])
            .env_remove("RAWKO_TRUST")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let dir = project();
    let options = Project::options().service(service("publish", publish)).in_memory();
    match options.open(dir.path()).await {
        Err(Error::Untrusted(message)) => assert!(message.contains("rawko trust"), "{message}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

#[tokio::test]
async fn invalid_agents_and_settings_are_reported_with_their_places() {
    let dir = project();
    std::fs::write(dir.path().join(".rawko/agents/broken.md"), "---\nname: broken\ntols: [Read]\n---\nx\n")
        .unwrap();
    let (options, _) = options("- {agent: writer, text: hello}");
    match options.open(dir.path()).await {
        Err(Error::Invalid(findings)) => assert!(findings.contains("tols"), "{findings}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

#[tokio::test]
async fn a_task_is_one_call() {
    let dir = project();
    let (options, script) = options(
        "- {agent: writer, text: The article is written.}\n\
         - agent: arbiter\n  steps:\n    - data: {type: COMPLETE, reason: it is written, summary: it is written}\n",
    );
    let project = options.open(dir.path()).await.unwrap();
    let running = task("Write about greetings").agent("writer").max_iterations(3);
    let result = running.run_in(&project).await.unwrap();
    assert!(result.is_complete(), "{result:?} {:?}", script.unused());
    assert_eq!((result.iterations, result.verified), (1, false));
    let unknown = task("Write").agent("unknown").start(&project).await;
    assert!(matches!(unknown, Err(Error::Usage(message)) if message.contains("writer")));
    project.close().await;
}
