//! `<invoke>`: a nested chart becomes a separate chart, invoked by its id.

use roxmltree::Node;
use serde_json::Value as Json;

use super::xml::{first, is, named, words};
use super::{CHARTS_DEEP_MAX, ScxmlImporter, apart_from_states, chart, parse};
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    pub(super) fn invokes(&mut self, state: &mut Yaml, xml: Node<'a, 'i>, index: usize) {
        let key = self.outline.entries[index].key.clone();
        let mut invokes = Vec::new();
        for (number, invoke) in named(xml, "invoke").enumerate() {
            let id = invoke_id(invoke, &key, number);
            invokes.extend(self.invoke(invoke, &id));
        }
        match invokes.len() {
            0 => {}
            1 => state.push("invoke", invokes.remove(0)),
            _ => state.push("invoke", Yaml::List(invokes)),
        }
    }

    fn invoke(&mut self, xml: Node<'a, 'i>, id: &str) -> Option<Yaml> {
        self.note_what_is_lost(xml);
        let src = self.source(xml, id)?;
        let mut invoke = Yaml::map([("id", Yaml::text(id)), ("src", src)]);
        let input = self.input(xml);
        if !input.is_empty() {
            invoke.push("input", Yaml::Map(input));
        }
        Some(invoke)
    }

    fn note_what_is_lost(&mut self, xml: Node<'a, 'i>) {
        if first(xml, "finalize").is_some() {
            self.lost(
                xml,
                "`<finalize>`: move its actions into the transitions that take the child's events",
            );
        }
        if xml.attribute("autoforward") == Some("true") {
            self.lost(xml, "`autoforward`: send the child the events that it needs");
        }
        if let Some(expr) = xml.attribute("typeexpr") {
            self.changed(xml, format!("the type `{expr}` is assumed to be SCXML"));
        }
    }

    fn source(&mut self, xml: Node<'a, 'i>, id: &str) -> Option<Yaml> {
        let kind = xml.attribute("type").unwrap_or("scxml").trim().trim_end_matches('/');
        if !matches!(kind, "" | "scxml" | "http://www.w3.org/TR/scxml") {
            let src = xml.attribute("src").unwrap_or(kind);
            self.changed(xml, format!("`{kind}` must be a service of the project"));
            return Some(Yaml::text(src));
        }
        if let Some(child) = first(xml, "content").and_then(|content| first(content, "scxml")) {
            return self.inner_chart(child, id);
        }
        if let Some(src) = xml.attribute("src") {
            return Some(Yaml::Text(self.chart_file(xml, src)));
        }
        let content = first(xml, "content").and_then(|content| content.attribute("expr"));
        if let Some(expr) = xml.attribute("srcexpr").or(content) {
            self.changed(
                xml,
                format!(
                    "`{expr}` must give `statechart:<id>`; charts, and file names in strings, became that"
                ),
            );
            return Some(self.name(xml, expr));
        }
        self.lost(xml, "an `<invoke>` whose chart is itself data");
        Some(Yaml::text("not_carried_over"))
    }

    /// A chart as the value of a variable: stores its name instead.
    pub(super) fn chart_as_data(&mut self, xml: Node<'a, 'i>, variable: &str) -> Json {
        let chart = first(xml, "scxml").and_then(|child| self.inner_chart(child, variable));
        match chart {
            Some(Yaml::Text(reference)) => Json::String(reference),
            _ => Json::Null,
        }
    }

    fn inner_chart(&mut self, child: Node<'a, 'i>, id: &str) -> Option<Yaml> {
        let wanted = match child.attribute("name") {
            Some(_) => super::chart_id(child, id),
            None => apart_from_states(child, format!("{}_{}", self.chart_id, id.replace('.', "_"))),
        };
        let chart_id = self.untaken(wanted);
        self.add_chart(child, &chart_id);
        Some(Yaml::Text(format!("statechart:{chart_id}")))
    }

    /// Resolves a string that names a chart's file to that chart; any other string is `None`.
    pub(super) fn chart_named(&mut self, xml: Node<'a, 'i>, text: &str) -> Option<String> {
        let is_chart = text.starts_with("file:") && text.ends_with(".scxml");
        is_chart.then(|| self.chart_file(xml, text))
    }

    fn chart_file(&mut self, xml: Node<'a, 'i>, src: &str) -> String {
        let path = src.strip_prefix("file:").unwrap_or(src);
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        // By its path: another chart of this document may have the name of the file.
        if let Some((_, known)) = self.family.files.iter().find(|(known, _)| known == path) {
            return format!("statechart:{known}");
        }
        match self.file(src) {
            Some(text) => {
                let chart_id = self.untaken(stem.to_owned());
                self.family.files.push((path.to_owned(), chart_id.clone()));
                match parse(&text) {
                    Ok(document) => self.add_chart_of_file(document.root_element(), &chart_id, src),
                    Err(error) => self.lost(xml, format!("the chart `{src}`: {error}")),
                }
                return format!("statechart:{chart_id}");
            }
            None => self.lost(xml, format!("the chart `{src}` could not be read: import it as `{stem}`")),
        }
        format!("statechart:{stem}")
    }

    /// The notes of a file's chart refer to lines of another file, and name it.
    fn add_chart_of_file(&mut self, root: Node<'_, '_>, chart_id: &str, src: &str) {
        let before = self.notes.list.len();
        self.add_chart(root, chart_id);
        for note in &mut self.notes.list[before..] {
            note.message = format!("{src}: {}", note.message);
        }
    }

    fn add_chart(&mut self, root: Node<'_, '_>, chart_id: &str) {
        if self.family.deep >= CHARTS_DEEP_MAX {
            self.lost(root, "charts inside charts, this deep");
            return;
        }
        self.family.deep += 1;
        match chart(root, chart_id, true, self.family, self.notes) {
            Ok(body) => self.family.charts.push((chart_id.to_owned(), body)),
            Err(error) => self.lost(root, error.to_string()),
        }
        self.family.deep -= 1;
    }

    fn untaken(&mut self, wanted: String) -> String {
        let taken = |id: &str| self.family.taken.iter().any(|known| known == id);
        let id = if taken(&wanted) {
            (2..).map(|n| format!("{wanted}_{n}")).find(|id| !taken(id)).unwrap_or(wanted)
        } else {
            wanted
        };
        self.family.taken.push(id.clone());
        id
    }

    fn input(&mut self, xml: Node<'a, 'i>) -> Vec<(String, Yaml)> {
        let mut input = Vec::new();
        for name in words(xml, "namelist") {
            input.push((name.to_owned(), self.value(xml, name)));
        }
        for param in named(xml, "param") {
            let expr = param.attribute("expr").or(param.attribute("location")).unwrap_or_default();
            let value = self.value(param, expr);
            input.retain(|(name, _)| Some(name.as_str()) != param.attribute("name"));
            input.push((param.attribute("name").unwrap_or_default().to_owned(), value));
        }
        input
    }

    /// `idlocation`: the id is known in advance, so it is stored on entry.
    pub(super) fn invoke_ids(&mut self, index: usize) -> Vec<Yaml> {
        let xml = self.outline.entries[index].xml;
        let key = self.outline.entries[index].key.clone();
        let mut actions = Vec::new();
        for (number, invoke) in named(xml, "invoke").enumerate() {
            if let Some(location) = invoke.attribute("idlocation").map(|location| location.trim().to_owned())
            {
                let id = text_literal(&invoke_id(invoke, &key, number));
                actions.push(self.assign_to(invoke, &location, Yaml::Text(id)));
            }
        }
        actions
    }

    /// Reads a file the document refers to.
    pub(super) fn file(&self, src: &str) -> Option<String> {
        self.family.options.file.and_then(|read| read(src.strip_prefix("file:").unwrap_or(src)))
    }
}

/// Returns the author's id, or one generated from the state as in SCXML: `state.number`.
fn invoke_id(invoke: Node<'_, '_>, key: &str, number: usize) -> String {
    debug_assert!(is(invoke, "invoke"));
    invoke.attribute("id").map_or_else(|| format!("{key}.{}", number + 1), str::to_owned)
}
