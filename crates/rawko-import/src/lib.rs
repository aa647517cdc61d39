//! Importers: other statechart formats as our YAML, with a list of the constructs that could not be translated. This
//! file defines an import; each language (`scxml`, `xstate`, `langgraph`, `dot`) has a
//! folder. Pure: the caller provides the files a chart
//! refers to.
//!
//! ```
//! use rawko_import::{ImportOptions, import};
//!
//! let door = r#"<scxml xmlns="http://www.w3.org/2005/07/scxml" name="door" initial="shut">
//!   <state id="shut"><transition event="open" target="opened"/></state>
//!   <state id="opened"/>
//! </scxml>"#;
//! let imported = import(door, ImportOptions::default())?;
//! assert_eq!(imported.id, "door");
//! assert!(imported.yaml.starts_with("# Imported from SCXML."));
//! # Ok::<(), rawko_import::ImportError>(())
//! ```
#![warn(missing_docs)]

mod dot;
mod ecmascript;
mod encoding;
mod json;
mod langgraph;
mod scxml;
mod xstate;
mod yaml;

pub use dot::dot;
pub use encoding::decode;
pub use langgraph::langgraph;
pub use scxml::scxml;
pub use xstate::xstate;
use yaml::Yaml;

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportResult {
    /// The chart's id, for naming a file.
    pub id: String,
    /// The chart in our format.
    pub yaml: String,
    /// Further charts that were nested in the document and that `yaml` invokes as `statechart:<id>`.
    pub charts: Vec<ImportedChart>,
    /// Constructs that could not be translated, or not exactly, in the order of the lines.
    pub notes: Vec<Note>,
}

/// A chart that was nested in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedChart {
    /// Id of the chart, unique among the charts of one import.
    pub id: String,
    /// The chart in our format, without the comment that heads `ImportResult::yaml`.
    pub yaml: String,
}

/// One note for a reader of the imported chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the imported document, from 1.
    pub line: u32,
    /// The effect on behaviour: changed or lost.
    pub kind: NoteKind,
    /// The construct and the reason, without the line.
    pub message: String,
}

/// The effect on the chart's behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// Translated differently; worth a review.
    Changed,
    /// It was code, which the document does not contain: a placeholder stands for it until the author writes it.
    Unwritten,
    /// Not translated: the chart lacks it, or fails where it is reached.
    Lost,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            NoteKind::Changed => "changed",
            NoteKind::Unwritten => "to be written",
            NoteKind::Lost => "not carried over",
        };
        write!(f, "line {}: {kind}: {}", self.line, self.message)
    }
}

/// The language of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// State Chart XML of the W3C, with the ECMAScript data model.
    Scxml,
    /// An XState machine configuration as JSON.
    Xstate,
    /// A LangGraph graph as JSON: `get_graph().to_json()`.
    Langgraph,
    /// A workflow of an agent runner in Graphviz DOT.
    Dot,
}

/// Reads a file by the path given in a document; `None` if it does not exist.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Options of an import.
#[derive(Clone, Copy, Default)]
pub struct ImportOptions<'a> {
    /// The id of a chart without one; usually the file's stem.
    pub id: Option<&'a str>,
    /// For references of the document, such as `src="file:part.scxml"`.
    pub file: Option<ReadFile<'a>>,
    /// SCXML's `event="foo"` also matches `foo.bar`, so it is imported as `foo.*`. If true, it becomes plain `foo`.
    pub exact_events: bool,
}

/// A document that cannot be imported at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is none of the languages.
    #[error(
        "this is neither SCXML, XState, LangGraph nor DOT: expected an `<scxml>` element, a JSON object with `states` or with `nodes` and `edges`, or a `digraph`"
    )]
    UnknownLanguage,
    /// The document is not well-formed XML or JSON, or has another root element.
    #[error("line {line}: {message}")]
    Malformed {
        /// Line of the document, from 1.
        line: u32,
        /// The error of the parser.
        message: String,
    },
    /// States are nested too deeply; protects the stack.
    #[error("line {line}: states are nested more than {max} deep")]
    TooDeep {
        /// Line of the first state beyond the limit, from 1.
        line: u32,
        /// The limit.
        max: usize,
    },
}

/// Detects the language of a text from its first characters.
pub fn detect(text: &str) -> Option<SourceLanguage> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') {
        return text.contains("<scxml").then_some(SourceLanguage::Scxml).or_else(|| has_prefixed_root(text));
    }
    if starts_digraph(text) {
        return Some(SourceLanguage::Dot);
    }
    let json: serde_json::Value = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    let root = json.as_object()?;
    if langgraph::looks_like(root) {
        return Some(SourceLanguage::Langgraph);
    }
    xstate::looks_like(root).then_some(SourceLanguage::Xstate)
}

