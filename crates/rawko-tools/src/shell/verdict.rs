//! The verdict of a grant on a command line. The one place where the effects of a line are checked against the rules.

use super::print::{Unprintable, canonical};
use super::reading::{LineReading, Simple};
use super::rules::LayerRules;
use super::variables::is_dangerous;
use super::walk::{LineWalk, ShellReadError};
use super::{read_only, targets};
use crate::confine::ProjectRoot;
use crate::grant::Grant;
use crate::outcome::RefusedCall;
use crate::permissions::DeniedFiles;

/// A longer line is refused.
const LINE_BYTES_MAX: usize = 100_000;
/// Deep nesting needs stack space. Only pages that are used take memory.
const STACK_BYTES: usize = 256 * 1024 * 1024;
/// Limit of open brackets; the parser tries alternatives at each.
const NESTING_MAX: usize = 40;
/// Limit of open keywords. Higher than that of brackets, because programs in here-documents have keywords, too.
const KEYWORDS_MAX: usize = 1_000;

/// Source of rules that belong to no layer.
pub(crate) const SOURCE: &str = "the shell filter of rawko";

/// A permitted line and its known properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// Files that rules deny, for the sandbox.
    pub(crate) denied: DeniedFiles,
    /// The text to run: the line in canonical form.
    pub(crate) line: String,
    /// The reason why a read-only line must not run without a sandbox of the kernel.
    pub(crate) needs_kernel: Option<String>,
    /// True if it runs without the right to write: every command in it is read-only, or the grant is.
    pub(crate) is_read_only: bool,
    /// True if a command in it would write if it could.
    pub(crate) may_write: bool,
}

/// Builtins without effects outside the shell: a list of allowed commands need not name them.
const FREE: [&str; 16] = [
    ":", "[", "break", "cd", "continue", "echo", "exit", "export", "false", "printf", "pwd", "read",
    "return", "shift", "test", "true",
];

pub(crate) fn check(line: &str, grant: &Grant, project: &ProjectRoot) -> Result<Permit, RefusedCall> {
    let rules: Vec<LayerRules<'_>> = grant.layers.iter().map(LayerRules::of).collect();
    check_rules(&rules)?;
    if let Some((layer, pattern)) = rules.iter().find_map(|rules| Some((rules, rules.matching(line)?))) {
        return Err(blocked(layer, pattern, line));
    }
    let is_filtered = grant.is_read_only() || rules.iter().any(LayerRules::is_filter);
    let reading = read(line, is_filtered)?;
    let judge = Judge { grant, rules, reading, is_filtered };
    let is_printed = matches!(judge.reading.printed, Some(Ok(_)));
    judge.pipelines()?;
    judge.unknowable()?;
    judge.assignments()?;
    judge.reading.wrappers.iter().try_for_each(|simple| judge.unblocked(simple))?;
    judge.reading.inner.iter().try_for_each(|simple| judge.unblocked(simple))?;
    judge.opaque()?;
    judge.reading.commands.iter().try_for_each(|simple| judge.command(simple))?;
    if grant.is_read_only() {
        judge.reading.inner.iter().try_for_each(|simple| judge.read_only(simple))?;
    }
    targets::check(&judge.reading, grant, project, is_filtered)?;
    let line = judge.line(line)?;
    let reads = is_printed && is_read_only(&judge.reading);
    let is_confined = is_printed && grant.is_read_only() && judge.is_confined();
    let is_read_only = reads || is_confined;
    let needs_kernel = if is_read_only { judge.needs_kernel() } else { None };
    Ok(Permit { is_read_only, line, needs_kernel, may_write: !reads, denied: DeniedFiles::default() })
}

/// Returns true if a line writes nothing: neither by its commands nor by its redirections.
pub(crate) fn is_read_only(reading: &LineReading) -> bool {
    let commands = reading.commands.iter().chain(&reading.inner);
    reading.writes.iter().all(targets::is_device)
        && !reading.assigned.iter().any(|name| is_dangerous(name))
        && reading.unknowable.is_empty()
        && commands.into_iter().all(|simple| read_only::objection(simple).is_none())
}

