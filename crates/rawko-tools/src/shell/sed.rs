//! `sed`: a small language that can write files and run commands.

use super::options::may_mean;
use super::runs::opaque;
use super::word::Word;
use super::wrappers::WrappedCommand;

/// Long options of sed without an effect on files, with a flag for those that take a value.
const LONG: [(&str, bool); 14] = [
    ("--quiet", false),
    ("--silent", false),
    ("--regexp-extended", false),
    ("--posix", false),
    ("--sandbox", false),
    ("--debug", false),
    ("--null-data", false),
    ("--zero-terminated", false),
    ("--separate", false),
    ("--unbuffered", false),
    ("--line-length", true),
    ("--expression", true),
    ("--version", false),
    ("--help", false),
];

/// The arguments of sed.
#[derive(Default)]
struct SedUse<'w> {
    /// `None` for a script that is only known at run time.
    scripts: Vec<Option<&'w str>>,
    script_files: Vec<String>,
    /// An option that writes, or that is not known.
    objection: Option<String>,
}

fn arguments(args: &[Word]) -> SedUse<'_> {
    let mut found = SedUse::default();
    let mut positional: Vec<Option<&str>> = Vec::new();
    let mut rest = args.iter();
    let unknown = |text: &str| Some(format!("`sed {text}` is not known to change nothing"));
    while let Some(word) = rest.next() {
        // An unknown word may be the script, unless one was given.
        let Some(text) = word.known() else {
            positional.push(None);
            continue;
        };
        if text == "--" {
            positional.extend(rest.by_ref().map(Word::known));
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((text, None), |(name, value)| (&text[..name.len() + 2], Some(value)));
            if name.len() > 3 && may_mean(name, "--file") {
                found
                    .script_files
                    .push(value.or_else(|| rest.next().and_then(Word::known)).unwrap_or("?").to_owned());
                continue;
            }
            let known: Vec<_> = LONG.iter().filter(|(long, _)| may_mean(name, long)).collect();
            let is_sure = matches!(known.as_slice(), [_]) || LONG.iter().any(|(long, _)| *long == name);
            let Some((option, takes_value)) = known.first().filter(|_| is_sure) else {
                found.objection = found.objection.or_else(|| unknown(text));
                continue;
            };
            let value = if *takes_value { value.or_else(|| rest.next().and_then(Word::known)) } else { None };
            if *option == "--expression" {
                found.scripts.push(value);
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let attached = &letters[at + letter.len_utf8()..];
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                    'l' if attached.is_empty() => drop(rest.next()),
                    'l' => {}
                    'e' if attached.is_empty() => found.scripts.push(rest.next().and_then(Word::known)),
                    'e' => found.scripts.push(Some(attached)),
                    'f' if attached.is_empty() => {
                        found
                            .script_files
                            .push(rest.next().map(|word| word.shown.clone()).unwrap_or_default());
                    }
                    'f' => found.script_files.push(attached.to_owned()),
                    'i' => found.objection = Some("`sed -i` writes".into()),
                    _ => found.objection = found.objection.or_else(|| unknown(text)),
                }
                break;
            }
        } else {
            positional.push(Some(text));
        }
    }
    if found.scripts.is_empty() && found.script_files.is_empty() {
        found.scripts.push(positional.first().copied().unwrap_or(Some("")));
    }
    found
}

/// Returns `None` if the script only prints, deletes or replaces text in the stream.
pub(super) fn objection(args: &[Word]) -> Option<String> {
    let found = arguments(args);
    if let Some(file) = found.script_files.first() {
        return Some(format!("the sed script in `{file}` may write files or run commands"));
    }
    if found.objection.is_some() {
        return found.objection;
    }
    let is_plain =
        |script: &str| effects(script).is_some_and(|effects| !effects.writes && effects.runs.is_empty());
    let bad = found.scripts.into_iter().find(|script| !script.is_some_and(is_plain));
    bad.map(|script| match script {
        Some(script) => format!("the sed script `{script}` may write files or run commands"),
        None => "a sed script that is only known then".to_owned(),
    })
}

