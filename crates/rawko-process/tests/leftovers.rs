//! Everything that a call starts is gone when the call is over: one row for each way to detach.
//!
//! These tests fork. Every script has a fixed number of processes and every process ends by itself after two minutes, so
//! a supervisor that does not work fails a test and leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::hash::{BuildHasher, Hasher};
use std::process::Stdio;
use std::time::Duration;

use rawko_process::{CALL_VARIABLE, CallId, Processes};
use tokio::process::{Child, Command};

/// Seconds that a process sleeps if it is not killed.
const SLEEP_SECONDS: u32 = 120;
/// For a script to get going on a busy machine.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// A shell whose processes have a unique word in their command lines, which distinguishes them from other tests.
struct Call {
    child: Child,
    processes: Processes,
    word: String,
}

impl Call {
    /// `WORD` in the script stands for the word. Returns when a `sleep` with it runs.
    async fn start(script: &str) -> Self {
        let mark = CallId::new();
        let number = std::collections::hash_map::RandomState::new().build_hasher().finish();
        let word = format!("{SLEEP_SECONDS}.{:09}1", number % 1_000_000_000);
        let child = Command::new("bash")
            .args(["-c", &script.replace("WORD", &word)])
            .envs([mark.variable()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let processes = Processes::of_child(&child, mark).unwrap();
        let call = Self { child, processes, word };
        let begun = async {
            while !sleeps(&call.word) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(START_TIME_MAX, begun).await.unwrap_or_else(|_| panic!("{script}: not started"));
        call
    }

    fn runs(&self) -> bool {
        runs(&self.word)
    }
}

/// Returns true if a process of the call runs: its arguments contain the word. An exited process has no arguments.
fn runs(word: &str) -> bool {
    command_lines().any(|line| line.contains(word))
}

fn sleeps(word: &str) -> bool {
    command_lines().any(|line| line == format!("sleep\0{word}\0"))
}

fn command_lines() -> impl Iterator<Item = String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok())
}

/// Waits until the limit is set: what a process does before that is covered by its environment and its pipes.
const MARKED: &str =
    "for try in {1..500}; do grep -q 'Max file locks *[0-9]' /proc/$$/limits && break; sleep 0.01; done;";

/// 200 generations, one process at a time: each forks, and exits as soon as its child has a session of its own.
const CHAIN: &str = "python3 -c 'import os, time\n\
     for generation in range(200):\n\
     \x20   if os.fork(): os._exit(0)\n\
     \x20   os.setsid()\n\
     \x20   time.sleep(0.01)\n\
     os.execvp(\"sleep\", [\"sleep\", \"WORD\"])' WORD &";

fn ways() -> Vec<(&'static str, String)> {
    let daemon = "python3 -c 'import os\n\
         if os.fork(): os._exit(0)\n\
         os.setsid()\n\
         if os.fork(): os._exit(0)\n\
         os.chdir(\"/\")\n\
         null = os.open(\"/dev/null\", os.O_RDWR)\n\
         [os.dup2(null, fd) for fd in range(3)]\n\
         os.execve(\"/bin/sleep\", [\"sleep\", \"WORD\"], {})'";
    vec![
        ("in the background", "sleep WORD &".into()),
        ("a session of its own", "setsid sleep WORD & disown".into()),
        ("a session of its own, forked", "setsid --fork sleep WORD".into()),
        ("nohup and a double fork", "(setsid nohup sleep WORD >/dev/null 2>&1 &)".into()),
        ("another group", "set -m; sleep WORD &".into()),
        ("another environment", "env -i setsid --fork sleep WORD".into()),
        ("no environment, no pipes", format!("{MARKED} env -i setsid --fork sleep WORD >/dev/null 2>&1")),
        ("a daemon", format!("{MARKED} {daemon}")),
        ("deaf to SIGTERM", "(trap '' TERM; setsid sleep WORD &)".into()),
        ("two in one session", "setsid bash -c 'sleep WORD & exec sleep WORD' &".into()),
        ("a chain that forks and exits", CHAIN.into()),
    ]
}

#[tokio::test]
async fn a_call_that_ends_leaves_nothing() {
    for (way, script) in ways() {
        let mut call = Call::start(&script).await;
        call.child.wait().await.unwrap();
        assert!(call.runs(), "{way}: it ended by itself");
        call.processes.kill_all().await;
        assert!(!call.runs(), "{way}");
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_leaves_nothing() {
    for (way, script) in ways() {
        let mut call = Call::start(&format!("{script}\nsleep WORD")).await;
        call.processes.end(Duration::from_millis(200)).await;
        assert!(!call.runs(), "{way}");
        call.child.wait().await.unwrap();
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing() {
    for (way, script) in ways() {
        let Call { child, processes, word } = Call::start(&format!("{script}\nsleep WORD")).await;
        drop(processes);
        assert!(!runs(&word), "{way}");
        drop(child);
    }
}

/// Being asked to end reaches processes that left the group, too.
#[tokio::test]
async fn a_process_that_left_can_tidy_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidied");
    let script = format!(
        "setsid bash -c 'trap \"touch {}; kill %1; exit\" TERM; sleep WORD & wait' & wait",
        file.display()
    );
    let call = Call::start(&script).await;
    call.processes.end(Duration::from_secs(20)).await;
    assert!(file.exists());
    assert!(!call.runs());
}

#[tokio::test]
async fn calls_do_not_end_each_other() {
    let script = "env -i setsid --fork sleep WORD; sleep WORD";
    let (one, other) = (Call::start(script).await, Call::start(script).await);
    one.processes.kill_all().await;
    assert!(!one.runs());
    assert!(other.runs());
}

/// A rawko within a call marks its own calls; the outer call finds them by the beginning of the mark.
#[tokio::test]
async fn a_call_within_a_call_ends_with_the_outer_one() {
    let inner = "ulimit -S -x 12345; setsid --fork sleep WORD >/dev/null 2>&1";
    let script = format!("{CALL_VARIABLE}=${CALL_VARIABLE}/inner bash -c '{inner}'");
    let mut call = Call::start(&script).await;
    call.child.wait().await.unwrap();
    call.processes.kill_all().await;
    assert!(!call.runs());
}

/// A mark as the calls of a host with this process id and start carry it.
fn mark_of(host: u32, start: u64) -> u64 {
    1 << 62 | u64::from(host) << 40 | (start & 0xf_ffff) << 20 | 7
}

fn start_of(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}

/// What a killed host left is ended by the next one; calls of hosts that run are not touched.
#[test]
fn a_killed_host_leaves_nothing_once_another_starts() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    let gone_id = gone.id();
    gone.wait().unwrap();
    let own = std::process::id();
    let number = std::collections::hash_map::RandomState::new().build_hasher().finish();
    let table = [
        ("by its limit", "ulimit -S -x MARK; exec env -i setsid sleep WORD", mark_of(gone_id, 1), false),
        ("by its environment", "export RAWKO_CALL=HEX; exec setsid sleep WORD", mark_of(gone_id, 1), false),
        ("in a call of it", "export RAWKO_CALL=HEX/9; exec setsid sleep WORD", mark_of(gone_id, 1), false),
        ("of a host before", "ulimit -S -x MARK; exec sleep WORD", mark_of(own, start_of(own) + 1), false),
        ("of a host that runs", "ulimit -S -x MARK; exec sleep WORD", mark_of(own, start_of(own)), true),
        ("of an earlier release", "ulimit -S -x MARK; exec sleep WORD", (1 << 61) | 7, true),
        ("of no call", "exec sleep WORD", 0, true),
    ];
    let words: Vec<String> =
        (0..table.len()).map(|row| format!("{SLEEP_SECONDS}.{:08}{row}3", number % 100_000_000)).collect();
    let mut children: Vec<_> = table
        .iter()
        .zip(&words)
        .map(|((_, script, mark, _), word)| {
            let script = script.replace("MARK", &mark.to_string()).replace("HEX", &format!("{mark:x}"));
            std::process::Command::new("bash")
                .args(["-c", &script.replace("WORD", word)])
                .env_remove(CALL_VARIABLE)
                .spawn()
                .unwrap()
        })
        .collect();
    // A host of another test that starts meanwhile ends them, too.
    for (child, word) in children.iter_mut().zip(&words) {
        while !sleeps(word) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    rawko_process::end_leftovers();
    for ((case, _, _, stays), word) in table.iter().zip(&words) {
        assert_eq!(sleeps(word), *stays, "{case}");
    }
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
}
