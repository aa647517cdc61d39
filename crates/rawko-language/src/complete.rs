//! Suggestions for a place of a chart's text: keys and values from the schema, names from the chart and its project.

use rawko_core::ServiceClass;

use crate::names::ProjectNames;
use crate::outline::{ChartOutline, state_of};
use crate::scan::{CursorPlace, PlaceKind, TextScan};
use crate::schema::{ITEM, keys_at, values_at};

/// Number of suggestions at most.
const SHOWN_MAX: usize = 60;
const TARGETS: [&str; 7] = ["target", "always", "onDone", "onError", "onTimeout", "onAllDone", "stuck"];

/// What a suggestion is, for an icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuggestionKind {
    /// A key of the format.
    Key,
    /// A value of the format.
    Value,
    /// A state of the chart.
    State,
    /// An event of the chart.
    Event,
    /// Anything else that has a name: a service, a guard, a context key.
    Name,
}

/// One suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The name, for the list.
    pub label: String,
    /// The text that replaces the word.
    pub insert: String,
    /// What it is, in a few words; may be empty.
    pub note: String,
    /// Its kind.
    pub kind: SuggestionKind,
}

/// Suggestions for a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuggestionList {
    /// Byte offset of the word that a suggestion replaces; it ends at the place.
    pub from: usize,
    /// Best first.
    pub items: Vec<Suggestion>,
}

/// Returns suggestions for a byte offset.
pub fn suggest(text: &str, offset: usize, names: &ProjectNames) -> SuggestionList {
    let (scan, place) = TextScan::at(text, offset);
    let outline = ChartOutline::of(&scan.keys);
    let of_names = CompletionNames { project: names, outline: &outline, scan: &scan, place: &place };
    let mut all = Vec::new();
    match place.kind {
        PlaceKind::Text => {}
        PlaceKind::Key => {
            of_names.keys(&mut all);
            if place.path.last().is_some_and(|key| key == ITEM) {
                of_names.values(&mut all);
            }
        }
        PlaceKind::Value => of_names.values(&mut all),
    }
    let word = text.get(place.from..offset).unwrap_or_default();
    SuggestionList { from: place.from, items: fitting(all, word) }
}

/// Those that start with the word, then those that contain it.
fn fitting(all: Vec<Suggestion>, word: &str) -> Vec<Suggestion> {
    let lower = word.to_lowercase();
    let all = all.into_iter().filter(|it| it.label != word);
    let (mut fits, others): (Vec<_>, Vec<_>) =
        all.partition(|it| it.label.to_lowercase().starts_with(&lower));
    if lower.chars().count() > 1 {
        fits.extend(others.into_iter().filter(|it| it.label.to_lowercase().contains(&lower)));
    }
    fits.truncate(SHOWN_MAX);
    fits
}

struct CompletionNames<'a> {
    project: &'a ProjectNames,
    outline: &'a ChartOutline,
    scan: &'a TextScan,
    place: &'a CursorPlace,
}

impl CompletionNames<'_> {
    fn keys(&self, all: &mut Vec<Suggestion>) {
        let path = &self.place.path;
        let is_beside = |key: &&crate::scan::ScannedKey| {
            key.path.len() == path.len() + 1
                && key.path.starts_with(path)
                && !path.iter().any(|key| key == ITEM)
        };
        let there: Vec<&String> =
            self.scan.keys.iter().filter(is_beside).filter_map(|key| key.path.last()).collect();
        let mut add = |name: &str, note: &str, kind| {
            let insert = match (self.place.is_quoted, self.place.is_json) {
                (true, _) => name.to_owned(),
                (false, true) => format!("\"{name}\": "),
                (false, false) => format!("{name}: "),
            };
            all.push(Suggestion { label: name.to_owned(), insert, note: note.to_owned(), kind });
        };
        for (key, note) in keys_at(&self.project.schema, path) {
            if !there.iter().any(|known| *known == key) {
                add(key, note, SuggestionKind::Key);
            }
        }
        match path.last().map(String::as_str) {
            Some("on") => {
                let events = self.outline.events.iter();
                events.for_each(|event| add(event, "event of this chart", SuggestionKind::Event));
            }
            Some("context_updates") => {
                self.outline.context.iter().for_each(|key| add(key, "context", SuggestionKind::Name));
            }
            Some(_) | None => {}
        }
    }

    fn values(&self, all: &mut Vec<Suggestion>) {
        use SuggestionKind::{Event, Name, State, Value};

        let whole = &self.place.path;
        let path =
            if whole.last().is_some_and(|key| key == ITEM) { &whole[..whole.len() - 1] } else { &whole[..] };
        let key = path.last().map_or("", String::as_str);
        let above = path.len().checked_sub(2).map_or("", |at| path[at].as_str());
        let mut add = |name: &str, note: &str, kind| {
            let is_bare = self.place.is_quoted || !self.place.is_json;
            let insert = if is_bare { name.to_owned() } else { format!("\"{name}\"") };
            all.push(Suggestion { label: name.to_owned(), insert, note: note.to_owned(), kind });
        };
        for (value, note) in values_at(&self.project.schema, whole) {
            add(&value, &note, Value);
        }
        let state = state_of(path);
        match key {
            "initial" => self.outline.children(&state).for_each(|name| add(name, "state", State)),
            _ if TARGETS.contains(&key) || above == "on" || above == "after" => {
                self.targets(&state, &mut add)
            }
            "src" => {
                self.project.services.iter().for_each(|name| add(name, "service", Name));
                self.project
                    .agents
                    .iter()
                    .for_each(|name| add(&ServiceClass::Agent.named(name), "agent", Name));
                self.project
                    .charts
                    .iter()
                    .for_each(|name| add(&ServiceClass::Chart.named(name), "chart", Name));
            }
            "guard" => {
                self.outline.guards.iter().for_each(|name| add(name, "guard", Name));
                self.context(&mut add);
            }
            "actions" | "entry" | "exit" => {
                self.outline.actions.iter().for_each(|name| add(name, "action", Name));
            }
            "event" => self.outline.events.iter().for_each(|name| add(name, "event of this chart", Event)),
            "to" => self.project.endpoints.iter().for_each(|name| add(name, "endpoint", Name)),
            _ if self.place.word.starts_with("context.") => self.context(&mut add),
            _ => {}
        }
    }

    fn context(&self, add: &mut dyn FnMut(&str, &str, SuggestionKind)) {
        for name in &self.outline.context {
            add(&format!("context.{name}"), "context", SuggestionKind::Name);
        }
    }

    /// States that a transition of a state may lead to: its siblings, siblings of its parents, and its children.
    fn targets(&self, state: &[String], add: &mut dyn FnMut(&str, &str, SuggestionKind)) {
        let mut seen: Vec<&str> = Vec::new();
        for depth in (0..state.len()).rev() {
            let parent = state[..depth].join(".");
            let note = match depth {
                _ if depth + 1 == state.len() => "state".to_owned(),
                0 => "state of the chart".to_owned(),
                _ => format!("state of {parent}"),
            };
            for name in self.outline.children(&state[..depth]) {
                if !seen.contains(&name) {
                    seen.push(name);
                    add(name, &note, SuggestionKind::State);
                }
            }
        }
        for name in self.outline.children(state) {
            add(&format!(".{name}"), "child state", SuggestionKind::State);
        }
    }
}
