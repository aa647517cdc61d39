//! Ranks memories by relevance to a task. Simple and explainable: shared words, with more weight for rare ones, double
//! for tags, and a small bonus for recent ones. A memory without shared words is excluded.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::Date;

use super::file::Memory;

/// Half-life of the recency bonus.
const HALF_LIFE_DAYS: f64 = 30.0;
/// Maximum recency bonus: a quarter of the score.
const RECENCY: f64 = 0.25;
/// A tag names the topic of a memory.
const TAG_WEIGHT: f64 = 2.0;
/// Shorter words are mostly grammar.
const WORD_CHARS_MIN: usize = 3;
/// Longer grammatical words.
const GRAMMAR: [&str; 24] = [
    "all", "and", "any", "are", "but", "can", "for", "from", "has", "have", "into", "its", "not", "should",
    "that", "the", "then", "this", "use", "was", "when", "will", "with", "you",
];
const DAY_MS: f64 = 86_400_000.0;

/// A memory with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredMemory<'m> {
    /// The memory.
    pub memory: &'m Memory,
    /// Relevance; higher is better, always above 0.
    pub score: f64,
}

/// Returns the relevant memories for this task and agent, best first; ties are ordered by name.
pub fn rank<'m>(memories: &'m [Memory], task: &str, agent: &str, now_ms: i64) -> Vec<ScoredMemory<'m>> {
    let wanted: BTreeSet<String> = words(task).collect();
    let bags: Vec<BTreeMap<String, f64>> = memories.iter().map(bag).collect();
    let mut scored: Vec<ScoredMemory<'m>> = Vec::new();
    for (memory, bag) in memories.iter().zip(&bags) {
        let is_for_agent = memory.agents.is_empty() || memory.agents.iter().any(|name| name == agent);
        let common = wanted.iter().filter_map(|word| Some(bag.get(word)? * rarity(word, &bags)));
        let common: f64 = common.sum();
        if is_for_agent && common > 0.0 {
            scored.push(ScoredMemory { memory, score: common * (1.0 + RECENCY * freshness(memory, now_ms)) });
        }
    }
    scored.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.memory.name.cmp(&b.memory.name)));
    scored
}

/// Returns the words of a memory with their weights.
fn bag(memory: &Memory) -> BTreeMap<String, f64> {
    let text = words(&memory.title).chain(words(&memory.body)).map(|word| (word, 1.0));
    let tags = memory.tags.iter().flat_map(|tag| words(tag)).map(|word| (word, TAG_WEIGHT));
    text.chain(tags).collect()
}

/// Returns the weight of a word; words that occur in few memories are more significant.
fn rarity(word: &str, bags: &[BTreeMap<String, f64>]) -> f64 {
    let having = bags.iter().filter(|bag| bag.contains_key(word)).count();
    (1.0 + bags.len() as f64 / having.max(1) as f64).ln()
}

/// Returns 1 for today, 0.5 after a month, 0 if the date is unknown.
fn freshness(memory: &Memory, now_ms: i64) -> f64 {
    let Some(created_ms) = memory.created.as_deref().and_then(moment) else { return 0.0 };
    let days = (now_ms.saturating_sub(created_ms).max(0)) as f64 / DAY_MS;
    0.5_f64.powf(days / HALF_LIFE_DAYS)
}

/// Parses a timestamp or a date.
fn moment(text: &str) -> Option<i64> {
    let stamp = text.parse::<Timestamp>().ok();
    let stamp = stamp.or_else(|| format!("{}T00:00:00Z", text.parse::<Date>().ok()?).parse().ok());
    stamp.map(Timestamp::as_millisecond)
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS_MIN);
    let words = words.map(str::to_lowercase).filter(|word| !GRAMMAR.contains(&word.as_str()));
    words.map(|word| stem(&word))
}

/// `tests`, `tested` and `testing` have the same stem; more would need a dictionary.
fn stem(word: &str) -> String {
    let endings = ["ing", "ed", "es", "s"];
    let stripped = endings.iter().find_map(|ending| word.strip_suffix(ending));
    stripped.filter(|stem| stem.chars().count() >= WORD_CHARS_MIN).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, tags: &[&str], body: &str) -> Memory {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        Memory { name: name.into(), title: name.into(), tags, body: body.into(), ..Memory::default() }
    }

    fn names(memories: &[Memory], task: &str, agent: &str, now_ms: i64) -> Vec<String> {
        rank(memories, task, agent, now_ms).iter().map(|scored| scored.memory.name.clone()).collect()
    }

    #[test]
    fn what_has_something_in_common_comes_first() {
        let memories = [
            memory("a", &[], "The parser reads tokens."),
            memory("b", &["parser"], "Look at the grammar."),
            memory("c", &[], "The database needs a migration."),
            memory("d", &[], "The parser and the database share a lock."),
        ];
        let table: [(&str, &[&str]); 5] = [
            ("Mend the parser", &["b", "a", "d"]),
            ("Migrate the database", &["c", "d"]),
            ("parsers", &["b", "a", "d"]),
            ("Write a poem", &[]),
            ("", &[]),
        ];
        for (task, expected) in table {
            assert_eq!(names(&memories, task, "developer", 0), expected, "{task}");
        }
    }

    #[test]
    fn a_rare_word_says_more() {
        let memories =
            [memory("a", &[], "test test test"), memory("b", &[], "test"), memory("c", &[], "flaky")];
        assert_eq!(names(&memories, "a flaky test", "x", 0)[0], "c");
    }

    #[test]
    fn recent_ones_win_among_equals_and_agents_see_their_own() {
        let mut memories =
            [memory("old", &[], "parser"), memory("new", &[], "parser"), memory("other", &[], "parser")];
        memories[0].created = Some("2025-01-01".into());
        memories[1].created = Some("2026-03-01T00:00:00Z".into());
        memories[2].agents = vec!["tester".into()];
        let now_ms = moment("2026-03-02").unwrap();
        assert_eq!(names(&memories, "parser", "developer", now_ms), ["new", "old"]);
        assert_eq!(names(&memories, "parser", "tester", now_ms), ["new", "old", "other"]);
    }
}
