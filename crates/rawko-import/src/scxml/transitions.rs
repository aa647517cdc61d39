//! Transitions. SCXML tries them in document order and lets `foo` match `foo.bar`; ours prefers the exact event, then
//! the longest wildcard. Descriptors are widened and, where the orders would differ, transitions repeated.

use indexmap::IndexMap;
use roxmltree::Node;

use super::ScxmlImporter;
use super::actions::guard_text;
use super::xml::{named, words};
use crate::yaml::Yaml;

/// A transition in our notation, once for each of its events.
#[derive(Clone, Debug)]
struct EventTransition {
    /// Index of its transition among those of the state.
    number: usize,
    event: String,
    body: Yaml,
    guarded: bool,
    line: u32,
}

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    pub(super) fn transitions(&mut self, state: &mut Yaml, xml: Node<'a, 'i>, index: usize) {
        let mut always = Vec::new();
        let mut handlers = Vec::new();
        for (number, transition) in named(xml, "transition").enumerate() {
            let body = self.transition(transition, index);
            let guarded = body_has(&body, "guard");
            let events = words(transition, "event");
            if events.is_empty() {
                always.push(body);
                continue;
            }
            for event in events {
                let event = self.descriptor(event);
                handlers.push(EventTransition {
                    number,
                    event,
                    body: body.clone(),
                    guarded,
                    line: self.line(transition),
                });
            }
        }
        let handlers = self.in_document_order(handlers);
        if !handlers.is_empty() {
            state.push("on", grouped(handlers));
        }
        if !always.is_empty() {
            state.push("always", Yaml::List(always));
        }
    }

    fn transition(&mut self, xml: Node<'a, 'i>, source: usize) -> Yaml {
        let mut body = Yaml::Map(Vec::new());
        if xml.has_attribute("target") {
            let targets = self.targets(xml, Some(source));
            body.push("target", targets);
        }
        if let Some(guard) = xml.attribute("cond").and_then(|cond| self.guard(xml, cond)) {
            body.push("guard", guard_text(guard));
        }
        if self.leaves_its_source(xml, source) {
            body.push("reenter", Yaml::Bool(true));
        }
        let actions = self.block(xml);
        if !actions.is_empty() {
            body.push("actions", Yaml::List(actions));
        }
        body
    }

    /// In SCXML a transition to its own source or into it leaves the source first, unless it is internal, which only
    /// compound states support. Ours stays inside unless `reenter` is set.
    fn leaves_its_source(&self, xml: Node<'a, 'i>, source: usize) -> bool {
        let targets: Vec<_> =
            words(xml, "target").into_iter().filter_map(|id| self.outline.find(id)).collect();
        let inside = |target: &usize| self.outline.is_inside(*target, source);
        let internal = xml.attribute("type") == Some("internal")
            && self.outline.is_compound(source)
            && targets.iter().all(inside);
        !internal && targets.iter().any(|target| *target == source || inside(target))
    }

    /// Returns our event descriptor for the same events.
    fn descriptor(&self, event: &str) -> String {
        let base = event.trim_end_matches(".*").trim_end_matches('.');
        if base.is_empty() || base == "*" {
            return "*".to_owned();
        }
        if let Some(state) = base.strip_prefix("done.state.").and_then(|id| self.outline.find(id)) {
            return format!("done.state.{}", self.outline.entries[state].key);
        }
        let exact = matches!(base, "error.execution" | "error.communication")
            || base.strip_prefix("done.invoke.").is_some_and(|id| !id.is_empty())
            || (self.family.options.exact_events && base == event);
        if exact { base.to_owned() } else { format!("{base}.*") }
    }

    /// Repeats a wider descriptor's transition before later transitions of narrower ones, so that it is still tried
    /// first.
    fn in_document_order(
        &mut self,
        handlers: Vec<EventTransition>,
    ) -> IndexMap<String, Vec<EventTransition>> {
        let mut by_event: IndexMap<String, Vec<EventTransition>> = IndexMap::new();
        for handler in handlers {
            let mut earlier: Vec<EventTransition> = Vec::new();
            for wide in wider(&handler.event) {
                earlier.extend(by_event.get(&wide).into_iter().flatten().cloned());
            }
            earlier.sort_by_key(|handler| handler.number);
            earlier.dedup_by_key(|handler| handler.number);
            if let Some(first) = earlier.iter().find(|first| !first.guarded) {
                let message = format!(
                    "`{}` is never reached: line {} takes the same events",
                    handler.event, first.line
                );
                self.notes.changed(handler.line, message);
                continue;
            }
            let own = by_event.entry(handler.event.clone()).or_default();
            *own = earlier;
            own.push(handler);
        }
        by_event
    }
}

/// Returns the descriptors that match every event of this one, including itself.
fn wider(event: &str) -> Vec<String> {
    let base = event.strip_suffix(".*").unwrap_or(event);
    let mut found = vec!["*".to_owned(), base.to_owned(), format!("{base}.*")];
    // A wildcard is not covered by the exact event it starts with.
    found.retain(|wide| wide.ends_with('*') || wide == event);
    found.extend(base.match_indices('.').map(|(dot, _)| format!("{}.*", &base[..dot])));
    found
}

/// Writes one entry for each event; several transitions of one event become a list.
fn grouped(handlers: IndexMap<String, Vec<EventTransition>>) -> Yaml {
    let entries = handlers.into_iter().map(|(event, handlers)| {
        let mut bodies: Vec<_> = handlers.into_iter().map(|handler| handler.body).collect();
        let value = if bodies.len() == 1 { short(bodies.remove(0)) } else { Yaml::List(bodies) };
        (event, value)
    });
    Yaml::Map(entries.collect())
}

/// A transition with only one target is written as that target.
fn short(body: Yaml) -> Yaml {
    match body {
        Yaml::Map(entries) => match entries.as_slice() {
            [(key, Yaml::Text(target))] if key == "target" => Yaml::Text(target.clone()),
            _ => Yaml::Map(entries),
        },
        other => other,
    }
}

fn body_has(body: &Yaml, key: &str) -> bool {
    matches!(body, Yaml::Map(entries) if entries.iter().any(|(found, _)| found == key))
}

#[cfg(test)]
mod tests {
    use super::wider;

    #[test]
    fn wider_descriptors() {
        let table = [("foo.bar.*", "* foo.bar.* foo.*"), ("foo", "* foo foo.*"), ("*", "* * *.*")];
        for (event, expected) in table {
            assert_eq!(wider(event).join(" "), expected, "{event}");
        }
    }
}
