//! Text that is executed: `sh -c`, `eval`, `trap`, and the builtins that redefine names.

use super::word::Word;
use super::wrappers::WrappedCommand;

pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"];

/// A shell runs the text after `-c`, a file, or its standard input.
pub(super) fn shell(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    let mut rest = args.iter();
    let mut has_text = false;
    for word in rest.by_ref() {
        let Some(option) = word.known() else {
            return vec![WrappedCommand::Unknowable(format!("`{name}` is given `{}`", word.shown))];
        };
        let is_long = option.starts_with("--");
        if is_long && ["--rcfile", "--init-file"].contains(&option) {
            return vec![WrappedCommand::Unknowable(format!("`{name} {option}` runs a file first"))];
        }
        match option.strip_prefix(['-', '+']) {
            Some("") | None => return from(name, has_text, Some(word)),
            Some(_) if is_long => {}
            Some(letters) if letters.contains(['s', 'i', 'o', 'O']) => {
                return vec![WrappedCommand::Unknowable(format!("`{name} {option}` cannot be followed"))];
            }
            Some(letters) => has_text |= letters.contains('c'),
        }
    }
    from(name, has_text, None)
}

fn from(name: &str, has_text: bool, word: Option<&Word>) -> Vec<WrappedCommand> {
    match (has_text, word, word.and_then(Word::known)) {
        (true, _, Some(text)) => vec![WrappedCommand::Line(text.to_owned())],
        (true, Some(word), None) => {
            vec![WrappedCommand::Unknowable(format!(
                "`{name} -c` runs `{}`, which is not known before it runs",
                word.shown
            ))]
        }
        (false, Some(_), Some(file)) if is_file(file) => Vec::new(),
        (_, _, _) => vec![WrappedCommand::Unknowable(format!("`{name}` runs the commands of its input"))],
    }
}

fn is_file(file: &str) -> bool {
    !["/dev/", "/proc/"].iter().any(|special| file.starts_with(special)) && file != "-"
}

/// Builtins of bash that run text, set variables or redefine names.
pub(super) fn builtin(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    match name {
        "eval" => eval(args),
        "trap" => trap(args),
        "source" | "." => match args.first().map(|file| (file, file.known())) {
            Some((_, Some(file))) if is_file(file) => Vec::new(),
            Some((file, _)) => {
                vec![WrappedCommand::Unknowable(format!("`{name}` runs what `{}` holds", file.shown))]
            }
            None => Vec::new(),
        },
        "alias" | "enable" | "hash" | "bind" | "complete" | "compgen" | "fc" | "shopt" => {
            let changes = WrappedCommand::Unknowable(format!("`{name}` changes what later commands mean"));
            if only_asks(name, args) { Vec::new() } else { vec![changes] }
        }
        "let" => vec![WrappedCommand::Unknowable("`let` calculates from variables".into())],
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "unset" | "mapfile"
        | "readarray" | "getopts" => set_by(name, args),
        "printf" | "wait" | "test" | "[" => set_by_option(name, args),
        _ => Vec::new(),
    }
}

/// Options of bash that change how names of files are matched, not what runs. `extglob` and `expand_aliases` do.
const MATCHING: [&str; 9] = [
    "dotglob",
    "failglob",
    "globasciiranges",
    "globstar",
    "lastpipe",
    "nocaseglob",
    "nocasematch",
    "nullglob",
    "inherit_errexit",
];

