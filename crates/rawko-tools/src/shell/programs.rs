//! `sed` and `awk`: small languages that can write files and run commands. Only scripts that clearly do neither count
//! as read-only.

use super::options::may_mean;
use super::word::Word;

/// Long options of sed without an effect on files, with a flag for those that take a value.
const SED_LONG: [(&str, bool); 12] = [
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
];

/// Returns `None` if the script only prints, deletes or replaces text in the stream.
pub(super) fn sed(args: &[Word]) -> Option<String> {
    let mut scripts: Vec<Option<&str>> = Vec::new();
    let mut positional: Vec<Option<&str>> = Vec::new();
    let mut rest = args.iter();
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
            let known: Vec<_> = SED_LONG.iter().filter(|(long, _)| may_mean(name, long)).collect();
            let is_sure = matches!(known.as_slice(), [_]) || SED_LONG.iter().any(|(long, _)| *long == name);
            let Some((option, takes_value)) = known.first().filter(|_| is_sure) else {
                return Some(format!("`sed {text}` is not known to change nothing"));
            };
            let value = if *takes_value { value.or_else(|| rest.next().and_then(Word::known)) } else { None };
            if *option == "--expression" {
                scripts.push(value);
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (at, letter) in letters.char_indices() {
                let attached = &letters[at + letter.len_utf8()..];
                match letter {
                    'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                    'l' if attached.is_empty() => drop(rest.next()),
                    'l' => {}
                    'e' if attached.is_empty() => scripts.push(rest.next().and_then(Word::known)),
                    'e' => scripts.push(Some(attached)),
                    'i' => return Some("`sed -i` writes".into()),
                    _ => return Some(format!("`sed {text}` is not known to change nothing")),
                }
                break;
            }
        } else {
            positional.push(Some(text));
        }
    }
    if scripts.is_empty() {
        scripts.push(positional.first().copied().unwrap_or(Some("")));
    }
    let bad = scripts.into_iter().find(|script| !script.is_some_and(is_plain_sed));
    bad.map(|script| match script {
        Some(script) => format!("the sed script `{script}` may write files or run commands"),
        None => "a sed script that is only known then".to_owned(),
    })
}

/// Accepts addresses, the commands `p d q = n s y` and braces; `s` without the flags `w` and `e`.
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';', '\n', '}']);
    while !rest.is_empty() {
        let Some(after) = sed_address(rest).and_then(sed_command) else { return false };
        rest = after.trim_start_matches([' ', ';', '\n', '}']);
    }
    true
}

/// Skips an address: `12`, `$`, `/re/`, `+3`, `1~2`, with a comma between two and `!` after.
fn sed_address(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || " ,$+~!I".contains(letter));
        match rest.strip_prefix('/') {
            Some(pattern) => rest = delimited(pattern, '/')?,
            None => return Some(rest),
        }
    }
}

fn sed_command(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    match first {
        'p' | 'd' | 'q' | 'Q' | '=' | 'n' | 'N' | 'D' | 'P' | 'g' | 'G' | 'h' | 'H' | 'x' | 'l' => {
            let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
            (rest.is_empty() || rest.starts_with([';', '\n', '}'])).then_some(rest)
        }
        '{' => Some(rest),
        's' | 'y' => {
            let mark =
                rest.chars().next().filter(|mark| !mark.is_alphanumeric() && !"\\\n".contains(*mark))?;
            let rest = delimited(delimited(&rest[mark.len_utf8()..], mark)?, mark)?;
            let rest = rest.trim_start_matches(|flag: char| flag.is_ascii_digit() || "gpIi ".contains(flag));
            (rest.is_empty() || rest.starts_with([';', '\n', '}'])).then_some(rest)
        }
        _ => None,
    }
}

/// Returns the text after the next delimiter that is neither escaped nor in brackets.
fn delimited(text: &str, mark: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == '[' || letter == '\n' {
            // Versions differ in whether a delimiter in brackets ends the expression; neither is relied on.
            return bracket(text, at, mark);
        } else if letter == mark {
            return Some(&text[at + letter.len_utf8()..]);
        }
    }
    None
}

