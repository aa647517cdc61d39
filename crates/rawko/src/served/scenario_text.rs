//! A recorded scenario as YAML text, and its place in a scenario file. Separate from the files: the text that is there, with
//! its comments, stays as it is.

use rawko_chart::SpannedValue;
use rawko_server::NewScenario;
use serde_json::Value as Json;

/// Returns a new scenario file for a chart in the same directory.
pub(super) fn new_file(chart: &str, scenario: &NewScenario) -> String {
    format!("chart: {}\nscenarios:\n{}", flow(&Json::from(chart)), item(scenario, 2))
}

/// Returns the text of a scenario file with one more scenario at its end. `None` if its list is not in block style.
pub(super) fn with_another(text: &str, scenario: &NewScenario) -> Option<String> {
    let document = SpannedValue::read(text).ok()?;
    let items = document.get("scenarios")?.items()?;
    let (first, last) = (items.first()?, items.last()?);
    let (start, end) = (usize::try_from(first.span.start).ok()?, usize::try_from(last.span.end).ok()?);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = text[line_start..start].strip_suffix("- ").filter(|it| it.trim().is_empty())?;
    let end = text[..end].trim_end().len();
    let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    let mut before = text[..end].to_owned();
    if !before.ends_with('\n') {
        before.push('\n');
    }
    Some(format!("{before}{}{}", item(scenario, indent.len()), &text[end..]))
}

fn item(scenario: &NewScenario, indent: usize) -> String {
    let space = " ".repeat(indent);
    let mut text = format!("{space}- name: {}\n", flow(&Json::from(scenario.name.as_str())));
    for (key, value) in [("input", &scenario.input), ("services", &scenario.services)] {
        if value.as_object().is_some_and(|map| !map.is_empty()) {
            text.push_str(&format!("{space}  {key}: {}\n", flow(value)));
        }
    }
    text.push_str(&format!("{space}  steps:\n"));
    for step in &scenario.steps {
        let entries = step.as_object().into_iter().flatten();
        for (at, (key, value)) in entries.enumerate() {
            let bullet = if at == 0 { "- " } else { "  " };
            text.push_str(&format!("{space}    {bullet}{key}: {}\n", flow(value)));
        }
    }
    text
}

/// Returns a value in one line.
fn flow(value: &Json) -> String {
    match value {
        Json::String(text) if is_plain(text) => text.clone(),
        Json::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| {
                format!("{}: {}", flow(&Json::from(key.as_str())), flow(value))
            };
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns true for text that YAML reads as the same text without quotes, in any place.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let starts = text.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    starts
        && text.split(' ').all(|word| !word.is_empty() && word.bytes().all(is_word))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use rawko_server::ChartFile;
    use serde_json::json;

    use super::*;

    fn scenario(name: &str) -> NewScenario {
        let chart = ChartFile { id: "order".into(), version: "1".into(), name: "order.yaml".into() };
        let steps = vec![
            json!({"expect": {"configuration": "asking"}}),
            json!({"send": "done.invoke.approval", "data": {"by": "ada: \"x\"", "n": 1.5}, "expect": {"invoked": ["payment"]}}),
        ];
        NewScenario { chart, name: name.into(), input: json!({"amount": 250}), services: json!(null), steps }
    }

    fn names(text: &str) -> Vec<String> {
        let document = SpannedValue::read(text).unwrap();
        let items = document.get("scenarios").unwrap().items().unwrap().to_vec();
        items.iter().map(|item| item.get("name").unwrap().text().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_file_is_readable_and_grows_at_its_end() {
        let text = new_file("order.yaml", &scenario("yes"));
        assert!(
            text.starts_with("chart: order.yaml\nscenarios:\n  - name: \"yes\"\n    input: {amount: 250}\n")
        );
        let document = SpannedValue::read(&text).unwrap();
        let step =
            &document.get("scenarios").unwrap().items().unwrap()[0].get("steps").unwrap().items().unwrap()[1];
        assert_eq!(step.get("data").unwrap().to_json(), json!({"by": "ada: \"x\"", "n": 1.5}));
        let more = with_another(&text, &scenario("a # b")).unwrap();
        assert_eq!(names(&more), ["yes", "a # b"]);
        assert!(more.starts_with(&text));
    }

    #[test]
    fn comments_and_later_keys_stay() {
        let text = "# mine\nscenarios:\n- name: one # first\n  steps:\n  - send: GO\n\n# services of all\nservices: {}\n";
        let more = with_another(text, &scenario("two")).unwrap();
        assert_eq!(names(&more), ["one", "two"]);
        assert!(more.contains("# first") && more.ends_with("# services of all\nservices: {}\n"), "{more}");
        assert!(with_another("scenarios: [{name: one}]\n", &scenario("two")).is_none(), "flow style");
        assert!(with_another("scenarios: []\n", &scenario("two")).is_none());
    }
}
