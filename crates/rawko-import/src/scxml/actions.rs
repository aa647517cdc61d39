//! Executable content: one function for each element. A block is a list of our inline actions.

use roxmltree::Node;

use super::ScxmlImporter;
use super::datamodel::is_variable_name;
use super::xml::{elements, first, has_elements, is, named, text, words};
use crate::ecmascript::{literal, text_literal};
use crate::literal_data;
use crate::yaml::Yaml;

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    /// Translates the actions inside an element.
    pub(super) fn block(&mut self, xml: Node<'a, 'i>) -> Vec<Yaml> {
        elements(xml).flat_map(|action| self.action(action)).collect()
    }

    fn action(&mut self, xml: Node<'a, 'i>) -> Vec<Yaml> {
        match xml.tag_name().name() {
            "raise" => {
                vec![action("raise", [("event", Yaml::text(xml.attribute("event").unwrap_or_default()))])]
            }
            "send" => self.send(xml),
            "cancel" => vec![self.cancel(xml)],
            "log" => vec![self.log(xml)],
            "assign" => vec![self.assign(xml)],
            "if" => vec![self.choose(xml)],
            "foreach" => vec![self.foreach(xml)],
            "script" => self.script(xml),
            other => {
                self.lost(xml, format!("the action `<{other}>`"));
                vec![action("log", [("message", Yaml::Text(format!("not carried over: <{other}>")))])]
            }
        }
    }

    fn cancel(&mut self, xml: Node<'a, 'i>) -> Yaml {
        let id = match xml.attribute("sendidexpr") {
            Some(expr) => self.name(xml, expr),
            None => Yaml::text(xml.attribute("sendid").unwrap_or_default()),
        };
        action("cancel", [("id", id)])
    }

    fn log(&mut self, xml: Node<'a, 'i>) -> Yaml {
        let label = xml.attribute("label").unwrap_or_default().trim();
        let Some(expr) = xml.attribute("expr").filter(|expr| !expr.trim().is_empty()) else {
            return action("log", [("message", literal_data(&label.into()))]);
        };
        if label.is_empty() {
            let message = self.template(xml, expr);
            return action("log", [("message", message)]);
        }
        let message = match self.translated(xml, expr) {
            Ok(value) => match value.constant {
                Some(serde_json::Value::String(text)) => literal_data(&format!("{label}: {text}").into()),
                _ => expr_data(format!("{} ~ string({})", text_literal(&format!("{label}: ")), value.text)),
            },
            Err(failing) => expr_data(failing),
        };
        action("log", [("message", message)])
    }

    fn assign(&mut self, xml: Node<'a, 'i>) -> Yaml {
        let location = xml.attribute("location").unwrap_or_default().trim().to_owned();
        let value = match xml.attribute("expr") {
            Some(expr) => self.value(xml, expr),
            None if first(xml, "scxml").is_some() => Yaml::Text(literal(&self.chart_as_data(xml, &location))),
            None => {
                if has_elements(xml) {
                    self.lost(xml, "XML as data");
                }
                Yaml::Text(literal(&self.inline_value(xml, &text(xml))))
            }
        };
        self.assign_to(xml, &location, value)
    }

    /// Assigns to a variable, or to a part of one.
    pub(super) fn assign_to(&mut self, xml: Node<'a, 'i>, location: &str, value: Yaml) -> Yaml {
        let (root, fields) =
            location.split_once('.').map_or((location, None), |(root, rest)| (root, Some(rest)));
        if !is_variable_name(root) || !self.variables.types.contains_key(root) {
            self.changed(
                xml,
                format!(
                    "assigning to `{location}` fails, as in SCXML: it is not a variable of the data model"
                ),
            );
            return self.failing_action(&format!("`{location}` is not a variable of the data model"));
        }
        let value = match fields {
            None => value,
            Some(fields) if fields.split('.').all(is_variable_name) => {
                let path: Vec<_> = fields.split('.').collect();
                Yaml::Text(nested(&format!("context.{root}"), &path, &as_expression(&value)))
            }
            Some(_) => {
                self.lost(xml, format!("assigning to `{location}`"));
                return self.failing_action(&format!("assigning to {location} was not carried over"));
            }
        };
        action("assign", [("context_updates", Yaml::Map(vec![(root.to_owned(), value)]))])
    }

    /// Translates `<if>` with its `<elseif/>` and `<else/>`, which separate the actions.
    fn choose(&mut self, xml: Node<'a, 'i>) -> Yaml {
        let mut branches = Vec::new();
        let mut guard = xml.attribute("cond").and_then(|cond| self.guard(xml, cond));
        let mut actions = Vec::new();
        for child in elements(xml) {
            let separator = is(child, "elseif") || is(child, "else");
            if separator {
                branches.push(branch(guard.take(), std::mem::take(&mut actions)));
                guard = child.attribute("cond").and_then(|cond| self.guard(child, cond));
            } else {
                actions.extend(self.action(child));
            }
        }
        branches.push(branch(guard, actions));
        action("choose", [("branches", Yaml::List(branches))])
    }

    fn foreach(&mut self, xml: Node<'a, 'i>) -> Yaml {
        let item = xml.attribute("item").unwrap_or_default().trim().to_owned();
        let index = xml.attribute("index").map(|index| index.trim().to_owned());
        for name in std::iter::once(&item).chain(&index) {
            if !is_variable_name(name) {
                self.changed(
                    xml,
                    format!("the loop fails, as in SCXML: `{name}` is not a valid variable name"),
                );
                return self.failing_action(&format!("{name} is not a valid variable name"));
            }
        }
        let array = self.expression(xml, xml.attribute("array").unwrap_or_default());
        let actions = self.block(xml);
        let mut foreach = action("foreach", [("array", Yaml::Text(array)), ("item", Yaml::Text(item))]);
        if let Some(index) = index {
            foreach.push("index", Yaml::Text(index));
        }
        foreach.push("actions", Yaml::List(actions));
        foreach
    }

    /// Translates `namelist`, `<param>` and `<content>` to one value; `None` if there is none. `leaf` writes an
    /// expression there.
    pub(super) fn payload(
        &mut self,
        xml: Node<'a, 'i>,
        leaf: fn(&mut Self, Node<'a, 'i>, &str) -> Yaml,
    ) -> Option<Yaml> {
        if let Some(content) = named(xml, "content").next() {
            return Some(self.content(content, leaf));
        }
        let mut entries: Vec<(String, Yaml)> = Vec::new();
        for name in words(xml, "namelist") {
            entries.push((name.to_owned(), leaf(self, xml, name)));
        }
        for param in named(xml, "param") {
            let name = param.attribute("name").unwrap_or_default().to_owned();
            let value = leaf(
                self,
                param,
                param.attribute("expr").or(param.attribute("location")).unwrap_or_default(),
            );
            if let Some(known) = entries.iter_mut().find(|(known, _)| *known == name) {
                self.changed(param, format!("the parameter `{name}` is given twice; the last one counts"));
                known.1 = value;
            } else {
                entries.push((name, value));
            }
        }
        (!entries.is_empty()).then_some(Yaml::Map(entries))
    }

    fn content(&mut self, xml: Node<'a, 'i>, leaf: fn(&mut Self, Node<'a, 'i>, &str) -> Yaml) -> Yaml {
        if let Some(expr) = xml.attribute("expr") {
            return leaf(self, xml, expr);
        }
        if has_elements(xml) {
            self.lost(xml, "XML as data");
            return Yaml::Null;
        }
        let value = self.inline_value(xml, &text(xml));
        // An ECMAScript literal is translated like any other expression.
        leaf(self, xml, &value.to_string())
    }
}

