//! `rawko graph`: formats by option and by file extension, and the output file.

use std::fs;

use crate::support::{directory, run};

const CHART: &str = "\
statechart:
  id: door
  initial: closed
  states:
    closed:
      on: {OPENED: open}
    open:
      on: {CLOSED: closed}
";

/// The beginning of each format, which is unique to it.
const FORMATS: [(&str, &str); 4] =
    [("mermaid", "stateDiagram-v2"), ("plantuml", "@startuml"), ("dot", "digraph"), ("svg", "<svg")];

#[test]
fn every_format_goes_to_stdout() {
    let dir = directory(&[("door.yaml", CHART)]);
    for (format, mark) in FORMATS {
        let run = run(dir.path(), &["graph", "door.yaml", "--format", format], "");
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains(mark), "{format}: {}", run.stdout);
        assert!(run.stdout.contains("OPENED"), "{format}");
        assert!(run.stdout.ends_with('\n'), "{format}");
    }
}

#[test]
fn the_ending_of_the_output_chooses_the_format() {
    let dir = directory(&[("door.yaml", CHART)]);
    for (file, mark) in
        [("a.svg", "<svg"), ("a.dot", "digraph"), ("a.puml", "@startuml"), ("a.md", "stateDiagram-v2")]
    {
        let run = run(dir.path(), &["graph", "door.yaml", "-o", file], "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
        assert!(fs::read_to_string(dir.path().join(file)).unwrap().contains(mark), "{file}");
    }
    let refused = run(dir.path(), &["graph", "door.yaml", "-o", "a.png"], "");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("dot | dot -Tpng"), "{}", refused.stderr);
    assert!(!dir.path().join("a.png").exists());
}

#[test]
fn a_chart_from_standard_input_is_mermaid() {
    let dir = directory(&[]);
    let run = run(dir.path(), &["graph", "-"], CHART);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("stateDiagram-v2"));
}

#[test]
fn themes_differ() {
    let dir = directory(&[("door.yaml", CHART)]);
    let drawn =
        |theme| run(dir.path(), &["graph", "door.yaml", "--format", "svg", "--theme", theme], "").stdout;
    assert_ne!(drawn("light"), drawn("dark"));
    assert!(drawn("auto").contains("prefers-color-scheme"));
}

/// So are the pictures of the ready workflows.
#[test]
fn the_pictures_of_workflows_are_drawn_by_us() {
    let names =
        ["sequential", "parallel", "pipeline", "review_diff", "refactor_files", "research", "issue_to_patch"];
    for name in names {
        let repository = crate::support::repository();
        let run = run(&repository, &["graph", &format!("charts/{name}.yaml"), "--format", "svg"], "");
        expect_test::expect_file![repository.join(format!("docs/pictures/{name}.svg"))]
            .assert_eq(&run.stdout);
    }
}

/// The README's picture is the output of `graph`.
#[test]
fn the_picture_in_the_readme_is_drawn_by_us() {
    let run = run(
        &crate::support::repository(),
        &["graph", "examples/code-review/code_review.yaml", "--format", "svg"],
        "",
    );
    expect_test::expect_file![crate::support::repository().join("docs/pictures/code-review.svg")]
        .assert_eq(&run.stdout);
}
