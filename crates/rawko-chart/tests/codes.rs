//! The register of codes, their pages, their example charts and the code that reports them agree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rawko_chart::codes::{self, ALL};
use rawko_chart::{Finding, FindingCode, KnownTools, Registry, SourceFile, load, read_registry};

/// Found in files that cannot be printed on a page: too large, binary, not a chart.
const WITHOUT_CHART: [&str; 4] = ["invalid_utf8", "too_large", "not_a_registry", "not_compiled"];

/// Found in registries, which `broken/` does not contain, or only in charts built by hand.
const WITHOUT_BROKEN: [&str; 3] = ["duplicate_entry", "not_a_registry", "not_compiled"];

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    assert_same("docs/errors", &slugs(&[]), &stems(&pages(), &["md"]));
}

/// Charts, settings and agents all have an `unknown_key`, so the pages of each family but the first are in a separate
/// folder.
#[test]
fn every_code_of_projects_settings_and_agents_has_a_page_that_says_what_to_do() {
    for (family, all) in [
        ("project", codes::project::ALL),
        ("settings", codes::settings::ALL),
        ("agents", codes::agents::ALL),
        ("verify", codes::verify::ALL),
    ] {
        let slugs = all.iter().map(|code| code.slug().to_owned()).collect();
        assert_same(&format!("docs/errors/{family}"), &slugs, &stems(&pages().join(family), &["md"]));
        for code in all {
            assert_page(code, &page(&format!("{family}/{}", code.slug())));
            assert_eq!(codes::find(code.name), Some(code));
        }
    }
}

#[test]
fn every_code_has_a_broken_chart_and_every_broken_chart_a_code() {
    assert_same(
        "tests/broken",
        &slugs(&WITHOUT_BROKEN),
        &stems(&here().join("tests/broken"), &["yaml", "json"]),
    );
}

#[test]
fn every_code_is_listed_once() {
    assert_eq!(slugs(&[]).len(), ALL.len());
    for code in ALL {
        assert_eq!(codes::find(code.slug()), Some(code));
        assert_eq!(codes::find(code.name), Some(code));
        assert!(!code.summary.ends_with('.') && code.summary.starts_with(|c: char| !c.is_uppercase()));
    }
}

#[test]
fn a_page_says_how_bad_it_is_and_what_to_do() {
    for code in ALL {
        assert_page(code, &page(code.slug()));
    }
}

#[track_caller]
fn assert_page(code: &FindingCode, page: &str) {
    let opening = format!("# {}\n\n**{:?}** (`{}`)", code.slug(), code.severity, code.name);
    assert!(page.starts_with(&opening), "{} does not start with\n{opening}", code.name);
    assert!(page.contains("\n## What to do\n"), "{} does not say what to do", code.name);
}

#[test]
fn the_chart_on_a_page_shows_what_the_page_is_about() {
    for code in ALL.iter().filter(|code| !WITHOUT_CHART.contains(&code.slug())) {
        let page = page(code.slug());
        let text = example(&page).unwrap_or_else(|| panic!("{} shows no chart", code.slug()));
        let found: Vec<&str> = findings(text).iter().map(|finding| finding.code).collect();
        assert!(found.contains(&code.name), "the chart of {} gives {found:?}", code.slug());
    }
}

