//! XState configurations as JSON: `JSON.stringify(machine.config)`, or the export of a visual editor; version 5, and
//! version 4 where its own keys mark it. JSON omits functions; named implementations become named actions or guards that
//! the author fills in.

mod actions;
mod events;
mod guards;
mod inline;
mod invokes;
mod precedence;
mod states;
mod targets;
mod timers;
mod transitions;
mod tree;
mod version;
mod version_four;

use serde_json::{Map, Value as Json};

use self::tree::{ROOT, XstateKind, XstateTree};
use super::json::{JsonPath, PathLines, parsed};
use super::yaml::Yaml;
use super::{ImportError, ImportOptions, ImportResult, Notes};

/// The state of a machine without states.
const ONLY_STATE: &str = "running";

/// Keys of which one identifies a configuration if its language is not given.
const MACHINE_KEYS: [&str; 14] = [
    "states", "on", "initial", "always", "after", "entry", "exit", "invoke", "context", "type", "id", "tags",
    "meta", "output",
];

/// Imports an XState configuration.
pub fn xstate(text: &str, options: ImportOptions<'_>) -> Result<ImportResult, ImportError> {
    let (text, mut json) = parsed(text)?;
    in_key_order(&mut json);
    let (mut notes, lines) = (Notes::default(), PathLines::of(text));
    inline::replace_code(&mut json, &lines, &mut notes);
    let Json::Object(root) = json else { return Err(ImportError::UnknownLanguage) };
    // Every other object is a machine, `{}` included.
    if is_graph(&root) {
        return Err(ImportError::UnknownLanguage);
    }
    let given = root.get("id").and_then(Json::as_str).filter(|id| !id.is_empty());
    let original_id = given.unwrap_or("(machine)");
    let tree = XstateTree::new(&root, original_id);
    let mut id = given.filter(|id| *id != "(machine)").or(options.id).unwrap_or("imported").to_owned();
    while tree.nodes.iter().any(|node| node.id.as_ref() == Some(&id)) {
        id.push('_');
    }
    let mut importer = XstateImporter {
        notes,
        lines,
        chart_id: id.clone(),
        is_v4: version::is_v4(&root),
        precedence: precedence::Handlers::default(),
        event_tokens: events::EventTokens::of(&root),
        invoke_ids: invokes::referenced_ids(&root),
        tree,
        actions: Vec::new(),
        guards: Vec::new(),
        delays: Vec::new(),
        assigned: Vec::new(),
        root_entry: Vec::new(),
        root_initial: Vec::new(),
        root_exit: Vec::new(),
        root_has_work: false,
        root_output: None,
    };
    let chart = importer.chart(&root);
    let notes = importer.notes.finish();
    let yaml = super::heading("XState", &notes) + &chart.write();
    Ok(ImportResult { id, yaml, charts: Vec::new(), notes })
}

/// Returns true if an object may be a machine: it has one of the keys of a machine, and none that only others have.
pub(crate) fn looks_like(root: &Map<String, Json>) -> bool {
    !is_graph(root) && MACHINE_KEYS.iter().any(|key| root.contains_key(*key))
}

fn is_graph(root: &Map<String, Json>) -> bool {
    root.get("nodes").is_some_and(Json::is_array)
}

/// The import of one configuration.
struct XstateImporter {
    notes: Notes,
    lines: PathLines,
    chart_id: String,
    /// Semantics of version 4: a target inside the source leaves the source unless it starts with a dot.
    is_v4: bool,
    tree: XstateTree,
    precedence: precedence::Handlers,
    event_tokens: events::EventTokens,
    /// Generated ids of invokes that a transition names.
    invoke_ids: Vec<String>,
    /// Named actions and guards that the chart uses, in order of first use.
    actions: Vec<(String, Yaml)>,
    guards: Vec<(String, Yaml)>,
    /// Named delays: context keys that hold milliseconds.
    delays: Vec<String>,
    /// Context keys that actions assign.
    assigned: Vec<String>,
    /// The chart's own actions, for transitions that start it again.
    root_entry: Vec<Yaml>,
    root_initial: Vec<Yaml>,
    root_exit: Vec<Yaml>,
    /// The chart itself has invokes or timers.
    root_has_work: bool,
    /// The result of the machine.
    root_output: Option<Json>,
}

