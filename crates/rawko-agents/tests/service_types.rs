//! The built-in charts against the types of the services that they call: a key that is renamed in a type is found by
//! `check`, with its place in the chart.

use expect_test::expect_file;
use rawko_agents::work::{CHARTS, service_specs};
use rawko_chart::{Finding, Registry, SourceFile, load};
use rawko_core::{Schema, ServiceSpec, Value};
use serde_json::Value as Json;

fn findings(text: &str, specs: &[ServiceSpec]) -> Vec<Finding> {
    let mut registry = Registry::default().strict();
    specs.iter().for_each(|spec| registry.add_spec(spec.clone()));
    let loaded = load(&SourceFile::new("chart.yaml", text), &registry);
    let codes = ["rawko::chart::wrong_data", "rawko::chart::unknown_field", "rawko::chart::type_mismatch"];
    loaded.findings.into_iter().filter(|finding| codes.contains(&finding.code)).collect()
}

fn shown(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

#[test]
fn the_built_in_charts_fit_the_types_of_the_services() {
    for (name, chart) in CHARTS {
        assert_eq!(shown(&findings(chart, &service_specs())), [""; 0], "{name}");
    }
}

#[test]
fn a_slip_in_a_chart_of_agents_is_found() {
    let agent = include_str!("../charts/agent.yaml");
    let slips = [
        ("event.data.stop_reason", "event.data.stop_raeson", "has no key `stop_raeson`"),
        ("seen: \"event.data.seen\"", "seen: \"event.data.sean\"", "has no key `sean`"),
        ("attempt: \"context.attempts\"", "atempt: \"context.attempts\"", "has no key `atempt`"),
        ("event.data.next_model != null", "event.data.next_modle != null", "has no key `next_modle`"),
        ("event.data.verdict == 'doom'", "event.data.verdikt == 'doom'", "has no key `verdikt`"),
        ("event.data.result.is_error", "event.data.result.is_eror", "has no key `is_eror`"),
    ];
    for (right, wrong, expected) in slips {
        assert!(agent.contains(right), "{right}");
        let found = shown(&findings(&agent.replacen(right, wrong, 1), &service_specs()));
        assert!(found.iter().any(|found| found.contains(expected)), "{wrong}: {found:?}");
    }
}

/// Every service has types, and none of its keys is known to strings only.
#[test]
fn every_service_has_an_input_and_an_output() {
    for spec in service_specs() {
        assert!(spec.input.is_some() && spec.output.is_some(), "{}", spec.name);
        assert!(!keys(spec.output.as_ref()).is_empty(), "{}", spec.name);
    }
}

/// Renames one key of one schema after the other, as if the field of the type had been renamed. Each one that a chart
/// uses is found at the place in the chart that has the old name; the golden lists those that no built-in chart uses.
#[test]
fn a_key_that_is_renamed_in_a_type_is_found_in_the_charts_that_use_it() {
    let (specs, mut unused) = (service_specs(), String::new());
    for spec in &specs {
        for part in [Part::Input, Part::Output, Part::Failure] {
            let unseen: Vec<String> =
                keys(part.of(spec)).into_iter().filter(|key| !is_found(&specs, spec, part, key)).collect();
            if !unseen.is_empty() {
                unused.push_str(&format!("{} {}: {}\n", spec.name, part.word(), unseen.join(", ")));
            }
        }
    }
    expect_file!["unused_keys.txt"].assert_eq(&unused);
}

const LEDGER: &str = "rawko-instance/src/input/result.rs";
const JOURNAL: &str = "rawko-view/src/journal/agent.rs";
const DECISIONS: &str = "rawko-view/src/journal/task.rs";
const TRANSCRIPT: &str = "rawko-view/src/transcript.rs";
const SCROLL: &str = "rawko/src/session/scroll.rs";
const CALLS: &str = "rawko/src/session/scroll/calls.rs";
const TASK: &str = "rawko/src/session/scroll/root.rs";
const COSTS: &str = "rawko/src/costs.rs";

/// Keys of results that code outside of charts reads by name: service, keys, reader.
const READERS: &[(&str, &[&str], &str)] = &[
    ("agent:", &["usage"], LEDGER),
    ("model:complete", &["usage"], LEDGER),
    ("work:look", &["usage"], LEDGER),
    ("work:compact", &["usage"], LEDGER),
    ("work:select", &["usage"], LEDGER),
    ("work:evaluate", &["usage"], LEDGER),
    ("work:remember", &["usage"], LEDGER),
    ("agent:", &["agent", "text", "outcome"], JOURNAL),
    ("model:complete", &["text", "data", "tool_calls"], JOURNAL),
    ("tool:", &["result", "notice", "overlap"], JOURNAL),
    ("work:collect", &["results", "notices"], JOURNAL),
    ("work:select", &["record", "decision", "agent"], DECISIONS),
    ("work:evaluate", &["record", "decision", "agent"], DECISIONS),
    ("agent:", &["agent", "messages", "session"], TRANSCRIPT),
    ("model:complete", &["text", "data", "tool_calls", "usage"], TRANSCRIPT),
    ("tool:", &["result"], TRANSCRIPT),
    ("work:collect", &["notices"], TRANSCRIPT),
    ("model:complete", &["text", "data", "tool_calls", "model"], SCROLL),
    ("tool:", &["result"], CALLS),
    ("work:collect", &["results", "notices"], CALLS),
    ("checks:round", &["evidence"], TASK),
    ("model:complete", &["model", "usage"], COSTS),
];

/// A key that is renamed in a type breaks this test if a view, the ledger or the terminal reads it.
#[test]
fn a_key_that_other_crates_read_is_a_key_of_its_type() {
    let specs = service_specs();
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for (service, read, reader) in READERS {
        let spec = specs.iter().find(|spec| &*spec.name == *service).unwrap();
        let known = keys(spec.output.as_ref());
        let text = std::fs::read_to_string(crates.join(reader)).unwrap();
        for key in *read {
            if !known.iter().any(|known| known == key) {
                wrong.push(format!("{reader} reads `{key}`, which the result of `{service}` does not have"));
            }
            let reads = [format!("get(\"{key}\")"), format!("[\"{key}\"]")];
            if !reads.iter().any(|read| text.contains(read)) {
                wrong.push(format!("{reader} does not read `{key}`: remove it from the table"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Input,
    Output,
    Failure,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Part::Input => "input",
            Part::Output => "output",
            Part::Failure => "failure",
        }
    }

    fn of(self, spec: &ServiceSpec) -> Option<&Schema> {
        match self {
            Part::Input => spec.input.as_ref(),
            Part::Output => spec.output.as_ref(),
            Part::Failure => spec.error_details.as_ref(),
        }
    }
}

/// Returns true if a chart is wrong without this key.
fn is_found(specs: &[ServiceSpec], spec: &ServiceSpec, part: Part, key: &str) -> bool {
    let mut changed = specs.to_vec();
    // Failures are read by actions that several services share.
    let is_meant = |other: &ServiceSpec| other.name == spec.name || part == Part::Failure;
    changed.iter_mut().filter(|other| is_meant(other)).for_each(|other| rename(other, part, key));
    let word = format!("`{key}`");
    let uses = |chart: &&str| chart.contains(&*spec.name) && chart.contains(key);
    for chart in CHARTS.iter().map(|(_, chart)| *chart).filter(uses) {
        let found = findings(chart, &changed);
        if let Some(finding) = found.iter().find(|finding| finding.message.contains(&word)) {
            let place = &chart[finding.span.start as usize..finding.span.end as usize];
            assert!(place.contains(key), "{key} of {} at {place:?}", spec.name);
            return true;
        }
    }
    false
}

fn keys(schema: Option<&Schema>) -> Vec<String> {
    let source = schema.map(|schema| schema.source().to_json()).unwrap_or_default();
    let own = |one: &Json| -> Vec<String> {
        one["properties"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default()
    };
    let mut all = own(&source);
    all.extend(source["anyOf"].as_array().into_iter().flatten().flat_map(own));
    all.sort();
    all.dedup();
    all
}

fn rename(spec: &mut ServiceSpec, part: Part, key: &str) {
    let Some(schema) = part.of(spec) else { return };
    let mut source = schema.source().to_json();
    renamed(&mut source, key);
    if let Some(all) = source.get_mut("anyOf").and_then(Json::as_array_mut) {
        all.iter_mut().for_each(|one| renamed(one, key));
    }
    let schema = Some(Schema::compile(&Value::from_json(source)).0);
    match part {
        Part::Input => spec.input = schema,
        Part::Output => spec.output = schema,
        Part::Failure => spec.error_details = schema,
    }
}

fn renamed(schema: &mut Json, key: &str) {
    let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) else { return };
    if let Some(rule) = properties.shift_remove(key) {
        properties.insert(format!("other_{key}_name"), rule);
    }
    if let Some(required) = schema.get_mut("required").and_then(Json::as_array_mut) {
        required.retain(|name| name != key);
    }
}