/// Returns the reason why a read-only line must not run without a sandbox of the kernel.
fn needs_kernel(reading: &LineReading) -> Option<String> {
    let moves = reading.commands.iter().any(|simple| ["cd", "pushd"].contains(&simple.name()));
    let has_git = reading.commands.iter().any(|simple| simple.name() == "git");
    if moves && has_git {
        return Some("git after `cd` uses the configuration of another repository".to_owned());
    }
    let commands = reading.commands.iter().chain(&reading.inner);
    reading.calculated.first().cloned().or_else(|| commands.into_iter().find_map(read_only::needs_kernel))
}

/// Parses a line for rules about single commands.
pub(crate) fn read_line(line: &str) -> Result<LineReading, RefusedCall> {
    read(line, true)
}

/// Returns true for builtins that a list of allowed commands need not name.
pub(crate) fn is_free(name: &str) -> bool {
    FREE.contains(&name)
}

/// Refuses if a pattern is invalid: it may have been meant to block this line.
fn check_rules(rules: &[LayerRules<'_>]) -> Result<(), RefusedCall> {
    let bad = rules.iter().find_map(|rules| Some((rules, rules.bad_pattern()?)));
    bad.map_or(Ok(()), |(rules, pattern)| {
        let why = format!("the blocked pattern `{pattern}` is not a regular expression, so no command can be checked against it");
        Err(RefusedCall::new("pattern_invalid", &rules.layer.source, why))
    })
}

fn blocked(rules: &LayerRules<'_>, pattern: &str, what: &str) -> RefusedCall {
    let why = format!("`{}` matches the blocked pattern `{pattern}`", shortened(what));
    RefusedCall::new("command_blocked", &rules.layer.source, why)
}

/// Parses the line on a separate thread with a large stack, which also contains a panic of the parser.
fn read(line: &str, is_filtered: bool) -> Result<LineReading, RefusedCall> {
    let unreadable = |why: String| RefusedCall::new("command_unreadable", SOURCE, why);
    if line.len() > LINE_BYTES_MAX {
        return Err(unreadable(format!(
            "the command is longer than {LINE_BYTES_MAX} bytes: put it into a file"
        )));
    }
    if nesting(line) > NESTING_MAX {
        return Err(unreadable(format!("more than {NESTING_MAX} brackets are open at once")));
    }
    if open_keywords(line) > KEYWORDS_MAX {
        return Err(unreadable(format!("more than {KEYWORDS_MAX} keywords are open at once")));
    }
    if let Some(letter) = line.chars().find(|letter| is_deceptive(*letter, is_filtered)) {
        let why = format!(
            "the command has the character U+{:04X} in it, which is easily misread",
            u32::from(letter)
        );
        return Err(unreadable(why));
    }
    let text = line.to_owned();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || read_and_print(&text));
    let reading = thread.ok().and_then(|thread| thread.join().ok());
    let reading = reading.unwrap_or_else(|| Err(ShellReadError::Syntax("the parser failed".into())));
    reading.map_err(|error| unreadable(format!("the command was not run: {error}")))
}

/// Reads a line, and prints it. The printed line must contain the same commands.
fn read_and_print(line: &str) -> Result<LineReading, ShellReadError> {
    let mut reading = LineWalk::read(line)?;
    let printed = canonical(line).and_then(|printed| {
        let again = LineWalk::read(&printed).map_err(|error| Unprintable(error.to_string()))?;
        match reading.is_same(&again) {
            true => Ok(printed),
            false => Err(Unprintable("the line can be read in two ways".into())),
        }
    });
    reading.printed = Some(printed);
    Ok(reading)
}

