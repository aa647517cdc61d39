//! `Guarded`: a process that never outlives the test that started it, even if the test is killed. A shell between the
//! two kills the process when the pipe from the test closes, which the kernel does in any case.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts the program, prints its pid, and waits for input: `term` sends SIGTERM, anything else kills it.
const WATCH: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
program=$!
echo "$program"
read -r word
if [ "$word" = term ]; then kill -TERM "$program"; else kill -KILL "$program"; fi
wait "$program"
"#;

/// Process to start.
#[derive(Clone, Debug, Default)]
pub struct Spawn {
    /// A path, or a name that the shell looks up in PATH.
    pub program: PathBuf,
    /// Arguments after the program name.
    pub arguments: Vec<String>,
    /// Variables added to the environment of the test; the same name overrides.
    pub environment: Vec<(String, String)>,
    /// Working directory; the current one if empty.
    pub folder: PathBuf,
    /// Output is appended to this file.
    pub log: PathBuf,
}

/// A running process.
#[derive(Debug)]
pub struct Guarded {
    shell: Child,
    /// Closing it kills the process.
    stdin: Option<ChildStdin>,
    pid: u32,
    log: PathBuf,
}

impl Guarded {
    /// Starts a shell that starts the process, and waits until its pid is known.
    pub fn start(spawn: &Spawn) -> io::Result<Guarded> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(WATCH).arg("guard").arg(&spawn.log).arg(&spawn.program).args(&spawn.arguments);
        command.envs(spawn.environment.iter().map(|(key, value)| (key, value)));
        if !spawn.folder.as_os_str().is_empty() {
            command.current_dir(&spawn.folder);
        }
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = shell.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = shell.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let pid =
            line.trim().parse().map_err(|_| io::Error::other("the shell did not say what it started"))?;
        Ok(Guarded { shell, stdin, pid, log: spawn.log.clone() })
    }

    /// Returns the process id of the program, not of the shell that guards it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends SIGKILL and waits for the exit.
    pub fn kill(&mut self) {
        drop(self.stdin.take());
        let _ = self.shell.wait();
    }

    /// Sends SIGTERM, waits, and returns the exit code.
    pub fn terminate(mut self) -> io::Result<Option<i32>> {
        if let Some(mut stdin) = self.stdin.take() {
            stdin.write_all(b"term\n")?;
            let status = self.shell.wait()?;
            return Ok(status.code());
        }
        Ok(None)
    }

    /// Returns all output so far.
    pub fn said(&self) -> String {
        read(&self.log)
    }

    /// Waits until the output after offset `from` (the length of the output at an earlier time) contains the text.
    pub fn says(&self, text: &str, from: usize, patience: Duration) -> io::Result<()> {
        wait_until(patience, || read(&self.log).get(from..).is_some_and(|said| said.contains(text)))
            .map_err(|_| io::Error::other(format!("it did not say `{text}`, but:\n{}", self.said())))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}

/// Polls until the condition holds.
pub(crate) fn wait_until(patience: Duration, mut is_so: impl FnMut() -> bool) -> io::Result<()> {
    let until = Instant::now() + patience;
    while !is_so() {
        if Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not come to pass"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn spawn(script: &str, folder: &Path) -> Guarded {
        let spawn = Spawn {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            log: folder.join("log"),
            ..Spawn::default()
        };
        Guarded::start(&spawn).unwrap()
    }

    fn is_alive(pid: u32) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let process = spawn("echo up; exec sleep 600", folder.path());
        process.says("up", 0, Duration::from_secs(10)).unwrap();
        let pid = process.pid();
        assert!(is_alive(pid));
        drop(process);
        assert!(!is_alive(pid));
    }

    #[test]
    fn one_that_is_asked_to_end_may_say_goodbye() {
        let folder = tempfile::tempdir().unwrap();
        let process =
            spawn("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done", folder.path());
        process.says("up", 0, Duration::from_secs(10)).unwrap();
        assert_eq!(process.terminate().unwrap(), Some(7));
        assert_eq!(read(&folder.path().join("log")), "up\nbye\n");
    }
}
