//! Shell scripts that a check reads as part of itself: `. ./app.sh` in a test makes its functions the work of agents. A
//! control run leaves out the lines that end or disarm the check. Separate from `exits`, whose languages have modules.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::exits::matches;

/// `add() {`, `function add {`.
static FUNCTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:function\s+([\w-]+)|([\w-]+)\s*\(\))\s*(?:\(\))?\s*[{(]?").ok());
/// Parts of the names of functions and files that judge.
const JUDGES: [&str; 11] =
    ["test", "assert", "check", "expect", "fail", "die", "should", "suite", "spec", "verify", "run_"];
/// What ends or replaces the script that reads it.
static ENDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:exit|exec|trap|alias|builtin|enable|kill|eval)\b|\bset\s+[+-]|\bPATH=|\b(?:BASH_ENV|ENV|IFS)=",
    )
    .ok()
});
/// Functions with the names of commands.
const COMMANDS: [&str; 22] = [
    "test", "[", "[[", "exit", "return", "echo", "printf", "true", "false", "cd", "set", "grep", "diff",
    "cmp", "cat", "python3", "node", "make", "sh", "bash", "jq", "command",
];
/// Words before a command.
const LEADS: [&str; 8] = ["then", "do", "else", "if", "while", "until", "!", "command"];
static ARITHMETIC: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$?\(\(.*?\)\)").ok());
static VARIABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\$\{[^}]*\}?|\$(?:\w+|[@*#?!$-])").ok());
/// The first line of a list, `images=(`.
static LIST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:(?:local|declare|readonly|export|typeset)\s+(?:-\w+\s+)*)?\w+\+?=\($").ok()
});
/// A variable that is set to more than a text: `x=${y}it`, `x=$(…)`, `read x`, `printf -v x`, `for x in`.
static SET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(\w+)\+?=\S*[$`]|\b(\w+)\+=|\bread\s+(?:-\w+\s+)*(\w+)|(?:\bprintf\s+-v|\bfor)\s+(\w+)")
        .ok()
});
/// A variable, or the output of another command, in the place of a command.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let lead = r"(?:^|[;&|]|(?:^|\s)\{\s|\b(?:then|do|else|if|while|until)\s)\s*(?:!\s+)?(?:\w+=\S*\s+)*";
    let variable = r#""?\$(?:(\w+|[@*])|\{(\w+|[@*])[^}]*\})"?"#;
    Regex::new(&format!(r#"{lead}({variable}|"?\$\(|`)"#)).ok()
});
/// A larger script is a part of the check.
const BYTES_MAX: usize = 256 * 1024;

/// Returns true for a script that defines functions which are no assertions.
pub(super) fn is_work(root: &Path, path: &str) -> bool {
    let is_judge = |name: &str| JUDGES.iter().any(|part| name.to_ascii_lowercase().contains(part));
    let text = rawko_process::read_regular(&root.join(path)).ok().filter(|text| text.len() <= BYTES_MAX);
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else { return false };
    let names = functions(&text);
    !crate::changes::is_test(path)
        && !is_judge(path.rsplit('/').next().unwrap_or_default())
        && !names.is_empty()
        && !names.iter().any(|name| is_judge(name) || COMMANDS.contains(&name.as_str()))
}

fn functions(text: &str) -> BTreeSet<String> {
    let all = FUNCTION.iter().flat_map(|pattern| pattern.captures_iter(text));
    all.filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned())).collect()
}

