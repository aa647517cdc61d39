//! States: `<state>`, `<parallel>`, `<final>`, `<history>`, and their initial states.

use roxmltree::Node;

use super::ScxmlImporter;
use super::actions::action;
use super::expressions::certain_failure;
use super::outline::ScxmlStateKind;
use super::xml::{first, named, words};
use crate::literal_data;
use crate::yaml::Yaml;

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    /// Translates child states under their keys.
    pub(super) fn states(&mut self, children: &[usize]) -> Yaml {
        let states = children.iter().map(|index| {
            let key = self.outline.entries[*index].key.clone();
            (key, self.state(*index))
        });
        Yaml::Map(states.collect())
    }

    fn state(&mut self, index: usize) -> Yaml {
        match self.outline.entries[index].kind {
            ScxmlStateKind::State => self.plain_state(index),
            ScxmlStateKind::Parallel => self.parallel(index),
            ScxmlStateKind::Final => self.final_state(index),
            ScxmlStateKind::History => self.history(index),
        }
    }

    fn plain_state(&mut self, index: usize) -> Yaml {
        let mut state = Yaml::Map(Vec::new());
        let xml = self.outline.entries[index].xml;
        let children = self.outline.entries[index].children.clone();
        if self.outline.is_compound(index) {
            let initial = self.initial(xml, Some(index), &children);
            state.push("initial", initial);
        }
        self.body(&mut state, index);
        if !children.is_empty() {
            let states = self.states(&children);
            state.push("states", states);
        }
        state
    }

    fn parallel(&mut self, index: usize) -> Yaml {
        let mut state = Yaml::Map(Vec::new());
        let children = self.outline.entries[index].children.clone();
        if !children.is_empty() {
            state.push("type", Yaml::text("parallel"));
        }
        self.body(&mut state, index);
        if !children.is_empty() {
            let states = self.states(&children);
            state.push("states", states);
        }
        state
    }

    fn final_state(&mut self, index: usize) -> Yaml {
        let mut state = Yaml::map([("type", Yaml::text("final"))]);
        let xml = self.outline.entries[index].xml;
        self.handlers(&mut state, index);
        if let Some(output) = first(xml, "donedata").and_then(|data| self.payload(data, Self::value)) {
            state.push("output", output);
        }
        state
    }

    fn history(&mut self, index: usize) -> Yaml {
        let mut state = Yaml::map([("type", Yaml::text("history"))]);
        let xml = self.outline.entries[index].xml;
        if xml.attribute("type") == Some("deep") {
            state.push("variant", Yaml::text("deep"));
        }
        if let Some(transition) = first(xml, "transition") {
            let targets = self.targets(transition, Some(index));
            state.push("target", targets);
            let actions = self.block(transition);
            if !actions.is_empty() {
                state.push("actions", Yaml::List(actions));
            }
        }
        state
    }

    /// Translates the parts common to all states: entry and exit, transitions, invokes.
    fn body(&mut self, state: &mut Yaml, index: usize) {
        let xml = self.outline.entries[index].xml;
        self.handlers(state, index);
        self.invokes(state, xml, index);
        self.transitions(state, xml, index);
    }

    fn handlers(&mut self, state: &mut Yaml, index: usize) {
        let xml = self.outline.entries[index].xml;
        let late =
            self.late_data.iter().filter(|(owner, _)| *owner == xml.id()).map(|(_, assign)| assign.clone());
        let mut entry: Vec<_> = late.collect();
        entry.extend(self.blocks(xml, "onentry"));
        entry.extend(self.invoke_ids(index));
        if !entry.is_empty() {
            state.push("entry", Yaml::List(entry));
        }
        let exit = self.blocks(xml, "onexit");
        if !exit.is_empty() {
            state.push("exit", Yaml::List(exit));
        }
    }

    fn blocks(&mut self, xml: Node<'a, 'i>, name: &'static str) -> Vec<Yaml> {
        let blocks: Vec<_> = named(xml, name).collect();
        let last = blocks.len().saturating_sub(1);
        let mut actions: Vec<Yaml> = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let block = self.block(*block);
            actions.extend(if number < last { up_to_failure(block) } else { block });
            if number + 1 == last.max(1) && last > 0 && actions.iter().any(may_fail) {
                let message = format!(
                    "several `<{name}>` blocks became one: when an action fails, the rest of all of them is skipped"
                );
                self.changed(blocks[last], message);
            }
        }
        actions
    }

    /// Translates the initial state of a state (`None` is the chart).
    pub(super) fn initial(&mut self, xml: Node<'a, 'i>, index: Option<usize>, children: &[usize]) -> Yaml {
        if let Some(transition) = first(xml, "initial").and_then(|initial| first(initial, "transition")) {
            let targets = self.initial_targets(transition, "target", index, children);
            let actions = self.block(transition);
            if actions.is_empty() {
                return targets;
            }
            return Yaml::map([("target", targets), ("actions", Yaml::List(actions))]);
        }
        self.initial_targets(xml, "initial", index, children)
    }

    fn initial_targets(
        &mut self,
        xml: Node<'a, 'i>,
        attribute: &str,
        index: Option<usize>,
        children: &[usize],
    ) -> Yaml {
        let mut names = Vec::new();
        for id in words(xml, attribute) {
            match self.outline.find(id) {
                Some(target) if self.outline.entries[target].parent == index => {
                    names.push(self.outline.entries[target].key.clone());
                }
                Some(target) => names.push(format!("#{}", self.outline.entries[target].key)),
                None => self.lost(xml, format!("the initial state `{id}` does not exist")),
            }
        }
        if names.is_empty() {
            let first =
                children.iter().find(|child| self.outline.entries[**child].kind != ScxmlStateKind::History);
            names.extend(first.map(|first| self.outline.entries[*first].key.clone()));
        }
        one_or_list(names)
    }

    /// Returns the targets of a transition in its source's notation.
    pub(super) fn targets(&mut self, transition: Node<'a, 'i>, source: Option<usize>) -> Yaml {
        let mut names = Vec::new();
        for id in words(transition, "target") {
            match self.outline.find(id) {
                Some(target) => names.push(self.outline.target(source, target)),
                None => self.lost(transition, format!("the target `{id}` does not exist")),
            }
        }
        one_or_list(names)
    }
}

