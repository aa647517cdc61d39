//! AT: three tool calls of one second in one completion, and sixteen sub-agents that need one second each. Measured from
//! outside: the time of a whole command with scripted models, so that the start of the program counts, too.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, ensure};

use super::peers::Peer;
use super::samples::Samples;
use super::tools::Tools;

const CALLS: usize = 3;
const AGENTS: usize = 16;

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
";

const CHART: &str = "
statechart:
  id: one
  version: 1.0.0
  initial: working
  states:
    working: {invoke: {id: work, src: 'agent:AGENT', input: {prompt: \"'Do it'\"}, onDone: done, onError: failed}}
    done: {type: final, output: event.data.text}
    failed: {type: final, tags: [error], output: event.data}
";

pub(crate) fn measure(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("rawko-bench-together-{}", std::process::id()));
    let measured = set_up(&folder).and_then(|()| {
        let calls = seconds(&tools.rawko, &folder, "calls")?;
        Ok((calls, seconds(&tools.rawko, &folder, "agents")?))
    });
    let _ = std::fs::remove_dir_all(&folder);
    let (calls, agents) = measured?;
    samples.add(peer, "at", "calls_s", calls, None);
    samples.add(peer, "at", "agents_s", agents, None);
    Ok(())
}

fn set_up(folder: &Path) -> Result<()> {
    let agents = folder.join(".rawko/agents");
    std::fs::create_dir_all(&agents)?;
    for name in ["calls", "agents", "helper"] {
        let text = format!("---\nname: {name}\nwhenToUse: To wait\n---\nYou wait.\n");
        std::fs::write(agents.join(format!("{name}.md")), text)?;
    }
    for name in ["calls", "agents"] {
        std::fs::write(folder.join(format!("{name}.yaml")), CHART.replace("AGENT", name))?;
    }
    std::fs::write(folder.join(".rawko/config.yaml"), SETTINGS)?;
    let calls = |count: usize, call: &str| {
        let all: String = (0..count).map(|number| call.replace("NUMBER", &number.to_string())).collect();
        format!("  steps:\n    - tool_calls:\n{all}    - text: All of them.\n")
    };
    let sleep = "        - {name: Bash, input: {command: sleep 1}}\n";
    let task = "        - {name: Task, input: {agent: helper, prompt: part NUMBER}}\n";
    let script = format!(
        "- agent: calls\n{}- agent: agents\n{}- agent: helper\n  steps: [{{text: Helped., delay_ms: 1000}}]\n",
        calls(CALLS, sleep),
        calls(AGENTS, task)
    );
    std::fs::write(folder.join(".rawko/script.yaml"), script)?;
    Ok(())
}

/// Returns the time of a run, and fails if it gives another result.
fn seconds(rawko: &Path, folder: &Path, name: &str) -> Result<f64> {
    let mut command = Command::new(rawko);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_CACHE_HOME");
    command.env("RAWKO_STATE_DIR", folder.join("state")).env("RAWKO_TRUST", "all").env_remove("RAWKO_CALL");
    command.args(["run", &format!("{name}.yaml"), "--output-format", "json"]).stdin(Stdio::null());
    let began = Instant::now();
    let done = command.output()?;
    let elapsed = began.elapsed();
    let answer = String::from_utf8_lossy(&done.stdout);
    ensure!(answer.contains("All of them."), "{answer}{}", String::from_utf8_lossy(&done.stderr));
    Ok(elapsed.as_secs_f64())
}