/// Returns how many keywords of compound commands are open at once (`if if if`): the parser recurses into each.
fn open_keywords(line: &str) -> usize {
    const OPENING: [&str; 10] =
        ["if", "while", "until", "for", "case", "select", "function", "coproc", "time", "!"];
    const CLOSING: [&str; 3] = ["fi", "done", "esac"];
    let mut open = 0_usize;
    let words = line.split(|letter: char| letter.is_whitespace() || ";&|(){}`".contains(letter));
    words.fold(0, |most, word| {
        if OPENING.contains(&word) {
            open += 1;
        } else if CLOSING.contains(&word) {
            open = open.saturating_sub(1);
        }
        most.max(open)
    })
}

/// Returns how many brackets are open at once. The parser recurses into them, so this is counted before it runs.
fn nesting(line: &str) -> usize {
    let mut open = 0_usize;
    line.bytes().fold(0, |most, byte| {
        match byte {
            b'(' | b'{' => open += 1,
            b')' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most.max(open)
    })
}

/// Control characters hide text on a screen; unusual spaces and direction marks disguise it.
fn is_deceptive(letter: char, is_filtered: bool) -> bool {
    let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
    let is_odd = (letter.is_whitespace() && !matches!(letter, ' ' | '\n' | '\t'))
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{ad}');
    is_control || (is_filtered && is_odd)
}

struct Judge<'g> {
    grant: &'g Grant,
    rules: Vec<LayerRules<'g>>,
    reading: LineReading,
    is_filtered: bool,
}