/// Truncates a block that another one follows at its first certain failure: it ends there with an error, and the other
/// block still runs.
fn up_to_failure(mut block: Vec<Yaml>) -> Vec<Yaml> {
    if let Some((at, why)) =
        block.iter().enumerate().find_map(|(at, action)| Some((at, certain_failure(action)?)))
    {
        let data = Yaml::map([("message", literal_data(&why.into()))]);
        block.truncate(at);
        block.push(action("raise", [("event", Yaml::text("error.execution")), ("data", data)]));
    }
    block
}

pub(super) fn one_or_list(mut names: Vec<String>) -> Yaml {
    match names.len() {
        1 => Yaml::Text(names.remove(0)),
        _ => Yaml::List(names.into_iter().map(Yaml::Text).collect()),
    }
}

/// Returns true unless an action is one that cannot fail: it has no expression and no address.
fn may_fail(action: &Yaml) -> bool {
    let Yaml::Map(entries) = action else { return true };
    let get = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let is_literal = |value: &Yaml| match value {
        Yaml::Text(text) => !crate::reads_as_expression(text),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => true,
        Yaml::List(_) | Yaml::Map(_) => false,
    };
    match get("type") {
        Some(Yaml::Text(kind)) if kind == "log" => !get("message").is_some_and(is_literal),
        Some(Yaml::Text(kind)) if kind == "raise" => get("data").is_some(),
        Some(Yaml::Text(kind)) if kind == "cancel" => !get("id").is_some_and(is_literal),
        _ => true,
    }
}
