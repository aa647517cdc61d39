//! A language server as a check, over real pipes: one with pull diagnostics, one that pushes and corrects itself, and
//! misbehaving ones.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_host::Environment;
use rawko_programs::checks::{
    CheckFormat, CheckReport, LanguageServers, ProjectCheck, installed_language_servers, run_all,
};

/// Reports an `error` for every line with `bad` in it, a `warning` for every line with `odd`.
const SERVER: &str = r#"
import json, os, sys
mode = sys.argv[1]
# As cargo does for build scripts and macros: the project can be read only.
os.makedirs(os.environ.get("CARGO_TARGET_DIR", "target") + "/debug", exist_ok=True)

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
# The project can be read only.
for folder in sys.argv[2:]:
    with open(folder + "/starts", "a") as starts:
        starts.write("x")

def tell(uri):
    if mode in ("push", "forgetful"):
        send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}})
        send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": look(texts[uri])}})

def work(kind):
    if mode == "pull":
        send({"method": "$/progress", "params": {"token": "loading", "value": {"kind": kind}}})

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
        work("begin")
        texts[document["uri"]] = document["text"]
        work("end")
        tell(document["uri"])
    elif method == "textDocument/didChange":
        document = params["textDocument"]
        assert document["version"] > 1
        if mode == "forgetful":
            sys.exit("lost the thread")
        texts[document["uri"]] = params["contentChanges"][0]["text"]
        tell(document["uri"])
    elif method == "textDocument/didClose":
        del texts[params["textDocument"]["uri"]]
    elif method == "textDocument/diagnostic":
        send({"id": id, "result": {"kind": "full", "items": look(texts[params["textDocument"]["uri"]])}})
    elif method == "shutdown":
        assert is_configured
        send({"id": id, "result": None})
    elif method == "exit":
        sys.exit(0)
"#;

async fn ask(mode: &str, files: &[&str], timeout: Duration) -> CheckReport {
    let project = project();
    pass(project.path(), &LanguageServers::default(), &check(mode, files, timeout)).await
}

fn project() -> tempfile::TempDir {
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
    project
}

fn check(mode: &str, files: &[&str], timeout: Duration) -> ProjectCheck {
    ProjectCheck {
        name: "types".into(),
        command: ["python3", "server.txt", mode].map(str::to_owned).to_vec(),
        format: CheckFormat::Lsp { files: files.iter().map(|pattern| (*pattern).to_owned()).collect() },
        timeout,
        cwd: PathBuf::from("."),
        report: None,
        pass_env: Vec::new(),
        reason: String::new(),
        decides: true,
        sources: Vec::new(),
    }
}

async fn pass(root: &Path, servers: &LanguageServers, check: &ProjectCheck) -> CheckReport {
    let environment = Environment::of_process();
    let mut confinement = environment.confinement(root);
    confinement.extra_write.extend(check.command.get(3).map(PathBuf::from));
    run_all(std::slice::from_ref(check), root, &environment, &confinement, servers).await
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

/// Each pass changes, adds or removes a file; the same server answers, and the new one where the old has ended.
#[tokio::test]
async fn a_server_keeps_running_between_passes() {
    for (mode, starts_expected) in [("pull", 1), ("push", 1), ("forgetful", 2)] {
        let (project, beside) = (project(), tempfile::tempdir().unwrap());
        let (servers, mut check) = (LanguageServers::default(), check(mode, &["**/*.py"], LONG));
        check.command.push(beside.path().display().to_string());
        let edits: [(&str, Option<&str>, u64); 6] = [
            ("src/c.py", Some("no errors here, 0 failed\n"), 1),
            ("src/c.py", Some("bad\nbad\n"), 3),
            ("src/new.py", Some("bad\n"), 4),
            ("src/a b.py", None, 3),
            ("src/new.py", None, 2),
            ("src/c.py", Some("good\n"), 0),
        ];
        let last = if mode == "forgetful" { 2 } else { edits.len() };
        for (file, text, errors) in &edits[..last] {
            let path = project.path().join(file);
            match text {
                Some(text) => fs::write(path, text).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
            let report = pass(project.path(), &servers, &check).await;
            assert_eq!(report.errors_total, *errors, "{mode} after {file}: {report:?}");
            assert_eq!(servers.len(), 1, "{mode}");
        }
        let starts = fs::read_to_string(beside.path().join("starts")).unwrap();
        assert_eq!(starts.len(), starts_expected, "{mode}");
    }
}

#[tokio::test]
async fn advice_does_not_decide() {
    let project = project();
    let advice = ProjectCheck { decides: false, ..check("pull", &["**/*.py"], LONG) };
    let report = pass(project.path(), &LanguageServers::default(), &advice).await;
    assert!(report.clean && !report.checks[0].ok, "{report:?}");
    assert_eq!((report.errors_total, report.checks[0].errors), (0, 1));
}

#[test]
fn installed_servers_advise_on_the_languages_of_a_project() {
    let (project, bin) = (project(), tempfile::tempdir().unwrap());
    for name in ["pyright-langserver", "gopls", "clangd"] {
        fs::write(bin.path().join(name), "").unwrap();
    }
    fs::create_dir_all(project.path().join("node_modules/.bin")).unwrap();
    for (name, text) in [
        ("node_modules/.bin/typescript-language-server", ""),
        ("package.json", "{}"),
        ("src/a.ts", ""),
        ("main.c", ""),
    ] {
        fs::write(project.path().join(name), text).unwrap();
    }
    let found = installed_language_servers(project.path(), bin.path().as_os_str());
    let found: Vec<String> = found.iter().map(|check| check.command.join(" ")).collect();
    // No `go.mod` and no `compile_commands.json`, so two of them have nothing to do.
    assert_eq!(found, ["pyright-langserver --stdio", "node_modules/.bin/typescript-language-server --stdio"]);
}
