//! Where version 4 goes another way: regions beside a target, internal transitions into active states.

use serde_json::{Map, Value as Json};

use super::targets::ResolvedTargets;
use super::tree::{ROOT, XstateKind};
use super::{JsonPath, XstateImporter};
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

impl XstateImporter {
    /// Notes a key of version 4 in a document of version 5, which ignores it.
    pub(super) fn mixed_versions(&mut self, transition: &Map<String, Json>, place: &JsonPath) {
        if self.is_v4 {
            return;
        }
        for key in ["cond", "in", "internal"] {
            if transition.get(key).is_some_and(|value| !value.is_null()) {
                self.lost(
                    &place.at(key),
                    format!("`{key}` of version 4 in a document with keys of version 5 (`guard`, `reenter`, `output`, `input`): each version ignores keys of the other"),
                );
            }
        }
    }

    /// Version 4 leaves the regions beside the target alone, where version 5 and our engine enter all of them again.
    pub(super) fn regions_of_v4(
        &mut self,
        targets: &ResolvedTargets,
        source: usize,
        reenters: bool,
        place: &JsonPath,
    ) {
        if !self.is_v4 || targets.nodes.is_empty() {
            return;
        }
        let is_inside = |node: &usize| *node == source || self.tree.is_below(*node, source);
        let domain = match !reenters && targets.nodes.iter().all(is_inside) {
            true => Some(source),
            false => {
                let mut above = self.tree.ancestors(source);
                above.find(|above| targets.nodes.iter().all(|node| self.tree.is_below(*node, *above)))
            }
        };
        if domain.is_some_and(|domain| self.tree.nodes[domain].kind == XstateKind::Parallel) {
            self.lost(place, "a target in one region of a parallel state in version 4, which leaves the other regions alone");
        }
    }

    /// Notes final states whose completion version 4 reports otherwise.
    pub(super) fn final_of_v4(&mut self, node: usize, place: &JsonPath) {
        let parent = self.tree.nodes[node].parent.filter(|_| self.is_v4);
        let Some(parent) = parent.filter(|_| self.tree.nodes[node].kind == XstateKind::Final) else { return };
        if self.tree.nodes[parent].kind == XstateKind::Parallel {
            self.lost(place, "a final state as a region in version 4, where its parallel state completes several times or never");
        } else if parent != ROOT && self.precedence.catch_alls().next().is_some() {
            self.lost(place, "a final state inside others beside `*` in version 4, where `*` takes two events of its completion");
        }
    }

    /// Notes the default of a history state, which version 4 ignores for the initial state.
    pub(super) fn history_of_v4(&mut self, targets: &[usize], parent: usize, place: &JsonPath) {
        if self.is_v4 && self.tree.initial(parent).is_none_or(|initial| targets != [initial]) {
            self.lost(
                place,
                "the default of a history state in version 4, which enters the initial state instead",
            );
        }
    }

    /// Returns the target of an internal transition of version 4 that stays where it is if it is active already, while
    /// ours enters it again. Only where that makes a difference.
    pub(super) fn stays_in_v4(
        &mut self,
        targets: &ResolvedTargets,
        source: usize,
        reenters: bool,
        place: &JsonPath,
    ) -> Option<usize> {
        let is_internal = self.is_v4
            && !reenters
            && !targets.nodes.is_empty()
            && targets.nodes.iter().all(|node| self.tree.is_below(*node, source));
        if !is_internal {
            return None;
        }
        let between: Vec<_> = targets
            .nodes
            .iter()
            .flat_map(|node| self.tree.ancestors(*node).take_while(move |above| *above != source))
            .collect();
        let is_alone = targets.nodes.len() == 1 && self.tree.nodes[targets.nodes[0]].children.is_empty();
        let is_history = self.tree.nodes[targets.nodes[0]].kind == XstateKind::History;
        let mut inside = between.iter().chain(&targets.nodes).copied().collect::<Vec<_>>();
        if is_history {
            inside.extend(self.tree.nodes[targets.nodes[0]].parent);
        }
        let acts = |node: usize| {
            let all = 0..self.tree.nodes.len();
            all.filter(|other| *other == node || self.tree.is_below(*other, node))
                .any(|other| self.acts(other))
        };
        if !inside.iter().any(|node| acts(*node)) {
            return None;
        }
        let in_region = std::iter::once(source)
            .chain(self.tree.ancestors(source))
            .any(|above| self.tree.nodes[above].kind == XstateKind::Parallel);
        if is_alone && !is_history && !in_region && !between.iter().any(|node| self.acts(*node)) {
            return Some(targets.nodes[0]);
        }
        self.lost(place, "an internal transition of version 4 into states that may be active: it does not enter them again, here they act again");
        None
    }

    /// Returns true if leaving or entering a state does something.
    fn acts(&self, node: usize) -> bool {
        let node = &self.tree.nodes[node];
        node.acts_on_entry || node.acts_on_exit || node.kind == XstateKind::Final
    }

    /// The transition that is taken instead if its target is active.
    pub(super) fn staying(
        &mut self,
        full: &Yaml,
        target: usize,
        is_code: bool,
        place: &JsonPath,
    ) -> Option<Yaml> {
        let Yaml::Map(entries) = full else { return None };
        if is_code {
            self.lost(place, "an internal transition of version 4 into a state that may be active, with a guard that was code: it does not enter the state again");
            return None;
        }
        // A guard that never holds blocks both.
        if entries.iter().any(|(key, guard)| key == "guard" && *guard == Yaml::Bool(false)) {
            return None;
        }
        let active = format!("stateIn({})", text_literal(&self.tree.path(target)));
        let guard = entries.iter().find_map(|(key, guard)| match (key.as_str(), guard) {
            ("guard", Yaml::Text(text)) => Some(format!("{active} and ({text})")),
            _ => None,
        });
        let mut staying = vec![("guard".to_owned(), Yaml::Text(guard.unwrap_or(active)))];
        staying.extend(entries.iter().filter(|(key, _)| key == "actions").cloned());
        Some(Yaml::Map(staying))
    }
}
