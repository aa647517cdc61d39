//! `awk`: a language that can write files, run commands and open connections.

use std::sync::LazyLock;

use regex::Regex;

use super::runs::opaque;
use super::word::Word;
use super::wrappers::WrappedCommand;

/// The program on a command line.
enum AwkProgram<'w> {
    Text(&'w str),
    /// In a file, unknown, or with an option that is not known.
    Unknown(String),
    Nothing,
}

fn program(args: &[Word]) -> AwkProgram<'_> {
    let mut rest = args.iter();
    let mut is_after_options = false;
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            return AwkProgram::Unknown("an awk program that is only known then".into());
        };
        match text {
            _ if is_after_options => return AwkProgram::Text(text),
            "-F" | "-v" => drop(rest.next()),
            "--" => is_after_options = true,
            "--version" | "-V" | "--help" => return AwkProgram::Nothing,
            "--re-interval" | "--posix" | "-P" | "--csv" | "-k" | "-b" | "--sandbox" | "-S" => {}
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => {
                return AwkProgram::Unknown(format!("`awk {text}` is not known to change nothing"));
            }
            text => return AwkProgram::Text(text),
        }
    }
    AwkProgram::Nothing
}

/// Returns `None` if the program only prints. Commands that it names are judged by themselves ([`runs`]).
pub(super) fn objection(args: &[Word]) -> Option<String> {
    match program(args) {
        AwkProgram::Nothing => None,
        AwkProgram::Unknown(why) => Some(why),
        AwkProgram::Text(program) => match effects(program) {
            Err(what) => Some(format!("`{what}` in an awk program may write files or run commands")),
            Ok(effects) => effects.writes.map(|what| format!("`{what}` in an awk program writes a file")),
        },
    }
}

/// Returns the commands that a program runs.
pub(super) fn runs(args: &[Word]) -> Vec<WrappedCommand> {
    match program(args) {
        AwkProgram::Nothing => Vec::new(),
        AwkProgram::Unknown(why) => vec![opaque("awk", &format!("is not read: {why}"))],
        AwkProgram::Text(program) => match effects(program) {
            Err(what) => vec![opaque("awk", &format!("may run a command by `{what}`"))],
            Ok(effects) => effects.runs.into_iter().map(WrappedCommand::Line).collect(),
        },
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct AwkEffects {
    runs: Vec<String>,
    writes: Option<&'static str>,
}

/// Commands as literals, by the numbers of the strings: `system("x")`, `… | "x"`, `"x" | getline`.
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text =
        r#"\bsystem\s*\(\s*"(\d+)"\s*\)|\|\s*"(\d+)"\s*(?:[;}\n]|$)|(?:^|[{;(])\s*"(\d+)"\s*\|\s*getline\b"#;
    Regex::new(text).ok()
});
/// Output to a string.
static OUTPUT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#">>?\s*"(\d+)"\s*(?P<end>[;}\n]|$)"#).ok());

/// Reads a program; an error is a part with an effect that is not known.
fn effects(program: &str) -> Result<AwkEffects, &'static str> {
    if program.contains("/inet") {
        return Err("/inet");
    }
    let mut found = AwkEffects::default();
    let (mut code, strings) = code(program).ok_or("?")?;
    let literal = |one: &regex::Captures<'_>| {
        let number = (1..one.len()).find_map(|group| one.get(group))?.as_str().parse::<usize>().ok()?;
        strings.get(number).filter(|text| !text.contains('\\')).cloned()
    };
    if let Some(output) = OUTPUT.as_ref() {
        let is_stream = |one: &regex::Captures<'_>| {
            literal(one)
                .is_some_and(|file| ["/dev/stderr", "/dev/stdout", "/dev/null"].contains(&file.as_str()))
        };
        let kept = output.replace_all(&code, |one: &regex::Captures<'_>| match is_stream(one) {
            true => one.name("end").map_or("", |end| end.as_str()).to_owned(),
            false => one[0].to_owned(),
        });
        code = kept.into_owned();
    }
    if let Some(commands) = COMMANDS.as_ref() {
        for one in commands.captures_iter(&code) {
            found.runs.push(literal(&one).ok_or("\\")?);
        }
        code = commands.replace_all(&code, " ; ").into_owned();
    }
    for word in ["system", "@"] {
        if code.contains(word) {
            return Err(if word == "@" { "@" } else { "system" });
        }
    }
    if code.replace("||", "").contains('|') {
        return Err("|");
    }
    // A `>` after `print` in the same statement is a redirection unless it stands in parentheses.
    for statement in code.split([';', '{', '}', '\n']) {
        let Some(at) = statement.find("print") else { continue };
        let mut depth = 0_i32;
        for letter in statement[at..].chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if letter == '>' && depth <= 0 {
                found.writes = Some("print … >");
            }
        }
    }
    Ok(found)
}

