//! Commands that run other commands: `env`, `xargs`, `sh -c`, `find -exec`. The inner command is checked as if it stood
//! alone; a wrapper that adds nothing of its own need not be allowed itself.

use super::options::{has_letter, leading, may_mean};
use super::reading::Simple;
use super::scripts;
use super::word::Word;

/// An effect of a command's arguments.
#[derive(Debug)]
pub(super) enum WrappedCommand {
    Command(Vec<Word>),
    /// Text that is run as a command line.
    Line(String),
    /// The name of a variable that is set.
    Assigned(String),
    /// A file that is written.
    Written(Word),
    Unknowable(String),
}

/// Wrappers that only change how a command runs.
const TRANSPARENT: [&str; 16] = [
    "env", "timeout", "nice", "nohup", "setsid", "stdbuf", "ionice", "time", "command", "builtin", "exec",
    "xargs", "busybox", "toybox", "eval", "trap",
];

/// Returns true if only the inner command needs to be allowed.
pub(super) fn is_transparent(words: &[Word]) -> bool {
    let simple = Simple { words: words.to_vec() };
    let name = simple.name();
    let runs_something = || {
        inner(&simple)
            .iter()
            .any(|inner| matches!(inner, WrappedCommand::Command(_) | WrappedCommand::Line(_)))
    };
    (TRANSPARENT.contains(&name) || scripts::SHELLS.contains(&name)) && runs_something()
}

