//! `<send>`: to itself, the parent, a child or an address; now or later.

use roxmltree::Node;
use serde_json::Value as Json;

use super::ScxmlImporter;
use super::actions::{action, branch, expr_data};
use super::expressions::{failure, is_failure};
use crate::ecmascript::{INTERNAL, text_literal};
use crate::yaml::Yaml;

/// The certainty that a send goes to the chart's own internal queue.
enum Internal {
    Always,
    Never,
    /// If this guard holds.
    If(String),
}

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    pub(super) fn send(&mut self, xml: Node<'a, 'i>) -> Vec<Yaml> {
        if let Some(kind) = xml.attribute("type").map(str::trim).filter(|kind| !is_known_processor(kind)) {
            return self.send_by_other_means(xml, kind);
        }
        if let Some(expr) = xml.attribute("typeexpr") {
            self.changed(xml, format!("the event processor `{expr}` is assumed to be SCXML's own"));
        }
        let event = self.event_name(xml);
        let data = self.payload(xml, Self::template);
        let target = self.target_of(xml);
        let mut raise = action("raise", [("event", event.clone())]);
        with_data(&mut raise, data.clone());
        match self.internal(xml, &target) {
            Internal::Always => vec![raise],
            Internal::Never => self.send_to(xml, target, event, data),
            Internal::If(guard) => {
                let otherwise = self.send_to(xml, target, event, data);
                let branches = vec![branch(Some(guard), vec![raise]), branch(None, otherwise)];
                vec![action("choose", [("branches", Yaml::List(branches))])]
            }
        }
    }

    fn send_to(&mut self, xml: Node<'a, 'i>, target: Yaml, event: Yaml, data: Option<Yaml>) -> Vec<Yaml> {
        let mut actions = Vec::new();
        let mut send = action("send", [("target", target), ("event", event)]);
        with_data(&mut send, data);
        if let Some(delay) = self.delay(xml) {
            send.push("delay", delay);
        }
        if let Some(id) = self.send_id(xml, &mut actions) {
            send.push("id", id);
        }
        actions.push(send);
        actions
    }

    /// Decides if a send is raised instead: `#_internal` may be the value of a variable. Not possible with a delay.
    fn internal(&self, xml: Node<'a, 'i>, target: &Yaml) -> Internal {
        match target {
            Yaml::Text(name) if name == INTERNAL => Internal::Always,
            Yaml::Map(_) if self.internal_is_a_value && !is_delayed(xml) => {
                computed(target).map_or(Internal::Never, |text| {
                    let text = if text.contains(' ') { format!("({text})") } else { text.to_owned() };
                    Internal::If(format!("{text} == {}", text_literal(INTERNAL)))
                })
            }
            _ => Internal::Never,
        }
    }

    fn send_by_other_means(&mut self, xml: Node<'a, 'i>, kind: &str) -> Vec<Yaml> {
        if kind.contains("BasicHTTP") || kind == "basichttp" {
            self.lost(xml, "sending by HTTP: configure an endpoint and send to it by name");
        } else {
            self.changed(xml, format!("sending fails, as in SCXML: `{kind}` is not a known event processor"));
        }
        let target = expr_data(failure(&format!("{kind} is not a known event processor")));
        let event = self.event_name(xml);
        let data = self.payload(xml, Self::template);
        self.send_to(xml, target, event, data)
    }

    fn event_name(&mut self, xml: Node<'a, 'i>) -> Yaml {
        match xml.attribute("eventexpr") {
            Some(expr) => self.name(xml, expr),
            None => Yaml::text(xml.attribute("event").unwrap_or_default().trim()),
        }
    }

    fn target_of(&mut self, xml: Node<'a, 'i>) -> Yaml {
        if let Some(expr) = xml.attribute("targetexpr") {
            return self.name(xml, expr);
        }
        let target = xml.attribute("target").unwrap_or_default().trim();
        if !is_address(target) {
            self.changed(xml, format!("sending fails, as in SCXML: `{target}` is not an address"));
            return expr_data(failure(&format!("{target} is not an address")));
        }
        Yaml::text(match target {
            "" => "self",
            INTERNAL => INTERNAL,
            "#_parent" => "parent",
            other => other.strip_prefix("#_scxml_").or_else(|| other.strip_prefix("#_")).unwrap_or(other),
        })
    }

    fn delay(&mut self, xml: Node<'a, 'i>) -> Option<Yaml> {
        if let Some(delay) = xml.attribute("delay") {
            return Some(Yaml::Text(duration(delay)));
        }
        let expr = xml.attribute("delayexpr")?;
        Some(match self.translated(xml, expr) {
            Ok(delay) => match delay.constant {
                Some(Json::String(text)) => Yaml::Text(duration(&text)),
                Some(constant @ Json::Number(_)) => Yaml::from_json(&constant),
                _ => Yaml::Text(delay.text),
            },
            Err(failing) => Yaml::Text(failing),
        })
    }

    /// Returns the id of a send; one that the platform would generate is generated here, once for each place.
    fn send_id(&mut self, xml: Node<'a, 'i>, before: &mut Vec<Yaml>) -> Option<Yaml> {
        if let Some(id) = xml.attribute("id") {
            return Some(Yaml::text(id));
        }
        let location = xml.attribute("idlocation")?.trim().to_owned();
        self.sends += 1;
        let id = format!("send_{}", self.sends);
        before.push(self.assign_to(xml, &location, Yaml::Text(text_literal(&id))));
        self.changed(xml, format!("the id stored in `{location}` is always `{id}`"));
        Some(Yaml::Text(id))
    }
}

fn is_delayed(xml: Node<'_, '_>) -> bool {
    xml.has_attribute("delay") || xml.has_attribute("delayexpr")
}

/// Returns the expression of a computed name, unless it always fails.
fn computed(name: &Yaml) -> Option<&str> {
    match name {
        Yaml::Map(entries) => entries.iter().find_map(|(_, value)| match value {
            Yaml::Text(text) if !is_failure(text) => Some(text.as_str()),
            _ => None,
        }),
        _ => None,
    }
}

/// Returns true for targets of SCXML's own event processor: a session, or a URI.
fn is_address(target: &str) -> bool {
    target.is_empty() || target.starts_with("#_") || target.contains(':')
}

fn with_data(action: &mut Yaml, data: Option<Yaml>) {
    if let Some(data) = data {
        action.push("data", data);
    }
}

fn is_known_processor(kind: &str) -> bool {
    matches!(
        kind,
        "" | "scxml" | "http://www.w3.org/TR/scxml/#SCXMLEventProcessor" | "http://www.w3.org/TR/scxml"
    )
}

/// Converts a CSS2 time to one of our durations: no fractions, no bare dots.
pub(super) fn duration(text: &str) -> String {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len()));
    let factor = match unit {
        "s" => 1_000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        _ => 1.0,
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && matches!(unit, "s" | "ms" | "h") => format!("{number}{unit}"),
        Ok(number) if number >= 0.0 => format!("{}ms", (number * factor).round()),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn css_times_become_durations() {
        for (css, ours) in [
            ("1s", "1s"),
            ("1.5s", "1500ms"),
            (".5s", "500ms"),
            ("10ms", "10ms"),
            ("200", "200ms"),
            ("0s", "0s"),
        ] {
            assert_eq!(duration(css), ours);
        }
    }
}
