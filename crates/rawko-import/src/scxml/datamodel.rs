//! `<datamodel>`: variables become context keys. A constant value is written into `context:`; any other is assigned on
//! entry.

use std::collections::HashSet;

use indexmap::IndexMap;
use roxmltree::Node;
use serde_json::Value as Json;

use super::ScxmlImporter;
use super::xml::{first, has_elements, is, own_descendants, text, words};
use crate::ecmascript::{
    EcmaVariables, Js, JsType, Statement, literal, parse_expression, parse_script, translate, type_of,
};
use crate::yaml::Yaml;

/// Limit of passes of type inference.
const PASSES_MAX: usize = 50;

/// The context of a chart and the assignments at its start.
#[derive(Debug, Default)]
pub(super) struct Datamodel {
    pub(super) context: IndexMap<String, Json>,
    /// Assignments at the start, in order.
    pub(super) initial: Vec<Yaml>,
}

/// Returns the names available to every expression of the document, with their known types.
pub(super) fn variables(importer: &ScxmlImporter<'_, '_, '_, '_>, root: Node<'_, '_>) -> EcmaVariables {
    let outline = &importer.outline;
    let states = outline.ids().map(|(id, index)| {
        let active = outline.entries[index].kind != super::outline::ScxmlStateKind::History;
        (id.to_owned(), active.then(|| outline.path(index)))
    });
    let mut variables = EcmaVariables {
        types: Default::default(),
        states: states.collect(),
        chart: importer.chart_id.clone(),
    };
    let assignments = assignments(importer, root);
    for (name, _) in &assignments {
        variables.types.entry(name.clone()).or_insert(JsType::Unknown);
    }
    infer(&mut variables, &assignments);
    variables
}

/// Returns everything that assigns a variable, including declarations. `None` is an unknown value.
fn assignments(importer: &ScxmlImporter<'_, '_, '_, '_>, root: Node<'_, '_>) -> Vec<(String, Option<Js>)> {
    let mut found = Vec::new();
    let mut assigned = Vec::new();
    for xml in own_descendants(root) {
        let value = |attribute| xml.attribute(attribute).and_then(|text| parse_expression(text).ok());
        if is(xml, "data") {
            let id = xml.attribute("id").unwrap_or_default().to_owned();
            found.push((id, if xml.has_attribute("expr") { value("expr") } else { importer.inline_js(xml) }));
        } else if is(xml, "foreach") {
            found.extend(words(xml, "item").first().map(|name| ((*name).to_owned(), None)));
            found.extend(words(xml, "index").first().map(|name| ((*name).to_owned(), None)));
        } else if is(xml, "assign") {
            assigned.extend(xml.attribute("location").map(|name| (name.trim().to_owned(), value("expr"))));
        } else if is(xml, "script") {
            script_assignments(&importer.script_text(xml).unwrap_or_default(), &mut found, &mut assigned);
        }
        // A generated id is a string.
        assigned.extend(
            xml.attribute("idlocation").map(|name| (name.trim().to_owned(), Some(Js::Text(String::new())))),
        );
    }
    found.retain(|(name, _)| is_variable_name(name));
    // Assigning does not declare: an undeclared variable stays unknown, and using it fails.
    let declared: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
    assigned.retain(|(name, _)| declared.contains(name));
    found.extend(assigned);
    found
}

fn script_assignments(
    text: &str,
    found: &mut Vec<(String, Option<Js>)>,
    assigned: &mut Vec<(String, Option<Js>)>,
) {
    for statement in parse_script(text).unwrap_or_default() {
        match statement {
            Statement::Declare(name, value) => found.push((name, value)),
            Statement::Assign(Js::Name(name), value) => {
                // `x = 1` creates a global; `x += 1` and `x = x + 1` fail without one.
                let reads_itself =
                    matches!(&value, Js::Binary(_, left, _) if **left == Js::Name(name.clone()));
                let list = if reads_itself { &mut *assigned } else { &mut *found };
                list.push((name, Some(value)));
            }
            Statement::Assign(..) => {}
        }
    }
}

/// Attributes that hold expressions or locations.
const EXPRESSIONS: [&str; 12] = [
    "expr",
    "eventexpr",
    "targetexpr",
    "typeexpr",
    "srcexpr",
    "delayexpr",
    "sendidexpr",
    "location",
    "idlocation",
    "namelist",
    "array",
    "item",
];

/// Returns true if a document has data, scripts or expressions that do not mean the same in every data model.
pub(super) fn depends_on_it(root: Node<'_, '_>) -> bool {
    root.descendants().any(|xml| {
        let computes = ["data", "script", "assign", "foreach"].iter().any(|name| is(xml, name));
        let is_foreign = |name: &str| xml.attribute(name).is_some_and(|text| !is_plain_literal(text.trim()));
        let asks = xml.attribute("cond").is_some_and(|text| !is_in_state(text.trim()));
        computes || asks || EXPRESSIONS.iter().any(|name| is_foreign(name))
    })
}

/// A number or a quoted text without anything special in it.
fn is_plain_literal(text: &str) -> bool {
    let quoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.map_or_else(
        || text.parse::<f64>().is_ok_and(f64::is_finite),
        |inner| !inner.contains(['\'', '"', '\\']),
    )
}

fn is_in_state(text: &str) -> bool {
    let inner = text.strip_prefix("In(").and_then(|rest| rest.strip_suffix(')'));
    inner.map(str::trim).is_some_and(|inner| inner.starts_with(['\'', '"']) && is_plain_literal(inner))
}

pub(super) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && !matches!(name, "_event" | "_sessionid" | "_name" | "_ioprocessors" | "_x")
}

