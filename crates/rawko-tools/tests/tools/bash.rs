//! Bash: real processes, their output, their limits and their leftovers.

use std::time::{Duration, Instant};

use rawko_core::Value;
use rawko_tools::{BashSettings, CommandVariables, Grant, ToolSettings};
use serde_json::json;

use super::support::{Bench, allowing, verdict};

#[tokio::test]
async fn output_comes_in_order_with_the_exit_code() {
    let bench = Bench::new();
    let outcome = bench.bash("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(outcome.content, "one\ntwo\nthree\n[exit code 3]");
    assert!(outcome.is_error);
    assert_eq!(outcome.data.get("exit_code"), &Value::Int(3));
    let fine = bench.bash("pwd; cat").await;
    assert_eq!(fine.content, format!("{}\n", bench.root().display()), "and there is no stdin");
    assert_eq!(bench.bash("true").await.content, "[no output]");
    let killed = bench.bash("kill -9 $$").await;
    assert_eq!((killed.content.as_str(), killed.data.get("signal")), ("[ended by signal 9]", &Value::Int(9)));
}

fn settings(bash: BashSettings) -> ToolSettings {
    ToolSettings { bash, ..ToolSettings::default() }
}

#[tokio::test]
async fn beginning_and_end_of_long_output_are_kept() {
    let bench = Bench::with(settings(BashSettings { output_max: 40, ..BashSettings::default() }));
    let outcome = bench.bash("echo first; seq 1 100000; echo last").await;
    assert!(outcome.content.starts_with("first\n1\n2\n"), "{}", outcome.content);
    assert!(outcome.content.ends_with("100000\nlast\n"), "{}", outcome.content);
    assert!(outcome.content.contains("bytes left out"), "{}", outcome.content);
    assert_eq!(outcome.data.get("truncated"), &Value::Bool(true));
}

#[tokio::test]
async fn output_without_end_ends() {
    let outcome = Bench::new().bash("yes").await;
    assert!(outcome.content.ends_with("[ended: it wrote without end]"), "{}", outcome.content);
    assert!(outcome.is_error && outcome.content.len() < 31_000);
}

/// Returns true if a process with this word in its command line is running.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).split('\0').any(|argument| argument == word))
}

/// Processes end some time after the signal.
async fn ends(word: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while runs(word) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    !runs(word)
}

#[tokio::test]
async fn time_up_ends_the_whole_group() {
    let bench = Bench::new();
    let command = "echo begun; sleep 7777.125 & (sleep 7777.125; true) & sleep 7777.125";
    let outcome = bench.run("Bash", json!({ "command": command, "timeout_ms": 300 })).await;
    assert_eq!(outcome.content, "begun\n[ended: it ran longer than 0.3s]");
    assert_eq!(outcome.data.get("timed_out"), &Value::Bool(true));
    assert!(ends("7777.125").await);
}

#[tokio::test]
async fn what_is_left_running_is_ended_and_holds_nobody_up() {
    let bench = Bench::new();
    let outcome = bench.bash("sleep 7777.25 & echo done").await;
    assert_eq!((outcome.content.as_str(), outcome.is_error), ("done\n", false));
    assert!(ends("7777.25").await);
}