#[test]
fn every_code_is_reported_somewhere_and_by_its_constant() {
    let paths = sources(&here().join("src")).into_iter().filter(|path| !path.ends_with("codes.rs"));
    let source: String = paths.map(|path| fs::read_to_string(path).unwrap()).collect();
    let written_out = source.split("\"rawko::chart::").skip(1).find(|rest| !rest.starts_with('"'));
    assert_eq!(written_out.map(|rest| &rest[..20]), None, "named by its constant instead");
    for code in ALL {
        let constant = code.slug().to_uppercase();
        let named =
            source.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == constant);
        assert!(named, "nothing reports {constant}");
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> PathBuf {
    here().join("../../docs/errors")
}

fn page(slug: &str) -> String {
    fs::read_to_string(pages().join(format!("{slug}.md"))).unwrap()
}

fn slugs(without: &[&str]) -> BTreeSet<String> {
    let slugs = ALL.iter().map(|code| code.slug()).filter(|slug| !without.contains(slug));
    slugs.map(str::to_owned).collect()
}

/// Returns the names of files in a folder, without a `~` suffix and the extension.
fn stems(folder: &Path, endings: &[&str]) -> BTreeSet<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| endings.contains(&ending.to_str().unwrap())))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().split('~').next().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn assert_same(folder: &str, codes: &BTreeSet<String>, files: &BTreeSet<String>) {
    let missing: Vec<&String> = codes.difference(files).collect();
    let stale: Vec<&String> = files.difference(codes).collect();
    assert!(missing.is_empty() && stale.is_empty(), "{folder}: missing {missing:?}, stale {stale:?}");
}

/// Returns the first fenced chart of a page.
fn example(page: &str) -> Option<&str> {
    let start =
        ["```yaml\n", "```json\n"].into_iter().find_map(|fence| Some(page.find(fence)? + fence.len()))?;
    page[start..].split("```").next()
}

fn findings(text: &str) -> Vec<Finding> {
    let source = SourceFile::new("example.yaml", text);
    if text.starts_with("machine_registry") {
        return read_registry(&source).findings;
    }
    load(&source, &registry()).findings
}

/// References of the charts on the pages.
fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.add_chart("review_workflow", "1.2.0");
    registry.add_agent("reviewer");
    registry.add_service("agent_executor");
    let is_unknown = |rule: &str| ["Grpe", "Bahs"].contains(&rule);
    registry.with_tools(KnownTools { is_unknown, suggestion: |_| None }).complete()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// `docs/reference/findings.md` is generated from the register.
#[test]
fn the_index_lists_every_code() {
    let mut index = String::from(
        "# Findings\n\nThe findings of `rawko check`. **Fatal**: there is no chart to run. **Error**: fails `check`, but the\n\
         chart can run. **Warning**: fails only `check --strict`. The table gives the highest severity of each code.\n\n\
         | Code | Severity | Meaning |\n|---|---|---|\n",
    );
    index.extend(ALL.iter().map(|code| row(code, "")));
    index += "\n## Projects\n\nProblems between the files of a project; the codes are `rawko::project::…`.\n\n\
              | Code | Severity | Meaning |\n|---|---|---|\n";
    index.extend(codes::project::ALL.iter().map(|code| row(code, "project/")));
    index += "\n## Settings\n\nProblems in a `config.yaml` ([settings](../guide/settings.md)); the codes are `rawko::settings::…`.\n\n\
              | Code | Severity | Meaning |\n|---|---|---|\n";
    index.extend(codes::settings::ALL.iter().map(|code| row(code, "settings/")));
    index += "\n## Agents\n\nProblems in an agent file; the codes are `rawko::agents::…`.\n\n\
              | Code | Severity | Meaning |\n|---|---|---|\n";
    index.extend(codes::agents::ALL.iter().map(|code| row(code, "agents/")));
    index += "\n## Built-in properties\n\nViolations that `rawko verify` finds ([verifying charts](../guide/verifying.md)); the codes are \
              `rawko::verify::…`.\n\n| Code | Severity | Meaning |\n|---|---|---|\n";
    index.extend(codes::verify::ALL.iter().map(|code| row(code, "verify/")));
    expect_test::expect_file![here().join("../../docs/reference/findings.md")].assert_eq(&index);
}

fn row(code: &FindingCode, folder: &str) -> String {
    let (slug, severity, summary) = (code.slug(), code.severity, code.summary);
    format!("| [{slug}](../errors/{folder}{slug}.md) | {severity:?} | {summary} |\n")
}
