//! Renames a state: its key, and every name of it in the chart. The result is read again, so that a name that would lead
//! somewhere else is refused instead of written.

use rawko_chart::{Registry, SourceFile, Span, StateReferences, load};
use rawko_core::NodeId;
use thiserror::Error;

use crate::states::ChartStates;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The part.
    pub span: Span,
    /// Its new text.
    pub text: String,
}

/// The reason why a state cannot be renamed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenameError {
    /// The name cannot be a key.
    #[error("`{0}` cannot be the name of a state; use letters, digits, `_` and `-`")]
    InvalidName(String),
    /// The name is in use where the old one is.
    #[error("cannot rename to `{name}`: {reason}")]
    Conflict {
        /// The new name.
        name: String,
        /// What would be wrong afterwards.
        reason: String,
    },
}

impl ChartStates {
    /// Returns the edits that rename a state, in the order of the text.
    pub fn rename(
        &self,
        state: NodeId,
        name: &str,
        registry: &Registry,
    ) -> Result<Vec<TextEdit>, RenameError> {
        let is_valid = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        // These words are not text in YAML.
        let is_word = ["true", "false", "null"].contains(&name);
        if !name.chars().all(is_valid) || !starts_well || is_word {
            return Err(RenameError::InvalidName(name.to_owned()));
        }
        let references = self.references(state).filter(|it| !it.is_id).map(|it| it.span);
        let mut spans: Vec<Span> = self.definition(state).into_iter().chain(references).collect();
        spans.sort_unstable();
        spans.dedup();
        let edits: Vec<TextEdit> =
            spans.into_iter().map(|span| TextEdit { span, text: name.to_owned() }).collect();
        self.insist(&edits, name, registry)?;
        Ok(edits)
    }

    /// Reads the edited text, and compares what every name leads to.
    fn insist(&self, edits: &[TextEdit], name: &str, registry: &Registry) -> Result<(), RenameError> {
        let conflict = |reason: String| RenameError::Conflict { name: name.to_owned(), reason };
        let edited = SourceFile::new(&*self.source.name, apply(&self.source.text, edits));
        let nodes = |found: &StateReferences| found.references.iter().map(|it| it.node).collect::<Vec<_>>();
        let after = StateReferences::of(&edited, registry);
        let is_same = after.as_ref().is_some_and(|after| nodes(after) == nodes(&self.found));
        let codes = |source: &SourceFile| load(source, registry).findings;
        let (before, now) = (codes(&self.source), codes(&edited));
        let new = now.iter().find(|finding| {
            let count =
                |all: &[rawko_chart::Finding]| all.iter().filter(|it| it.code == finding.code).count();
            count(&now) > count(&before)
        });
        match new {
            Some(finding) => Err(conflict(finding.message.clone())),
            None if !is_same => Err(conflict("a target would lead to another state".to_owned())),
            None => Ok(()),
        }
    }
}

/// Applies edits, which are in the order of the text.
fn apply(text: &str, edits: &[TextEdit]) -> String {
    let mut out = text.to_owned();
    for edit in edits.iter().rev() {
        out.replace_range(edit.span.range(), &edit.text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(text: &str, from: &str, to: &str) -> Result<String, RenameError> {
        let registry = Registry::default();
        let states = ChartStates::of(&SourceFile::new("c.yaml", text), &registry).unwrap();
        let (state, _) = states.state_at(text.find(from).unwrap()).unwrap();
        states.rename(state, to, &registry).map(|edits| apply(text, &edits))
    }

    #[test]
    fn a_state_is_renamed_everywhere_and_namesakes_stay() {
        let text = "statechart:\n  id: c\n  initial: one\n  states:\n    one:\n      initial: x\n      on: {GO: two, UP: 'one.x'}\n      \
                    states: {x: {}}\n    two:\n      initial: one\n      states: {one: {}}\n      always: {target: one, guard: \"stateIn('one.x')\"}\n  \
                    properties: {p: {never: \"in('one') and in('two.one')\"}}\n";
        let renamed = rename(text, "one:\n", "first").unwrap();
        assert_eq!(
            renamed,
            "statechart:\n  id: c\n  initial: first\n  states:\n    first:\n      initial: x\n      on: {GO: two, UP: 'first.x'}\n      \
             states: {x: {}}\n    two:\n      initial: one\n      states: {one: {}}\n      always: {target: first, guard: \"stateIn('first.x')\"}\n  \
             properties: {p: {never: \"in('first') and in('two.one')\"}}\n"
        );
    }

    #[test]
    fn names_that_would_change_the_chart_are_refused() {
        let text = "statechart: {id: c, initial: a, states: {a: {on: {E: b}}, b: {}}}";
        assert!(matches!(rename(text, "b: {}", "a"), Err(RenameError::Conflict { .. })));
        assert!(matches!(rename(text, "b: {}", "x y"), Err(RenameError::InvalidName(_))));
        assert!(matches!(rename(text, "b: {}", "null"), Err(RenameError::InvalidName(_))));
        let nested =
            "statechart: {id: c, initial: a, states: {a: {initial: x, states: {x: {on: {E: b}}}}, b: {}}}";
        assert!(
            matches!(rename(nested, "b: {}", "x"), Err(RenameError::Conflict { .. })),
            "the target would be the sibling"
        );
    }
}
