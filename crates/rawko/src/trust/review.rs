//! Asks the person at the terminal to trust the files of a project. Separate from the decision, which needs no terminal.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use super::{
    AuthorityFiles, TrustDifference, TrustRecord, TrustStanding, diff, standing, starts, trust, untrusted,
};
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::files as paths;

/// Fails unless the files are trusted. On a terminal the person is asked.
pub(crate) fn insist(
    root: &Path,
    files: &AuthorityFiles,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let TrustStanding::Differs(differences) = standing(root, files)? else { return Ok(()) };
    if !is_interactive() {
        return Err(untrusted(&differences, files));
    }
    review(root, files, &differences, console)?;
    if !ask(console)? {
        return Err(CommandFailure::Invalid("this project is not trusted; nothing was started".to_owned()));
    }
    trust(root, files)
}

/// Shows what would be trusted: files with their differences, and everything that they start.
pub(crate) fn review(
    root: &Path,
    files: &AuthorityFiles,
    differences: &[(String, TrustDifference)],
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let record = TrustRecord::load(root)?;
    let title = match record.is_known() {
        true => "The trusted files of this project changed:",
        false => "These files of the project give agents and rawko instructions or start programs:",
    };
    console.remark(TextStyle::Bold, &format!("{title} {}", paths::shown(&record.project)));
    for (path, difference) in differences {
        console.remark(TextStyle::Plain, &format!("  {:<8} {path}", difference.as_str()));
    }
    for (path, difference) in differences.iter().filter(|_| record.is_known()) {
        let now = files.get(path).and_then(|file| file.text.as_deref());
        let (before, now) = (record.text(path).unwrap_or_default(), now.unwrap_or_default());
        if *difference == TrustDifference::New && before == now {
            continue;
        }
        console.remark(TextStyle::Bold, &format!("--- {path}"));
        for line in diff::lines(before, now) {
            let style = match line.as_bytes().first() {
                Some(b'+') => TextStyle::Good,
                Some(b'-') => TextStyle::Bad,
                _ => TextStyle::Dim,
            };
            console.remark(style, &line);
        }
    }
    grants(files, console);
    Ok(())
}

/// Shows what the files start, contact, open or turn off.
pub(crate) fn grants(files: &AuthorityFiles, console: &mut Console) {
    let starts = starts(files);
    if starts.is_empty() {
        return;
    }
    console.remark(TextStyle::Bold, "They start, contact or allow:");
    for start in starts {
        let words = start.words.join(" ");
        console.remark(TextStyle::Plain, &format!("  {:<10} {}: {words}", start.kind, start.name));
    }
}

/// Returns true if a person can be asked.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the person on the terminal. The default is no.
pub(crate) fn ask(console: &mut Console) -> Result<bool, CommandFailure> {
    ask_for(console, "Trust this content? [y/N] ")
}

/// Asks a question that is answered with yes or no. The default is no.
pub(crate) fn ask_for(console: &mut Console, question: &str) -> Result<bool, CommandFailure> {
    console.prompt(question);
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| CommandFailure::Usage(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
