//! The end of a task as text: outcome, cost, and the next command to run.

use rawko_core::{Status, Value};
use rawko_host::{SnapshotReader, Spent};
use rawko_view::spending::spent_until_now;

use super::{FollowEnd, OutputFormat, RunEnding, is_own};
use crate::console::{Console, TextStyle};
use crate::costs::Costs;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, Rest};
use crate::raising;
use crate::session;
use crate::standing::InstanceStanding;
use crate::times;

pub(crate) struct TaskEnding<'a> {
    pub(crate) place: &'a ProjectContext,
    pub(crate) reader: &'a SnapshotReader,
    pub(crate) id: &'a str,
    pub(crate) ended: FollowEnd,
    pub(crate) other: Option<String>,
}

impl TaskEnding<'_> {
    pub(crate) fn tell(
        self,
        format: OutputFormat,
        console: &mut Console,
    ) -> Result<CommandVerdict, CommandFailure> {
        let standing = InstanceStanding::of(self.reader, self.id, &self.place.world(), times::now_ms())?;
        let is_done = matches!(self.ended, FollowEnd::Rest(Rest::Over(Status::Done)));
        if format == OutputFormat::Text {
            if is_done {
                console.line("")?;
                tell_outcome(standing.snapshot.output(), console)?;
            }
            let spent = spent_words(&spent_until_now(self.reader, &standing.row)?);
            let spent = console.paint(TextStyle::Dim, &format!("spent {spent}"));
            print(&spent, console)?;
            // Programs read the plain text, which stays as it is.
            if session::is_on_terminal() {
                tell_costs(self.reader, self.id, console)?;
            }
            console.flush()?;
        }
        let ending = RunEnding { standing: &standing, ended: self.ended, other: self.other };
        let verdict = ending.tell(format, console)?;
        if is_own(standing.chart.id()) {
            hint(&standing, verdict, console);
        }
        Ok(verdict)
    }
}

/// Prints the result of a task that is over: outcome, checks, changed files, cost by agent and model, the next command.
pub(crate) fn tell_result(
    reader: &SnapshotReader,
    standing: &InstanceStanding,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    tell_outcome(standing.snapshot.output(), console)?;
    let spent = console
        .paint(TextStyle::Dim, &format!("spent {}", spent_words(&spent_until_now(reader, &standing.row)?)));
    print(&spent, console)?;
    tell_costs(reader, standing.id(), console)?;
    let ended = FollowEnd::Rest(Rest::Over(standing.snapshot.status()));
    let verdict = RunEnding { standing, ended, other: None }.verdict();
    hint(standing, verdict, console);
    Ok(())
}

/// Prints tokens and cost by agent and model.
fn tell_costs(reader: &SnapshotReader, id: &str, console: &mut Console) -> Result<(), CommandFailure> {
    for line in Costs::read(reader, id)?.lines() {
        let line = console.paint(TextStyle::Dim, &format!("  {line}"));
        console.line(&line)?;
    }
    Ok(())
}

/// Prints a line, on a terminal broken between words. Programs get it as it is.
fn print(line: &str, console: &mut Console) -> Result<(), CommandFailure> {
    console.paragraph(line, 2)
}

/// Returns the first line of a text, marked if there is more.
fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default().trim_end();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// Returns a line of Markdown without its marks.
fn plain_line(line: &str) -> String {
    session::plain(line.trim_start_matches(['#', '>', ' ']))
}

/// Changed files that are listed by name.
const CHANGES_MAX: usize = 8;

/// Prints the outcome: `complete  after 4 iterations: all tests pass`, `stopped: reached the limit of 2 iterations`
fn tell_outcome(output: &Value, console: &mut Console) -> Result<(), CommandFailure> {
    let outcome = output.get("outcome").as_str().unwrap_or("done");
    let style = if ["complete", "planned", "done", "finished"].contains(&outcome) {
        TextStyle::Good
    } else {
        TextStyle::Bad
    };
    let is_limit = outcome == "limit_reached";
    let word = if is_limit { "stopped".to_owned() } else { outcome.replace('_', " ") };
    let word = console.paint(style, &word);
    let iterations = output.get("iterations").as_i64().map(|count| {
        let noun = if count == 1 { "iteration" } else { "iterations" };
        format!("{count} {noun}")
    });
    if is_limit && output.get("problem").get("code").as_str() == Some("max_iterations") {
        let reached = iterations.unwrap_or_else(|| "iterations".to_owned());
        print(&format!("{word}: reached the limit of {reached}"), console)?;
        return tell_evidence(output, console);
    }
    let iterations = iterations.map(|count| format!("after {count}"));
    // One line: the message of a program can be long, and the journal has all of it.
    let problem = output.get("problem").get("message").as_str().map(first_line);
    // Workflows give a text instead of a summary.
    let text = output.get("summary").as_str().or_else(|| output.get("text").as_str());
    // A session has printed the text as Markdown; a program that reads the output gets it as it is.
    let words = |text: &str| match console.is_watched() {
        true => first_line(&text.lines().map(plain_line).collect::<Vec<_>>().join("\n")),
        false => text.trim().to_owned(),
    };
    let said = problem.or_else(|| text.map(words)).filter(|text| !text.is_empty());
    let about: Vec<String> = iterations.into_iter().chain(said).collect();
    print(format!("{word}  {}", about.join(": ")).trim_end(), console)?;
    tell_evidence(output, console)
}

