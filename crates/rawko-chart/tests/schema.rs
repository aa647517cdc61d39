//! The JSON Schema accepts what the reader accepts, and refuses what the reader refuses for its structure.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use rawko_chart::{Registry, Source, load, load_bytes, read_registry, schema};

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

/// The document as JSON, by another reader than ours.
fn json(path: &Path) -> Option<serde_json::Value> {
    let text = fs::read_to_string(path).ok()?;
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(&text, options).ok()
}

/// What is wrong with the structure, as far as a schema can say it.
const STRUCTURE: &[&str] = &["unknown_key", "wrong_type", "missing_key", "unknown_value", "not_a_chart"];

#[test]
fn the_schema_accepts_every_valid_chart() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut count = 0;
    for path in files("valid").into_iter().chain(files("fixtures")) {
        let document = json(&path).unwrap_or_else(|| panic!("{}", path.display()));
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        count += 1;
    }
    let registry = json(&here("fixtures/seed").join("registry.yaml")).unwrap();
    assert!(validator.is_valid(&registry));
    let interchange = json(&here("fixtures/seed").join("interchange.json")).unwrap();
    assert!(validator.is_valid(&interchange));
    assert!(count > 10);
}

#[test]
fn the_schema_and_the_reader_agree_on_structure() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut refused = 0;
    for path in files("broken") {
        let Some(document) = json(&path) else { continue };
        let (_, loaded) = load_bytes("x", &fs::read(&path).unwrap(), &Registry::default());
        let is_registry = document.get("machine_registry").is_some();
        let structural = loaded
            .findings
            .iter()
            .any(|finding| STRUCTURE.contains(&finding.code.trim_start_matches("rawko::chart::")));
        // An action type that does not exist is a wrong word to the schema.
        let unknown_type = loaded.findings.iter().any(|finding| finding.message.contains("no action type"));
        let expected = is_registry || !(structural || unknown_type);
        assert_eq!(validator.is_valid(&document), expected, "{}", path.display());
        refused += usize::from(!expected);
    }
    assert!(refused >= 6, "only {refused} broken charts are broken in structure");
}

#[test]
fn a_chart_with_every_key_loads_without_an_error() {
    let text = fs::read_to_string(here("fixtures/everything.yaml")).unwrap();
    let mut registry = Registry::default();
    registry.add_agent("reviewer");
    let loaded = load(&Source::new("everything.yaml", text.as_str()), &registry.complete());
    let serious: Vec<_> =
        loaded.findings.iter().filter(|finding| finding.severity > rawko_chart::Severity::Warning).collect();
    assert!(serious.is_empty(), "{serious:#?}");
    // Every key that the schema knows is in it, so that a key nobody reads cannot hide.
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
    let file =
        read_registry(&Source::new("r.yaml", "machine_registry:\n  - {id: a, version: 1, src: a.yaml}\n"));
    assert_eq!((file.entries.len(), file.entries[0].version.as_str()), (1, "1"));
    let broken = read_registry(&Source::new("r.yaml", "machine_registry:\n  - {id: a, file: a.yaml}\n"));
    let codes: Vec<&str> = broken.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        ["rawko::chart::unknown_key", "rawko::chart::missing_key", "rawko::chart::missing_key"]
    );
    let neither = read_registry(&Source::new("r.yaml", "a: 1\n"));
    assert_eq!(neither.findings[0].code, "rawko::chart::not_a_registry");
}