/// Returns the text for a control run, or `None` if no added line ends or disarms the script that reads it.
pub(super) fn refused(before: Option<&str>, now: &str) -> Option<String> {
    let known: BTreeSet<&str> = before.unwrap_or_default().lines().collect();
    let defined = |line: &str| functions(line).iter().any(|name| COMMANDS.contains(&name.as_str()));
    let is_ending = |line: &str| {
        let code = line.trim_start();
        // `"ex"it` is the same word.
        let plain = line.replace(['"', '\'', '\\'], "");
        let is_comment = code.starts_with('#');
        // `[() {` is no name of the pattern.
        let is_bracket = code.starts_with("[ ()") || code.starts_with("[()") || code.starts_with("[ (");
        !is_comment
            && (ENDING.as_ref().is_some_and(|ending| ending.is_match(line) || ending.is_match(&plain))
                || defined(line)
                || is_bracket)
    };
    let words = lines_of_words(now);
    let is_refused = |(at, line): (usize, &str)| {
        let is_composed = !line.trim_start().starts_with('#') && is_composed(line, !words.contains(&at));
        !known.contains(line) && (is_ending(line) || is_composed) && !is_failing(line)
    };
    let guard = CommandGuard::of(now, &known);
    let (mut is_changed, mut is_guarded) = (false, false);
    let mut lines = Vec::new();
    for (at, line) in now.lines().enumerate() {
        let guarded = (!known.contains(line) && !words.contains(&at)).then(|| guard.line(line)).flatten();
        is_guarded |= guarded.is_some();
        lines.push(match guarded {
            _ if is_refused((at, line)) => "exit 97".to_owned(),
            Some(guarded) => guarded,
            None => line.to_owned(),
        });
        is_changed |= lines.last().is_some_and(|now| now != line);
    }
    if is_guarded {
        lines.insert(0, guard.function());
    }
    is_changed.then(|| lines.join("\n") + "\n")
}

/// Runs commands that are a variable: what it holds is known only then. `$x 0` is the end of the check if `x` is `exit`.
struct CommandGuard {
    name: String,
    /// Variables that added lines set to more than a text.
    set: BTreeSet<String>,
}

impl CommandGuard {
    fn of(now: &str, known: &BTreeSet<&str>) -> Self {
        let added = now.lines().filter(|line| !known.contains(line));
        let names = added.flat_map(|line| SET.iter().flat_map(move |set| set.captures_iter(line)));
        let name = |found: regex::Captures<'_>| {
            let name = (1..=4).find_map(|group| found.get(group))?;
            Some(name.as_str().to_owned())
        };
        // Not known before: a script cannot replace the function.
        let hash = &blake3::hash(now.as_bytes()).to_hex()[..8];
        Self { name: format!("rawko_run_{hash}"), set: names.filter_map(name).collect() }
    }

    /// Returns a line whose commands of variables are run by the function; `None` without any.
    fn line(&self, line: &str) -> Option<String> {
        if line.trim_start().starts_with('#') {
            return None;
        }
        let (mut guarded, mut last) = (String::new(), 0);
        for found in COMMAND.iter().flat_map(|command| command.captures_iter(line)) {
            let Some(word) = found.get(1) else { continue };
            let next = line[word.end()..].chars().next();
            let is_guarded = match found.get(2).or(found.get(3)).map(|name| name.as_str()) {
                Some(name) => {
                    let is_positional = name.chars().all(|letter| "@*0123456789".contains(letter));
                    let is_word = next.is_none_or(|next| next.is_whitespace() || ";&|".contains(next));
                    is_word && (is_positional || self.set.contains(name))
                }
                None => next != Some('('),
            };
            // `[[ $a || $b ]]` has no commands.
            let before = &line[..word.start()];
            let is_test = before.rfind("[[").is_some_and(|begin| !before[begin..].contains("]]"));
            if is_guarded && !is_test {
                guarded += &format!("{}{} ", &line[last..word.start()], self.name);
                last = word.start();
            }
        }
        (last > 0 || !guarded.is_empty()).then(|| guarded + &line[last..])
    }

    fn function(&self) -> String {
        let name = &self.name;
        let ending = "exit|exec|trap|alias|enable|kill|eval|set|return|unset|unalias|shopt|hash";
        // Looking for a process, and options that hide no failure. A file that is read may end the check with or without
        // the function.
        let harmless = "[2-9]kill-0|2set-[euvx]|2set+[vx]|2set-eu";
        format!(
            "{name}() {{ case \"$#$1${{2-}}\" in {harmless}) \"$@\"; return;; esac; \
             case \"$1\" in command|builtin) shift; {name} \"$@\";; {ending}) exit 97;; *) \"$@\";; esac; }}"
        )
    }
}

