//! Programs other than git that change whole trees.

use super::TreeChange;
use super::cover::GateCoverage;
use crate::shell::{Simple, Word, has_objection};

const NARROWER: &str = "name the files or directories to change, such as `src`";
const REMOVING: [&str; 6] = ["rm", "rmdir", "shred", "trash", "trash-put", "unlink"];
const MODES: [&str; 5] = ["chgrp", "chmod", "chown", "chattr", "setfacl"];
/// Programs that change the files of a list.
const CHANGING: [&str; 13] =
    ["chmod", "chown", "cp", "dd", "install", "ln", "mv", "perl", "rm", "sed", "shred", "truncate", "unlink"];

pub(super) fn change(name: &str, simple: &Simple, coverage: &GateCoverage<'_>) -> Option<TreeChange> {
    let args = simple.args();
    let operands: Vec<&Word> = args.iter().filter(|word| !is_option(word)).collect();
    let reached = |words: &[&Word]| words.iter().any(|word| coverage.reaches(word));
    let refused = || Some(TreeChange::Refused(shown(simple), NARROWER));
    let asked = || Some(TreeChange::Asked(shown(simple)));
    match name {
        _ if REMOVING.contains(&name) && reached(&operands) => refused(),
        _ if MODES.contains(&name) && has_letter(args, 'R') && reached(&operands) => refused(),
        "mv" | "rename" => {
            let has_target = args.iter().any(|word| word.is("-t"));
            let sources = if has_target { &operands[..] } else { sources(&operands) };
            reached(sources).then(refused)?
        }
        "zip" if has_letter(args, 'm') && reached(&operands) => refused(),
        "rsync" | "tar" if args.iter().any(is_removing) && reached(&operands) => refused(),
        "cp" | "ditto" | "rsync" => {
            let is_recursive = has_letter(args, 'r') || has_letter(args, 'R') || has_letter(args, 'a');
            let is_content = |word: &&Word| {
                word.known().is_none_or(|text| text == "." || text == ".." || text.ends_with(['/', '.']))
            };
            let target = operands.last().filter(|_| operands.len() > 1)?;
            let copies = sources(&operands).iter().any(is_content) || has_letter(args, 'T');
            ((is_recursive || name == "ditto") && copies && coverage.reaches(target)).then(asked)?
        }
        "find" => {
            let covers = find_covers(args, coverage) && find_changes(args);
            covers.then(refused)?
        }
        "fd" | "fdfind" => {
            let runs = ["-x", "-X", "--exec", "--exec-batch"];
            let runs = args.iter().any(|word| runs.iter().any(|option| word.is(option)));
            (runs && lists_hidden(args) && coverage.is_above_here()).then(asked)?
        }
        "tar" | "bsdtar" | "unzip" | "cpio" | "bsdcpio" | "7z" | "7za" => {
            let target = ["-C", "-d", "-D", "--directory"];
            let at = args.iter().position(|word| target.iter().any(|option| word.is(option)));
            let covers = match at.and_then(|at| args.get(at + 1)) {
                Some(target) => coverage.reaches(target),
                None => coverage.is_above_here(),
            };
            (extracts(name, args) && covers).then(asked)?
        }
        "patch" => {
            let is_dry = args.iter().any(|word| word.is("--dry-run") || word.is("-C"));
            (!is_dry && operands.is_empty() && coverage.is_above_here()).then(asked)?
        }
        // Any other program that changes files, with a pattern that matches a gate.
        _ => {
            let patterns: Vec<&Word> =
                operands.into_iter().filter(|word| word.shown.contains(['*', '?', '[', '{'])).collect();
            let patterns: Vec<&Word> = patterns.into_iter().filter(|word| word.known().is_none()).collect();
            (has_objection(simple) && reached(&patterns)).then(refused)?
        }
    }
}

/// Returns the change of a line that lists a tree and changes the listed files: `find . | xargs rm`.
pub(super) fn listed(all: &[&Simple], coverage: &GateCoverage<'_>) -> Option<TreeChange> {
    let lister = all.iter().find(|simple| lists(simple, coverage))?;
    let changes = |simple: &&&Simple| {
        let has_unknown = simple.args().iter().any(|word| word.known().is_none());
        CHANGING.contains(&last(simple)) && has_unknown && has_objection(simple)
    };
    let changing = all.iter().find(changes)?;
    Some(TreeChange::Asked(format!("{} … {}", shown(lister), last(changing))))
}

