//! Names of MCP tools for models: `mcp__<server>__<tool>`, limited to the characters and the length that every provider
//! accepts.

use super::config::McpConfig;

const PREFIX: &str = "mcp__";
/// The shortest limit among providers.
#[cfg(feature = "mcp")]
const NAME_BYTES_MAX: usize = 64;
/// Of the digest that keeps a shortened name apart from others.
#[cfg(feature = "mcp")]
const DIGEST_DIGITS: usize = 8;

/// A server's name as part of a tool's.
pub fn server_part(name: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' || letter == '_' { letter } else { '_' }
    };
    name.chars().map(letter).collect()
}

/// Returns the common prefix of a server's tools.
pub(super) fn prefix(config: &McpConfig) -> String {
    format!("{PREFIX}{}__", server_part(&config.name))
}

/// Returns the full name of a tool. A name that is too long is cut, and a digest of the whole keeps it unique.
#[cfg(feature = "mcp")]
pub(super) fn full_name(prefix: &str, tool: &str) -> String {
    let full = format!("{prefix}{}", server_part(tool));
    if full.len() <= NAME_BYTES_MAX {
        return full;
    }
    let digest = blake3::hash(format!("{prefix}{tool}").as_bytes()).to_hex();
    let kept = NAME_BYTES_MAX.saturating_sub(DIGEST_DIGITS + 1).max(prefix.len()).min(full.len());
    format!("{}_{}", &full[..kept], &digest[..DIGEST_DIGITS])
}

/// Returns true for headers that the protocol itself sets.
pub(super) fn is_header_ours(name: &str) -> bool {
    ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"]
        .contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_provider() {
        let long = "a".repeat(80);
        let cases = [
            ("as it is", "mcp__git__", "status", "mcp__git__status"),
            ("other letters", "mcp__git__", "log.show all", "mcp__git__log_show_all"),
            (
                "too long",
                "mcp__git__",
                long.as_str(),
                "mcp__git__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_",
            ),
        ];
        for (case, prefix, tool, expected) in cases {
            let name = full_name(prefix, tool);
            assert!(name.starts_with(expected), "{case}: {name}");
            assert!(name.len() <= NAME_BYTES_MAX, "{case}: {name}");
        }
        assert_ne!(
            full_name("mcp__git__", &long),
            full_name("mcp__git__", &format!("{long}b")),
            "cut names differ"
        );
    }
}
