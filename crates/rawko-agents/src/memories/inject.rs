//! Formats memories for an agent's prompt, up to a token budget.

use super::score::ScoredMemory;

/// Estimated characters per token.
const CHARS_PER_TOKEN: usize = 4;

/// The text for the prompt, and the memories whose use is to be counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injection {
    /// Text for the prompt; empty if no memory fits.
    pub text: String,
    /// The names of the included memories.
    pub used: Vec<String>,
}

/// Adds memories in order of score, each whole or not at all, until the budget is used up. One that is too long does
/// not exclude shorter ones.
pub fn inject(scored: &[ScoredMemory<'_>], tokens_max: usize) -> Injection {
    let mut injection = Injection::default();
    let mut room = tokens_max.saturating_mul(CHARS_PER_TOKEN);
    for ScoredMemory { memory, .. } in scored {
        let entry = entry(&memory.title, &memory.body);
        let size = entry.chars().count() + 1;
        if size <= room {
            room -= size;
            if !injection.text.is_empty() {
                injection.text.push('\n');
            }
            injection.text.push_str(&entry);
            injection.used.push(memory.name.clone());
        }
    }
    injection
}

/// Formats `- Title: body`, with further lines indented below.
fn entry(title: &str, body: &str) -> String {
    let body = body.strip_prefix(title).unwrap_or(body).trim();
    let body = body.replace('\n', "\n  ");
    if body.is_empty() { format!("- {title}") } else { format!("- {title}: {body}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::{Memory, rank};

    #[test]
    fn as_many_as_there_is_room_for() {
        let memory = |name: &str, body: &str| Memory {
            name: name.into(),
            title: name.to_uppercase(),
            body: body.into(),
            ..Memory::default()
        };
        let memories = [
            memory("a", "parser parser\nline two"),
            memory("b", &format!("parser {}", "x".repeat(400))),
            memory("c", "parser"),
        ];
        let scored = rank(&memories, "the parser", "developer", 0);
        let table: [(usize, &[&str]); 4] =
            [(0, &[]), (4, &["c"]), (20, &["a", "c"]), (1_000, &["a", "b", "c"])];
        for (tokens_max, expected) in table {
            let injection = inject(&scored, tokens_max);
            assert_eq!(injection.used, expected, "{tokens_max}");
            assert!(injection.text.chars().count() <= tokens_max * CHARS_PER_TOKEN, "{tokens_max}");
        }
        assert_eq!(inject(&scored, 20).text, "- A: parser parser\n  line two\n- C: parser");
    }
}
