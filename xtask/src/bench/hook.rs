//! HOOK: time of one decision of `rawko hook`, each in a process of its own, as Claude Code waits for it before every tool
//! call. Measured from outside, with the JSON that Claude Code sends.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::peers::Peer;
use super::samples::Samples;
use super::tools::Tools;

/// Decisions of a repetition; enough for a 99th percentile.
const DECISIONS: usize = 200;
/// Sessions that begin, and plans that are submitted: hooks that move a run, and so start a host.
const MOVES: usize = 40;

pub(crate) fn measure(tools: &Tools, peer: Peer, samples: &mut Samples) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("rawko-bench-hook-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("project"))?;
    let measured = times(&tools.rawko, &folder);
    std::fs::remove_dir_all(&folder)?;
    let HookTimes { mut edits, mut starts, mut plans } = measured?;
    for times in [&mut edits, &mut starts, &mut plans] {
        times.sort_by(f64::total_cmp);
    }
    samples.add(peer, "hook", "median_ms", edits[DECISIONS / 2], None);
    samples.add(peer, "hook", "p99_ms", edits[DECISIONS * 99 / 100 - 1], None);
    samples.add(peer, "hook", "session_start_median_ms", starts[MOVES / 2], None);
    samples.add(peer, "hook", "session_start_max_ms", starts[MOVES - 1], None);
    samples.add(peer, "hook", "exit_plan_mode_median_ms", plans[MOVES / 2], None);
    samples.add(peer, "hook", "exit_plan_mode_max_ms", plans[MOVES - 1], None);
    Ok(())
}

/// Times in milliseconds.
struct HookTimes {
    /// Refused edits before the plan is approved: a decision that only reads.
    edits: Vec<f64>,
    /// Sessions that begin.
    starts: Vec<f64>,
    /// Plans that are submitted.
    plans: Vec<f64>,
}

fn times(rawko: &Path, folder: &Path) -> Result<HookTimes> {
    let project = folder.join("project");
    let set_up = command(rawko, folder).args(["init", "--claude"]).output()?;
    ensure!(set_up.status.success(), "`rawko init --claude` failed");
    let hook = |session: &str, event: &str, tool: &str, input: Value| {
        json!({
            "session_id": session, "transcript_path": folder.join("transcript.jsonl"), "cwd": project,
            "permission_mode": "default", "hook_event_name": event, "source": "startup", "tool_name": tool,
            "tool_input": input,
        })
        .to_string()
    };
    let timed = |input: &str, expected: &str| {
        let began = Instant::now();
        let answer = decide(rawko, folder, input)?;
        let elapsed = began.elapsed();
        ensure!(answer.contains(expected), "another answer than {expected}: {answer}");
        anyhow::Ok(elapsed.as_secs_f64() * 1e3)
    };
    let sessions: Vec<String> = (0..MOVES).map(|number| format!("bench-{number}")).collect();
    let start = |session: &String| timed(&hook(session, "SessionStart", "", Value::Null), "state `plan`");
    let starts = sessions.iter().map(start).collect::<Result<_>>()?;
    let input = json!({"file_path": project.join("a.py"), "old_string": "a", "new_string": "b"});
    let edit = hook("bench-0", "PreToolUse", "Edit", input);
    let edits = (0..DECISIONS).map(|_| timed(&edit, "\"deny\"")).collect::<Result<_>>()?;
    let plan =
        |session: &String| timed(&hook(session, "PreToolUse", "ExitPlanMode", json!({"plan": "p"})), "{}");
    let plans = sessions.iter().map(plan).collect::<Result<_>>()?;
    Ok(HookTimes { edits, starts, plans })
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