/// Returns the commands that a script runs.
pub(super) fn runs(args: &[Word]) -> Vec<WrappedCommand> {
    let found = arguments(args);
    let mut inner: Vec<WrappedCommand> = found
        .script_files
        .iter()
        .map(|file| opaque("sed", &format!("runs the script in `{file}`")))
        .collect();
    for script in found.scripts {
        match script.map(effects) {
            None => inner.push(opaque("sed", "runs a script that is only known then")),
            Some(None) => inner.push(opaque("sed", "runs a script that cannot be read")),
            Some(Some(effects)) => inner.extend(effects.runs.into_iter().map(|command| match command {
                Some(command) => WrappedCommand::Line(command.to_owned()),
                None => opaque("sed", "runs the text that it edits"),
            })),
        }
    }
    inner
}

#[derive(Debug, Default, PartialEq, Eq)]
struct SedEffects<'s> {
    writes: bool,
    /// Commands; `None` for the edited text.
    runs: Vec<Option<&'s str>>,
}

/// Reads a script; `None` if a part of it is not understood.
fn effects(script: &str) -> Option<SedEffects<'_>> {
    let mut found = SedEffects::default();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';', '\n', '}']);
        if rest.is_empty() {
            return Some(found);
        }
        rest = command(address(rest)?, &mut found)?;
    }
}

/// Skips an address: `12`, `$`, `/re/`, `\%re%`, `+3`, `1~2`, with a comma between two and `!` after.
fn address(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest =
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || " \t,$+~!IM".contains(letter));
        if let Some(pattern) = rest.strip_prefix('/') {
            rest = delimited(pattern, '/')?;
        } else if let Some(pattern) = rest.strip_prefix('\\') {
            let mark =
                pattern.chars().next().filter(|mark| !mark.is_alphanumeric() && !"\\\n".contains(*mark))?;
            rest = delimited(&pattern[mark.len_utf8()..], mark)?;
        } else {
            return Some(rest);
        }
    }
}

fn command<'s>(text: &'s str, found: &mut SedEffects<'s>) -> Option<&'s str> {
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    let line = || rest.split_once('\n').map_or((rest, ""), |(line, after)| (line, after));
    let ended = |rest: &'s str| {
        let rest = rest.trim_start_matches([' ', '\t']);
        (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
    };
    match first {
        '#' => Some(line().1),
        '{' => Some(rest),
        'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' | 'z'
        | 'F' => ended(rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ')),
        'b' | 't' | 'T' | ':' => {
            let is_label = |letter: char| letter.is_alphanumeric() || "_.-".contains(letter);
            ended(rest.trim_start_matches(' ').trim_start_matches(is_label))
        }
        // Text to the end of the line, and on after a backslash.
        'a' | 'i' | 'c' => {
            let (mut last, mut after) = line();
            while last.ends_with('\\') && !after.is_empty() {
                (last, after) = after.split_once('\n').unwrap_or((after, ""));
            }
            Some(after)
        }
        'r' | 'R' | 'v' => Some(line().1),
        'w' | 'W' => {
            found.writes |= !["/dev/stdout", "/dev/stderr"].contains(&line().0.trim());
            Some(line().1)
        }
        'e' => {
            let command = line().0.trim();
            found.runs.push(Some(command).filter(|command| !command.is_empty()));
            Some(line().1)
        }
        's' | 'y' => {
            let mark =
                rest.chars().next().filter(|mark| !mark.is_alphanumeric() && !"\\\n".contains(*mark))?;
            let rest = replacement(delimited(&rest[mark.len_utf8()..], mark)?, mark)?;
            flags(rest, found).and_then(|rest| ended_or_file(rest, found))
        }
        _ => None,
    }
}

fn flags<'s>(rest: &'s str, found: &mut SedEffects<'s>) -> Option<&'s str> {
    let after = rest.trim_start_matches(|flag: char| flag.is_ascii_digit() || "gpIiMme ".contains(flag));
    if rest[..rest.len() - after.len()].contains('e') {
        found.runs.push(None);
    }
    Some(after)
}

fn ended_or_file<'s>(rest: &'s str, found: &mut SedEffects<'s>) -> Option<&'s str> {
    if let Some(file) = rest.strip_prefix('w') {
        let (file, after) = file.split_once('\n').unwrap_or((file, ""));
        found.writes |= !["/dev/stdout", "/dev/stderr"].contains(&file.trim());
        return Some(after);
    }
    (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
}

/// Returns the text after the next delimiter that is not escaped.
fn replacement(text: &str, mark: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' => return None,
            _ if letter == mark => return Some(&text[at + letter.len_utf8()..]),
            _ => {}
        }
    }
    None
}

