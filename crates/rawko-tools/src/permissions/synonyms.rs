//! Other spellings of the same command, for rules that deny or ask: `npm i` is `npm install`, `python3.11 -m pip` is `pip`,
//! `./x` is `x`.

use crate::shell::{Simple, Word};

/// Programs whose names may end with a version.
const VERSIONED: &[&str] =
    &["clang", "clang++", "g++", "gcc", "lua", "node", "perl", "php", "pip", "python", "ruby"];
/// Other names of the same program.
const PROGRAMS: &[(&str, &str)] = &[
    ("apt-get", "apt"),
    ("gawk", "awk"),
    ("mawk", "awk"),
    ("nawk", "awk"),
    ("gmake", "make"),
    ("ncat", "nc"),
    ("netcat", "nc"),
    ("nodejs", "node"),
    ("source", "."),
    ("vi", "vim"),
];
/// Other names of subcommands.
const COMMANDS: &[(&[&str], &str, &[&str])] = &[
    (
        &["npm", "pnpm", "bun", "yarn"],
        "install",
        &["add", "i", "in", "ins", "inst", "insta", "instal", "isnt"],
    ),
    (&["npm"], "install", &["isnta", "isntal", "isntall"]),
    (&["npm"], "ci", &["clean-install", "ic", "install-clean", "isntall-clean"]),
    (&["npm", "pnpm"], "uninstall", &["un", "unlink", "remove", "rm", "r"]),
    (&["npm", "pnpm"], "update", &["up", "upgrade", "udpate"]),
    (&["npm", "pnpm", "yarn", "bun"], "run", &["run-script", "rum", "urn"]),
    (&["npm"], "exec", &["x"]),
    (&["npm"], "test", &["t", "tst"]),
    (&["npm"], "config", &["c"]),
    (&["cargo"], "build", &["b"]),
    (&["cargo"], "check", &["c"]),
    (&["cargo"], "doc", &["d"]),
    (&["cargo"], "remove", &["rm"]),
    (&["cargo"], "run", &["r"]),
    (&["cargo"], "test", &["t"]),
    (&["git"], "add", &["stage"]),
];
/// Commands of `docker container`, which docker also has without it; those of `docker image`, too.
const CONTAINER: &[&str] = &[
    "attach", "commit", "cp", "create", "diff", "exec", "export", "kill", "logs", "pause", "port", "rename",
    "restart", "rm", "run", "start", "stats", "stop", "top", "unpause", "update", "wait",
];
const IMAGE: &[&str] = &["build", "history", "import", "load", "pull", "push", "save", "tag"];

/// Returns the program without its version and under its usual name.
fn program(name: &str) -> &str {
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let bare = bare.strip_suffix('-').unwrap_or(bare);
    let name = if VERSIONED.contains(&bare) { bare } else { name };
    PROGRAMS.iter().find(|(other, _)| *other == name).map_or(name, |(_, usual)| usual)
}

/// Returns the words under their usual names. Words that are not known stay.
pub(super) fn usual(words: Vec<Word>) -> Vec<Word> {
    let Some(name) = words.first().and_then(Word::known).map(|name| program(name).to_owned()) else {
        return words;
    };
    let mut found: Vec<Word> = std::iter::once(Word::of_text(&name))
        .chain(words.into_iter().skip(1).map(|word| match word.known().map(plain_path) {
            Some(Some(path)) => Word::of_text(path),
            Some(None) | None => word,
        }))
        .collect();
    for (programs, usual, others) in COMMANDS {
        let is_other = |word: &Word| word.known().is_some_and(|text| others.contains(&text));
        if programs.contains(&name.as_str())
            && let Some(at) = first_command(&found)
            && is_other(&found[at])
        {
            found[at] = Word::of_text(usual);
        }
    }
    if ["docker", "podman"].contains(&name.as_str())
        && let Some(at) = first_command(&found)
    {
        let of = |at: usize| found.get(at).and_then(Word::known).unwrap_or_default().to_owned();
        let usual = match (of(at).as_str(), of(at + 1).as_str()) {
            ("container", "ls" | "list" | "ps") => Some("ps".to_owned()),
            ("image", "ls" | "list") => Some("images".to_owned()),
            ("image", "rm" | "remove") => Some("rmi".to_owned()),
            ("container", command) if CONTAINER.contains(&command) => Some(command.to_owned()),
            ("image", command) if IMAGE.contains(&command) => Some(command.to_owned()),
            _ => None,
        };
        if let Some(usual) = usual {
            drop(found.splice(at..at + 2, [Word::of_text(&usual)]));
        }
    }
    found
}

