//! `sed` and `awk`: small languages that can write files and run commands. Only scripts that clearly do neither count
//! as read-only.

use super::options::{has_letter, may_mean};
use super::word::Word;

/// Returns `None` if the script only prints, deletes or replaces text in the stream.
pub(super) fn sed(args: &[Word]) -> Option<String> {
    let mut scripts = Vec::new();
    let mut rest = args.iter();
    let mut first_word = None;
    while let Some(word) = rest.next() {
        // An unknown word may be the script, unless one was already given.
        let Some(text) = word.known() else {
            first_word = first_word.or(Some("w"));
            continue;
        };
        let long = text.split('=').next().unwrap_or(text);
        match text {
            "-e" | "--expression" => {
                scripts.push(rest.next().and_then(Word::known).unwrap_or("w").to_owned());
            }
            _ if text.starts_with("--expression=") => scripts.push(text["--expression=".len()..].to_owned()),
            _ if ["--quiet", "--silent", "--regexp-extended", "--posix", "--sandbox", "--debug"]
                .contains(&long) => {}
            _ if text.starts_with("--") && may_mean(text, "--in-place") => {
                return Some("`sed -i` writes".into());
            }
            _ if text.starts_with("--") => {
                return Some(format!("`sed {text}` is not known to change nothing"));
            }
            _ if has_letter(text, 'i') => return Some("`sed -i` writes".into()),
            _ if has_letter(text, 'f') || has_letter(text, 'e') => {
                return Some(format!("`sed {text}` runs a script that was not looked at"));
            }
            _ if text.starts_with('-') && text != "-" => {}
            _ => first_word = first_word.or(Some(text)),
        }
    }
    if scripts.is_empty() {
        // Assume the worst of an unknown script.
        scripts.push(first_word.unwrap_or("w").to_owned());
    }
    let bad = scripts.into_iter().find(|script| !is_plain_sed(script));
    bad.map(|script| format!("the sed script `{script}` may write files or run commands"))
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

/// Accepts a bracket expression that does not contain the delimiter.
fn bracket(text: &str, open: usize, mark: char) -> Option<&str> {
    let close = text[open..].find(']').map(|at| at + open)?;
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
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => {
                return Some(format!("`awk {text}` is not known to change nothing"));
            }
            program => return awk_program(program),
        }
    }
    None
}

fn awk_program(program: &str) -> Option<String> {
    let bad =
        ["system", ">", "|", "getline", "@", "close", "printf >"].iter().find(|bad| program.contains(**bad));
    bad.map(|bad| format!("`{bad}` in an awk program may write files or run commands"))
}

#[cfg(test)]
mod tests {
    use super::is_plain_sed;

    #[test]
    fn a_sed_script_is_plain_or_it_is_not() {
        for (script, expected) in [
            ("1,20p", true),
            ("/start/,/end/p", true),
            ("s/a/b/g", true),
            ("s|a/b|c|; 3q", true),
            ("$!N;P;D", true),
            ("/x[0-9]/d", true),
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
}
