//! Importing: other people's statecharts as our YAML, with a list of what could not be carried over. One file says what an
//! import is; each language (`scxml`, `xstate`) has a folder. Pure: files a chart refers to come from the caller.

mod ecmascript;
mod scxml;
mod xstate;
mod yaml;

pub use scxml::scxml;
pub use xstate::xstate;
use yaml::Yaml;

/// What an import gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The chart's id, for naming a file.
    pub id: String,
    /// The chart in our format.
    pub yaml: String,
    /// Further charts that the document held inside itself and that `yaml` invokes as `statechart:<id>`.
    pub charts: Vec<ImportedChart>,
    /// What could not be carried over, or not quite, in the order of the lines.
    pub notes: Vec<Note>,
}

/// A chart that was written inside another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedChart {
    pub id: String,
    pub yaml: String,
}

/// One thing a reader of the imported chart has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Line of the imported document, from 1.
    pub line: u32,
    pub kind: NoteKind,
    pub message: String,
}

/// Whether the chart still does what the document did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// Carried over in other words; worth a look.
    Changed,
    /// Not carried over: the chart lacks it, or fails where it is reached.
    Lost,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            NoteKind::Changed => "changed",
            NoteKind::Lost => "not carried over",
        };
        write!(f, "line {}: {kind}: {}", self.line, self.message)
    }
}

/// Which language a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Scxml,
    Xstate,
}

/// Reads a file by the path a document gives. `None`: there is none.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How to import.
#[derive(Clone, Copy, Default)]
pub struct ImportOptions<'a> {
    /// The id of a chart that names itself nowhere; usually the file's stem.
    pub id: Option<&'a str>,
    /// For what the document refers to, such as `src="file:part.scxml"`.
    pub file: Option<ReadFile<'a>>,
    /// SCXML's `event="foo"` also takes `foo.bar`, so it is imported as `foo.*`. True: as plain `foo`.
    pub exact_events: bool,
}

/// Why there is nothing to import at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error(
        "this is neither SCXML nor an XState configuration: expected an `<scxml>` element or a JSON object with `states`"
    )]
    UnknownLanguage,
    #[error("line {line}: {message}")]
    Malformed { line: u32, message: String },
    #[error("line {line}: states are nested more than {max} deep")]
    TooDeep { line: u32, max: usize },
}

/// Says which language a text is written in, from its first characters.
pub fn detect(text: &str) -> Option<Language> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') {
        return text.contains("<scxml").then_some(Language::Scxml).or_else(|| has_prefixed_root(text));
    }
    (text.starts_with('{') && text.contains("\"states\"")).then_some(Language::Xstate)
}

/// `<sc:scxml xmlns:sc=…>`: a prefix does not change the language.
fn has_prefixed_root(text: &str) -> Option<Language> {
    text.contains(":scxml").then_some(Language::Scxml)
}

/// Imports a document in whichever language it is written.
pub fn import(text: &str, options: ImportOptions<'_>) -> Result<Imported, ImportError> {
    match detect(text).ok_or(ImportError::UnknownLanguage)? {
        Language::Scxml => scxml(text, options),
        Language::Xstate => xstate(text, options),
    }
}

/// How deep states may be nested: far beyond what a person writes, and safe for every stack.
const DEPTH_MAX: usize = 100;

/// How many notes one place may give at most.
const SAME_PLACE: usize = 32;

/// The notes of one import, collected on the way.
#[derive(Debug, Default)]
struct Notes {
    list: Vec<Note>,
}

impl Notes {
    fn changed(&mut self, line: u32, message: impl Into<String>) {
        self.add(line, NoteKind::Changed, message.into());
    }

    fn lost(&mut self, line: u32, message: impl Into<String>) {
        self.add(line, NoteKind::Lost, message.into());
    }

    fn add(&mut self, line: u32, kind: NoteKind, message: String) {
        let note = Note { line, kind, message };
        // What is said twice is said of one place, so the last few are enough to look at.
        if !self.list.iter().rev().take(SAME_PLACE).any(|known| *known == note) {
            self.list.push(note);
        }
    }

    fn finish(mut self) -> Vec<Note> {
        self.list.sort_by_key(|note| note.line);
        self.list
    }
}

/// The comment above an imported chart: where it comes from, and what to look at.
fn heading(language: &str, notes: &[Note]) -> String {
    let mut heading = format!("# Imported from {language}.");
    if !notes.is_empty() {
        heading.push_str(" What to look at (lines are those of the original):");
    }
    for note in notes {
        heading.push_str("\n#   ");
        heading.push_str(&note.to_string().replace(['\n', '\r'], " "));
    }
    heading.push('\n');
    heading
}

/// A value as data that reads back as that value.
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

/// Whether a string in data would be taken for an expression: it starts with a binding.
fn reads_as_expression(text: &str) -> bool {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    matches!(word.as_str(), "context" | "event" | "input" | "env" | "agents") || text.starts_with("now(")
}