/// Starts from the first value of each variable and widens until nothing changes; types only ever become unknown, so
/// this terminates.
fn infer(variables: &mut EcmaVariables, assignments: &[(String, Option<Js>)]) {
    for (name, value) in assignments.iter().rev() {
        let known = value.as_ref().map_or(JsType::Unknown, |value| type_of(value, variables));
        variables.types.insert(name.clone(), known);
    }
    for _ in 0..PASSES_MAX {
        let mut changed = false;
        for (name, value) in assignments {
            let given = value.as_ref().map_or(JsType::Unknown, |value| type_of(value, variables));
            if let Some(known) = variables.types.get_mut(name) {
                let joined = known.join(given);
                changed |= joined != *known;
                *known = joined;
            }
        }
        if !changed {
            return;
        }
    }
    // On a very long chain of assignments, unknown is safer than a wrong type.
    variables.types.values_mut().for_each(|known| *known = JsType::Unknown);
}

impl<'a, 'i> ScxmlImporter<'a, 'i, '_, '_> {
    pub(super) fn datamodel(&mut self, root: Node<'a, 'i>) -> Datamodel {
        let late = root.attribute("binding") == Some("late");
        let mut model = Datamodel::default();
        for xml in own_descendants(root).into_iter().filter(|xml| is(*xml, "data")) {
            let Some(id) = xml.attribute("id").map(str::trim) else { continue };
            if !is_variable_name(id) || model.context.contains_key(id) {
                self.lost(xml, format!("the data `{id}` has a name that is taken or not allowed"));
                continue;
            }
            let nested = xml.parent().and_then(|model| model.parent()).is_some_and(|owner| owner != root);
            self.datum(&mut model, xml, id, late && nested);
        }
        self.declare_the_rest(&mut model);
        model
    }

    /// Declares one variable: its value in `context:`, or null there and an assignment.
    fn datum(&mut self, model: &mut Datamodel, xml: Node<'a, 'i>, id: &str, late: bool) {
        let constant = self.constant_of(xml);
        match constant {
            Some(value) if !late => _ = model.context.insert(id.to_owned(), value),
            constant => {
                model.context.insert(id.to_owned(), Json::Null);
                let value = match constant {
                    Some(value) => literal(&value),
                    None => self.expression(xml, xml.attribute("expr").unwrap_or_default()),
                };
                let assign = self.first_assignment(id, &value, late);
                let owner = xml.parent().and_then(|model| model.parent()).map(|owner| owner.id());
                match owner {
                    Some(owner) if late => self.late_data.push((owner, assign)),
                    _ => model.initial.push(assign),
                }
            }
        }
    }

    /// Returns the value of a variable's declaration, if it is constant.
    fn constant_of(&mut self, xml: Node<'a, 'i>) -> Option<Json> {
        if let Some(text) = xml.attribute("expr") {
            let value = parse_expression(text).and_then(|js| translate(&js, &self.variables));
            return value.ok().and_then(|value| value.constant);
        }
        let file = xml.attribute("src").map(|src| (src, self.file(src)));
        match file {
            Some((src, None)) => {
                self.lost(
                    xml,
                    format!("the data file `{src}` could not be read; the variable starts as null"),
                );
                Some(Json::Null)
            }
            Some((_, Some(content))) => Some(self.inline_value(xml, &content)),
            None if first(xml, "scxml").is_some() => {
                Some(self.chart_as_data(xml, xml.attribute("id").unwrap_or_default()))
            }
            None if has_elements(xml) => {
                self.lost(xml, "XML as data");
                Some(Json::Null)
            }
            None => Some(self.inline_value(xml, &text(xml))),
        }
    }

    /// Parses text between tags: JSON or an ECMAScript literal if it is one, else a string with normalised white space.
    pub(super) fn inline_value(&mut self, xml: Node<'a, 'i>, content: &str) -> Json {
        let content = content.trim();
        if content.is_empty() {
            return Json::Null;
        }
        if content.starts_with('<') {
            self.lost(xml, "XML as data");
            return Json::Null;
        }
        inline_literal(content)
            .unwrap_or_else(|| content.split_whitespace().collect::<Vec<_>>().join(" ").into())
    }

    /// Like `inline_value`, for type inference, without notes.
    fn inline_js(&self, xml: Node<'_, '_>) -> Option<Js> {
        let content = text(xml);
        if content.trim().is_empty() && !xml.has_attribute("src") {
            return Some(Js::Null);
        }
        parse_expression(content.trim()).ok().filter(|js| !matches!(js, Js::Name(_)))
    }

    /// A child chart's variables may already have been set by its caller.
    fn first_assignment(&self, id: &str, value: &str, late: bool) -> Yaml {
        let value =
            if self.is_child || late { format!("context.{id} ?? ({value})") } else { value.to_owned() };
        Yaml::map([
            ("type", Yaml::text("assign")),
            ("context_updates", Yaml::Map(vec![(id.to_owned(), Yaml::Text(value))])),
        ])
    }

    /// Declares variables that a `foreach` or a script introduces.
    fn declare_the_rest(&self, model: &mut Datamodel) {
        for name in self.variables.types.keys() {
            model.context.entry(name.clone()).or_insert(Json::Null);
        }
    }
}

/// Parses a literal written as JSON or as ECMAScript.
fn inline_literal(content: &str) -> Option<Json> {
    if let Ok(json) = serde_json::from_str(content) {
        return Some(json);
    }
    let js = parse_expression(content).ok()?;
    translate(&js, &EcmaVariables::default()).ok()?.constant
}