/// Returns true if a builtin that can change the meaning of commands prints, or changes only patterns.
fn only_asks(name: &str, args: &[Word]) -> bool {
    let Some(texts) = args.iter().map(Word::known).collect::<Option<Vec<&str>>>() else { return false };
    let is_among = |known: &[&str]| texts.iter().all(|text| known.contains(text));
    match name {
        "shopt" => {
            let names = texts.iter().filter(|text| !text.starts_with('-'));
            let options = texts.iter().filter(|text| text.starts_with('-'));
            let is_set = texts.iter().any(|text| ["-s", "-u", "-su", "-us"].contains(text));
            options.into_iter().all(|text| ["-s", "-u", "-q", "-p", "-qs", "-sq", "-qu"].contains(text))
                && (!is_set || names.into_iter().all(|name| MATCHING.contains(name)))
        }
        "hash" => {
            texts.iter().all(|text| !text.starts_with('-') || ["-r", "-l", "-t", "-lt", "-d"].contains(text))
        }
        "alias" | "enable" | "complete" => is_among(&["-p", "-a"]),
        "bind" => is_among(&["-l", "-p", "-P", "-v", "-V", "-s", "-S"]),
        "fc" => texts.first().is_some_and(|text| text.starts_with("-l")),
        "compgen" => {
            let is_action = |text: &&str| {
                text.starts_with('-') && text[1..].chars().all(|letter| "abcdefgjksuv".contains(letter))
            };
            texts.first().is_some_and(is_action) && texts[1..].iter().all(|text| !text.starts_with('-'))
        }
        _ => false,
    }
}

fn eval(args: &[Word]) -> Vec<WrappedCommand> {
    let known: Option<Vec<&str>> = args.iter().map(Word::known).collect();
    match known {
        Some(words) => vec![WrappedCommand::Line(words.join(" "))],
        None => vec![WrappedCommand::Unknowable("`eval` runs text that is only known then".into())],
    }
}

fn trap(args: &[Word]) -> Vec<WrappedCommand> {
    let mut words = args.iter().filter(|word| !word.is("--"));
    match words.next().map(|word| (word, word.known())) {
        None | Some((_, Some("" | "-" | "-l" | "-p"))) => Vec::new(),
        Some((_, Some(text))) => vec![WrappedCommand::Line(text.to_owned())],
        Some((word, None)) => vec![WrappedCommand::Unknowable(format!("`trap` runs `{}`", word.shown))],
    }
}

/// Returns the variables a builtin sets. A subscript in a name is evaluated, which can run any command.
fn set_by(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    let mut inner = Vec::new();
    for word in args.iter().filter(|word| !word.prefix.starts_with('-')) {
        let text = word.prefix.split('=').next().unwrap_or_default();
        let is_sure = word.known().is_some() || word.prefix.contains('=');
        inner.push(if is_sure && !text.contains(['[', '$', '`', '(']) {
            WrappedCommand::Assigned(text.to_owned())
        } else {
            WrappedCommand::Unknowable(format!("`{name}` takes `{}` for the name of a variable", word.shown))
        });
    }
    let has = |letters: [char; 2]| {
        args.iter().any(|word| word.text().starts_with('-') && word.text().contains(letters))
    };
    if ["mapfile", "readarray"].contains(&name) && has(['C', 'c']) {
        inner.push(WrappedCommand::Unknowable(format!("`{name} -C` calls a command")));
    }
    // A quoted list assigned to an array is parsed and expanded a second time.
    let declares = ["declare", "typeset", "local", "export", "readonly"].contains(&name);
    if declares && args.iter().any(|word| word.known().is_some_and(|text| text.contains(['$', '`', '(']))) {
        inner.push(WrappedCommand::Unknowable(format!("`{name}` may expand what is assigned once more")));
    }
    if declares && has(['i', 'n']) {
        inner.push(WrappedCommand::Unknowable(format!(
            "`{name}` with `-i` or `-n` evaluates what is assigned"
        )));
    }
    inner
}

/// Builtins that set a variable only with certain options.
fn set_by_option(name: &str, args: &[Word]) -> Vec<WrappedCommand> {
    let sets = |word: &Word| match name {
        "printf" => word.text().starts_with("-v"),
        "wait" => word.text().starts_with("-p"),
        _ => word.is("-v") || word.is("-R"),
    };
    let is_set = args.iter().any(sets);
    if is_set {
        vec![WrappedCommand::Unknowable(format!("`{name}` is given the name of a variable"))]
    } else {
        Vec::new()
    }
}
