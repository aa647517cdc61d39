//! A language server as a check, over real pipes: one with pull diagnostics, one that pushes and corrects itself, and
//! misbehaving ones.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rawko_host::Environment;
use rawko_programs::checks::{Check, CheckReport, Format, run_all};

/// Reports an `error` for every line with `bad` in it, a `warning` for every line with `odd`.
const SERVER: &str = r#"
import json, sys
mode = sys.argv[1]

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()

def receive():
    length = 0
    while True:
        line = sys.stdin.buffer.readline().strip()
        if not line:
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length))

def look(text):
    found = []
    for number, line in enumerate(text.splitlines()):
        for word, severity in [("bad", 1), ("odd", 2)]:
            if word in line:
                place = {"line": number, "character": 0}
                found.append({"range": {"start": place, "end": place}, "severity": severity, "message": "this is " + word})
    return found

texts, is_configured = {}, False
while True:
    message = receive()
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        if mode == "dies":
            sys.exit("no licence")
        send({"id": id, "result": {"capabilities": {"diagnosticProvider": {}} if mode == "pull" else {}}})
    elif method == "initialized":
        send({"id": "c1", "method": "workspace/configuration", "params": {"items": [{}, {}]}})
    elif id == "c1":
        assert message["result"] == [None, None]
        is_configured = True
    elif method == "textDocument/didOpen":
        document = params["textDocument"]
        assert document["languageId"] == "python"
        texts[document["uri"]] = document["text"]
        if mode == "push":
            send({"method": "textDocument/publishDiagnostics", "params": {"uri": document["uri"], "diagnostics": []}})
            send({"method": "textDocument/publishDiagnostics", "params": {"uri": document["uri"], "diagnostics": look(document["text"])}})
    elif method == "textDocument/diagnostic":
        send({"id": id, "result": {"kind": "full", "items": look(texts[params["textDocument"]["uri"]])}})
    elif method == "shutdown":
        assert is_configured
        send({"id": id, "result": None})
    elif method == "exit":
        sys.exit(0)
"#;

async fn ask(mode: &str, files: &[&str], timeout: Duration) -> CheckReport {
    let project = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("server.txt", SERVER),
        ("src/a b.py", "fine\nbad\nodd\n"),
        ("src/c.py", "no errors here, 0 failed\n"),
        (".gitignore", "built\n"),
        ("built/d.py", "bad\n"),
    ] {
        let path = project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let check = Check {
        name: "types".into(),
        command: ["python3", "server.txt", mode].map(str::to_owned).to_vec(),
        format: Format::Lsp { files: files.iter().map(|pattern| (*pattern).to_owned()).collect() },
        timeout,
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
    };
    run_all(
        &[check],
        project.path(),
        &Environment::of_process(),
        &Environment::of_process().confinement(project.path()),
    )
    .await
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_server_says_what_is_wrong() {
    for mode in ["pull", "push"] {
        let report = ask(mode, &["**/*.py"], LONG).await;
        let check = &report.checks[0];
        assert_eq!(
            (report.errors_total, check.summary.as_str()),
            (1, "1 error in 2 files"),
            "{mode}: {report:?}"
        );
        let finding = &check.findings[0];
        assert_eq!(
            (finding.file.as_deref(), finding.line, finding.message.as_str()),
            (Some("src/a b.py"), Some(2), "this is bad")
        );
        let clean = ask(mode, &["src/c.py"], LONG).await;
        assert!(clean.clean, "{mode}: {clean:?}");
    }
}

/// Silence is not success.
#[tokio::test]
async fn a_server_that_does_not_say() {
    for (mode, files, timeout, expected) in [
        ("dies", "**/*.py", LONG, "the language server ended before it had answered: no licence"),
        ("silent", "**/*.py", Duration::from_millis(1500), "the language server did not answer within 1.5s"),
        ("pull", "**/*.go", LONG, "no file matches **/*.go"),
    ] {
        let report = ask(mode, &[files], timeout).await;
        assert_eq!((report.errors_total, report.checks[0].summary.as_str()), (1, expected), "{mode}");
    }
}