/// No waiting afterwards: they are gone when the call has its answer.
#[tokio::test]
async fn processes_that_left_the_group_are_gone_when_the_call_is_over() {
    if rawko_process::is_portable() {
        return;
    }
    let bench = Bench::new();
    for (command, word) in [
        ("setsid sleep 7777.75 & sleep 0.1; echo done", "7777.75"),
        ("setsid --fork sleep 7778.125; echo done", "7778.125"),
        ("(nohup setsid sleep 7778.25 >/dev/null 2>&1 &); sleep 0.1; echo done", "7778.25"),
        ("env -i setsid --fork sleep 7778.5 >/dev/null 2>&1 </dev/null; echo done", "7778.5"),
        ("setsid --fork sleep 7778.75; echo done; sleep 7778.75", "7778.75"),
    ] {
        let outcome = bench.run("Bash", json!({ "command": command, "timeout_ms": 2000 })).await;
        assert!(outcome.content.starts_with("done\n"), "{command}: {}", outcome.content);
        assert!(!runs(word), "{command}");
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_ended() {
    let bench = Bench::new();
    {
        let call = bench.bash("echo $$ > begun; sleep 7777.5");
        tokio::pin!(call);
        let root = bench.root();
        let begun = async {
            while !root.join("begun").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            outcome = &mut call => panic!("{outcome:?}"),
            () = begun => {}
        }
    }
    assert!(ends("7777.5").await);
}

#[tokio::test]
async fn closing_the_output_does_not_end_the_waiting() {
    let bench = Bench::new();
    let outcome = bench.bash("exec >&- 2>&-; sleep 0.2; touch over; exit 4").await;
    assert_eq!(outcome.data.get("exit_code"), &Value::Int(4));
    assert!(bench.root().join("over").exists());
}

#[tokio::test]
async fn secrets_are_not_in_the_environment() {
    let inherited: CommandVariables = [
        ("PATH", std::env::var("PATH").unwrap().as_str()),
        ("LANG", "C"),
        ("OPENAI_API_KEY", "sk-1"),
        ("GITHUB_TOKEN", "ghp"),
        ("MY_SECRET_THING", "s"),
        ("DB_PASSWORD", "p"),
        ("DEPLOY_TOKEN", "d"),
        ("CORP_LLM", "c"),
        ("LD_PRELOAD", "/tmp/evil"),
        ("RAWKO_TOKEN", "t"),
        ("GIT_CONFIG_COUNT", "1"),
        ("BASH_ENV", "/tmp/evil"),
        ("BASH_FUNC_ls%%", "() { echo evil; }"),
    ]
    .into_iter()
    .collect();
    assert!(!format!("{inherited:?}").contains("sk-1"), "nor in what is printed of it");
    let bash = BashSettings {
        inherited,
        passed: vec!["DEPLOY_TOKEN".into()],
        set: vec![("CI".into(), "1".into())],
        ..BashSettings::default()
    };
    let bench = Bench::with(settings(bash));
    let outcome = bench.bash("env -0 | tr '\\0' '\\n' | cut -d= -f1 | sort | tr '\\n' ' '").await;
    if rawko_process::is_portable() {
        let expected = "CI DEPLOY_TOKEN GIT_PAGER GIT_TERMINAL_PROMPT HOME LANG PAGER PATH PWD RAWKO_CALL \
                        RAWKO_IDEMPOTENCY_KEY RAWKO_INSTANCE SHLVL TERM TMPDIR _ ";
        assert_eq!(outcome.content.replace("OLDPWD ", ""), expected);
        return;
    }
    assert_eq!(
        outcome.content,
        "CARGO_NET_OFFLINE CARGO_TARGET_DIR CI DEPLOY_TOKEN GIT_PAGER GIT_TERMINAL_PROMPT GOCACHE GOFLAGS HOME LANG \
         MYPY_CACHE_DIR OLDPWD PAGER PATH PWD PYTEST_ADDOPTS PYTHONDONTWRITEBYTECODE RAWKO_CALL RAWKO_IDEMPOTENCY_KEY \
         RAWKO_INSTANCE RUFF_CACHE_DIR SHLVL TERM TMPDIR _ npm_config_offline "
            .replace("OLDPWD ", if outcome.content.contains("OLDPWD") { "OLDPWD " } else { "" })
    );
    assert_eq!(
        bench.bash("echo $RAWKO_INSTANCE $RAWKO_IDEMPOTENCY_KEY").await.content,
        "order-1 order-1/3/0\n"
    );
}

#[tokio::test]
async fn temporary_files_go_with_the_toolbox() {
    let bench = Bench::new();
    let path =
        bench.bash("echo x > \"$TMPDIR/y\" && ls -d \"$TMPDIR\" && stat -c %a \"$TMPDIR\"").await.content;
    let (path, mode) = path.trim().split_once('\n').unwrap();
    assert_eq!(mode, "700");
    assert!(std::path::Path::new(path).join("y").exists(), "kept between calls");
    drop(bench);
    assert!(!std::path::Path::new(path).exists());
}

#[tokio::test]
async fn a_refused_command_does_not_run() {
    let bench = Bench::new();
    let grant = Grant::new([allowing(&["Read", "Grep", "Bash"])]);
    for command in [
        "touch made",
        "echo x > made",
        "ls; touch made",
        "echo $(touch made)",
        "sh -c 'touch made'",
        "/usr/bin/touch made",
    ] {
        let outcome = bench.run_in(&grant, "Bash", json!({ "command": command })).await;
        assert_eq!(verdict(&outcome), "command_writes", "{command}: {}", outcome.content);
        assert!(
            outcome.content.contains("the phase `research` (`phases.research.tools`)"),
            "{}",
            outcome.content
        );
    }
    assert!(!bench.root().join("made").exists());
    let outcome = bench.run_in(&grant, "shell", json!({ "command": "echo fine" })).await;
    assert_eq!(outcome.content, "fine\n");
}