/// Returns the text after the next delimiter that is neither escaped nor in brackets.
fn delimited(text: &str, mark: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == '[' {
            // Versions differ in whether a delimiter in brackets ends the expression; neither is relied on.
            return bracket(text, at, mark);
        } else if letter == '\n' {
            return None;
        } else if letter == mark {
            return Some(&text[at + letter.len_utf8()..]);
        }
    }
    None
}

/// Accepts a bracket expression that does not contain the delimiter, with classes such as `[:space:]` in it.
fn bracket(text: &str, open: usize, mark: char) -> Option<&str> {
    // A `]` right after the opening, or after `^`, is a letter of the expression.
    let inside = text[open + 1..].strip_prefix('^').map_or(open + 1, |_| open + 2);
    let mut close = if text[inside..].starts_with(']') { inside } else { inside - 1 };
    loop {
        close = text[close + 1..].find(']').map(|at| at + close + 1)?;
        // The end of a class is not the end of the expression.
        if !text[open..close].ends_with(':') {
            break;
        }
    }
    if text[open..close].contains([mark, '\n']) {
        return None;
    }
    delimited(&text[close + 1..], mark)
}

#[cfg(test)]
mod tests {
    use super::effects;

    #[test]
    fn a_sed_script_is_plain_or_it_is_not() {
        for (script, expected) in [
            ("1,20p", "plain"),
            ("/start/,/end/p", "plain"),
            ("s/a/b/g", "plain"),
            ("s|a/b|c|; 3q", "plain"),
            ("s/a/[b]/", "plain"),
            ("$!N;P;D", "plain"),
            (":a;N;$!ba;s/\\n/ /g", "plain"),
            ("/x[0-9]/d", "plain"),
            ("s/[[:space:]]*$//", "plain"),
            ("s/[^]]*]//", "plain"),
            ("\\%a%d", "plain"),
            ("/x/a\\  more e touch y", "plain"),
            ("1i text", "plain"),
            ("r /etc/passwd", "plain"),
            ("w /dev/stdout", "plain"),
            ("w out", "writes"),
            ("s/a/b/w out", "writes"),
            ("s/a/b/gw out", "writes"),
            ("p;w out", "writes"),
            ("1e rm x", "runs rm x"),
            ("1!e rm x", "runs rm x"),
            ("/a/{p;e rm x\n}", "runs rm x"),
            ("1i text\n1e rm x", "runs rm x"),
            ("e", "runs text"),
            ("s/a/rm x/e", "runs text"),
            ("s/a/b/ge", "runs text"),
            ("s/[/]/b/;w out", "unknown"),
            ("p w out", "unknown"),
            ("1 foo", "unknown"),
        ] {
            let found = match effects(script) {
                None => "unknown".to_owned(),
                Some(found) if found.writes => "writes".to_owned(),
                Some(found) => match found.runs.first() {
                    Some(command) => format!("runs {}", command.unwrap_or("text")),
                    None => "plain".to_owned(),
                },
            };
            assert_eq!(found, expected, "{script}");
        }
    }
}