/// Returns the place of the first word that is a subcommand of any program above, after options and their values.
fn first_command(words: &[Word]) -> Option<usize> {
    let is_command = |word: &Word| {
        let Some(text) = word.known() else { return false };
        text == "container"
            || text == "image"
            || COMMANDS.iter().any(|(_, usual, others)| *usual == text || others.contains(&text))
    };
    let first = words.iter().skip(1).position(|word| !word.may_be_option())? + 1;
    let has_options = first > 1;
    match is_command(&words[first]) || !has_options {
        true => Some(first),
        // `npm --prefix a i`: the value of an option comes before it.
        false => words.get(first + 1).filter(|word| is_command(word)).map(|_| first + 1),
    }
}

/// `./x` is `x`.
fn plain_path(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("./")?.trim_start_matches('/');
    while let Some(inner) = rest.strip_prefix("./") {
        rest = inner.trim_start_matches('/');
    }
    (!rest.is_empty() && !rest.starts_with('-')).then_some(rest)
}

/// `python3 -m pip install` is `pip install`.
pub(super) fn module(simple: &Simple) -> Option<Simple> {
    if program(simple.words.first()?.known()?) != "python" {
        return None;
    }
    for (at, word) in simple.args().iter().enumerate() {
        let text = word.known()?;
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
        let Some((_, name)) = letters.split_once('m') else { continue };
        let rest = simple.args()[at + 1..].iter().cloned();
        let name = (!name.is_empty()).then(|| Word::of_text(name));
        let words: Vec<Word> = name.into_iter().chain(rest).collect();
        return (!words.is_empty()).then_some(Simple { words });
    }
    None
}

/// `git-push` is `git push`.
pub(super) fn as_git(simple: Simple) -> Simple {
    let command = simple.words.first().and_then(Word::known).and_then(|name| name.strip_prefix("git-"));
    match command.map(Word::of_text) {
        Some(command) => {
            let rest = simple.words[1..].iter().cloned();
            Simple { words: [Word::of_text("git"), command].into_iter().chain(rest).collect() }
        }
        None => simple,
    }
}

#[cfg(test)]
mod tests {
    use crate::permissions::CommandPattern;
    use crate::shell::commands_of;

    #[test]
    fn another_spelling_is_the_same_command() {
        for (rule, line, caught) in [
            ("npm install:*", "npm i left-pad", true),
            ("npm install:*", "npm --prefix a add left-pad", true),
            ("npm i:*", "npm install left-pad", true),
            ("npm install:*", "npm run i", false),
            ("npm install:*", "npm ci", false),
            ("npm run deploy", "npm run-script deploy", true),
            ("pip install:*", "pip3 install x", true),
            ("pip install:*", "pip3.11 --no-input install x", true),
            ("pip install:*", "python3 -m pip install x", true),
            ("pip install:*", "python3.12 -Im pip install x", true),
            ("pip install:*", "python3 -mpip install x", true),
            ("pip install:*", "python3 -m pip list", false),
            ("pip install:*", "python3 x.py -m pip install", false),
            ("python3:*", "python3.11 -c 1", true),
            ("python3:*", "python -c 1", true),
            ("python:*", "python3 x.py", true),
            ("python:*", "pythonic x.py", false),
            ("docker run:*", "docker container run x", true),
            ("docker run:*", "docker --debug container run x", true),
            ("docker container run:*", "docker run x", true),
            ("docker container run:*", "docker container ls", false),
            ("docker container:*", "docker container ls", true),
            ("docker rmi:*", "docker image rm x", true),
            ("source:*", ". ./x.sh", true),
            (".:*", "source x.sh", true),
            ("sh x.sh", "sh ./x.sh", true),
            ("touch x", "touch ././x", true),
            ("touch ./x", "touch x", true),
            ("touch x", "touch ./y", false),
            ("make deploy", "make A=b deploy", true),
            ("make deploy:*", "make all deploy", true),
            ("make deploy:*", "make all", false),
            ("cargo test:*", "cargo t", true),
            ("git add:*", "git stage x", true),
            ("awk:*", "gawk 1", true),
        ] {
            let pattern = CommandPattern::parse(rule).unwrap();
            let commands = commands_of(line);
            assert_eq!(pattern.catches(commands.last().unwrap()), caught, "{rule} catches {line}");
        }
    }
}
