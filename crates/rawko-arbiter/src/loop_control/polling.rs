//! Polling: calls repeated in order to wait for something. An exemption from loop detection, never a permission, so
//! text patterns are sufficient.

use rawko_core::Value;

use super::settings::LoopSettings;

/// Tools that are made for polling.
pub(super) const TOOLS: [&str; 6] = ["BashOutput", "TaskOutput", "Monitor", "Sleep", "*_wait", "wait_*"];
/// Commands that wait for something or query its status.
pub(super) const COMMANDS: [&str; 20] = [
    "sleep *",
    "wait",
    "wait *",
    "watch *",
    "gh run watch*",
    "gh run view*",
    "gh run list*",
    "gh pr checks*",
    "glab ci status*",
    "curl *health*",
    "curl *ready*",
    "curl *status*",
    "kubectl get *",
    "kubectl rollout status*",
    "docker ps*",
    "docker inspect *",
    "systemctl status*",
    "pgrep *",
    "until *",
    "nc -z*",
];

pub(super) fn is_polling(name: &str, input: &Value, settings: &LoopSettings) -> bool {
    let tools = settings.polling_tools.iter();
    if tools.map(String::as_str).chain(TOOLS).any(|pattern| matches(pattern, name)) {
        return true;
    }
    let Some(command) = input.get("command").as_str() else { return false };
    let patterns = || settings.polling_commands.iter().map(String::as_str).chain(COMMANDS);
    let parts = command.split([';', '&', '|', '\n']).map(str::trim).filter(|part| !part.is_empty());
    parts.into_iter().any(|part| patterns().any(|pattern| matches(pattern, part)))
}

/// Matches a pattern in which `*` stands for any text, including none.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("sleep *", "sleep 5", true),
            ("sleep *", "sleeper", false),
            ("wait", "wait", true),
            ("wait", "waits", false),
            ("curl *health*", "curl -s http://h/healthz", true),
            ("curl *health*", "curl -s http://h/items", false),
            ("a*a", "a", false),
            ("*_wait", "mcp__ci__job_wait", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
