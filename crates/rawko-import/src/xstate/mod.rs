//! XState v5 configurations as JSON: `JSON.stringify(machine.config)`, or the export of a visual editor. JSON omits
//! functions; named implementations become named actions or guards that the author fills in.

mod actions;
mod guards;
mod lines;
mod states;
mod transitions;

use serde_json::{Map, Value as Json};

use self::lines::Lines;
use super::yaml::Yaml;
use super::{ImportError, ImportOptions, Imported, Notes};

/// Imports an XState configuration.
pub fn xstate(text: &str, options: ImportOptions<'_>) -> Result<Imported, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let json: Json = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let Json::Object(root) = json else { return Err(ImportError::UnknownLanguage) };
    if !root.contains_key("states") {
        return Err(ImportError::UnknownLanguage);
    }
    let given = root.get("id").and_then(Json::as_str);
    let id = given.filter(|id| *id != "(machine)").or(options.id).unwrap_or("imported").to_owned();
    let mut importer = Importer {
        notes: Notes::default(),
        lines: Lines::of(text),
        chart_id: id.clone(),
        original_id: given.unwrap_or("(machine)").to_owned(),
        keys: keys(&root),
        actions: Vec::new(),
        guards: Vec::new(),
        delays: Vec::new(),
    };
    let chart = importer.chart(&root);
    let notes = importer.notes.finish();
    let yaml = super::heading("XState", &notes) + &chart.write();
    Ok(Imported { id, yaml, charts: Vec::new(), notes })
}

/// Returns the parser's message without its location, which is printed in front.
fn malformed(error: &serde_json::Error) -> ImportError {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ImportError::Malformed { line: error.line() as u32, message }
}

/// The import of one configuration.
struct Importer {
    notes: Notes,
    lines: Lines,
    chart_id: String,
    /// The id that targets such as `#machine.state` start with.
    original_id: String,
    /// The keys of all states, including duplicates.
    keys: Vec<String>,
    /// Named actions and guards that the chart uses, in order of first use.
    actions: Vec<(String, Yaml)>,
    guards: Vec<(String, Yaml)>,
    /// Named delays: context keys that hold milliseconds.
    delays: Vec<String>,
}

/// The current position in the document: keys and indexes joined by slashes.
#[derive(Clone, Debug)]
struct Place(String);

impl Place {
    fn root() -> Self {
        Place(String::new())
    }

    fn at(&self, key: impl std::fmt::Display) -> Self {
        Place(format!("{}/{key}", self.0))
    }
}

impl Importer {
    fn chart(&mut self, root: &Map<String, Json>) -> Yaml {
        let place = Place::root();
        let version = root.get("version").and_then(Json::as_str).unwrap_or("1.0.0");
        let mut chart = Yaml::map([("id", Yaml::text(&self.chart_id)), ("version", Yaml::text(version))]);
        let body = self.state_entries(root, &place, true);
        let context = self.context(root, &place);
        if let Yaml::Map(entries) = &mut chart {
            let states = body.iter().position(|(key, _)| key == "states").unwrap_or(body.len());
            entries.extend_from_slice(&body[..states]);
            entries.extend(context.map(|context| ("context".to_owned(), context)));
            entries.extend_from_slice(&body[states..]);
        }
        for (key, named) in
            [("guards", std::mem::take(&mut self.guards)), ("actions", std::mem::take(&mut self.actions))]
        {
            if !named.is_empty() {
                chart.push(key, Yaml::Map(named));
            }
        }
        Yaml::map([("statechart", chart)])
    }

    fn context(&mut self, root: &Map<String, Json>, place: &Place) -> Option<Yaml> {
        let mut entries = match root.get("context") {
            Some(Json::Object(entries)) => {
                entries.iter().map(|(key, value)| (key.clone(), Yaml::from_json(value))).collect()
            }
            Some(Json::Null) | None => Vec::new(),
            Some(_) => {
                self.lost(&place.at("context"), "a context that is not an object");
                Vec::new()
            }
        };
        for delay in std::mem::take(&mut self.delays) {
            if !entries.iter().any(|(key, _)| *key == delay) {
                entries.push((delay, Yaml::Null));
            }
        }
        (!entries.is_empty()).then_some(Yaml::Map(entries))
    }

    fn lost(&mut self, place: &Place, message: impl Into<String>) {
        self.notes.lost(self.lines.line(&place.0), message);
    }

    fn changed(&mut self, place: &Place, message: impl Into<String>) {
        self.notes.changed(self.lines.line(&place.0), message);
    }
}

/// Returns a list's items, or the value itself as the only one.
fn one_or_many(json: &Json) -> Vec<&Json> {
    match json {
        Json::Array(items) => items.iter().collect(),
        one => vec![one],
    }
}

fn keys(state: &Map<String, Json>) -> Vec<String> {
    let mut found = Vec::new();
    for (key, child) in state.get("states").and_then(Json::as_object).into_iter().flatten() {
        found.push(key.clone());
        found.extend(child.as_object().map(keys).unwrap_or_default());
    }
    found
}
