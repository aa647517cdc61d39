//! Extraction of memories by a model: the prompt, the response schema and its parser. No model is called here.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::file::Memory;

/// Limit of memories from one execution. More would be a log.
const MEMORIES_MAX: usize = 3;
const TITLE_CHARS_MAX: usize = 120;
const BODY_CHARS_MAX: usize = 1_000;
/// Limit of the agent's report in the prompt.
const REPORT_CHARS_MAX: usize = 4_000;

/// The input of an extraction.
#[derive(Clone, Copy, Debug)]
pub struct Extraction<'a> {
    /// Task text.
    pub task: &'a str,
    /// Agent that reported.
    pub agent: &'a str,
    /// The agent's report.
    pub text: &'a str,
    /// Titles of existing memories.
    pub known: &'a [String],
}

/// A memory as returned by a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewMemory {
    /// Title in one line; the file is named after it.
    pub title: String,
    /// Words that a later task is matched by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Agents that it is for; empty means all.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The lesson.
    pub body: String,
}

/// A response without usable memories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractionError {
    /// The response does not match the schema; holds the parser's message.
    #[error("the answer is not a list of memories: {0}")]
    Unreadable(String),
    /// A memory has an invalid field.
    #[error("`{title}` is not a valid memory: {why}")]
    Unusable {
        /// Title of the memory.
        title: String,
        /// Reason, as a clause.
        why: &'static str,
    },
}

/// Builds the prompt that asks a model for memories.
pub fn extraction_prompt(extraction: &Extraction<'_>) -> String {
    let Extraction { task, agent, text, known } = extraction;
    let report: String = text.chars().take(REPORT_CHARS_MAX).collect();
    let known: String = known.iter().map(|title| format!("\n- {title}")).collect();
    let known = if known.is_empty() { "\nnone".to_owned() } else { known };
    format!(
        "An agent has finished its work. List facts that help later work on this project: conventions, commands, risks, \
         decisions and their reasons. Omit facts that the code or its history shows, facts about this task only, and \
         secrets. Return an empty list if there are none.\n\nReturn at most {MEMORIES_MAX} memories. Each has a one-line title, tags, \
         the agents it is for (empty: all agents), and a body of a \
         few sentences.\n\n## Task\n\n{task}\n\n## Report of {agent}\n\n{report}\n\n\
         ## Known memories\n{known}"
    )
}

/// Returns the JSON Schema of the response.
pub fn extraction_schema() -> Json {
    let words = json!({"type": "array", "items": {"type": "string"}});
    let memory = json!({
        "type": "object",
        "properties": {"title": {"type": "string"}, "tags": words, "agents": words, "body": {"type": "string"}},
        "required": ["title", "tags", "agents", "body"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"memories": {"type": "array", "items": memory}},
        "required": ["memories"],
        "additionalProperties": false,
    })
}

/// Parses the memories of a response, without those whose title exists. A memory that is too long makes the response
/// unusable: truncation could change its meaning.
pub fn parse_extraction(
    answer: &Json,
    known: &[String],
    created: &str,
) -> Result<Vec<Memory>, ExtractionError> {
    #[derive(Deserialize)]
    struct Answer {
        memories: Vec<NewMemory>,
    }
    let answer: Answer = serde_json::from_value(answer.clone())
        .map_err(|error| ExtractionError::Unreadable(error.to_string()))?;
    let mut memories: Vec<Memory> = Vec::new();
    for new in answer.memories.into_iter().take(MEMORIES_MAX) {
        check(&new)?;
        let is_known = |title: &String| title.trim().eq_ignore_ascii_case(new.title.trim());
        if known.iter().any(is_known) || memories.iter().any(|memory| is_known(&memory.title)) {
            continue;
        }
        memories.push(Memory {
            name: slug(&new.title),
            title: new.title.trim().to_owned(),
            tags: new.tags,
            agents: new.agents,
            created: Some(created.to_owned()),
            uses: 0,
            body: new.body.trim().to_owned(),
        });
    }
    Ok(memories)
}

fn check(new: &NewMemory) -> Result<(), ExtractionError> {
    let chars = |text: &str| text.chars().count();
    let why = match new {
        new if new.title.trim().is_empty() => "it has no title",
        new if new.title.trim().contains('\n') => "its title has more than one line",
        new if chars(&new.title) > TITLE_CHARS_MAX => "its title is longer than 120 characters",
        new if chars(&new.body) > BODY_CHARS_MAX => "its body is longer than 1000 characters",
        _ => return Ok(()),
    };
    Err(ExtractionError::Unusable { title: new.title.chars().take(TITLE_CHARS_MAX).collect(), why })
}

/// Returns a name that is valid on every file system.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= 48 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "memory".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_prompt_is_this() {
        let known = ["Tests run with pytest".to_owned()];
        let extraction =
            Extraction { task: "Mend the parser", agent: "developer", text: "Mended.", known: &known };
        expect![[r#"
            An agent has finished its work. List facts that help later work on this project: conventions, commands, risks, decisions and their reasons. Omit facts that the code or its history shows, facts about this task only, and secrets. Return an empty list if there are none.

            Return at most 3 memories. Each has a one-line title, tags, the agents it is for (empty: all agents), and a body of a few sentences.

            ## Task

            Mend the parser

            ## Report of developer

            Mended.

            ## Known memories

            - Tests run with pytest"#]].assert_eq(&extraction_prompt(&extraction));
    }

    #[test]
    fn answers_become_memories_or_a_problem() {
        let new =
            |title: &str, body: &str| json!({"title": title, "tags": ["x"], "agents": [], "body": body});
        let table = [
            ("none", json!({"memories": []}), "[]"),
            ("one", json!({"memories": [new("Use tabs!", "Always.")]}), r#"["use-tabs"]"#),
            (
                "known already",
                json!({"memories": [new("KNOWN ", "x"), new("b", "x"), new("B", "y")]}),
                r#"["b"]"#,
            ),
            (
                "three at most",
                json!({"memories": [new("a", "x"), new("b", "x"), new("c", "x"), new("d", "x")]}),
                r#"["a", "b", "c"]"#,
            ),
            ("letters of elsewhere", json!({"memories": [new("日本語", "x")]}), r#"["memory"]"#),
            (
                "prose",
                json!("Nothing to remember."),
                "the answer is not a list of memories: invalid type: string \"Nothing to remember.\", expected struct Answer",
            ),
            ("no title", json!({"memories": [new(" ", "x")]}), "` ` is not a valid memory: it has no title"),
            (
                "too long",
                json!({"memories": [new("a", &"x".repeat(1_001))]}),
                "`a` is not a valid memory: its body is longer than 1000 characters",
            ),
        ];
        for (name, answer, expected) in table {
            let seen = match parse_extraction(&answer, &["Known".to_owned()], "2026-03-01") {
                Ok(memories) => {
                    format!("{:?}", memories.iter().map(|memory| &memory.name).collect::<Vec<_>>())
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn the_schema_describes_what_is_read() {
        let answer = json!({"memories": [{"title": "a", "tags": [], "agents": [], "body": "b"}]});
        let validator = jsonschema::validator_for(&extraction_schema()).unwrap();
        assert!(validator.is_valid(&answer) && !validator.is_valid(&json!([])));
        assert!(parse_extraction(&answer, &[], "2026-03-01").is_ok());
    }
}
