//! Which MCP servers a grant can use at all. A server whose tools are all refused is never started.

use super::grant::{Grant, GrantLayer};
use super::pattern::{ToolPattern, wildcard};

impl Grant {
    /// Returns true if the grant may allow a tool whose name begins with `prefix` (`mcp__git__`). Errs towards true
    /// only where patterns overlap in part.
    pub fn reaches(&self, prefix: &str) -> bool {
        let prefix = prefix.to_ascii_lowercase();
        self.layers.iter().all(|layer| layer.reaches(&prefix))
    }
}

impl GrantLayer {
    fn reaches(&self, prefix: &str) -> bool {
        let is_blocked = self.blocked.iter().any(|entry| blocks_all(entry, prefix));
        let allowed = self.allowed.as_ref();
        !is_blocked && allowed.is_none_or(|allowed| allowed.iter().any(|entry| admits_some(entry, prefix)))
    }
}

/// Returns true if an entry names every tool with the prefix.
fn blocks_all(entry: &str, prefix: &str) -> bool {
    let (ToolPattern::Tool(name) | ToolPattern::Narrowed { tool: name }) = ToolPattern::of(entry) else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    // A star at the end stands for any rest of the name; `mcp__git` stands for its server.
    (name.ends_with('*') && wildcard(&name, prefix)) || format!("{name}__") == prefix
}

/// Returns true if an entry names a tool with the prefix.
fn admits_some(entry: &str, prefix: &str) -> bool {
    let ToolPattern::Tool(name) = ToolPattern::of(entry) else { return false };
    let name = name.to_ascii_lowercase();
    match name.split_once('*') {
        Some((head, _)) => prefix.starts_with(head) || head.starts_with(prefix),
        None => name.starts_with(prefix) || format!("{name}__") == prefix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_reached_only_if_a_tool_of_it_may_be_allowed() {
        let of =
            |words: &str| words.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        for (allowed, blocked, expected) in [
            (None, "", true),
            (None, "mcp__*", false),
            (None, "*", false),
            (None, "mcp__git", false),
            (None, "mcp__git__*", false),
            (None, "MCP__GIT__*", false),
            (None, "mcp__github__*", true),
            (None, "mcp__git__push", true),
            (Some("Read Bash"), "", false),
            (Some("Read mcp__git__log"), "", true),
            (Some("mcp__git"), "", true),
            (Some("mcp__*"), "", true),
            (Some("mcp__github__*"), "", false),
            (Some("mcp__git__log"), "mcp__*", false),
            (Some(""), "", false),
        ] {
            let layer =
                GrantLayer { allowed: allowed.map(of), blocked: of(blocked), ..GrantLayer::default() };
            assert_eq!(Grant::new([layer]).reaches("mcp__git__"), expected, "{allowed:?} {blocked}");
        }
    }
}
