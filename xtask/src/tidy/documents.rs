//! Checks documents: the files that they link to or name exist.

use std::fs;
use std::path::Path;

use super::{files, name};
use crate::run::root;

#[test]
fn links_between_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for path in files("", ".md") {
        let text = fs::read_to_string(&path).unwrap();
        // A page that a crate links to has its links where it really is.
        let page = fs::canonicalize(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            if !page.parent().unwrap_or(Path::new("")).join(target).exists() {
                wrong.push(format!("{}: {link}", name(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "links to nowhere: {wrong:#?}");
}

/// `ARCHITECTURE.md` names crates and paths in backticks; each must exist, and every crate must be listed.
#[test]
fn the_architecture_names_what_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();
    let missing: Vec<&&str> = named
        .iter()
        .filter(|path| path.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.".contains(c)))
        .filter(|path| !root().join(path).exists())
        .collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:?}");
    let lines = text.lines().count();
    assert!(lines < 300, "ARCHITECTURE.md has {lines} lines; at most 299");
    for folder in fs::read_dir(root().join("crates")).unwrap().filter_map(Result::ok) {
        let crate_name = folder.file_name().to_string_lossy().into_owned();
        assert!(text.contains(&format!("`{crate_name}`")), "ARCHITECTURE.md does not mention {crate_name}");
    }
}

/// Everything that does not fit belongs into a guide.
#[test]
fn the_readme_is_read_in_a_minute() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 100, "README.md has {lines} lines; at most 100");
}

/// The site shows the pages of `docs/SUMMARY.md` only.
#[test]
fn the_summary_lists_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let missing: Vec<String> =
        ["docs/guide", "docs/decisions", "docs/formats", "docs/errors", "docs/reference"]
            .iter()
            .flat_map(|folder| files(folder, ".md"))
            .map(|path| name(&path).trim_start_matches("docs/").to_owned())
            .filter(|page| !summary.contains(&format!("({page})")))
            .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:#?}");
}

/// `docs/seeds.md` names a test for each row: `file::test`, or `file::scenario`.
#[test]
fn each_row_of_the_seeds_names_a_test_that_exists() {
    rows_name_tests("docs/seeds.md", "| Seed", 80);
}

/// So does `docs/reports.md`.
#[test]
fn each_report_about_another_tool_names_a_test_that_exists() {
    rows_name_tests("docs/reports.md", "| Report", 7);
}

fn rows_name_tests(page: &str, heading: &str, rows_min: usize) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with(heading)).collect();
    assert!(rows.len() > rows_min, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        let named = row.rsplit("| `").next().and_then(|rest| rest.split('`').next()).unwrap_or_default();
        let Some((file, test)) = named.split_once("::") else {
            wrong.push(row);
            continue;
        };
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        let is_there = match file.ends_with(".rs") {
            true => text.contains(&format!("fn {test}()")),
            false => text.lines().any(|line| line.trim() == format!("- name: {test}")),
        };
        if !is_there {
            wrong.push(row);
        }
    }
    assert!(wrong.is_empty(), "rows of {page} without a test: {wrong:#?}");
}