/// Accepts a bracket expression that does not contain the delimiter, with classes such as `[:space:]` in it.
fn bracket(text: &str, open: usize, mark: char) -> Option<&str> {
    let mut close = open;
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

/// Returns `None` if the program can only print.
pub(super) fn awk(args: &[Word]) -> Option<String> {
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { return Some("an awk program that is only known then".into()) };
        match text {
            "-F" | "-v" => drop(rest.next()),
            "--" => return rest.next().and_then(awk_known),
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => {
                return Some(format!("`awk {text}` is not known to change nothing"));
            }
            program => return awk_program(program),
        }
    }
    None
}

fn awk_known(program: &Word) -> Option<String> {
    match program.known() {
        Some(program) => awk_program(program),
        None => Some("an awk program that is only known then".into()),
    }
}

fn awk_program(program: &str) -> Option<String> {
    let bad = |what: &str| Some(format!("`{what}` in an awk program may write files or run commands"));
    if program.contains("/inet") {
        return Some("an awk program opens a connection".to_owned());
    }
    let Some(code) = awk_code(program) else { return Some("an awk program that cannot be read".to_owned()) };
    for word in ["system", "@", "close", "fflush"] {
        if code.contains(word) {
            return bad(word);
        }
    }
    if code.replace("||", "").contains('|') {
        return bad("|");
    }
    // A `>` after `print` in the same statement is a redirection unless it stands in parentheses.
    for statement in code.split([';', '{', '}', '\n']) {
        let Some(at) = statement.find("print") else { continue };
        let mut depth = 0_i32;
        for letter in statement[at..].chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if letter == '>' && depth <= 0 {
                return bad("print … >");
            }
        }
    }
    None
}

/// Returns an awk program without strings, regular expressions and comments; `None` if one has no end.
fn awk_code(program: &str) -> Option<String> {
    let mut code = String::new();
    let mut letters = program.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                loop {
                    match letters.next()? {
                        '\\' => drop(letters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
                code.push_str("\"\"");
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
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::{awk_program, is_plain_sed};

    #[test]
    fn a_sed_script_is_plain_or_it_is_not() {
        for (script, expected) in [
            ("1,20p", true),
            ("/start/,/end/p", true),
            ("s/a/b/g", true),
            ("s|a/b|c|; 3q", true),
            ("$!N;P;D", true),
            ("/x[0-9]/d", true),
            ("s/[[:space:]]*$//", true),
            ("w out", false),
            ("1e rm x", false),
            ("s/a/b/w out", false),
            ("s/a/rm x/e", false),
            ("s/a/b/ge", false),
            ("r /etc/passwd", false),
            ("s/[/]/b/;w out", false),
            ("p;w out", false),
            ("p w out", false),
        ] {
            assert_eq!(is_plain_sed(script), expected, "{script}");
        }
    }

    #[test]
    fn an_awk_program_prints_or_writes() {
        for (program, prints) in [
            ("NR>1", true),
            ("$3 > 100 {print $1}", true),
            ("{ if ($1 > m) m = $1 } END { print m }", true),
            ("{print ($1 > 2)}", true),
            ("/a|b/ {print}", true),
            ("$1 ~ /x/ || $2 ~ /y/", true),
            ("{print \"a > b | c\"}", true),
            ("{print > \"f\"}", false),
            ("{printf \"x\" > \"f\"}", false),
            ("{print $1 >> \"f\"}", false),
            ("{print | \"sh\"}", false),
            ("BEGIN{system(\"x\")}", false),
            ("BEGIN{\"x\" | getline}", false),
            ("BEGIN{\"/inet/tcp/0/h/80\" |& getline}", false),
            ("@load \"x\"", false),
            ("{print 1/2 > \"/\"}", false),
        ] {
            assert_eq!(awk_program(program).is_none(), prints, "{program}");
        }
    }
}
