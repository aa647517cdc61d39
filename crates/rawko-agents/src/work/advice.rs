//! Advice to agents: what to do about a failed call, and hints that name tools. Advice never names a tool that the grant
//! of the agent forbids.

use rawko_arbiter::{RecoveryAction, RecoveryOption};
use rawko_model::ToolUse;
use rawko_tools::{Grant, ToolFacts, ToolOutcome, is_builtin};

use super::delegate::TASK;

const SHOWN_CHARS: usize = 80;
/// Hints in the results of tools, and the tools that they name.
const HINTS: [(&str, &str); 3] = [
    (": list it with Glob", "Glob"),
    (": write one with PlanWrite.", "PlanWrite"),
    (": write one with PlanWrite", "PlanWrite"),
];

/// Removes the sentences of a prompt that name a forbidden tool.
pub(super) fn within(text: &str, grant: &Grant) -> String {
    let is_forbidden = |name: &str| (is_builtin(name) || name == TASK) && !grant.allows(name);
    let mentions = |sentence: &&str| !sentence.split('`').skip(1).step_by(2).any(is_forbidden);
    sentences(text).into_iter().filter(mentions).collect::<String>().trim_end().to_owned()
}

/// Splits after each full stop that a space or a line end follows.
fn sentences(text: &str) -> Vec<&str> {
    let (mut all, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices('.') {
        let end = at + 1;
        if text[end..].starts_with([' ', '\n']) {
            all.push(&text[start..=end]);
            start = end + 1;
        }
    }
    all.push(&text[start.min(text.len())..]);
    all
}

/// Removes hints at forbidden tools from the result of a call.
pub(super) fn hinted(outcome: ToolOutcome, grant: &Grant) -> ToolOutcome {
    let forbidden = HINTS.iter().filter(|(_, tool)| !grant.allows(tool));
    let content = forbidden.fold(outcome.content, |content, (hint, _)| match content.strip_suffix(hint) {
        Some(rest) => rest.to_owned(),
        None => content,
    });
    ToolOutcome { content, ..outcome }
}

/// Returns what can be done about a failed call; empty if there is nothing specific.
pub(super) fn recovery(asked: &ToolUse, outcome: &ToolOutcome, grant: &Grant) -> Vec<RecoveryOption> {
    let text = |key: &str| shown(asked.input.get(key).as_str().unwrap_or_default());
    if let Some(refusal) = &outcome.refusal {
        let call = shown(&format!("{} {}", asked.name, asked.input));
        return vec![
            option(
                RecoveryAction::Skip,
                format!("Leave out `{call}`"),
                "What was refused will be refused again",
            ),
            option(
                RecoveryAction::Abort,
                format!("Let a person change {}", refusal.source),
                &format!("The rule `{}` refuses this call", refusal.rule),
            ),
        ];
    }
    match asked.name.as_str() {
        "Bash" => of_command(&text("command"), &outcome.facts()),
        "Edit" => {
            let first = if grant.allows("Read") { "Read the file again, then repeat" } else { "Repeat" };
            let path = text("path");
            vec![option(
                RecoveryAction::Retry,
                format!("{first} the edit of `{path}`"),
                "The file is not as the edit expects it",
            )]
        }
        "Read" | "Write" => vec![option(
            RecoveryAction::Retry,
            format!("Check the path `{}`", text("path")),
            "The file cannot be used as it was given",
        )],
        "WebFetch" => vec![
            option(
                RecoveryAction::Retry,
                format!("Fetch `{}` later, or use another source", text("url")),
                "The server may be reachable again",
            ),
            skip("Continue without the page"),
        ],
        _ => Vec::new(),
    }
}

fn of_command(command: &str, facts: &ToolFacts) -> Vec<RecoveryOption> {
    let program = command.split_whitespace().next().unwrap_or_default();
    let (description, reason) = match facts.exit_code {
        _ if facts.is_timed_out => {
            (format!("Run `{command}` on less, or with more time"), "It ran out of time".to_owned())
        }
        // The shell's code for a program that it does not find.
        Some(127) => (
            format!("Check that `{program}` is installed, or call it by its full path"),
            "The shell did not find it".to_owned(),
        ),
        Some(code) => (
            format!("Fix what `{command}` reports, then run it again"),
            format!("It ended with exit code {code}"),
        ),
        None => (format!("Run `{command}` again"), "It ended without an exit code".to_owned()),
    };
    vec![option(RecoveryAction::Retry, description, &reason), skip(&format!("Continue without `{command}`"))]
}

fn skip(description: &str) -> RecoveryOption {
    option(RecoveryAction::Skip, description.to_owned(), "Step may not be critical to task")
}

fn option(action: RecoveryAction, description: String, reason: &str) -> RecoveryOption {
    RecoveryOption { action, description, reason: reason.to_owned() }
}

fn shown(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawko_core::Value;
    use rawko_tools::GrantLayer;

    fn grant(blocked: &[&str]) -> Grant {
        let blocked = blocked.iter().map(|name| (*name).to_owned()).collect();
        Grant::new(vec![GrantLayer { source: "t".into(), allowed: None, blocked, bash: None, network: None }])
    }

    #[test]
    fn advice_names_no_forbidden_tool() {
        let text = "Nothing was changed yet. Change files with `Edit`. Create them with `Write`. Look at v1.2 first.";
        let table: [(&[&str], &str); 4] = [
            (&[], text),
            (&["Write"], "Nothing was changed yet. Change files with `Edit`. Look at v1.2 first."),
            (&["Edit", "Write"], "Nothing was changed yet. Look at v1.2 first."),
            (&["Bash"], text),
        ];
        for (blocked, expected) in table {
            assert_eq!(within(text, &grant(blocked)), expected, "{blocked:?}");
        }
        let failed = |text: &str| ToolOutcome::failed(text);
        let listed = hinted(failed("`src` is a directory: list it with Glob"), &grant(&["Glob"]));
        assert_eq!(listed.content, "`src` is a directory");
        let asked =
            ToolUse { id: "1".into(), name: "Edit".into(), input: Value::map([("path", Value::str("a"))]) };
        let options = recovery(&asked, &failed("no"), &grant(&["Read"]));
        assert_eq!(options[0].description, "Repeat the edit of `a`");
        let options = recovery(&asked, &failed("no"), &grant(&[]));
        assert_eq!(options[0].description, "Read the file again, then repeat the edit of `a`");
    }

    #[test]
    fn a_failed_command_has_options_of_its_own() {
        let command = Value::map([("command", Value::str("npm install jsonwebtoken"))]);
        let asked = ToolUse { id: "1".into(), name: "Bash".into(), input: command };
        let ended =
            |code: i64| ToolOutcome::failed("x").with_data(Value::map([("exit_code", Value::Int(code))]));
        let first = |code: i64| recovery(&asked, &ended(code), &grant(&[]))[0].description.clone();
        assert_eq!(first(127), "Check that `npm` is installed, or call it by its full path");
        assert_eq!(first(1), "Fix what `npm install jsonwebtoken` reports, then run it again");
    }
}
