//! HOOK: time of one decision of `rawko hook`, each in a process of its own, as Claude Code waits for it before every tool
//! call. Measured from outside, with the JSON that Claude Code sends.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::peers::Peer;
use super::samples::Samples;
use super::tools::Tools;

/// Decisions of a repetition; enough for a 99th percentile.
const DECISIONS: usize = 200;

pub(crate) fn measure(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("rawko-bench-hook-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("project"))?;
    let measured = decisions(&tools.rawko, &folder);
    std::fs::remove_dir_all(&folder)?;
    let mut times = measured?;
    times.sort_by(f64::total_cmp);
    samples.add(peer, "hook", "median_ms", times[DECISIONS / 2], None);
    samples.add(peer, "hook", "p99_ms", times[DECISIONS * 99 / 100 - 1], None);
    Ok(())
}

/// Returns the time of each decision in milliseconds. Every one refuses an edit before the plan is approved.
fn decisions(rawko: &Path, folder: &Path) -> Result<Vec<f64>> {
    let project = folder.join("project");
    let set_up = command(rawko, folder).args(["init", "--claude"]).output()?;
    ensure!(set_up.status.success(), "`rawko init --claude` failed");
    let hook = |event: &str| {
        json!({
            "session_id": "bench", "transcript_path": folder.join("transcript.jsonl"), "cwd": project,
            "permission_mode": "default", "hook_event_name": event, "source": "startup", "tool_name": "Edit",
            "tool_input": {"file_path": project.join("a.py"), "old_string": "a", "new_string": "b"},
        })
        .to_string()
    };
    decide(rawko, folder, &hook("SessionStart"))?;
    let edit = hook("PreToolUse");
    let one = |_| {
        let began = Instant::now();
        let answer = decide(rawko, folder, &edit)?;
        let elapsed = began.elapsed();
        ensure!(answer.contains("\"deny\""), "the edit was not refused: {answer}");
        Ok(elapsed.as_secs_f64() * 1e3)
    };
    (0..DECISIONS).map(one).collect()
}

fn decide(rawko: &Path, folder: &Path, input: &str) -> Result<String> {
    let mut command = command(rawko, folder);
    command.args(["hook", "--chart", "plan_first"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("could not be started")?;
    child.stdin.take().context("stdin is piped")?.write_all(input.as_bytes())?;
    Ok(String::from_utf8(child.wait_with_output()?.stdout)?)
}

fn command(rawko: &Path, folder: &Path) -> Command {
    let mut command = Command::new(rawko);
    command.current_dir(folder.join("project")).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    command.env("RAWKO_STATE_DIR", folder.join("state")).env("RAWKO_TRUST", "all").env_remove("RAWKO_CALL");
    command.stderr(Stdio::null());
    command
}
