//! Transitions. SCXML tries them in document order and lets `foo` take `foo.bar`; ours prefers the exact event, then the
//! longest wildcard. Descriptors are widened and, where the orders would differ, transitions repeated.

use roxmltree::Node;

use super::Importer;
use super::actions::guard_text;
use super::xml::{line, named, words};
use crate::import::yaml::Yaml;

/// A transition as it will be written, once for each of its events.
#[derive(Clone, Debug)]
struct Handler {
    event: String,
    body: Yaml,
    guarded: bool,
    line: u32,
}

impl<'a, 'i> Importer<'a, 'i, '_, '_> {
    pub(super) fn transitions(&mut self, state: &mut Yaml, xml: Node<'a, 'i>, index: usize) {
        let mut always = Vec::new();
        let mut handlers = Vec::new();
        for transition in named(xml, "transition") {
            let body = self.transition(transition, index);
            let guarded = body_has(&body, "guard");
            let events = words(transition, "event");
            if events.is_empty() {
                always.push(body);
                continue;
            }
            for event in events {
                let event = self.descriptor(event);
                handlers.push(Handler { event, body: body.clone(), guarded, line: line(transition) });
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
    /// compound states can have. Ours stays inside unless told otherwise.
    fn leaves_its_source(&self, xml: Node<'a, 'i>, source: usize) -> bool {
        let targets: Vec<_> =
            words(xml, "target").into_iter().filter_map(|id| self.outline.find(id)).collect();
        let inside = |target: &usize| self.outline.is_inside(*target, source);
        let internal = xml.attribute("type") == Some("internal")
            && self.outline.is_compound(source)
            && targets.iter().all(inside);
        !internal && targets.iter().any(|target| *target == source || inside(target))
    }

    /// An event descriptor of ours that takes the same events.
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

    /// Puts a wider descriptor's transition also before later transitions of narrower ones, so that it is still tried first.
    fn in_document_order(&mut self, handlers: Vec<Handler>) -> Vec<Handler> {
        let mut ordered: Vec<Handler> = Vec::new();
        for (at, handler) in handlers.iter().enumerate() {
            let earlier = &handlers[..at];
            if let Some(first) =
                earlier.iter().find(|first| !first.guarded && covers(&first.event, &handler.event))
            {
                let message = format!(
                    "`{}` is never reached: line {} takes the same events",
                    handler.event, first.line
                );
                self.notes.changed(handler.line, message);
                continue;
            }
            for wider in earlier
                .iter()
                .filter(|wider| wider.event != handler.event && covers(&wider.event, &handler.event))
            {
                let there =
                    ordered.iter().any(|known| known.event == handler.event && known.line == wider.line);
                if !there {
                    ordered.push(Handler { event: handler.event.clone(), ..wider.clone() });
                }
            }
            ordered.push(handler.clone());
        }
        ordered
    }
}

/// Whether `wide` takes every event that `narrow` takes.
fn covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || wide == "*" {
        return true;
    }
    let Some(base) = wide.strip_suffix(".*") else { return false };
    let narrow = narrow.strip_suffix(".*").unwrap_or(narrow);
    narrow.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// One entry for each event; several transitions of one event become a list.
fn grouped(handlers: Vec<Handler>) -> Yaml {
    let mut groups: Vec<(String, Vec<Yaml>)> = Vec::new();
    for handler in handlers {
        match groups.iter_mut().find(|(event, _)| *event == handler.event) {
            Some((_, bodies)) => bodies.push(handler.body),
            None => groups.push((handler.event, vec![handler.body])),
        }
    }
    let entries = groups.into_iter().map(|(event, mut bodies)| {
        let value = if bodies.len() == 1 { short(bodies.remove(0)) } else { Yaml::List(bodies) };
        (event, value)
    });
    Yaml::Map(entries.collect())
}

/// A transition with nothing but one target is written as that target.
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
    use super::covers;

    #[test]
    fn a_wider_descriptor_covers_a_narrower_one() {
        for (wide, narrow, expected) in [
            ("*", "foo", true),
            ("foo.*", "foo.bar.*", true),
            ("foo.*", "foo", true),
            ("foo.*", "foobar.*", false),
            ("foo.bar.*", "foo.*", false),
            ("foo", "foo.bar", false),
            ("foo.*", "*", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} {narrow}");
        }
    }
}
