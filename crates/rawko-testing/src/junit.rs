//! Test results as JUnit XML, the form continuous integration servers read.

use crate::report::{FileReport, ScenarioReport, StepDifference, TestReport};

impl TestReport {
    /// The report as JUnit XML: one suite per scenario file, one case per scenario.
    pub fn to_junit(&self) -> String {
        to_xml(self)
    }
}

fn to_xml(results: &TestReport) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml += &format!(
        "<testsuites name=\"rawko\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        results.passed() + results.failed() + results.unusable(),
        results.failed(),
        results.unusable()
    );
    for file in &results.files {
        xml += &suite(file);
    }
    xml + "</testsuites>\n"
}

fn suite(file: &FileReport) -> String {
    let failed = file.scenarios.iter().filter(|scenario| !scenario.passed).count();
    let errors = usize::from(file.problem.is_some());
    let mut xml = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\">\n",
        escaped(&file.file),
        file.scenarios.len() + errors
    );
    if let Some(problem) = &file.problem {
        xml += &format!(
            "    <testcase classname=\"{0}\" name=\"reading\">\n      <error message=\"the file cannot be run\">{1}</error>\n    </testcase>\n",
            escaped(&file.file),
            escaped(problem)
        );
    }
    for scenario in &file.scenarios {
        xml += &case(file, scenario);
    }
    xml + "  </testsuite>\n"
}

fn case(file: &FileReport, scenario: &ScenarioReport) -> String {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" file=\"{0}\" line=\"{}\"",
        escaped(&file.file),
        escaped(&scenario.name),
        scenario.line
    );
    if scenario.passed {
        return head + "/>\n";
    }
    let mut xml = head + ">\n";
    for failure in &scenario.failures {
        xml += &failure_xml(&format!("{} differs", failure.at), failure);
    }
    for failed in scenario.variants().flat_map(|(_, variants)| &variants.failures) {
        xml += &failure_xml(&format!("{}: {} differs", failed.variant, failed.failure.at), &failed.failure);
    }
    xml + "    </testcase>\n"
}

fn failure_xml(message: &str, failure: &StepDifference) -> String {
    format!(
        "      <failure message=\"{}\">line {}, after {}\nexpected  {}\nactual    {}</failure>\n",
        escaped(message),
        failure.line,
        escaped(&failure.stimulus),
        escaped(&failure.expected),
        escaped(&failure.actual)
    )
}

/// XML has no way to write most control characters, so they become the replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{VariantFailure, VariantReport};
    use expect_test::expect;

    #[test]
    fn a_suite_per_file_and_a_case_per_scenario() {
        let failure = StepDifference {
            line: 9,
            step: 1,
            stimulus: "send <GO>".into(),
            at: "context.a".into(),
            expected: "\"x\" & \u{1}".into(),
            actual: "null".into(),
        };
        let good = ScenarioReport {
            name: "goes".into(),
            line: 3,
            passed: true,
            failures: Vec::new(),
            expression_faults: Vec::new(),
            refused_calls: Vec::new(),
            crashes: None,
            faults: None,
        };
        let crashed = VariantFailure { variant: "crash after commit 2".into(), failure: failure.clone() };
        let crashes = VariantReport { runs: 6, omitted: 0, failures: vec![crashed] };
        let bad = ScenarioReport {
            name: "stays".into(),
            line: 7,
            passed: false,
            failures: vec![failure],
            expression_faults: Vec::new(),
            refused_calls: Vec::new(),
            crashes: Some(crashes),
            faults: None,
        };
        let run = FileReport {
            file: "a.scenario.yaml".into(),
            chart: Some("a.yaml".into()),
            problem: None,
            scenarios: vec![good, bad],
        };
        let broken = FileReport {
            file: "b.scenario.yaml".into(),
            chart: None,
            problem: Some("unknown key `stepz`".into()),
            scenarios: Vec::new(),
        };
        let results = TestReport { files: vec![run, broken], coverage: Vec::new() };
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="rawko" tests="3" failures="1" errors="1">
              <testsuite name="a.scenario.yaml" tests="2" failures="1" errors="0">
                <testcase classname="a.scenario.yaml" name="goes" file="a.scenario.yaml" line="3"/>
                <testcase classname="a.scenario.yaml" name="stays" file="a.scenario.yaml" line="7">
                  <failure message="context.a differs">line 9, after send &lt;GO&gt;
            expected  &quot;x&quot; &amp; �
            actual    null</failure>
                  <failure message="crash after commit 2: context.a differs">line 9, after send &lt;GO&gt;
            expected  &quot;x&quot; &amp; �
            actual    null</failure>
                </testcase>
              </testsuite>
              <testsuite name="b.scenario.yaml" tests="1" failures="0" errors="1">
                <testcase classname="b.scenario.yaml" name="reading">
                  <error message="the file cannot be run">unknown key `stepz`</error>
                </testcase>
              </testsuite>
            </testsuites>
        "#]]
        .assert_eq(&to_xml(&results));
    }
}
