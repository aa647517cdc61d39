//! The JSON Schema accepts the same charts as the reader, and rejects the same structural errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use rawko_chart::{Finding, Registry, SourceFile, load, load_bytes, read_registry, schema};

fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(here(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json"));
    files.sort();
    files
}

/// Parses the document as JSON with another parser than ours.
fn json(path: &Path) -> Option<serde_json::Value> {
    json_of(&fs::read_to_string(path).ok()?)
}

fn json_of(text: &str) -> Option<serde_json::Value> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).ok()
}

/// Structural errors, as far as a schema can express them.
const STRUCTURE: &[&str] = &[
    "unknown_key",
    "wrong_type",
    "missing_key",
    "misplaced_key",
    "unknown_value",
    "not_a_chart",
    "no_states",
    "missing_initial",
    "parallel_needs_regions",
    "type_conflict",
    "final_with_transitions",
    "invalid_name",
    "invalid_event",
    "invalid_version",
];

fn is_structural(finding: &Finding) -> bool {
    // An unknown action type is an invalid word to the schema.
    STRUCTURE.contains(&finding.code.trim_start_matches("rawko::chart::"))
        || finding.message.contains("no action type")
}

fn complaints(validator: &jsonschema::Validator, document: &serde_json::Value) -> Vec<String> {
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Collects every chart and registry below a folder of the workspace.
fn documents_below(folder: &Path, found: &mut Vec<(PathBuf, serde_json::Value)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let is_text = path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
        if path.is_dir() {
            documents_below(&path, found);
        } else if let Some(document) = is_text.then(|| json(&path)).flatten() {
            let is_chart =
                ["statechart", "machine_registry", "states"].iter().any(|key| document.get(key).is_some());
            found.extend(is_chart.then_some((path, document)));
        }
    }
}

#[test]
fn the_schema_accepts_every_valid_chart() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Otherwise a folder whose charts were moved away would pass without any check.
    for (folder, least) in [
        ("crates/rawko-chart/tests/valid", 12),
        ("examples", 11),
        ("charts", 7),
        ("crates/rawko/src/templates", 1),
    ] {
        let mut documents = Vec::new();
        documents_below(&workspace.join(folder), &mut documents);
        assert!(documents.len() >= least, "only {} charts in {folder}", documents.len());
        for (path, document) in documents {
            let complaints = complaints(&validator, &document);
            assert!(complaints.is_empty(), "{}: {complaints:#?}", path.display());
        }
    }
    for name in ["everything.yaml", "seed/registry.yaml", "seed/interchange.json", "seed/canonical.yaml"] {
        let document = json(&here("fixtures").join(name)).unwrap();
        let complaints = complaints(&validator, &document);
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    }
}

/// The walkthroughs contain the seed's snippets, each in a chart.
#[test]
fn the_schema_accepts_every_chart_that_is_walked_through() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut walked = 0;
    for folder in ["walkthroughs/seed", "walkthroughs/semantics"] {
        for path in fs::read_dir(here(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&path).unwrap();
            let (charts, _) = text.rsplit_once("\n---\n").unwrap();
            for chart in charts.split("\n---\n") {
                let document = json_of(chart).unwrap_or_else(|| panic!("{}", path.display()));
                let complaints = complaints(&validator, &document);
                assert!(complaints.is_empty(), "{}: {complaints:#?}", path.display());
                walked += 1;
            }
        }
    }
    assert!(walked >= 54, "only {walked} charts found");
}

#[test]
fn the_schema_and_the_reader_agree_on_structure() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut refused = 0;
    for path in files("broken") {
        let Some(document) = json(&path) else { continue };
        let (_, loaded) = load_bytes("x", &fs::read(&path).unwrap(), &Registry::default());
        let is_registry = document.get("machine_registry").is_some();
        let expected = is_registry || !loaded.findings.iter().any(is_structural);
        assert_eq!(validator.is_valid(&document), expected, "{}", path.display());
        refused += usize::from(!expected);
    }
    assert!(refused >= 14, "only {refused} broken charts are broken in structure");
}

/// Compares the schema with the reader on one chart.
fn agree(validator: &jsonschema::Validator, text: &str) {
    let loaded = load(&SourceFile::new("x", text), &Registry::default());
    let structural: Vec<&str> =
        loaded.findings.iter().filter(|finding| is_structural(finding)).map(|finding| finding.code).collect();
    let complaints = complaints(validator, &json_of(text).unwrap());
    assert_eq!(complaints.is_empty(), structural.is_empty(), "{structural:?} and {complaints:#?}\n{text}");
}

