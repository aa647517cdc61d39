//! What the word at a place is, in one or two sentences: from the schema, the chart and its project.

use std::ops::Range;

use rawko_core::{ServiceClass, ServiceName};

use crate::lines::TextLines;
use crate::names::ProjectNames;
use crate::outline::{ChartOutline, state_of};
use crate::scan::{PlaceKind, TextScan, is_word};
use crate::schema::description_at;

/// An explanation of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordExplanation {
    /// The word.
    pub title: String,
    /// One or two sentences.
    pub text: String,
    /// Byte offsets of the word.
    pub range: Range<usize>,
}

/// Returns the explanation of the word at a byte offset.
pub fn explain(text: &str, offset: usize, names: &ProjectNames) -> Option<WordExplanation> {
    let range = word_at(text, offset)?;
    let word = &text[range.clone()];
    let (scan, _) = TextScan::at(text, range.end);
    let outline = ChartOutline::of(&scan.keys);
    let about = match scan.keys.iter().find(|key| key.span == range) {
        Some(key) => of_key(&key.path, names)?,
        None => {
            let (_, place) = TextScan::at(text, range.end);
            if place.kind == PlaceKind::Text {
                return None;
            }
            (word.to_owned(), of_value(text, word, &outline, names)?)
        }
    };
    Some(WordExplanation { title: about.0, text: about.1, range })
}

/// Returns the word around an offset. A colon belongs to it only within a word, as in `agent:developer`.
fn word_at(text: &str, offset: usize) -> Option<Range<usize>> {
    let before = text.get(..offset)?;
    let start =
        before.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(offset, |(at, _)| at);
    let length = text[start..].find(|c: char| !is_word(c)).unwrap_or(text.len() - start);
    let word = text[start..start + length].trim_end_matches(':');
    (!word.is_empty()).then(|| start..start + word.len())
}

fn of_key(path: &[String], names: &ProjectNames) -> Option<(String, String)> {
    let key = path.last()?;
    if let Some(about) = description_at(&names.schema, path) {
        return Some((key.clone(), about.to_owned()));
    }
    let above = path.len().checked_sub(2).map_or("", |at| path[at].as_str());
    match above {
        "states" | "regions" => Some((key.clone(), format!("State {}.", state_of(path).join(".")))),
        "on" => Some((key.clone(), "Transition on this event.".to_owned())),
        "context" => {
            Some((format!("context.{key}"), "A value of the context, with its initial value.".to_owned()))
        }
        _ => None,
    }
}

fn of_value(text: &str, word: &str, outline: &ChartOutline, names: &ProjectNames) -> Option<String> {
    let has = |list: &[String], name: &str| list.iter().any(|known| known == name);
    if has(&names.services, word) {
        return Some("A service of this project.".to_owned());
    }
    if ServiceName::member_of(word, ServiceClass::Agent).is_some_and(|agent| has(&names.agents, agent)) {
        return Some("An agent of this project.".to_owned());
    }
    let chart = ServiceName::member_of(word, ServiceClass::Chart)
        .map(|chart| chart.split('@').next().unwrap_or(chart));
    if chart.is_some_and(|chart| has(&names.charts, chart)) {
        return Some("A chart of this project.".to_owned());
    }
    let bare = word.trim_start_matches(['.', '#']);
    let is_it = |path: &[String]| path.join(".") == bare || path.last().is_some_and(|key| key == bare);
    if let Some((path, at)) = outline.states.iter().find(|(path, _)| is_it(path)) {
        let line = TextLines::of(text).position(*at).line + 1;
        return Some(format!("State {}, line {line}.", path.join(".")));
    }
    if outline.actions.contains(word) {
        return Some("A named action of this chart.".to_owned());
    }
    outline.guards.contains(word).then(|| "A named guard of this chart.".to_owned())
}