/// Returns the commands, variables and files that a command's arguments run, set or write.
pub(super) fn inner(simple: &Simple) -> Vec<WrappedCommand> {
    let args = simple.args();
    match simple.name() {
        "env" => env(args),
        "timeout" => after(args, &["-k", "--kill-after", "-s", "--signal"], 1),
        "nice" => after(args, &["-n", "--adjustment"], 0),
        "ionice" => after(
            args,
            &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata", "--pid", "--pgid", "--uid"],
            0,
        ),
        "stdbuf" => after(args, &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "nohup" | "setsid" | "builtin" | "busybox" | "toybox" => after(args, &[], 0),
        "exec" => after(args, &["-a"], 0),
        "time" => time(args),
        "command" => command(args),
        "sudo" | "doas" => sudo(args),
        "xargs" => xargs(args),
        "find" => executed("find", args, &["-exec", "-execdir", "-ok", "-okdir"]),
        name @ ("fd" | "fdfind") => executed(name, args, &["-x", "-X", "--exec", "--exec-batch"]),
        "tee" => args
            .iter()
            .filter(|arg| !arg.known().is_some_and(|text| text.starts_with('-')))
            .cloned()
            .map(WrappedCommand::Written)
            .collect(),
        name if scripts::SHELLS.contains(&name) => scripts::shell(name, args),
        name => scripts::builtin(name, args),
    }
}

/// Returns the command after the options and `own` positional words.
fn after(args: &[Word], with_value: &[&str], own: usize) -> Vec<WrappedCommand> {
    match leading(args, with_value) {
        Ok(options) => {
            let words = options.rest.get(own..).unwrap_or_default().to_vec();
            if words.is_empty() { Vec::new() } else { vec![WrappedCommand::Command(words)] }
        }
        Err(word) => vec![unknown_option(word)],
    }
}

fn unknown_option(word: &Word) -> WrappedCommand {
    WrappedCommand::Unknowable(format!("`{}` may be an option or a command", word.shown))
}

fn env(args: &[Word]) -> Vec<WrappedCommand> {
    let options = match leading(args, &["-u", "--unset", "-C", "--chdir", "-a", "--argv0"]) {
        Ok(options) => options,
        Err(word) => return vec![unknown_option(word)],
    };
    let has = |letter: char, long: &str| {
        options.named.iter().any(|(name, _)| has_letter(name, letter) || may_mean(name, long))
    };
    if has('S', "--split-string") {
        return vec![WrappedCommand::Unknowable("`env -S` takes a command apart in its own way".into())];
    }
    let mut inner = assigned_then_command(options.rest);
    if has('C', "--chdir") {
        inner.push(WrappedCommand::Unknowable("`env -C` runs a command elsewhere".into()));
    }
    inner
}

/// `NAME=value …` followed by an optional command.
fn assigned_then_command(words: &[Word]) -> Vec<WrappedCommand> {
    let count = words.iter().take_while(|word| word.prefix.contains('=')).count();
    let name = |word: &Word| word.prefix.split('=').next().unwrap_or_default().to_owned();
    let mut inner: Vec<WrappedCommand> =
        words[..count].iter().map(|word| WrappedCommand::Assigned(name(word))).collect();
    if count < words.len() {
        inner.push(WrappedCommand::Command(words[count..].to_vec()));
    }
    inner
}

/// The program `time`, not the bash keyword.
fn time(args: &[Word]) -> Vec<WrappedCommand> {
    let options = match leading(args, &["-f", "--format", "-o", "--output"]) {
        Ok(options) => options,
        Err(word) => return vec![unknown_option(word)],
    };
    let mut inner: Vec<WrappedCommand> = Vec::new();
    for (name, value) in &options.named {
        match value {
            Some(file) if name == "-o" || name == "--output" => {
                inner.push(WrappedCommand::Written((*file).clone()))
            }
            None if name.starts_with("-o") || name.starts_with("--o") => {
                inner.push(WrappedCommand::Unknowable(format!("`time {name}` writes a file")));
            }
            Some(_) | None => {}
        }
    }
    if !options.rest.is_empty() {
        inner.push(WrappedCommand::Command(options.rest.to_vec()));
    }
    inner
}

/// `command -v name` only prints the location.
fn command(args: &[Word]) -> Vec<WrappedCommand> {
    let only_says = args
        .first()
        .and_then(Word::known)
        .is_some_and(|text| text.starts_with('-') && text.contains(['v', 'V']) && !text.starts_with("--"));
    if only_says { Vec::new() } else { after(args, &[], 0) }
}

fn sudo(args: &[Word]) -> Vec<WrappedCommand> {
    const WITH_VALUE: [&str; 23] = [
        "-u",
        "-g",
        "-h",
        "-p",
        "-C",
        "-D",
        "-R",
        "-T",
        "-r",
        "-t",
        "-U",
        "-a",
        "--user",
        "--group",
        "--host",
        "--prompt",
        "--close-from",
        "--chdir",
        "--chroot",
        "--command-timeout",
        "--role",
        "--type",
        "--other-user",
    ];
    match leading(args, &WITH_VALUE) {
        Ok(options) if !options.rest.is_empty() => assigned_then_command(options.rest),
        Ok(_) => vec![WrappedCommand::Unknowable("a shell is started".into())],
        Err(word) => vec![unknown_option(word)],
    }
}

/// The inner command gets additional, unknown arguments.
fn xargs(args: &[Word]) -> Vec<WrappedCommand> {
    const WITH_VALUE: [&str; 16] = [
        "-n",
        "-L",
        "-P",
        "-I",
        "-d",
        "-s",
        "-a",
        "-E",
        "-J",
        "-R",
        "--max-args",
        "--max-procs",
        "--delimiter",
        "--max-chars",
        "--arg-file",
        "--process-slot-var",
    ];
    let options = match leading(args, &WITH_VALUE) {
        Ok(options) => options,
        Err(word) => return vec![unknown_option(word)],
    };
    let replaced = options.named.iter().find_map(|(name, value)| placeholder(name, *value));
    let mut words: Vec<Word> = options.rest.iter().map(|word| placed(word, replaced.as_deref())).collect();
    if words.is_empty() {
        words.push(Word::of_text("echo"));
    }
    words.push(Word::unknown("<arguments from xargs>"));
    let mut inner = vec![WrappedCommand::Command(words)];
    // `--process-slot-var=NAME` sets a variable for each command.
    for (name, value) in options.named.iter().filter(|(name, _)| may_mean(name, "--process-slot-var")) {
        let attached = name.split_once('=').map(|(_, variable)| variable);
        inner.push(match value.and_then(|value| value.known()).or(attached) {
            Some(variable) => WrappedCommand::Assigned(variable.to_owned()),
            None => WrappedCommand::Unknowable("`xargs` sets a variable".into()),
        });
    }
    inner
}

/// Returns the placeholder of `xargs`: `-I X`, `-IX`, `-rI X`, `-i`, `--replace=X`.
fn placeholder(name: &str, value: Option<&Word>) -> Option<String> {
    let attached = if may_mean(name, "--replace") {
        name.split_once('=').map(|(_, text)| text)
    } else if has_letter(name, 'I') || has_letter(name, 'i') || has_letter(name, 'J') {
        name.split_once(['I', 'i', 'J']).map(|(_, text)| text)
    } else {
        return None;
    };
    let text = value.map(Word::text).or(attached).filter(|text| !text.is_empty());
    Some(text.unwrap_or("{}").to_owned())
}

/// Returns a word with the placeholder replaced by an unknown value.
fn placed(word: &Word, placeholder: Option<&str>) -> Word {
    match placeholder {
        Some(placeholder) if word.text().contains(placeholder) => {
            Word { splits: false, ..Word::unknown(&word.shown) }
        }
        Some(_) | None => word.clone(),
    }
}

/// Returns a word with the placeholders of `find` or `fd` replaced by an unknown value.
fn placed_file(word: &Word, name: &str) -> Word {
    let marks: &[&str] = if name == "find" { &["{}"] } else { &["{}", "{/", "{."] };
    match marks.iter().find(|mark| word.text().contains(**mark)) {
        Some(mark) => placed(word, Some(mark)),
        None => word.clone(),
    }
}

/// Returns the commands between an option such as `-exec` and the `;` or `+` that ends them.
fn executed(name: &str, args: &[Word], options: &[&str]) -> Vec<WrappedCommand> {
    let mut inner = Vec::new();
    let mut own: Vec<&Word> = Vec::new();
    let mut rest = args;
    while let Some(at) = rest.iter().position(|word| word.known().is_some_and(|text| options.contains(&text)))
    {
        own.extend(&rest[..at]);
        rest = &rest[at + 1..];
        // A `+` ends the command only right after `{}`, and only for `find`.
        let ends = |at: usize| {
            rest[at].is(";") || (name == "find" && rest[at].is("+") && at > 0 && rest[at - 1].is("{}"))
        };
        let end = (0..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len());
        inner.push(WrappedCommand::Command(rest[..end].iter().map(|word| placed_file(word, name)).collect()));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    own.extend(rest);
    if let Some(word) = own.iter().find(|word| may_execute(name, word, &own)) {
        inner.push(WrappedCommand::Unknowable(format!("`{}` may make `{name}` run a command", word.shown)));
    }
    inner
}

/// Returns true if a word outside the commands may be an option that begins one.
fn may_execute(name: &str, word: &Word, own: &[&Word]) -> bool {
    match (name, word.known()) {
        ("find", Some(_)) => false,
        ("find", None) => {
            let has_end = own.iter().any(|word| word.is(";") || word.is("+"));
            word.splits || (has_end && word.may_be_option())
        }
        (_, Some(text)) => has_letter(text, 'x') || has_letter(text, 'X') || text.starts_with("--exec"),
        (_, None) => word.may_be_option(),
    }
}