/// Returns the lines that begin with no command: within a list of several lines, or after a `\` amid a command.
fn lines_of_words(text: &str) -> BTreeSet<usize> {
    let (mut found, mut is_list, mut is_amid) = (BTreeSet::new(), false, false);
    for (at, line) in text.lines().enumerate() {
        if is_list || is_amid {
            found.insert(at);
        }
        let line = line.trim_end();
        is_list = if is_list {
            line.matches(')').count() <= line.matches('(').count()
        } else {
            matches(&LIST, line)
        };
        is_amid = line.strip_suffix('\\').is_some_and(|before| {
            let before = before.trim_end();
            let last = before.split_whitespace().next_back().unwrap_or_default();
            !before.is_empty() && !before.ends_with([';', '&', '|', '(', '{']) && !LEADS.contains(&last)
        });
    }
    found
}

/// Returns true if a command is put together of parts, as in `"${x}it" 0`. A path is the name of a program, and a single
/// variable may be one, too. `begins_command`: the first word of the line is a command.
fn is_composed(line: &str, begins_command: bool) -> bool {
    let replace = |pattern: &LazyLock<Option<Regex>>, text: &str| {
        pattern
            .as_ref()
            .map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, "x").into_owned())
    };
    let line = replace(&ARITHMETIC, line);
    // Arithmetic that ends on another line.
    if line.contains("((") {
        return false;
    }
    let mut is_command = begins_command;
    for word in line.split_whitespace() {
        let begins = word.trim_start_matches(['(', '{', ';', '&', '|']);
        let is_first = is_command || begins.len() < word.len();
        let plain = begins.trim_end_matches([';', ')', '}']).replace(['"', '\'', '\\'], "");
        let parts = plain.matches('$').count();
        let is_single = plain.strip_prefix('$').is_some_and(|name| match name.strip_prefix('{') {
            Some(name) => !name.contains('}'),
            None => name.chars().all(|letter| letter.is_alphanumeric() || "_@*#?".contains(letter)),
        });
        let is_other = plain.contains(['=', '/', '[', '`']) || plain.starts_with("$(");
        // `"${image}:${tag}"` is the name of no command.
        let is_name =
            replace(&VARIABLE, &plain).chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        if is_first && parts > 0 && !is_other && is_name && (parts > 1 || !is_single) {
            return true;
        }
        let is_list = word.ends_with("=(");
        is_command = word.ends_with([';', '&', '|', '(', '{']) && !is_list || LEADS.contains(&word);
    }
    false
}