/// Prints what supports the outcome: the checks, the changed files, and the files that were put back.
fn tell_evidence(output: &Value, console: &mut Console) -> Result<(), CommandFailure> {
    tell_checks(output, console)?;
    tell_changes(output, console)?;
    let restored: Vec<&str> =
        output.get("restored").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    if !restored.is_empty() {
        let word = console.paint(TextStyle::Notice, "put back");
        let restored = restored.join(", ");
        print(&format!("{word}  {restored}: agents changed what a check depends on"), console)?;
    }
    Ok(())
}

/// Prints each check with its result.
fn tell_checks(output: &Value, console: &mut Console) -> Result<(), CommandFailure> {
    let is_success =
        ["complete", "done", "finished"].contains(&output.get("outcome").as_str().unwrap_or_default());
    if output.get("verified").as_bool() == Some(false) && is_success {
        let word = console.paint(TextStyle::Notice, "unverified");
        return print(&format!("{word}  this project has no checks that could confirm it"), console);
    }
    // The phases give the whole report.
    let checks = output.get("checks");
    for check in checks.as_list().or(checks.get("checks").as_list()).unwrap_or_default() {
        let is_advice = check.get("decides").as_bool() == Some(false);
        let (style, word) = match check.get("ok").as_bool() {
            Some(true) => (TextStyle::Good, "passed"),
            Some(false) | None if is_advice => (TextStyle::Notice, "advice"),
            Some(false) if check.get("errors").as_i64() == Some(0) => (TextStyle::Notice, "not run"),
            Some(false) | None => (TextStyle::Bad, "failed"),
        };
        let word = console.paint(style, word);
        let name = check.get("name").as_str().unwrap_or_default();
        let summary = check.get("summary").as_str().unwrap_or_default();
        print(format!("{word}  {name}: {summary}").trim_end(), console)?;
    }
    Ok(())
}

/// Prints the files that differ from the beginning: `changed  slugs.py (+3 -1), tests/test_slugs.py (+8 -0, test)`
fn tell_changes(output: &Value, console: &mut Console) -> Result<(), CommandFailure> {
    if let Some(why) = output.get("changesProblem").as_str() {
        let word = console.paint(TextStyle::Notice, "changed");
        return print(&format!("{word}  unknown: {why}"), console);
    }
    // The phases count their changes, and list the files apart.
    let changes = output.get("changes").as_list().or(output.get("changed").as_list()).unwrap_or_default();
    if changes.is_empty() {
        return Ok(());
    }
    let shown = changes.iter().take(CHANGES_MAX).map(|change| {
        let path = change.get("path").as_str().unwrap_or_default();
        let count = |key: &str| change.get(key).as_i64().unwrap_or(0);
        let mut about = match change.get("status").as_str() {
            Some("deleted") => "deleted".to_owned(),
            _ if change.get("diff").is_null() => "no diff".to_owned(),
            _ => format!("+{} -{}", count("added"), count("removed")),
        };
        if change.get("is_test").as_bool() == Some(true) {
            about += ", test";
        }
        format!("{path} ({about})")
    });
    let mut shown: Vec<String> = shown.collect();
    if changes.len() > CHANGES_MAX {
        shown.push(format!("and {} more", changes.len() - CHANGES_MAX));
    }
    let word = console.paint(TextStyle::Notice, "changed");
    print(&format!("{word}  {}", shown.join(", ")), console)
}

/// Formats the spending: `1,204 tokens, $0.0123, 7 tool calls, 3.2s of work`
fn spent_words(spent: &Spent) -> String {
    let calls = if spent.tool_calls == 1 { "tool call" } else { "tool calls" };
    let time = times::span(i64::try_from(spent.time_ms).unwrap_or(i64::MAX));
    let cost = if spent.cost_usd > 0.0 { format!(", ${:.4}", spent.cost_usd) } else { String::new() };
    format!("{} tokens{cost}, {} {calls}, {time} of work", grouped(spent.tokens), spent.tool_calls)
}

pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Prints the next command to try.
fn hint(standing: &InstanceStanding, verdict: CommandVerdict, console: &mut Console) {
    let (id, output) = (standing.id(), standing.snapshot.output());
    let text = match verdict {
        CommandVerdict::Done if output.get("outcome").as_str() == Some("planned") => {
            "nothing was changed; run it again without --dry-run".to_owned()
        }
        CommandVerdict::Done if session::is_on_terminal() => {
            format!("add to it: rawko task --continue {id} \"…\"; see why: rawko replay {id} --decisions")
        }
        CommandVerdict::Done => format!("see the decisions: rawko replay {id} --decisions"),
        CommandVerdict::Limit if let Some(options) = raising::advice(standing) => {
            format!("work is kept; continue with: rawko resume {id} {options}")
        }
        CommandVerdict::Limit | CommandVerdict::Loop | CommandVerdict::Failed => {
            format!("work is kept; see what happened: rawko history {id}")
        }
        CommandVerdict::Credentials => "see which API keys are missing: rawko doctor".to_owned(),
        // It has not ended: its host was lost; the note above has the command that continues it.
        CommandVerdict::Transient if !standing.row.head.status.is_over() => return,
        CommandVerdict::Transient => "temporary failure; try again later".to_owned(),
        CommandVerdict::Invalid
        | CommandVerdict::Undecided
        | CommandVerdict::Waiting
        | CommandVerdict::Interrupted
        | CommandVerdict::Terminated => return,
    };
    console.note(TextStyle::Dim, "next", &text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, expected) in table {
            assert_eq!(grouped(number), expected);
        }
        let spent = Spent { tokens: 1_204, cost_usd: 0.01234, time_ms: 3_150, tool_calls: 1 };
        assert_eq!(spent_words(&spent), "1,204 tokens, $0.0123, 1 tool call, 3.2s of work");
        assert_eq!(spent_words(&Spent::default()), "0 tokens, 0 tool calls, 0ms of work");
    }
}
