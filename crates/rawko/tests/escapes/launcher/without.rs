//! A kernel that refuses namespaces: what Landlock and seccomp hold alone, that the gap is named, and that `require`
//! starts nothing.

use std::fs;
use std::process::{Command, Output};

use serde_json::json;

use super::scene::{Scene, User};

/// Reading and writing with plain commands, and sockets; each line prints `ESCAPED` or `WORKS`.
const LINES: [(&str, &str); 10] = [
    ("the SSH key", "grep KEY $REAL/.ssh/id && echo ESCAPED"),
    ("any file of the home", "grep KEY $REAL/notes/private.txt && echo ESCAPED"),
    ("rawko's state", "grep KEY $STATE/operator && echo ESCAPED"),
    ("a file beside the project", "touch $OUT/made && echo ESCAPED"),
    ("the environment of rawko", "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep s3cret && echo ESCAPED"),
    ("a server of the host", "bash -c \"echo x > /dev/tcp/127.0.0.1/$PORT\" && echo ESCAPED"),
    (
        "a socket of the host",
        "try 's = socket.socket(socket.AF_UNIX); s.connect(\"host.sock\"); print(\"ESCAPED\")'",
    ),
    ("ptrace", "try 'call(101, 0, 0, 0, 0) == 0 and print(\"ESCAPED\")'"),
    ("the terminal", "sh -c ': < /dev/tty' && echo ESCAPED"),
    ("a signal to the host", "kill -0 $HOST && echo ESCAPED"),
];
/// Changes of files of authority, which the kernel does not prevent here: each is undone when the call ends. The script leaves
/// a note that it could make it.
const CHANGES: [(&str, &str); 7] = [
    (".rawko/config.yaml", "echo '# EVIL' >> .rawko/config.yaml"),
    (".rawko/agents/dev.md", "rm -rf .rawko/agents"),
    (".mcp.json", "mv .mcp.json moved && echo EVIL > .mcp.json"),
    ("AGENTS.md", "rm AGENTS.md && ln -s keys/id AGENTS.md"),
    (".claude/settings.json", "mv .claude c && mkdir .claude && echo EVIL > .claude/settings.json"),
    (".git/config", "printf '[core]\\n\\tfsmonitor = EVIL\\n' >> .git/config"),
    (".vscode/tasks.json", "echo EVIL > .vscode/tasks.json"),
];
const CONTROL: &str = "grep KEY keys/id && touch results/made && try 'call(39) > 0 and print(\"WORKS\")'";

pub(crate) fn run(user: User) -> (usize, usize, Vec<String>) {
    let mut results = Vec::new();
    for (mode, must_run) in [("auto", true), ("require", false)] {
        let scene = Scene::new(user);
        let settings = format!(
            "
governance: {{allow: ['agent:*']}}
providers: {{default: demo/scripted, demo: {{kind: scripted, file: .rawko/script.json}}}}
tools: {{bash: {{sandbox: {mode}}}}}
"
        );
        scene.write(".rawko/config.yaml", &settings);
        scene.write(".mcp.json", "{}");
        let chart = "
statechart:
  id: bare
  initial: bash
  states:
    bash: {invoke: {src: agent:dev, input: {prompt: \"'Work.'\"}, onDone: over, onError: over}}
    over: {type: final}
";
        scene.write("bare.yaml", chart);
        scene.write(".vscode/tasks.json", "{}");
        let lines = LINES.iter().map(|(_, line)| *line).chain([CONTROL]);
        let lines: String = lines
            .enumerate()
            .map(|(number, line)| {
                format!("echo '== {number}' >> results/bare\n( {line} ) >> results/bare 2>&1\n")
            })
            .collect();
        let changes: String = CHANGES
            .iter()
            .enumerate()
            .map(|(number, (_, line))| format!("( {line} ) && touch results/changed-{number}\n"))
            .collect();
        scene.write("bare.sh", &format!("{}{lines}{changes}", scene.prelude()));
        let steps = json!([{"tool_calls": [{"name": "Bash", "input": {"command": "bash bare.sh"}}]}, {"text": "done"}]);
        scene.write(".rawko/script.json", &json!([{"agent": "dev", "steps": steps}]).to_string());
        scene.own();
        scene.trusted();
        let read = |(file, _): &(&str, &str)| fs::read_to_string(scene.root.join(file)).unwrap_or_default();
        let before: Vec<String> = CHANGES.iter().map(read).collect();
        let done = without_namespaces(&scene);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let text = fs::read_to_string(scene.root.join("results/bare")).unwrap_or_default();
        if must_run {
            let parts: Vec<&str> = text.split("== ").skip(1).collect();
            for (number, (name, _)) in LINES.iter().enumerate() {
                let part = parts.get(number).copied().unwrap_or("ESCAPED: did not run");
                results
                    .push((format!("without namespaces: {name}: {part}{said}"), !part.contains("ESCAPED")));
            }
            for (number, change) in CHANGES.iter().enumerate() {
                let was_made = scene.root.join(format!("results/changed-{number}")).exists();
                let now = read(change);
                let held = was_made && now == before[number] && !scene.root.join(change.0).is_symlink();
                results.push((format!("without namespaces: {} is changed: {now}", change.0), held));
            }
            results.push((format!("control without namespaces: {text}{said}"), text.contains("WORKS")));
            let is_named = said.matches("the sandbox has no PID namespace").count() == 1;
            results.push((format!("the missing layers are not named once: {said}"), is_named));
        } else {
            results.push((format!("`require` starts programs: {text}"), text.is_empty()));
        }
    }
    let tried = results.len();
    let wrong: Vec<String> = results
        .into_iter()
        .filter_map(|(name, held)| (!held).then(|| format!("as {user:?}: {name}")))
        .collect();
    (tried - wrong.len(), tried, wrong)
}

/// Runs rawko in a user namespace that has no further ones, without privileges.
fn without_namespaces(scene: &Scene) -> Output {
    let plain = scene.prepared(&["run", "bare.yaml", "--id", "b"]);
    let words = std::iter::once(plain.get_program()).chain(plain.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
    // The user is changed before: inside there is only one.
    let at = words.iter().position(|word| word.contains("rawko")).unwrap_or(0);
    let (before, own) = words.split_at(at);
    let line = format!(
        "{} unshare -Ur sh -c \"echo 0 > /proc/sys/user/max_user_namespaces; \
         exec setpriv --bounding-set -all --inh-caps -all --no-new-privs {}\"",
        before.join(" "),
        own.join(" ")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(&scene.root).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap()
}