pub(super) fn action<const N: usize>(kind: &str, entries: [(&str, Yaml); N]) -> Yaml {
    let mut action = Yaml::map([("type", Yaml::text(kind))]);
    for (key, value) in entries {
        action.push(key, value);
    }
    action
}

pub(super) fn expr_data(text: String) -> Yaml {
    Yaml::map([("expr", Yaml::Text(text))])
}

pub(super) fn branch(guard: Option<String>, actions: Vec<Yaml>) -> Yaml {
    let mut branch = Yaml::Map(Vec::new());
    if let Some(guard) = guard {
        branch.push("guard", guard_text(guard));
    }
    branch.push("actions", Yaml::List(actions));
    branch
}

fn as_expression(value: &Yaml) -> String {
    match value {
        Yaml::Text(text) => text.clone(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Number(number) => number.to_string(),
        Yaml::Null | Yaml::List(_) | Yaml::Map(_) => "null".to_owned(),
    }
}

/// Translates `foo.bar.baz = v` to a copy of `foo` with that one field changed.
fn nested(object: &str, path: &[&str], value: &str) -> String {
    match path {
        [] => value.to_owned(),
        [field, rest @ ..] => {
            let inner = nested(&format!("{object}.{field}"), rest, value);
            format!("set({object}, {}, {inner})", text_literal(field))
        }
    }
}

/// A guard that is never true is written as `false`, not as the text of an expression.
pub(super) fn guard_text(guard: String) -> Yaml {
    if guard == "false" { Yaml::Bool(false) } else { Yaml::Text(guard) }
}