/// Returns an awk program without regular expressions and comments, with numbers for its strings, and the strings; `None` if
/// one has no end.
fn code(program: &str) -> Option<(String, Vec<String>)> {
    let (mut code, mut strings) = (String::new(), Vec::new());
    let mut letters = program.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                let mut text = String::new();
                loop {
                    match letters.next()? {
                        '\\' => {
                            text.push('\\');
                            text.extend(letters.next());
                        }
                        '"' => break,
                        other => text.push(other),
                    }
                }
                code.push_str(&format!("\"{}\"", strings.len()));
                strings.push(text);
            }
            '#' => {
                while letters.peek().is_some_and(|letter| *letter != '\n') {
                    letters.next();
                }
            }
            // A slash after a value divides; elsewhere it begins an expression.
            '/' if !code
                .trim_end()
                .ends_with(|before: char| before.is_alphanumeric() || "_)]\"$".contains(before)) =>
            {
                let mut in_brackets = false;
                loop {
                    match letters.next()? {
                        '\\' => drop(letters.next()),
                        '[' => in_brackets = true,
                        ']' => in_brackets = false,
                        // Versions differ in whether a slash in brackets ends the expression.
                        '/' if in_brackets => return None,
                        '/' => break,
                        '\n' => return None,
                        _ => {}
                    }
                }
                code.push('1');
            }
            other => code.push(other),
        }
    }
    Some((code, strings))
}

#[cfg(test)]
mod tests {
    use super::effects;

    #[test]
    fn an_awk_program_prints_writes_or_runs() {
        for (program, expected) in [
            ("NR>1", "prints"),
            ("$3 > 100 {print $1}", "prints"),
            ("{ if ($1 > m) m = $1 } END { print m }", "prints"),
            ("{print ($1 > 2)}", "prints"),
            ("/a|b/ {print}", "prints"),
            ("$1 ~ /x/ || $2 ~ /y/", "prints"),
            ("{print \"a > b | c\"}", "prints"),
            ("{print > \"/dev/stderr\"}", "prints"),
            ("{print > \"f\"}", "writes"),
            ("{printf \"x\" > \"f\"}", "writes"),
            ("{print $1 >> \"f\"}", "writes"),
            ("{print 1/2 > \"/\"}", "writes"),
            ("{print > \"/dev/stderr\" \"x\"}", "writes"),
            ("{print | \"sh\"}", "runs sh"),
            ("BEGIN{system(\"touch x\")}", "runs touch x"),
            ("BEGIN{\"touch x\" | getline}", "runs touch x"),
            ("BEGIN{while (\"ls\" | getline l) print l}", "runs ls"),
            ("BEGIN{system(\"tou\" \"ch x\")}", "unknown"),
            ("{print | \"tou\" \"ch x\"}", "unknown"),
            ("BEGIN{c = \"touch x\"; c | getline}", "unknown"),
            ("BEGIN{\"/inet/tcp/0/h/80\" |& getline}", "unknown"),
            ("@load \"x\"", "unknown"),
        ] {
            let found = match effects(program) {
                Err(_) => "unknown".to_owned(),
                Ok(found) if found.writes.is_some() => "writes".to_owned(),
                Ok(found) if found.runs.is_empty() => "prints".to_owned(),
                Ok(found) => format!("runs {}", found.runs.join(",")),
            };
            assert_eq!(found, expected, "{program}");
        }
    }
}
