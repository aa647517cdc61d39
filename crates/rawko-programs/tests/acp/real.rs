//! A real coding agent from npm, with its model simulated by a server that responds like a provider.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rawko_host::Environment;
use rawko_model::StopReason;
use rawko_programs::program::{OperationVerdict, ProgramAgent, TurnRequest, WireFormat};
use serde_json::json;

use crate::host::Host;

/// Returns a file of `target/tools/peers/node_modules`, which must exist.
fn installed(path: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/peers/node_modules");
    let file = folder.join(path);
    assert!(file.exists(), "{} is not installed: run `cargo xtask tools`", file.display());
    file
}

/// The binary itself: the package's launcher requires an install script to have run.
fn opencode() -> PathBuf {
    match std::env::consts::ARCH {
        "aarch64" => installed("opencode-linux-arm64/bin/opencode"),
        _ => installed("opencode-linux-x64-baseline/bin/opencode"),
    }
}

/// A provider with a fixed response that requests a command when prompted to. Killed on drop.
struct Provider {
    child: Child,
    address: String,
}

impl Provider {
    fn start(folder: &Path) -> Self {
        let fixtures = folder.join("fixtures.json");
        let touch =
            json!({"name": "bash", "arguments": {"command": "touch made", "description": "makes it"}});
        let answer = json!({"fixtures": [
            {
                "match": {"userMessage": "make it", "toolName": "bash", "hasToolResult": false},
                "response": {"toolCalls": [touch]}
            },
            {"match": {}, "response": {"content": "Hello from the mock."}}
        ]});
        std::fs::write(&fixtures, answer.to_string()).unwrap();
        let mut child = Command::new("node")
            .arg(installed("@copilotkit/aimock/package.json").parent().unwrap().join("dist/cli.js"))
            .args(["--port", "0", "--fixtures"])
            .arg(fixtures)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on ") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "the provider ended before it listened");
        }
        let address = line.rsplit("listening on ").next().unwrap().trim().to_owned();
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// opencode in its own project and home, with the provider as its only model.
fn agent(folder: &Path, provider: &Provider) -> ProgramAgent {
    let (project, home) = (folder.join("project"), folder.join("home"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(&home).unwrap();
    let models = json!({
        "model": "mock/m",
        "autoupdate": false,
        "share": "disabled",
        "permission": {"bash": "ask"},
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": format!("{}/v1", provider.address), "apiKey": "none"},
            "models": {"m": {"name": "m"}}
        }}
    });
    std::fs::write(project.join("opencode.json"), models.to_string()).unwrap();
    let mut agent = ProgramAgent::new(
        WireFormat::acp(),
        opencode().to_string_lossy(),
        project,
        Environment::of_process(),
    );
    agent.args = vec!["acp".into()];
    // Its model is outside of the sandbox.
    agent.profile = rawko_process::Profile::Trusted;
    let home = |part: &str| home.join(part).to_string_lossy().into_owned();
    agent.env = vec![
        ("HOME".into(), home("")),
        ("XDG_CONFIG_HOME".into(), home("config")),
        ("XDG_DATA_HOME".into(), home("data")),
        ("XDG_CACHE_HOME".into(), home("cache")),
        ("XDG_STATE_HOME".into(), home("state")),
    ];
    for switch in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        agent.env.push((format!("OPENCODE_DISABLE_{switch}"), "1".into()));
    }
    agent
}

#[tokio::test]
async fn opencode_completes_a_turn_and_its_session_can_be_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start(folder.path());
    let agent = agent(folder.path(), &provider);
    let mut session = None;
    for round in ["new", "loaded"] {
        let request = TurnRequest {
            agent: "opencode".into(),
            prompt: "say hello".into(),
            session: session.clone(),
            ..TurnRequest::default()
        };
        let host = Host::default();
        let turn = tokio::time::timeout(Duration::from_secs(240), agent.turn(request, &host)).await;
        let result = turn.expect("an end in time").unwrap();
        assert_eq!(result.text, "Hello from the mock.", "{round}");
        assert_eq!(result.stop_reason, StopReason::Stop, "{round}");
        assert!(result.usage.output_tokens > 0 && !result.usage.is_estimate, "{round}: {:?}", result.usage);
        assert!(host.seen().contains("Hello from the mock."), "{round}: heard while it came");
        assert!(session.is_none() || session == result.session, "{round}: the same session");
        session = result.session;
    }
}

#[tokio::test]
async fn opencode_runs_a_command_only_when_the_gate_lets_it() {
    for (verdict, is_made) in [(OperationVerdict::Deny, false), (OperationVerdict::Allow, true)] {
        let folder = tempfile::tempdir().unwrap();
        let provider = Provider::start(folder.path());
        let agent = agent(folder.path(), &provider);
        let request = TurnRequest { prompt: "make it".into(), ..TurnRequest::default() };
        let host = Host { verdict: verdict.clone(), ..Host::default() };
        let turn = tokio::time::timeout(Duration::from_secs(240), agent.turn(request, &host)).await;
        let result = turn.expect("an end in time");
        assert!(result.is_ok(), "{verdict:?}: {result:?}");
        assert!(host.seen().contains("asked Execute"), "{verdict:?}: {}", host.seen());
        assert!(host.seen().contains("touch made"), "{verdict:?}: {}", host.seen());
        assert_eq!(agent.cwd.join("made").exists(), is_made, "{verdict:?}: {}", host.seen());
    }
}
