//! Schemathesis against the running binary: it reads the OpenAPI document, generates valid and invalid requests, and
//! reports every server error and every response that the document does not describe.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHART: &str = "statechart:\n  id: order\n  version: 1.0.0\n  initial: open\n  states:\n    open: {on: {PAY: paid}}\n    paid: {type: final}\n";
/// Disables the rate limit.
const SETTINGS: &str = "server: {rate: {per_second: 0}}\n";
const TOKEN: &str = "a-token-for-schemathesis";
/// Seconds of generated requests; `RAWKO_API_SECONDS` sets another number.
const SECONDS: &str = "20";

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join(".rawko/charts")).unwrap();
    std::fs::write(dir.path().join(".rawko/config.yaml"), SETTINGS).unwrap();
    std::fs::write(dir.path().join(".rawko/charts/order.yaml"), CHART).unwrap();
    dir
}

/// Returns the binary with a state directory and a token of its own.
fn rawko(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rawko"));
    command.args(args).current_dir(dir).env_remove("RAWKO_CALL").env("RAWKO_TOKEN", TOKEN);
    command.env("RAWKO_STATE_DIR", dir.join(".state")).env("XDG_CONFIG_HOME", dir);
    command
}

fn serve(dir: &Path) -> (Serving, String) {
    let mut child = rawko(dir, &["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Serving(child), line.trim().to_owned())
}

#[test]
fn schemathesis_finds_no_server_error_and_no_undocumented_answer_slow() {
    let program = repository().join("target/tools/api/bin/schemathesis");
    assert!(program.exists(), "`cargo xtask tools` installs schemathesis");
    let dir = project();
    // An instance to read, and one with a pending request.
    for id in ["o-1", "o-2"] {
        let started = rawko(dir.path(), &["run", "order", "--id", id, "--patience", "0s"]).output().unwrap();
        assert_eq!(started.status.code(), Some(55), "{}", String::from_utf8_lossy(&started.stderr));
    }
    let (serving, url) = serve(dir.path());
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
        response_schema_conformance,unsupported_method,allow_header_conformance";
    let seconds = std::env::var("RAWKO_API_SECONDS").unwrap_or_else(|_| SECONDS.to_owned());
    let output = Command::new(&program)
        .args(["run", &format!("{url}/v1/openapi.json"), "--url", &url])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--checks", checks, "--max-time", &seconds, "--max-examples", "15", "--seed", "7"])
        // A stream never ends.
        .args(["--exclude-path", "/v1/stream"])
        // A verification takes up to 10 seconds, and the machine is shared.
        .args(["--request-timeout", "60"])
        .args([
            "--suppress-health-check",
            "all",
            "--generation-database",
            "none",
            "--no-color",
            "--warnings",
            "off",
        ])
        .current_dir(dir.path())
        .output()
        .unwrap();
    drop(serving);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