impl XstateImporter {
    fn chart(&mut self, root: &Map<String, Json>) -> Yaml {
        let place = JsonPath::root();
        self.duplicate_ids(root, &place);
        self.precedence = self.handlers(root);
        self.eventless_regions(root, &place);
        let version = root.get("version").and_then(Json::as_str).filter(|version| is_version(version));
        let mut chart = Yaml::map([
            ("id", Yaml::text(&self.chart_id)),
            ("version", Yaml::text(version.unwrap_or("1.0.0"))),
        ]);
        let mut body = self.state_entries(root, ROOT, &place);
        if self.tree.nodes[ROOT].children.is_empty() {
            self.only_state(&mut body, root, &place);
        }
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

    /// A machine without states is one state, which our format writes out.
    fn only_state(&mut self, body: &mut Vec<(String, Yaml)>, root: &Map<String, Json>, place: &JsonPath) {
        body.retain(|(key, _)| !matches!(key.as_str(), "type" | "states" | "initial"));
        let mut state = Yaml::Map(Vec::new());
        match self.tree.nodes[ROOT].kind {
            XstateKind::Final => {
                state.push("type", Yaml::text("final"));
                if let Some(output) = root.get("output") {
                    let output = self.literal_value(output, &place.at("output"));
                    state.push("output", output);
                }
            }
            XstateKind::History => self.lost(place, "a history state as the whole machine"),
            XstateKind::Atomic | XstateKind::Compound | XstateKind::Parallel => {}
        }
        if root.get("type").and_then(Json::as_str) == Some("compound") {
            self.lost(place, "a compound machine without states");
        }
        self.changed(
            place,
            format!("a machine without states became a chart with the one state `{ONLY_STATE}`"),
        );
        body.insert(0, ("initial".to_owned(), Yaml::text(ONLY_STATE)));
        body.push(("states".to_owned(), Yaml::map([(ONLY_STATE, state)])));
    }

    fn context(&mut self, root: &Map<String, Json>, place: &JsonPath) -> Option<Yaml> {
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
        for key in std::mem::take(&mut self.delays).into_iter().chain(std::mem::take(&mut self.assigned)) {
            if !entries.iter().any(|(known, _)| *known == key) {
                entries.push((key, Yaml::Null));
            }
        }
        (!entries.is_empty()).then_some(Yaml::Map(entries))
    }

    fn lost(&mut self, place: &JsonPath, message: impl Into<String>) {
        self.notes.lost(self.lines.line(place), message);
    }

    fn changed(&mut self, place: &JsonPath, message: impl Into<String>) {
        self.notes.changed(self.lines.line(place), message);
    }

    fn unwritten(&mut self, place: &JsonPath, message: impl Into<String>) {
        self.notes.unwritten(self.lines.line(place), message);
    }
}

/// Returns a list's items, or the value itself as the only one.
fn one_or_many(json: &Json) -> Vec<&Json> {
    match json {
        Json::Array(items) => items.iter().collect(),
        one => vec![one],
    }
}

/// Orders the keys as JavaScript does: whole numbers first, ascending.
fn in_key_order(json: &mut Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(in_key_order),
        Json::Object(entries) => {
            entries.values_mut().for_each(in_key_order);
            if entries.keys().any(|key| index_of(key).is_some()) {
                let mut sorted: Vec<_> = std::mem::take(entries).into_iter().collect();
                sorted.sort_by_key(|(key, _)| index_of(key).map_or((1, 0), |index| (0, index)));
                *entries = sorted.into_iter().collect();
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn index_of(key: &str) -> Option<u32> {
    key.parse().ok().filter(|index: &u32| *index < u32::MAX && index.to_string() == key)
}

/// Returns true for up to three numbers, perhaps with a pre-release.
fn is_version(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = core.split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.len() < 9 && part.bytes().all(|b| b.is_ascii_digit());
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'));
    plain && numbers.len() == 3 && numbers.iter().all(is_number) && !text.ends_with(['-', '+'])
}
