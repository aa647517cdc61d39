//! Denied and unlisted calls, and the shell filter.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const CHART: &str = "
statechart:
  id: look
  initial: looking
  states:
    looking:
      invoke: {id: look, src: agent:dev, input: {prompt: \"'Work.'\"}, onDone: seen, onError: failed}
    seen: {type: final}
    failed: {type: final, tags: [error]}
";
pub(crate) const SETTINGS: &str = "
governance: {allow: ['agent:*']}
providers:
  default: demo/scripted
  demo: {kind: scripted, file: .rawko/script.json}
";

/// One attempt and its control: tool calls, each the name and the input.
struct Attempt {
    name: &'static str,
    attempt: (&'static str, Value),
    control: (&'static str, Value),
}

fn bash(name: &'static str, attempt: &'static str, control: &'static str) -> Attempt {
    let call = |line: &str| ("Bash", json!({"command": line}));
    Attempt { name, attempt: call(attempt), control: call(control) }
}

fn tool(name: &'static str, tool: &'static str, attempt: Value, control: Value) -> Attempt {
    Attempt { name, attempt: (tool, attempt), control: (tool, control) }
}

pub(crate) struct Project {
    pub(crate) dir: TempDir,
    pub(crate) home: TempDir,
}

impl Project {
    /// Creates a project with an agent that makes these calls, one turn each.
    pub(crate) fn new(permissions: &str, agent: &str, calls: &[(&str, Value)]) -> Self {
        Self::below(&std::env::temp_dir(), permissions, agent, calls)
    }

    /// The same, with the project and the home in this directory.
    pub(crate) fn below(directory: &Path, permissions: &str, agent: &str, calls: &[(&str, Value)]) -> Self {
        let place = || TempDir::new_in(directory).unwrap();
        let project = Self { dir: place(), home: place() };
        let write = |name: &str, text: &str| {
            let path = project.dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("look.yaml", CHART);
        write(".rawko/config.yaml", &format!("{SETTINGS}{permissions}"));
        write(".rawko/agents/dev.md", &format!("---\nname: dev\nwhenToUse: always\n{agent}---\nYou work.\n"));
        let mut steps: Vec<Value> = calls
            .iter()
            .map(|(name, input)| json!({"tool_calls": [{"name": name, "input": input}]}))
            .collect();
        steps.push(json!({"text": "done"}));
        write(".rawko/script.json", &json!([{"agent": "dev", "steps": steps}]).to_string());
        write(".env", "SECRET=hunter2\n");
        write("bad.sh", "#!/bin/sh\ntouch x\n");
        write("good.sh", "#!/bin/sh\nls\n");
        write("open.txt", "plain text\n");
        write("src/a.txt", "a\n");
        std::os::unix::fs::symlink(".env", project.dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("open.txt", project.dir.path().join("fine")).unwrap();
        fs::write(project.home.path().join("outside.txt"), "from elsewhere\n").unwrap();
        let git = |args: &[&str]| {
            let done = Command::new("git").args(args).current_dir(project.dir.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]);
        project
    }

    pub(crate) fn rawko(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rawko"));
        command.args(args).current_dir(self.dir.path()).stdin(std::process::Stdio::null());
        command.env("HOME", self.home.path()).env("USER", "ada").env("RAWKO_TRUST", "all");
        command.env_remove("XDG_CONFIG_HOME").env_remove("RAWKO_STORE");
        command.output().unwrap()
    }

    /// Runs the chart and returns the results of the calls, as the model reads them.
    pub(crate) fn run(&self, more: &[&str]) -> Vec<String> {
        let mut args = vec!["run", "look.yaml", "--id", "t"];
        args.extend(more);
        let done = self.rawko(&args);
        let results = self.results();
        assert!(!results.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        results
    }

    pub(crate) fn results(&self) -> Vec<String> {
        let shown = self.rawko(&["show", "t.dev.0", "--json"]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        let messages = match &shown["output"]["messages"] {
            Value::Null => &shown["context"]["messages"],
            messages => messages,
        };
        let parts = messages.as_array().into_iter().flatten().flat_map(|message| message["parts"].as_array());
        let results = parts.flatten().filter(|part| part["type"] == "tool_result");
        results.map(|part| part["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.dir.path().join(name).exists()
    }
}

/// Runs all attempts in one process and all controls in another; prints `N of M held`.
#[track_caller]
fn check(part: &str, settings: (&str, &str), control_settings: (&str, &str), table: &[Attempt]) {
    let calls = |of: fn(&Attempt) -> &(&'static str, Value)| -> Vec<(&str, Value)> {
        table.iter().map(|row| (of(row).0, of(row).1.clone())).collect()
    };
    let tried = Project::new(settings.0, settings.1, &calls(|row| &row.attempt));
    let results = tried.run(&["--permission-mode", "deny"]);
    let controls = Project::new(control_settings.0, control_settings.1, &calls(|row| &row.control));
    let worked = controls.run(&["--permission-mode", "deny"]);
    assert_eq!((results.len(), worked.len()), (table.len(), table.len()), "{results:#?}\n{worked:#?}");
    let mut wrong = Vec::new();
    for ((row, result), control) in table.iter().zip(&results).zip(&worked) {
        let is_held = result.starts_with("refused:") && !result.contains("hunter2");
        if !is_held {
            wrong.push(format!("{}: escaped: {result}", row.name));
        }
        if control.starts_with("refused:") || control.contains("[exit code 127]") {
            wrong.push(format!("{}: the control did not run: {control}", row.name));
        }
    }
    if ["x", "y", "out"].iter().any(|name| tried.has(name)) {
        wrong.push("a file was written".to_owned());
    }
    let escaped = wrong.iter().filter(|line| line.contains("escaped")).count();
    println!("{part}: {} of {} held", table.len() - escaped, table.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns true if this machine lets programs be confined by namespaces.
pub(crate) fn has_namespaces() -> bool {
    Command::new("unshare").args(["-Urmpf", "true"]).status().is_ok_and(|status| status.success())
}

const DENY_TOUCH: &str = "permissions: {deny: ['Bash(touch:*)', 'Bash(git push:*)', 'Bash(rm -rf:*)']}\n";

#[test]
fn a_denied_command_is_denied_in_every_form() {
    let table = [
        bash("plain", "touch x", "stat open.txt"),
        bash("after &&", "ls && touch x", "ls && stat open.txt"),
        bash("after ;", "ls; touch x", "ls; stat open.txt"),
        bash("in a pipeline", "ls | touch x", "ls | cat"),
        bash("in the background", "touch x & wait", "ls & wait"),
        bash("in a substitution", "echo $(touch x)", "echo $(ls)"),
        bash("in backquotes", "echo `touch x`", "echo `ls`"),
        bash("in a process substitution", "cat <(touch x)", "cat <(ls)"),
        bash("in a function", "f() { touch x; }; f", "f() { ls; }; f"),
        bash("in a here-document", "cat <<E\n$(touch x)\nE", "cat <<E\n$(ls)\nE"),
        bash("absolute", "/usr/bin/touch x", "/bin/ls"),
        bash("quoted", "t'ou'ch x", "l's'"),
        bash("escaped", "$'\\x74ouch' x", "$'\\x6cs'"),
        bash("command", "command touch x", "command ls"),
        bash("env", "env A=b touch x", "env A=b ls"),
        bash("timeout", "timeout 5 touch x", "timeout 5 ls"),
        bash("nice", "nice -n 5 touch x", "nice -n 5 ls"),
        bash("nohup", "nohup touch x", "nohup ls"),
        bash("setsid", "setsid touch x", "setsid -w ls"),
        bash("xargs", "echo x | xargs touch", "echo src | xargs ls"),
        bash("find", "find . -name open.txt -exec touch x \\;", "find . -name open.txt -exec stat {} \\;"),
        bash("sh -c", "sh -c 'touch x'", "sh -c 'ls'"),
        bash("bash -c in env", "env bash -c 'touch x'", "env bash -c 'ls'"),
        bash("eval", "eval 'touch x'", "eval 'ls'"),
        bash("exec", "exec touch x", "exec ls"),
        bash("a variable", "t=touch; $t x", "t=ls; ls $t || true"),
        bash("parser and bash disagree", "ls $( # )\ntouch x\n)", "ls src # )"),
        bash("git with -C", "git -C . push", "git -C . status"),
        bash("git with -c", "git -c a.b=c push", "git -c a.b=c status"),
        bash("git with --git-dir", "git --git-dir .git push", "git --git-dir .git status"),
        bash("git alias", "git -c alias.x=push x", "git -c a.b=c log"),
        bash("an alias of the configuration", "git x", "git log"),
        bash("a script", "sh bad.sh", "sh good.sh"),
        bash("a sourced script", ". ./bad.sh", ". ./good.sh"),
        bash("a script of this line", "printf 'touch x' > s; sh s", "printf 'ls' > s; cat s"),
        bash("an unknown program", "chronic touch x", "basename touch x"),
        bash("text for a shell", "echo 'touch x' | sh", "echo 'touch x' | cat"),
        bash("an alias of the shell", "alias a=touch; a x", "ls"),
        bash("git by path", "/usr/local/bin/git push", "git log"),
        bash("several words", "rm -rf src", "ls -la src"),
        bash("several words later", "rm -f -rf src", "ls -a -la src"),
        bash("unknown words", "rm $x src", "ls $x src"),
    ];
    check("denied commands", (DENY_TOUCH, ""), (DENY_TOUCH, ""), &table);
}

#[test]
fn a_denied_file_is_not_read() {
    let path = |path: &str| json!({"path": path});
    let deny = "permissions: {deny: ['Read(./.env)', 'Edit(./.env)', 'Edit(./src/**)']}\n";
    let none = "permissions: {deny: ['Read(./never)']}\n";
    let table = [
        tool("Read", "Read", path(".env"), path("open.txt")),
        tool("Read with dots", "Read", path("src/../.env"), path("src/../open.txt")),
        tool("Read of a link", "Read", path("link"), path("fine")),
        tool("readFile", "readFile", path("./.env"), path("./open.txt")),
        tool(
            "Grep of the file",
            "Grep",
            json!({"pattern": "S", "path": ".env"}),
            json!({"pattern": "p", "path": "open.txt"}),
        ),
        tool(
            "Write",
            "Write",
            json!({"path": ".env", "content": "a"}),
            json!({"path": "open.txt", "content": "a"}),
        ),
        tool(
            "Edit",
            "Edit",
            json!({"path": "src/a.txt", "old_string": "a", "new_string": "b"}),
            json!({"path": "src/a.txt", "old_string": "a", "new_string": "b"}),
        ),
        bash("cat", "cat .env", "cat open.txt"),
        bash("cat with dots", "cat src/../.env", "cat src/../open.txt"),
        bash("cat of a link", "cat link", "cat fine"),
        bash("after cd", "cd src && cat ../.env", "cd src && cat ../open.txt"),
        bash("a pattern", "cat .e*", "cat open.*"),
        bash("another pattern", "cat .[a-e]nv", "cat [n-o]pen.txt"),
        bash("braces", "cat .{env,x}", "cat open.{txt,txt}"),
        bash("a variable", "f=.env; cat $f", "f=open.txt; cat $f"),
        bash("below a variable", "cat $PWD/.env", "cat $PWD/open.txt"),
        bash("redirected", "cat < .env", "cat < open.txt"),
        bash("an option", "grep --file=.env open.txt", "grep --file=open.txt open.txt"),
        bash("head in a pipeline", "ls | head -c 100 .env", "ls | head -c 100 open.txt"),
        bash("copied", "cp .env y", "cp open.txt z"),
        bash("written", "echo a > .env", "echo a > open.txt"),
        bash("written below", "echo a >> src/a.txt", "echo a >> src/a.txt"),
        bash("changed", "sed -i s/a/b/ src/a.txt", "sed -i s/a/b/ src/a.txt"),
    ];
    check("denied files", (deny, ""), (none, ""), &table);
    let search = Project::new(
        deny,
        "",
        &[("Grep", json!({"pattern": "hunter2"})), ("Grep", json!({"pattern": "plain"}))],
    );
    let results = search.run(&[]);
    assert!(!results[0].contains("SECRET") && results[1].contains("open.txt"), "{results:?}");
    // Files that a command line does not name are hidden by the sandbox, where the kernel has one.
    let line = |line: &str| ("Bash", json!({"command": line}));
    let unnamed = [
        line("grep -r 'hunter[2]' . || echo none"),
        line("tar cf - . | grep -a 'hunter[2]' || echo none"),
        line("find . -type f -exec cat {} + | grep 'hunter[2]' || echo none"),
        line("touch -d @0 src/a.txt; find src -newermt 2000-01-01 -name a.txt | grep a.txt || echo changed"),
        line("grep -r plain ."),
    ];
    let project = Project::new(deny, "", &unnamed);
    let results = project.run(&[]);
    if results[4].contains("open.txt") && has_namespaces() {
        for result in &results[..3] {
            assert!(result.contains("none") && !result.contains("SECRET="), "{results:?}");
        }
        assert!(!results[3].contains("changed"), "{results:?}");
    }
}

#[test]
fn every_part_of_a_line_must_be_allowed() {
    let allow = "permissions: {allow: ['Bash(git log:*)', 'Bash(ls:*)', 'WebFetch(domain:example.com)', 'mcp__a__b']}\n";
    let table = [
        bash("another command", "touch x", "ls"),
        bash("after an allowed one", "git log && touch x", "git log && ls"),
        bash("before an allowed one", "touch x; git log", "ls; git log"),
        bash("in an argument", "git log $(touch x)", "git log $(ls >/dev/null)"),
        bash("an option that writes", "git log --output=x", "git log --oneline"),
        bash("an option before", "git -c core.pager=./x log", "git log"),
        bash("another repository", "cd src && git log", "cd src && ls"),
        bash("a variable", "GIT_EXTERNAL_DIFF=./x git log -p", "LANG=C git log -p"),
        bash("a redirection", "git log > x", "git log > /dev/null"),
        bash("another program of that name", "./git log", "git log"),
        bash("an unknown command", "$X log", "git log"),
        tool(
            "an unlisted tool",
            "Write",
            json!({"path": "x", "content": ""}),
            json!({"path": "x", "content": ""}),
        ),
        tool(
            "another domain",
            "WebFetch",
            json!({"url": "https://example.org"}),
            json!({"url": "https://localhost:1"}),
        ),
        tool(
            "a host that ends the same",
            "WebFetch",
            json!({"url": "https://notexample.com"}),
            json!({"url": "https://localhost:1"}),
        ),
    ];
    let open = "permissions: {allow: ['Bash(git log:*)', 'Bash(ls:*)', Write, WebFetch]}\ntools: {web: {private: ['localhost:1']}}\n";
    check("unlisted calls", (allow, ""), (open, ""), &table);
}

#[test]
fn a_read_only_agent_does_not_write_through_arguments() {
    let agent = "tools: {allowed: [Read, Bash, 'Bash(git log:*)']}\n";
    let table = [
        bash("git log --output", "git log --output=x", "git log -1"),
        bash("git log --output into .git", "git log --output=.git/config", "git log -1 --stat"),
        bash("sed -l", "sed -l 1p '1e touch x' open.txt", "sed -l 1 p open.txt"),
        bash(
            "sed behind find",
            "find . -exec sed -e p + -e '1e touch x' {} +",
            "find . -name open.txt -exec sed -e p {} +",
        ),
        bash(
            "a socket behind a variable",
            "x=/dev/tcp/127.0.0.1/1; cat 3<$x >&3",
            "for f in open.txt; do cat < $f; done",
        ),
        bash(
            "gawk and the network",
            "gawk 'BEGIN{\"/inet/tcp/0/127.0.0.1/1\" |& getline}'",
            "awk 'NR>1' open.txt",
        ),
        bash("docker", "DOCKER_HOST=tcp://127.0.0.1:1 docker version", "docker --version || true"),
        bash("a comment in a substitution", "ls $( # )\ntouch x\n)", "ls # touch x"),
        bash("git -c", "git -c core.fsmonitor='touch x' status", "git status"),
        bash("awk", "awk '{print > \"x\"}' open.txt", "awk '{print}' open.txt"),
        bash("tar", "tar cf x open.txt", "[ -f open.txt ] && cat open.txt"),
        bash("tee", "echo a | tee x", "echo a | tee /dev/null"),
    ];
    check("read-only", ("", agent), ("", agent), &table);
}