/// `<sc:scxml xmlns:sc=…>`: a prefix does not change the language.
fn has_prefixed_root(text: &str) -> Option<SourceLanguage> {
    text.contains(":scxml").then_some(SourceLanguage::Scxml)
}

/// Returns true if the first words after comments are `digraph` or `strict digraph`.
fn starts_digraph(text: &str) -> bool {
    let mut text = text;
    loop {
        let rest = match text {
            comment if comment.starts_with("//") || comment.starts_with('#') => {
                comment.split_once('\n').map(|(_, rest)| rest)
            }
            comment if comment.starts_with("/*") => comment.split_once("*/").map(|(_, rest)| rest),
            _ => break,
        };
        let Some(rest) = rest else { return false };
        text = rest.trim_start();
    }
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '{' | '"'));
    let first = words.next().unwrap_or_default().to_ascii_lowercase();
    let second = words.find(|word| !word.is_empty()).unwrap_or_default().to_ascii_lowercase();
    matches!(first.as_str(), "digraph" | "graph")
        || (first == "strict" && matches!(second.as_str(), "digraph" | "graph"))
}

/// Imports a document in its detected language.
pub fn import(text: &str, options: ImportOptions<'_>) -> Result<ImportResult, ImportError> {
    match detect(text) {
        Some(language) => import_as(language, text, options),
        // A JSON text that does not parse has a line to report.
        None if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') => {
            json::parsed(text)?;
            Err(ImportError::UnknownLanguage)
        }
        None => Err(ImportError::UnknownLanguage),
    }
}

/// Imports a document in a given language.
pub fn import_as(
    language: SourceLanguage,
    text: &str,
    options: ImportOptions<'_>,
) -> Result<ImportResult, ImportError> {
    match language {
        SourceLanguage::Scxml => scxml(text, options),
        SourceLanguage::Xstate => xstate(text, options),
        SourceLanguage::Langgraph => langgraph(text, options),
        SourceLanguage::Dot => dot(text, options),
    }
}

/// Nesting limit of states: far beyond hand-written charts, and safe for every stack.
const DEPTH_MAX: usize = 100;

/// Limit of notes per location.
const SAME_PLACE: usize = 32;

/// The notes of one import.
#[derive(Debug, Default)]
struct Notes {
    list: Vec<Note>,
}

impl Notes {
    fn changed(&mut self, line: u32, message: impl Into<String>) {
        self.add(line, NoteKind::Changed, message.into());
    }

    fn unwritten(&mut self, line: u32, message: impl Into<String>) {
        self.add(line, NoteKind::Unwritten, message.into());
    }

    fn lost(&mut self, line: u32, message: impl Into<String>) {
        self.add(line, NoteKind::Lost, message.into());
    }

    fn add(&mut self, line: u32, kind: NoteKind, message: String) {
        let note = Note { line, kind, message };
        // Duplicates refer to the same location, so checking the last few is sufficient.
        if !self.list.iter().rev().take(SAME_PLACE).any(|known| *known == note) {
            self.list.push(note);
        }
    }

    fn finish(mut self) -> Vec<Note> {
        self.list.sort_by_key(|note| note.line);
        self.list
    }
}

/// Returns the comment above an imported chart: its origin and its notes.
fn heading(language: &str, notes: &[Note]) -> String {
    let mut heading = format!("# Imported from {language}.");
    if !notes.is_empty() {
        heading.push_str(" Review these points (line numbers refer to the original):");
    }
    for note in notes {
        heading.push_str("\n#   ");
        heading.push_str(
            &note
                .to_string()
                .replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'), " "),
        );
    }
    heading.push('\n');
    heading
}

/// Returns a value as data that reads back as that value.
fn literal_data(json: &serde_json::Value) -> Yaml {
    match json {
        serde_json::Value::String(text) if reads_as_expression(text) => {
            Yaml::map([("literal", Yaml::text(text))])
        }
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => Yaml::from_json(json),
        serde_json::Value::Array(items) => Yaml::List(items.iter().map(literal_data).collect()),
        serde_json::Value::Object(entries) => {
            Yaml::Map(entries.iter().map(|(key, value)| (key.clone(), literal_data(value))).collect())
        }
    }
}

/// Writes a name where our format also takes an expression.
fn name_or_literal(name: &str) -> Yaml {
    if reads_as_expression(name) { Yaml::map([("literal", Yaml::text(name))]) } else { Yaml::text(name) }
}

/// Returns true if a string in data would be read as an expression: it starts with a binding.
fn reads_as_expression(text: &str) -> bool {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.as_str(), "context" | "event" | "input" | "env" | "agents") || text.starts_with("now(")
}