#[test]
fn the_schema_and_the_reader_agree_on_what_goes_with_which_kind_of_state() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let region = "initial: i, states: {i: {type: final}}";
    let types = ["", "type: atomic", "type: compound", "type: parallel", "type: final", "type: history"];
    let states = ["", "states: {}", "states: {a: {}}", "states: {a: {}, b: {}}"].map(str::to_owned);
    let regions = [
        String::new(),
        "regions: []".into(),
        format!("regions: [{{id: r, {region}}}]"),
        format!("regions: [{{id: r, {region}}}, {{id: s, {region}}}]"),
        format!("regions: {{r: {{{region}}}, s: {{{region}}}}}"),
    ];
    let others = [
        "",
        "initial: a",
        "variant: deep",
        "target: x",
        "actions: []",
        "output: 1",
        "onDone: x",
        "onAllDone: x",
        "on: {GO: x}",
        "on: {GO: []}",
        "on: {}",
        "on: [{event: GO, target: x}]",
        "always: x",
        "always: []",
        "after: {1s: x}",
        "invoke: {src: human, onError: x}",
        "invoke: []",
        "entry: []",
        "tools: {}",
        "initial: a, onDone: x",
        "initial: a, on: {GO: x}",
    ];
    for kind in types {
        for states in &states {
            for regions in &regions {
                for other in others {
                    let parts = [kind, states.as_str(), regions.as_str(), other];
                    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                    let state = parts.join(", ");
                    agree(
                        &validator,
                        &format!("statechart: {{id: c, initial: x, states: {{x: {{{state}}}, y: {{}}}}}}"),
                    );
                    if matches!(kind, "" | "type: compound" | "type: parallel")
                        && matches!(other, "" | "initial: a")
                    {
                        agree(&validator, &format!("statechart: {{id: c, {state}}}"));
                    }
                }
            }
        }
    }
}

#[test]
fn the_schema_and_the_reader_agree_on_names() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for key in ["a", "a b", "a#b", "a-1", "ü", "1", "a.b", ".", ".a", "a.", "#a", "#", ""] {
        agree(
            &validator,
            &format!("statechart: {{id: c, initial: start, states: {{start: {{}}, '{key}': {{}}}}}}"),
        );
        agree(&validator, &format!("statechart: {{id: c, regions: {{r: {{}}, s: {{}}, '{key}': {{}}}}}}"));
        agree(
            &validator,
            &format!("statechart: {{id: c, regions: [{{id: r}}, {{id: s}}, {{id: '{key}'}}]}}"),
        );
    }
    for event in
        ["GO", "*", "a.*", "a.b", "a.b.*", ".", "a..*", "**", "a*", "*.a", "a.*.b", ".*", "a b", " ", ""]
    {
        agree(
            &validator,
            &format!("statechart: {{id: c, initial: a, states: {{a: {{on: {{'{event}': a}}}}}}}}"),
        );
        agree(
            &validator,
            &format!("statechart: {{id: c, initial: a, on: [{{event: '{event}'}}], states: {{a: {{}}}}}}"),
        );
    }
    for version in [
        "1",
        "1.2",
        "1.2.3",
        "01.2",
        "1.2.3-rc.1",
        "1-a",
        "1.2.3+build 7",
        "1.2.3-a+b",
        "1.2.3.4",
        "1.",
        ".1",
        "v1",
        "newest",
        "1.2.3-",
        "1.2.3-a b",
        "-1",
        "",
    ] {
        agree(
            &validator,
            &format!("statechart: {{id: c, version: '{version}', initial: a, states: {{a: {{}}}}}}"),
        );
    }
}

#[test]
fn a_bare_chart_has_states() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for text in ["{id: c, initial: a, states: {a: {}}}", "{id: c, regions: {r: {}, s: {}}}", "{id: c}", "{}"]
    {
        agree(&validator, text);
    }
}

#[test]
fn a_chart_with_every_key_loads_without_an_error() {
    let text = fs::read_to_string(here("fixtures/everything.yaml")).unwrap();
    let mut registry = Registry::default();
    registry.add_agent("reviewer");
    registry.add_service("timers.start");
    let loaded = load(&SourceFile::new("everything.yaml", text.as_str()), &registry.complete());
    let serious: Vec<_> =
        loaded.findings.iter().filter(|finding| finding.severity > rawko_chart::Severity::Warning).collect();
    assert!(serious.is_empty(), "{serious:#?}");
    // It contains every key of the schema, so that a key without a reader is noticed.
    let schema = schema();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let Some(properties) = definition["properties"].as_object() else { continue };
        for key in
            properties.keys().filter(|_| !matches!(name.as_str(), "registry_entry" | "document" | "chart"))
        {
            assert!(text.contains(&format!("{key}:")), "`{key}` of `{name}` is not in everything.yaml");
        }
    }
}

#[test]
fn registries_are_read_with_places() {
    let file = read_registry(&SourceFile::new(
        "r.yaml",
        "machine_registry:\n  - {id: a, version: 1, src: a.yaml}\n",
    ));
    assert_eq!((file.entries.len(), file.entries[0].version.as_str()), (1, "1"));
    let broken = read_registry(&SourceFile::new("r.yaml", "machine_registry:\n  - {id: a, file: a.yaml}\n"));
    let codes: Vec<&str> = broken.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        ["rawko::chart::unknown_key", "rawko::chart::missing_key", "rawko::chart::missing_key"]
    );
    let neither = read_registry(&SourceFile::new("r.yaml", "a: 1\n"));
    assert_eq!(neither.findings[0].code, "rawko::chart::not_a_registry");
}