fn lists(simple: &Simple, coverage: &GateCoverage<'_>) -> bool {
    let args = simple.args();
    let operands: Vec<&Word> = args.iter().filter(|word| !is_option(word)).collect();
    let covers = |paths: &[&Word]| match paths.is_empty() {
        true => coverage.is_above_here(),
        false => paths.iter().any(|word| coverage.reaches(word)),
    };
    match last(simple) {
        "find" => find_covers(args, coverage),
        "ls" => (has_letter(args, 'a') || has_letter(args, 'A')) && covers(&operands),
        "git" => operands.first().is_some_and(|word| word.is("ls-files")) && covers(&operands[1..]),
        "grep" => {
            let is_recursive = has_letter(args, 'r') || has_letter(args, 'R');
            is_recursive && covers(operands.get(1..).unwrap_or_default())
        }
        "rg" | "fd" | "fdfind" => lists_hidden(args) && covers(operands.get(1..).unwrap_or_default()),
        _ => false,
    }
}

fn last(simple: &Simple) -> &str {
    simple.name().rsplit('/').next().unwrap_or_default()
}

/// Returns true if `find` starts above a gate, and its tests on names match something of it.
fn find_covers(args: &[Word], coverage: &GateCoverage<'_>) -> bool {
    let is_start =
        |word: &&Word| !word.known().is_some_and(|text| text.starts_with('-') || text == "(" || text == "!");
    let args: Vec<&Word> =
        args.iter().skip_while(|word| ["-H", "-L", "-P"].iter().any(|option| word.is(option))).collect();
    let starts: Vec<&Word> = args.iter().copied().take_while(is_start).collect();
    let covers = match starts.is_empty() {
        true => coverage.is_above_here(),
        false => starts.iter().any(|word| coverage.reaches(word)),
    };
    // The arguments of a command that is run are no tests.
    let tests = args.get(starts.len()..).unwrap_or_default().iter();
    let tests: Vec<&str> = tests.map(|word| word.text()).take_while(|text| !runs(text)).collect();
    let has = |words: &[&str]| tests.iter().any(|test| words.contains(test));
    let is_simple = !has(&["-o", "-or", ",", "!", "-not", "("]);
    let names = tests.iter().zip(tests.iter().skip(1));
    let mut names = names.filter(|(test, _)| ["-name", "-iname"].contains(*test));
    let is_elsewhere = is_simple && (has(&["-empty"]) || names.any(|(_, name)| !coverage.name_matches(name)));
    covers && !is_elsewhere
}

fn runs(text: &str) -> bool {
    ["-exec", "-execdir", "-ok", "-okdir"].contains(&text)
}

/// Returns true if `find` deletes, or runs a command that is not known to read only.
fn find_changes(args: &[Word]) -> bool {
    args.iter().enumerate().any(|(at, word)| {
        let is_run = word.known().is_some_and(runs);
        let command = args.get(at + 1..).unwrap_or_default();
        let command = command.iter().take_while(|word| !word.is(";") && !word.is("+"));
        word.is("-delete") || (is_run && has_objection(&Simple { words: command.cloned().collect() }))
    })
}

/// Options with which a program removes what it has read.
fn is_removing(word: &Word) -> bool {
    ["--remove-files", "--remove-source-files"].iter().any(|option| word.is(option))
}

fn extracts(name: &str, args: &[Word]) -> bool {
    let first = args.first().map(Word::text).unwrap_or_default();
    match name {
        "tar" | "bsdtar" => {
            let is_old = !first.starts_with('-') && first.contains('x');
            is_old
                || has_letter(args, 'x')
                || args.iter().any(|word| word.is("--extract") || word.is("--get"))
        }
        "cpio" | "bsdcpio" => has_letter(args, 'i') || has_letter(args, 'p'),
        "unzip" => !["l", "t", "p", "v", "Z"]
            .iter()
            .any(|letter| letter.chars().all(|letter| has_letter(args, letter))),
        _ => first == "x" || first == "e",
    }
}

fn lists_hidden(args: &[Word]) -> bool {
    has_letter(args, 'H') || has_letter(args, 'u') || args.iter().any(|word| word.is("--hidden"))
}

fn sources<'s, 'w>(operands: &'s [&'w Word]) -> &'s [&'w Word] {
    operands.split_last().map_or(&[], |(_, sources)| sources)
}

fn is_option(word: &Word) -> bool {
    word.known().is_some_and(|text| text.starts_with('-'))
}

fn has_letter(args: &[Word], letter: char) -> bool {
    args.iter().filter_map(Word::known).any(|text| {
        let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let long = match letter {
            'R' | 'r' => text == "--recursive",
            'a' => text == "--archive" || text == "--all",
            _ => false,
        };
        long || short.is_some_and(|letters| letters.contains(letter))
    })
}

fn shown(simple: &Simple) -> String {
    const CHARS_MAX: usize = 60;
    simple.text().chars().take(CHARS_MAX).collect()
}
