//! The charts in the documentation: each page of a built-in property shows a chart that breaks it, and the guide's
//! workflow has the holes that it describes, and none after the fix.

use std::path::Path;

use rawko_chart::codes;

use crate::support::{report, shown};

fn charts(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| block.to_owned()).collect()
}

#[test]
fn every_built_in_property_is_a_code_with_a_chart_that_breaks_it() {
    let names: Vec<&str> = codes::verify::ALL.iter().map(|code| code.slug()).collect();
    assert_eq!(names, rawko_verify::BUILT_IN);
    let light = "{id: light, initial: off, states: {off: {on: {PRESS: on}}, on: {on: {PRESS: off}}}}";
    for name in names {
        let charts = charts(&format!("errors/verify/{name}.md"));
        assert!(shown(&[&charts[0], light], name).starts_with("violated"), "{name}");
    }
}

#[test]
fn the_workflow_of_the_guide_has_two_holes_and_then_none() {
    let charts = charts("guide/verifying.md");
    let not_held = |text: &str| -> Vec<String> {
        let report = report(&[text]);
        let open = report.properties.iter().filter(|property| property.verdict.as_str() != "holds");
        open.map(|property| property.name.clone()).collect()
    };
    assert_eq!(not_held(&charts[0]), ["failures_handled", "approval_respected"]);
    assert_eq!(not_held(&charts[1]), [""; 0]);
}
