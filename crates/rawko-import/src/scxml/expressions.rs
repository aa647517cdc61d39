//! Expressions in attributes. One without a counterpart becomes an expression that fails on evaluation:
//! `error.execution` is raised there, as SCXML specifies for illegal ones, and nothing is silently true or empty.

use roxmltree::Node;
use serde_json::Value as Json;

use super::ScxmlImporter;
use crate::ecmascript::{
    Translation, Untranslatable, literal, parse_expression, text_literal, translate, translate_guard,
};
use crate::yaml::Yaml;
use crate::{literal_data, reads_as_expression};

/// Length limit of an expression in a note.
const EXCERPT_MAX: usize = 120;

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    /// Translates an attribute's expression to text.
    pub(super) fn expression(&mut self, xml: Node<'a, 'i>, text: &str) -> String {
        match self.translated(xml, text) {
            Ok(translated) => translated.text,
            Err(failing) => failing,
        }
    }

    /// Translates to data, where only some strings are read as expressions.
    pub(super) fn template(&mut self, xml: Node<'a, 'i>, text: &str) -> Yaml {
        match self.translated(xml, text) {
            Ok(Translation { constant: Some(constant), .. }) => literal_data(&constant),
            Ok(translated) => expression_data(translated.text),
            Err(failing) => expression_data(failing),
        }
    }

    /// Translates a name that may be computed: of an event, a target, a send.
    pub(super) fn name(&mut self, xml: Node<'a, 'i>, text: &str) -> Yaml {
        match self.translated(xml, text) {
            Ok(Translation { constant: Some(Json::String(name)), .. }) => Yaml::Text(name),
            Ok(Translation { text, .. }) | Err(text) => Yaml::map([("expr", Yaml::Text(text))]),
        }
    }

    /// Translates where every string is an expression: assignments, input, output.
    pub(super) fn value(&mut self, xml: Node<'a, 'i>, text: &str) -> Yaml {
        match self.translated(xml, text) {
            Ok(Translation { constant: Some(constant), .. }) => constant_value(&constant),
            Ok(translated) => Yaml::Text(translated.text),
            Err(failing) => Yaml::Text(failing),
        }
    }

    /// Translates a condition; `None` if it is always true.
    pub(super) fn guard(&mut self, xml: Node<'a, 'i>, text: &str) -> Option<String> {
        let guard = parse_expression(text).and_then(|js| translate_guard(&js, &self.variables));
        match guard {
            Ok(guard) if guard.constant == Some(Json::Bool(true)) => None,
            Ok(guard) => Some(guard.text),
            Err(why) => Some(self.failing(xml, text, &why)),
        }
    }

    pub(super) fn translated(&mut self, xml: Node<'a, 'i>, text: &str) -> Result<Translation, String> {
        let translated = parse_expression(text).and_then(|js| translate(&js, &self.variables));
        let translated = translated.map_err(|why| self.failing(xml, text, &why))?;
        let chart = match &translated.constant {
            Some(Json::String(name)) => self.chart_named(xml, name),
            _ => None,
        };
        Ok(chart.map_or(translated, |chart| Translation::constant(chart.into())))
    }

    /// Adds a note and returns an expression that fails with the reason.
    pub(super) fn failing(&mut self, xml: Node<'a, 'i>, text: &str, why: &Untranslatable) -> String {
        let text = excerpt(text);
        match why {
            Untranslatable::Illegal(_) | Untranslatable::Undeclared(_) => {
                self.changed(xml, format!("`{text}` fails when it is evaluated, as in SCXML: {why}"));
            }
            Untranslatable::Foreign(_) => self.lost(xml, format!("`{text}`: {why}")),
        }
        failure(&why.to_string())
    }

    /// Returns an action that always fails, for actions that fail in SCXML too or have no counterpart.
    pub(super) fn failing_action(&mut self, why: &str) -> Yaml {
        Yaml::map([("type", Yaml::text("log")), ("message", Yaml::map([("expr", Yaml::Text(failure(why)))]))])
    }
}

/// Shortens an expression to one line for a note.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().take(EXCERPT_MAX).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the negation of a text: an expression that loads, always fails, and shows the reason.
pub(super) fn failure(why: &str) -> String {
    format!("-{}", text_literal(why))
}

pub(super) fn is_failure(text: &str) -> bool {
    text.starts_with("-'")
}

/// Returns the reason of an action that was written to fail.
pub(super) fn certain_failure(action: &Yaml) -> Option<String> {
    let Yaml::Map(entries) = action else { return None };
    let value =
        entries.iter().find(|(key, _)| key == "message" || key == "target").map(|(_, value)| value)?;
    let Yaml::Map(value) = value else { return None };
    value.iter().find_map(|(key, value)| match value {
        Yaml::Text(text) if key == "expr" => text.strip_prefix("-'")?.strip_suffix('\'').map(str::to_owned),
        _ => None,
    })
}

fn constant_value(constant: &Json) -> Yaml {
    match constant {
        Json::Null | Json::Bool(_) | Json::Number(_) => Yaml::from_json(constant),
        Json::String(_) | Json::Array(_) | Json::Object(_) => Yaml::Text(literal(constant)),
    }
}

fn expression_data(text: String) -> Yaml {
    if reads_as_expression(&text) { Yaml::Text(text) } else { Yaml::map([("expr", Yaml::Text(text))]) }
}
