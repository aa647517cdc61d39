//! Entries of allowed and blocked lists: a name, a pattern with stars, or `Bash(git log:*)`.

use super::alias;

/// Matches a text against a pattern in which `*` stands for any text.
pub(super) fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// A parsed entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolPattern<'e> {
    Tool(&'e str),
    /// `Bash(…)`: the tool, limited to these commands.
    Command(&'e str),
    /// Parentheses after another tool, which have no defined meaning: in an allowed list the entry allows nothing, in a
    /// blocked list it blocks the whole tool.
    Narrowed {
        tool: &'e str,
    },
}

impl<'e> ToolPattern<'e> {
    pub(super) fn of(text: &'e str) -> Self {
        let text = text.trim();
        let Some((tool, inside)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
            return ToolPattern::Tool(text);
        };
        let (tool, inside) = (tool.trim(), inside.trim());
        let is_bash = alias::resolved(tool) == Some(super::builtin::Builtin::Bash);
        match inside {
            "" | "*" | ":*" | "**" => ToolPattern::Tool(tool),
            _ if is_bash => ToolPattern::Command(inside),
            _ => ToolPattern::Narrowed { tool },
        }
    }
}

/// Matches a name pattern against a tool: by its own name or, for a built-in tool, by any alias.
pub(super) fn names(pattern: &str, tool: &str) -> bool {
    let (small, tool_small) = (pattern.to_ascii_lowercase(), tool.to_ascii_lowercase());
    if wildcard(&small, &tool_small) {
        return true;
    }
    // Claude's later name of `Task`.
    if tool == "Task" && small == "agent" {
        return true;
    }
    // `mcp__git` means all tools of that server.
    let is_server = small.starts_with("mcp__") && !small.contains('*');
    if is_server && tool_small.starts_with(&format!("{small}__")) {
        return true;
    }
    let Some(builtin) = super::builtin::Builtin::named(tool) else { return false };
    let pattern = alias::folded_pattern(pattern);
    !pattern.is_empty() && alias::names_of(builtin).iter().any(|name| wildcard(&pattern, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("git", "git", true),
            ("git", "gitk", false),
            ("*", "", true),
            ("mcp__*", "mcp__git__log", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxc", false),
            ("ab*ba", "aba", false),
            ("*x", "x", true),
        ] {
            assert_eq!(wildcard(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_name_means_the_tool_under_all_its_names() {
        for (pattern, tool, expected) in [
            ("editFile", "Edit", true),
            ("Edit", "Edit", true),
            ("edit_file", "Edit", true),
            ("*File", "Write", true),
            ("readFile", "Edit", false),
            ("mcp__git__*", "mcp__git__log", true),
            ("mcp__git__*", "Grep", false),
            ("mcp__git", "mcp__git__log", true),
            ("Agent", "Task", true),
            ("mcp__git", "mcp__github__log", false),
            ("*", "mcp__x__y", true),
            ("", "Read", false),
            ("__", "Read", false),
            ("search", "Grep", true),
        ] {
            assert_eq!(names(pattern, tool), expected, "{pattern} on {tool}");
        }
    }

    #[test]
    fn entries_are_taken_apart() {
        assert_eq!(ToolPattern::of("Read"), ToolPattern::Tool("Read"));
        assert_eq!(ToolPattern::of("Bash(git log:*)"), ToolPattern::Command("git log:*"));
        assert_eq!(ToolPattern::of("shell(npm test)"), ToolPattern::Command("npm test"));
        assert_eq!(ToolPattern::of("Bash(*)"), ToolPattern::Tool("Bash"));
        assert_eq!(ToolPattern::of("Read(src/**)"), ToolPattern::Narrowed { tool: "Read" });
    }
}
