//! Random command lines with a hidden `touch x` under a read-only grant, without a sandbox: a line that the filter lets pass
//! must not run it. Finds lines that bash and the parser read differently.

use rawko_core::Value;
use rawko_tools::{BashSettings, Clearance, Grant, GrantLayer, Sandbox, ToolCall, ToolSettings, Toolbox};

const PIECES: &[&str] = &[
    "ls",
    "echo",
    "cat",
    "touch x",
    "touch x",
    "touch x",
    "$(",
    "$(",
    ")",
    ")",
    "`",
    "`",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "#",
    "# ",
    " #",
    "\n",
    "\n",
    ";",
    " ; ",
    "&&",
    "||",
    "|",
    "${",
    "${y:-",
    "}",
    "}",
    "((",
    "))",
    "$((",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "E",
    "$'",
    "<(",
    ">(",
    "{ ",
    " }",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    "eval ",
    "sh -c ",
    "bash -c ",
    "xargs ",
    "env ",
    "a=",
    "=",
    "*",
    "~",
    " & ",
    " >/dev/null",
    " 2>&1",
    "! ",
    "if ",
    "; then ",
    "; fi",
    "for i in a; do ",
    "; done",
    "case x in x) ",
    " ;; esac",
    "\\\n",
    "$\"",
    "$x",
    "f() ",
    "coproc ",
    "time ",
    "\\x74",
    "\\'",
    "\\\"",
    "\\`",
    "\\$",
    " ",
    " ",
    " ",
    "while ",
    " do ",
    "<<<",
    "<",
    "-v 'a[",
    "]'",
    "printf ",
    "trap ",
    "(",
    "(",
    "$[",
    "]",
    "@(",
    "|&",
    "&>/dev/null",
    "\t",
    "true",
];

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Texts in which the parser and bash may disagree where something ends; `@` stands for random pieces.
const SHAPES: &[&str] = &[
    "ls \"$(@)\ntouch x\n)\"",
    "ls $(@)\ntouch x\n)",
    "ls \"$( @ )\ntouch x\n)@\"",
    "ls `@`\ntouch x\n`",
    "cat <<E\n@\nE@\ntouch x\nE",
    "cat <<'E'\n@\n E\ntouch x\nE",
    "cat <<-E\n@\n\tE\ntouch x\nE",
    "cat <<\"E @\"\n@\nE @\ntouch x\nE",
    "echo ${y:-@}\ntouch x\n}",
    "echo \"${y:-@}\ntouch x\n}\"",
    "echo $((@))\ntouch x\n))",
    "echo $(case a in a) @;; esac)\ntouch x\n)",
    "echo \"$(case a in a) @;; esac)\ntouch x\n)\"",
    "echo @'\ntouch x\n'@",
    "echo @\"\ntouch x\n\"@",
    "echo $'@'\ntouch x\n'",
    "echo @#\ntouch x\n@",
    "echo \\\n@ # \\\ntouch x",
    "[[ a = @ ]] ; echo '\ntouch x\n'",
    "echo <(@)\ntouch x\n)",
];

fn line(random: &mut Random) -> String {
    if random.below(2) == 0 {
        let mut line = String::new();
        for part in SHAPES[random.below(SHAPES.len())].split_inclusive('@') {
            line.push_str(part.trim_end_matches('@'));
            if part.ends_with('@') {
                for _ in 0..random.below(4) {
                    line.push_str(PIECES[random.below(PIECES.len())]);
                }
            }
        }
        return line;
    }
    let mut line = ["ls ", "echo ", "cat ", ""][random.below(4)].to_owned();
    for _ in 0..2 + random.below(9) {
        line.push_str(PIECES[random.below(PIECES.len())]);
        if random.below(4) == 0 {
            line.push(' ');
        }
    }
    line
}

#[tokio::test]
async fn no_random_line_runs_a_hidden_command() {
    let count: u64 =
        std::env::var("RAWKO_RANDOM_LINES").ok().and_then(|text| text.parse().ok()).unwrap_or(4000);
    let dir = tempfile::tempdir().unwrap();
    let bash = BashSettings {
        sandbox: Sandbox::Off,
        timeout: std::time::Duration::from_secs(5),
        ..BashSettings::default()
    };
    let toolbox = Toolbox::new(dir.path(), ToolSettings { bash, ..ToolSettings::default() });
    let allowed = Some(["Read", "Bash"].map(str::to_owned).to_vec());
    let grant = Grant::new([GrantLayer { source: "the test".into(), allowed, ..GrantLayer::default() }]);
    let mut random = Random(20_261_117);
    let (mut ran, mut escaped) = (0, Vec::new());
    for _ in 0..count {
        let line = line(&mut random);
        if line.contains("while ") {
            continue;
        }
        let input = Value::map([("command", Value::str(&line))]);
        let call = ToolCall {
            name: "Bash",
            input: &input,
            instance: "i",
            plan: &Value::NULL,
            notes: &Value::NULL,
            idempotency: "i/1/0",
            clearance: Clearance::default(),
        };
        let outcome = toolbox.run(call, &grant).await;
        ran += usize::from(outcome.refusal.is_none());
        let left: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        if !left.is_empty() {
            escaped.push(format!("{line:?} wrote {left:?}"));
            for name in left {
                let _ = std::fs::remove_file(dir.path().join(name));
            }
        }
    }
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
    assert!(ran > 20, "only {ran} lines ran");
}