impl Judge<'_> {
    /// Returns the source for a line that cannot be analysed: the first layer with rules about commands.
    fn source(&self) -> &str {
        let filter = self.rules.iter().find(|rules| rules.is_filter()).map(|rules| &rules.layer.source);
        let read_only =
            || self.grant.layers.iter().find(|layer| !layer.allows("Write") || !layer.allows("Edit"));
        filter.or_else(|| read_only().map(|layer| &layer.source)).map_or(SOURCE, |source| source)
    }

    /// Returns the text to run. Without rules a line that cannot be printed runs as it is: the sandbox limits it.
    fn line(&self, line: &str) -> Result<String, RefusedCall> {
        let has_rules = self.is_filtered || self.grant.permissions.iter().any(|set| !set.is_empty());
        match &self.reading.printed {
            Some(Ok(printed)) => Ok(printed.clone()),
            Some(Err(why)) if has_rules => {
                let why = format!("the command was not run: {why}. Write it in a simpler way");
                Err(RefusedCall::new("command_unreadable", SOURCE, why))
            }
            Some(Err(_)) | None => Ok(line.to_owned()),
        }
    }

    /// Returns the reason why a read-only line must not run without a sandbox of the kernel.
    fn needs_kernel(&self) -> Option<String> {
        let reading = &self.reading;
        let variable = reading.assigned.iter().find(|name| is_dangerous(name));
        let variable = variable.map(|name| format!("setting `{name}` can change which programs run"));
        let written = reading.writes.iter().find(|word| !targets::is_device(word));
        let written = written.map(|word| format!("`{}` is written", word.shown));
        needs_kernel(reading).or(variable).or(written)
    }

    fn pipelines(&self) -> Result<(), RefusedCall> {
        for text in self.reading.pipeline_texts() {
            if let Some((rules, pattern)) =
                self.rules.iter().find_map(|rules| Some((rules, rules.matching(&text)?)))
            {
                return Err(blocked(rules, pattern, &text));
            }
        }
        Ok(())
    }

    fn unknowable(&self) -> Result<(), RefusedCall> {
        let has_lists = self.rules.iter().any(LayerRules::is_filter);
        let has_command = self.reading.values.iter().any(|value| value.contains(['[', '$', '`']));
        let calculated = self.reading.calculated.first().filter(|_| has_lists || has_command);
        match self.reading.unknowable.first().or(calculated) {
            Some(why) if self.is_filtered => {
                let why = format!("what would run cannot be known before it runs: {why}");
                Err(RefusedCall::new("command_unknowable", self.source(), why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses text that may run anything where commands are blocked by name.
    fn opaque(&self) -> Result<(), RefusedCall> {
        let Some(why) = self.reading.opaque.first() else { return Ok(()) };
        match self.rules.iter().find(|rules| rules.blocks_commands()) {
            Some(rules) => {
                let why = format!("what would run cannot be known before it runs: {why}");
                Err(RefusedCall::new("command_unknowable", &rules.layer.source, why))
            }
            None => Ok(()),
        }
    }

    fn assignments(&self) -> Result<(), RefusedCall> {
        // Without rules about commands the kernel limits what another program could do.
        let has_lists = self.rules.iter().any(LayerRules::is_filter);
        match self.reading.assigned.iter().find(|name| is_dangerous(name)) {
            Some(name)
                if self.is_filtered
                    && (has_lists || self.grant.permissions.iter().any(|set| !set.is_empty())) =>
            {
                let why = format!("setting `{name}` can change which programs run");
                Err(RefusedCall::new("variable_blocked", self.source(), why))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn unblocked(&self, simple: &Simple) -> Result<(), RefusedCall> {
        let blocking = self.rules.iter().find_map(|rules| Some((rules, rules.blocking(simple)?)));
        blocking.map_or(Ok(()), |(rules, pattern)| Err(blocked(rules, pattern, &simple.text())))
    }

    fn command(&self, simple: &Simple) -> Result<(), RefusedCall> {
        self.unblocked(simple)?;
        for rules in &self.rules {
            if !FREE.contains(&simple.name()) && !rules.allows(simple) {
                return Err(not_allowed(rules, simple));
            }
        }
        if self.grant.is_read_only() { self.read_only(simple) } else { Ok(()) }
    }

    /// Returns true if every layer that forbids writing names a command, so that it may write.
    fn is_named(&self, simple: &Simple) -> bool {
        let forbidding =
            |rules: &&LayerRules<'_>| !rules.layer.allows("Write") || !rules.layer.allows("Edit");
        // A rule that names a command which only reads does not cover arguments with which it writes.
        let names = |rules: &LayerRules<'_>| rules.names(simple) && !rules.names_reading(simple);
        self.rules.iter().filter(forbidding).all(names)
    }

    /// Returns true if no command of the line needs the right to write, under a read-only grant.
    fn is_confined(&self) -> bool {
        let mut commands = self.reading.commands.iter().chain(&self.reading.inner);
        self.reading.unknowable.is_empty()
            && !commands.any(|simple| read_only::objection(simple).is_some() && self.is_named(simple))
    }

    /// Checks a command under a read-only grant: read-only, or named by every layer that forbids writing.
    fn read_only(&self, simple: &Simple) -> Result<(), RefusedCall> {
        let Some(objection) = read_only::objection(simple) else { return Ok(()) };
        if read_only::purpose(simple).is_none() && !self.is_named(simple) {
            // It runs without the right to write, and so does the whole line.
            let why = || {
                let why = format!("{objection}, and another command of the line writes: run it on its own");
                RefusedCall::new("command_writes", self.source(), why)
            };
            return if self.is_confined() { Ok(()) } else { Err(why()) };
        }
        let forbidding =
            |rules: &&LayerRules<'_>| !rules.layer.allows("Write") || !rules.layer.allows("Edit");
        let names = |rules: &LayerRules<'_>| rules.names(simple) && !rules.names_reading(simple);
        let strict = self.rules.iter().filter(forbidding).find(|rules| !names(rules));
        strict.map_or(Ok(()), |rules| {
            let why = format!("{objection}, and {} allows no writing", rules.layer.source);
            Err(RefusedCall::new("command_writes", &rules.layer.source, why))
        })
    }
}

fn not_allowed(rules: &LayerRules<'_>, simple: &Simple) -> RefusedCall {
    let entries = rules.entries().iter().map(|entry| format!("`{entry}`")).collect::<Vec<_>>().join(", ");
    let entries = if entries.is_empty() { "nothing".to_owned() } else { entries };
    let why = format!("the command `{}` is not allowed, only {entries}", shortened(&simple.text()));
    RefusedCall::new("command_not_allowed", &rules.layer.source, why)
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(120).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}
