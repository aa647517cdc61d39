//! The answer of a hook: its exit code, or JSON on standard output.

use serde_json::Value as Json;

use super::HookMoment;

/// Longest text of a hook that reaches a model.
pub(super) const TEXT_CHARS_MAX: usize = 4_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookResponse {
    Pass,
    /// The call is refused, or its result is not acceptable.
    Block(String),
    /// A person decides on the call.
    Ask(String),
    /// Text for the model.
    Context(String),
    /// The call may run with this input only.
    Changed(Json),
}

/// Reads an answer. Exit code 2 blocks with the text of standard error; other failures are no objection, as in Claude
/// Code; without an exit code a signal ended it.
pub(super) fn read(moment: HookMoment, code: Option<i32>, stdout: &str, stderr: &str) -> HookResponse {
    let is_stop = moment.is_stop();
    match code {
        Some(0) => {}
        Some(2) => return HookResponse::Block(words(stderr, "a hook refuses it")),
        None if is_stop => return HookResponse::Pass,
        None => return HookResponse::Block(words(stderr, "a hook was ended by a signal")),
        Some(_) => return HookResponse::Pass,
    }
    let answer = serde_json::from_str::<Json>(stdout.trim()).ok().filter(Json::is_object);
    let Some(answer) = answer else {
        // The plain output of such a hook is read with the prompt.
        return match moment {
            HookMoment::UserPromptSubmit if !stdout.trim().is_empty() => {
                HookResponse::Context(words(stdout, ""))
            }
            _ => HookResponse::Pass,
        };
    };
    let own = &answer["hookSpecificOutput"];
    let text = |value: &Json| value.as_str().map(|text| words(text, ""));
    if answer["continue"].as_bool() == Some(false) {
        // The work is to end, and it ends.
        if is_stop {
            return HookResponse::Pass;
        }
        return HookResponse::Block(
            text(&answer["stopReason"]).unwrap_or_else(|| "a hook stops the work".to_owned()),
        );
    }
    let decision = own["permissionDecision"].as_str().or_else(|| answer["decision"].as_str());
    let reason = text(&own["permissionDecisionReason"]).or_else(|| text(&answer["reason"]));
    match decision {
        Some("deny" | "block") => {
            HookResponse::Block(reason.unwrap_or_else(|| "a hook refuses it".to_owned()))
        }
        Some("ask") => {
            let why = reason.filter(|reason| !reason.is_empty());
            HookResponse::Ask(why.unwrap_or_else(|| "a hook gives no reason".to_owned()))
        }
        _ if own["updatedInput"].is_object() => HookResponse::Changed(own["updatedInput"].clone()),
        _ => text(&own["additionalContext"])
            .filter(|text| !text.is_empty())
            .map_or(HookResponse::Pass, HookResponse::Context),
    }
}

fn words(text: &str, otherwise: &str) -> String {
    let text = text.trim();
    match text.is_empty() {
        true => otherwise.to_owned(),
        false => text.chars().take(TEXT_CHARS_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_mean_what_they_mean_in_claude_code() {
        let block = |why: &str| HookResponse::Block(why.to_owned());
        let deny = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}"#;
        let allow =
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#;
        let more =
            r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "run make"}}"#;
        let changed = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "ls -l"}}}"#;
        for (code, stdout, stderr, expected) in [
            (Some(0), "", "", HookResponse::Pass),
            (Some(0), "7", "", HookResponse::Pass),
            (Some(0), "formatted", "", HookResponse::Pass),
            (Some(1), deny, "oops", HookResponse::Pass),
            (Some(2), "", "not on Fridays\n", block("not on Fridays")),
            (None, "", "", block("a hook was ended by a signal")),
            (Some(0), deny, "", block("no")),
            (Some(0), allow, "", HookResponse::Pass),
            (Some(0), &deny.replace("\"deny\"", "\"ask\""), "", HookResponse::Ask("no".to_owned())),
            (Some(0), more, "", HookResponse::Context("run make".to_owned())),
            (Some(0), changed, "", HookResponse::Changed(serde_json::json!({"command": "ls -l"}))),
            (Some(0), r#"{"decision": "block", "reason": "bad"}"#, "", block("bad")),
            (Some(0), r#"{"continue": false, "stopReason": "enough"}"#, "", block("enough")),
        ] {
            let read = read(HookMoment::PreToolUse, code, stdout, stderr);
            assert_eq!(read, expected, "{code:?} {stdout}");
        }
        for (code, stdout, expected) in [
            (Some(0), r#"{"continue": false, "stopReason": "enough"}"#, HookResponse::Pass),
            (None, "", HookResponse::Pass),
            (Some(0), r#"{"decision": "block", "reason": "more"}"#, block("more")),
            (Some(2), "", block("a hook refuses it")),
        ] {
            for moment in [HookMoment::Stop, HookMoment::SubagentStop] {
                assert_eq!(read(moment, code, stdout, ""), expected, "{code:?} {stdout}");
            }
        }
        let plain = read(HookMoment::UserPromptSubmit, Some(0), "Today is Friday.\n", "");
        assert_eq!(plain, HookResponse::Context("Today is Friday.".to_owned()));
    }
}