/// `exit 1` is no disguise.
fn is_failing(line: &str) -> bool {
    let words: Vec<&str> =
        line.split(|letter: char| letter.is_whitespace() || ";}".contains(letter)).collect();
    let exits = words.iter().zip(words.iter().skip(1)).filter(|(word, _)| **word == "exit");
    let fails = exits.clone().count() > 0
        && exits.clone().all(|(_, code)| code.parse::<u8>().is_ok_and(|code| code != 0));
    let is_other = ["exec", "trap", "alias", "builtin", "enable", "kill", "eval", "PATH=", "set +", "set -"];
    fails && !is_other.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_work_and_assertions_are_not() {
        let project = tempfile::tempdir().unwrap();
        let table = [
            ("app.sh", "add() { echo $(( $1 - $2 )); }\n", true),
            ("app.sh", "function add {\n  echo 1\n}\n", true),
            ("settings.env", "MODE=all\n", false),
            ("lib.sh", "assert_eq() { [ \"$1\" = \"$2\" ]; }\n", false),
            ("test_helpers.sh", "add() { echo 1; }\n", false),
        ];
        for (path, text, expected) in table {
            std::fs::write(project.path().join(path), text).unwrap();
            assert_eq!(is_work(project.path(), path), expected, "{path}: {text}");
        }
    }

    #[test]
    fn added_endings_fail() {
        let before = "add() { echo $(( $1 - $2 )); }\n";
        assert_eq!(refused(Some(before), "add() { echo $(( $1 + $2 )); }\n"), None);
        assert_eq!(
            refused(Some(before), "add() {\n  [ -n \"$1\" ] || exit 2\n  echo $(( $1 + $2 ))\n}\n"),
            None
        );
        for line in [
            "$CC -c app.c",
            "\"$dir/tool\" x",
            "x=${y}it",
            "echo \"${x}it\"",
            "run \"${name}s\"",
            "${CMD:-ls} -l",
            "echo $(( $a*$b ))",
            "(( $n%2 ))",
            "for (( i=0; i<$n; i++ )); do :; done",
            "x=$(( ($a+1) * $b*$c ))",
            "docker build \\\n  \"${name}s\" .",
            "images=(\n  \"${image}:${tag}\"\n  \"${name}s\"\n)",
            "images=( \"${name}s\" )",
        ] {
            assert_eq!(refused(Some(before), &format!("{line}\n{before}")), None, "{line}");
        }
        for line in [
            "exit 0",
            "exit",
            "trap 'exit 0' EXIT",
            "alias [=true",
            "test() { true; }",
            "set +e",
            "[ () { :; }",
            "\"ex\"it 0",
            "x=ex; \"${x}it\" 0",
            "true && $x$y 0",
            "(( 1 )); \"${x}it\" 0",
            "${x:-ex}it 0",
        ] {
            let text = refused(Some(before), &format!("{line}\n{before}"));
            assert_eq!(text, Some(format!("exit 97\n{before}")), "{line}");
        }
        for lines in [
            "true && \\\n\"${x}it\" 0",
            "# y=(\n\"${x}it\" 0",
            "y=(\n)\n\"${x}it\" 0",
            "y=(\n); \"${x}it\" 0",
        ] {
            assert!(refused(Some(before), lines).is_some(), "{lines}");
        }
    }

    #[test]
    fn the_guard_refuses_what_ends_or_disarms_a_script() {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("env.sh"), "A=1\n").unwrap();
        let guarded = refused(None, "run() { \"$@\"; }\n").unwrap();
        for (command, is_refused) in [
            ("kill -0 $$", false),
            ("set -x", false),
            ("set -eu", false),
            ("set +x", false),
            (". ./env.sh", false),
            ("echo set +e", false),
            ("command kill -0 $$", false),
            ("kill -9 1", true),
            ("eval 'exit 0;kill-0'", true),
            ("set +e", true),
            ("set -n", true),
            ("set -x -n", true),
            ("exit 0", true),
            ("command exit 0", true),
        ] {
            let mut shell = std::process::Command::new("sh");
            let ended =
                shell.args(["-c", &format!("{guarded}run {command}\n")]).current_dir(&project).output();
            let code = ended.unwrap().status.code();
            assert_eq!(code, Some(if is_refused { 97 } else { 0 }), "{command}");
        }
    }

    /// What a variable holds is known only in the run.
    #[test]
    fn commands_that_are_variables_are_guarded() {
        for (line, expected) in [
            ("x=ex; x=${x}it; $x 0", "x=ex; x=${x}it; RUN $x 0"),
            ("x+=it; \"$x\" 0", "x+=it; RUN \"$x\" 0"),
            ("f() { \"$@\"; }", "f() { RUN \"$@\"; }"),
            ("$1 $2", "RUN $1 $2"),
            ("A=1 $(printf 'ex%s' it) 0", "A=1 RUN $(printf 'ex%s' it) 0"),
            ("if ! $1 0; then :; fi", "if ! RUN $1 0; then :; fi"),
            ("[[ a ]] && $1 0", "[[ a ]] && RUN $1 0"),
        ] {
            let text = refused(None, &format!("{line}\n")).unwrap();
            let (function, rest) = text.split_once('\n').unwrap();
            let name = function.split_once('(').unwrap().0;
            assert_eq!(rest.trim_end().replace(name, "RUN"), expected);
        }
        for line in [
            "$CC -c app.c",
            "args=(\"$@\")",
            "case $1 in\n  $2) echo;;\nesac",
            "[ ! \"$1\" ] || echo",
            "[[ -z $1 || $2 ]]",
            "echo \"$@\"",
            "x=$(ls) y=${x}s",
            "docker run \\\n  $1",
        ] {
            assert_eq!(refused(None, &format!("{line}\n")), None, "{line}");
        }
    }
}
