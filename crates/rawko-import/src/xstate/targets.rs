//! Targets: resolved as XState does, and written so that our reader finds the same state.

use serde_json::{Map, Value as Json};

use super::tree::{ROOT, XstateKind};
use super::{JsonPath, XstateImporter, one_or_many};
use crate::yaml::Yaml;

/// The targets of one transition, resolved.
#[derive(Debug, Default)]
pub(super) struct ResolvedTargets {
    pub(super) nodes: Vec<usize>,
    written: Vec<Yaml>,
}

impl ResolvedTargets {
    pub(super) fn yaml(mut self) -> Option<Yaml> {
        match self.written.len() {
            0 => None,
            1 => Some(self.written.remove(0)),
            _ => Some(Yaml::List(self.written)),
        }
    }

    pub(super) fn has_root(&self) -> bool {
        self.nodes.contains(&ROOT)
    }

    /// A target that starts with a dot makes a transition of version 4 internal.
    fn push(&mut self, node: usize, written: String) {
        if !self.nodes.contains(&node) {
            self.nodes.push(node);
            self.written.push(Yaml::Text(written));
        }
    }
}

impl XstateImporter {
    pub(super) fn targets(&mut self, json: &Json, source: usize, place: &JsonPath) -> ResolvedTargets {
        self.resolved(json, place, |importer, text| {
            let node = importer.tree.target(source, text, importer.is_v4)?;
            Some((node, importer.target_text(source, node, text)))
        })
    }

    /// Resolves the default of a history state.
    pub(super) fn history_targets(
        &mut self,
        json: &Json,
        history: usize,
        place: &JsonPath,
    ) -> ResolvedTargets {
        self.resolved(json, place, |importer, text| {
            let node = importer.tree.history_default(history, text)?;
            let text = if text.starts_with('.') { "" } else { text };
            Some((node, importer.target_text(history, node, text)))
        })
    }

    fn resolved(
        &mut self,
        json: &Json,
        place: &JsonPath,
        resolve: impl Fn(&Self, &str) -> Option<(usize, String)>,
    ) -> ResolvedTargets {
        let mut targets = ResolvedTargets::default();
        for target in one_or_many(json) {
            let Some(text) = target.as_str() else {
                self.lost(place, "a target that is not a string");
                continue;
            };
            let Some((node, written)) = resolve(self, text) else {
                self.lost(
                    place,
                    format!("the target `{text}`: there is no such state here, and XState rejects it"),
                );
                continue;
            };
            let clash = targets.nodes.iter().find(|other| !self.tree.are_orthogonal(**other, node));
            if clash.is_some_and(|other| *other != node) {
                self.lost(
                    place,
                    format!("the target `{text}`: it cannot be active together with the others"),
                );
                continue;
            }
            targets.push(node, written);
        }
        targets
    }

    /// Keeps the text where our reader finds the same state by it; else names the state from the chart's id.
    fn target_text(&self, source: usize, node: usize, text: &str) -> String {
        let plain = !text.contains('\\') && !text.is_empty() && !text.ends_with('.') && !text.contains("..");
        let keeps = plain && self.tree.keeps_keys(node) && !text.trim_start_matches(['#', '.']).contains('#');
        if let Some(reference) = text.strip_prefix('#') {
            let id = reference.split('.').next().unwrap_or_default();
            let is_own = self.tree.by_id(id).is_some_and(|start| self.tree.nodes[start].id.is_some());
            if keeps && is_own {
                return text.to_owned();
            }
        } else if keeps && (text.starts_with('.') || source != ROOT) {
            return text.to_owned();
        }
        self.absolute(node)
    }

    pub(super) fn absolute(&self, node: usize) -> String {
        format!("#{}.{}", self.chart_id, self.tree.path(node))
    }

    /// A history state that is the target of a transition inside its own parent: XState may run entry actions of states
    /// that were not left.
    pub(super) fn history_inside(&mut self, targets: &ResolvedTargets, source: usize, place: &JsonPath) {
        for node in &targets.nodes {
            let Some(parent) =
                self.tree.nodes[*node].parent.filter(|_| self.tree.nodes[*node].kind == XstateKind::History)
            else {
                continue;
            };
            let is_inside = source == parent || self.tree.is_below(source, parent);
            let acts = (0..self.tree.nodes.len())
                .filter(|other| *other == parent || self.tree.is_below(*other, parent))
                .any(|other| self.tree.nodes[other].acts_on_entry);
            if is_inside && acts {
                self.lost(place, "a history state as a target inside its own parent: XState enters states again that were not left");
            }
            let in_regions = std::iter::once(parent)
                .chain(self.tree.ancestors(parent))
                .any(|above| self.tree.nodes[above].kind == XstateKind::Parallel);
            if is_inside && in_regions {
                self.lost(place, "a history state in a region as a target inside its own parent: XState leaves regions that it does not enter again");
            }
        }
    }

    /// The chart itself as a target starts it again: its initial states are the targets, and its own actions become
    /// those of the transition, because our root is never left.
    pub(super) fn restart_targets(&mut self, place: &JsonPath) -> Vec<usize> {
        match self.tree.nodes[ROOT].kind {
            XstateKind::Parallel => self.regions(ROOT),
            XstateKind::Compound => self.tree.initial(ROOT).into_iter().collect(),
            XstateKind::Atomic | XstateKind::Final | XstateKind::History => {
                if self.tree.nodes[ROOT].children.is_empty() {
                    return Vec::new();
                }
                self.lost(place, "the chart itself as a target");
                Vec::new()
            }
        }
    }

    pub(super) fn regions(&self, parallel: usize) -> Vec<usize> {
        let children = self.tree.nodes[parallel].children.iter().copied();
        children.filter(|child| self.tree.nodes[*child].kind != XstateKind::History).collect()
    }

    /// Two states with one id: XState rejects the machine.
    pub(super) fn duplicate_ids(&mut self, root: &Map<String, Json>, place: &JsonPath) {
        let mut seen: Vec<String> =
            root.get("id").and_then(Json::as_str).map(str::to_owned).into_iter().collect();
        let mut open = vec![(root, place.clone())];
        while let Some((state, place)) = open.pop() {
            let Some(Json::Object(children)) = state.get("states") else { continue };
            for (key, child) in children {
                let Some(child) = child.as_object() else { continue };
                let place = place.at("states").at(key);
                if let Some(id) = child.get("id").and_then(Json::as_str).filter(|id| !id.is_empty()) {
                    if seen.iter().any(|known| known == id) {
                        self.lost(&place, format!("the id `{id}`: another state has it already"));
                    }
                    seen.push(id.to_owned());
                }
                open.push((child, place));
            }
        }
    }
}
