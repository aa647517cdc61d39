//! Differences between expected and actual report lines. Pure: JSON against JSON.

use serde_json::Value as Json;

use crate::model::{Expectation, LineField, Matcher};

/// One value that differs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueDifference {
    /// `context.order.total`, `configuration`, `emitted[0].data` …
    pub(crate) at: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

/// The state of the simulation after a step: the report line, and every active state (ancestors too).
pub(crate) struct StepObservation<'a> {
    pub(crate) line: &'a Json,
    pub(crate) active: &'a [String],
}

/// The differences between the report line and the expectation; empty when it holds.
pub(crate) fn differences(expectation: &Expectation, seen: &StepObservation<'_>) -> Vec<ValueDifference> {
    let field = expectation.field;
    let actual = seen.line.get(field.name()).unwrap_or(&Json::Null);
    let mut found = Vec::new();
    match &expectation.wanted {
        Matcher::Like(wanted) => like(field.name().to_owned(), wanted, actual, &mut found),
        Matcher::Exactly(wanted) => exactly(field, wanted, items(actual), &mut found),
        Matcher::Among { contains, excludes } => among(field, contains, excludes, seen, &mut found),
    }
    found
}

fn items(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// Maps by the wanted keys only, everything else by equality.
fn like(at: String, wanted: &Json, actual: &Json, found: &mut Vec<ValueDifference>) {
    match (wanted, actual) {
        (Json::Object(wanted), Json::Object(actual)) => {
            for (key, value) in wanted {
                like(format!("{at}.{key}"), value, actual.get(key).unwrap_or(&Json::Null), found);
            }
        }
        (wanted, actual) if same(wanted, actual) => {}
        (wanted, actual) => {
            found.push(ValueDifference { at, expected: wanted.to_string(), actual: actual.to_string() })
        }
    }
}

/// The first value in which two report lines differ.
pub(crate) fn first_difference(expected: &Json, actual: &Json) -> Option<ValueDifference> {
    unequal("", expected, actual)
}

fn unequal(at: &str, expected: &Json, actual: &Json) -> Option<ValueDifference> {
    if expected == actual {
        return None;
    }
    if let (Json::Object(wanted), Json::Object(found)) = (expected, actual) {
        let gap = if at.is_empty() { "" } else { "." };
        let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(*key)));
        let value =
            |map: &serde_json::Map<String, Json>, key: &str| map.get(key).cloned().unwrap_or_default();
        let mut differences = keys
            .filter_map(|key| unequal(&format!("{at}{gap}{key}"), &value(wanted, key), &value(found, key)));
        return differences.next();
    }
    Some(ValueDifference { at: at.to_owned(), expected: expected.to_string(), actual: actual.to_string() })
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}

fn exactly(field: LineField, wanted: &[Json], actual: &[Json], found: &mut Vec<ValueDifference>) {
    let same_length = wanted.len() == actual.len();
    let all_match =
        same_length && wanted.iter().zip(actual).all(|(wanted, actual)| item_matches(wanted, actual));
    if all_match {
        return;
    }
    // One differing item among several is easier to see alone than two long lists.
    if same_length && field != LineField::Configuration && wanted.len() > 1 {
        for (index, (wanted, actual)) in wanted.iter().zip(actual).enumerate() {
            item_differences(format!("{}[{index}]", field.name()), wanted, actual, found);
        }
        return;
    }
    found.push(ValueDifference {
        at: field.name().to_owned(),
        expected: listed(wanted),
        actual: listed(actual),
    });
}

fn among(
    field: LineField,
    contains: &[Json],
    excludes: &[Json],
    seen: &StepObservation<'_>,
    found: &mut Vec<ValueDifference>,
) {
    let actual = items(seen.line.get(field.name()).unwrap_or(&Json::Null));
    let present = |wanted: &Json| match (field, wanted) {
        // A state is in the configuration when it or something below it is active.
        (LineField::Configuration, Json::String(path)) => seen.active.contains(path),
        _ => actual.iter().any(|item| item_matches(wanted, item)),
    };
    let shown = listed(actual);
    for wanted in contains.iter().filter(|wanted| !present(wanted)) {
        let expected = format!("with {}", plain(wanted));
        found.push(ValueDifference { at: field.name().to_owned(), expected, actual: shown.clone() });
    }
    for unwanted in excludes.iter().filter(|unwanted| present(unwanted)) {
        let expected = format!("without {}", plain(unwanted));
        found.push(ValueDifference { at: field.name().to_owned(), expected, actual: shown.clone() });
    }
}

/// The words by which a string can stand for a whole entry: an event's name, an invoke's id or source.
const NAMES: [&str; 3] = ["type", "id", "src"];

fn item_matches(wanted: &Json, actual: &Json) -> bool {
    let mut found = Vec::new();
    item_differences(String::new(), wanted, actual, &mut found);
    found.is_empty()
}

fn item_differences(at: String, wanted: &Json, actual: &Json, found: &mut Vec<ValueDifference>) {
    if let (Json::String(name), Json::Object(entry)) = (wanted, actual)
        && NAMES.iter().any(|key| entry.get(*key).and_then(Json::as_str) == Some(name))
    {
        return;
    }
    like(at, wanted, actual, found);
}

fn listed(items: &[Json]) -> String {
    format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", "))
}

/// A string without quotes where it cannot be mistaken; JSON otherwise.
fn plain(json: &Json) -> String {
    match json {
        Json::String(text) if !text.contains([',', '[', ']', '"']) && !text.is_empty() => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    /// Compares one expectation with a fixed report line and shows the differences.
    fn check(field: LineField, wanted: Matcher, expect: Expect) {
        let line = json!({
            "configuration": ["work.build.compiling", "work.lint.done"],
            "context": {"score": 3, "order": {"id": "o-1", "items": [1, 2]}},
            "status": "active",
            "log": ["one", "two"],
            "emitted": [{"type": "AUDIT", "data": {"by": "bo"}}, {"type": "DONE", "data": null}],
            "output": null,
        });
        let active =
            ["work", "work.build", "work.build.compiling", "work.lint", "work.lint.done"].map(String::from);
        let expectation = Expectation { line: 1, field, wanted };
        let found = differences(&expectation, &StepObservation { line: &line, active: &active });
        let shown: Vec<_> =
            found.iter().map(|d| format!("{}: expected {}, actual {}", d.at, d.expected, d.actual)).collect();
        expect.assert_eq(&shown.join("\n"));
    }

    fn exactly(items: Json) -> Matcher {
        Matcher::Exactly(items.as_array().unwrap().clone())
    }

    fn contains(items: Json) -> Matcher {
        Matcher::Among { contains: items.as_array().unwrap().clone(), excludes: Vec::new() }
    }

    #[test]
    fn a_map_matches_by_the_wanted_keys() {
        check(LineField::Context, Matcher::Like(json!({"order": {"id": "o-1"}})), expect![""]);
        check(LineField::Context, Matcher::Like(json!({"score": 3.0})), expect![""]);
        check(
            LineField::Context,
            Matcher::Like(json!({"score": 4, "order": {"items": [1]}})),
            expect![[r#"
                context.score: expected 4, actual 3
                context.order.items: expected [1], actual [1,2]"#]],
        );
    }

    #[test]
    fn a_missing_key_is_null() {
        check(LineField::Context, Matcher::Like(json!({"nothing": null})), expect![""]);
        check(
            LineField::Status,
            Matcher::Like(json!("done")),
            expect![[r#"status: expected "done", actual "active""#]],
        );
    }

    #[test]
    fn a_list_is_exact() {
        check(LineField::Log, exactly(json!(["one", "two"])), expect![""]);
        check(LineField::Log, exactly(json!(["one"])), expect!["log: expected [one], actual [one, two]"]);
        check(
            LineField::Configuration,
            exactly(json!(["work.build.compiling"])),
            expect![
                "configuration: expected [work.build.compiling], actual [work.build.compiling, work.lint.done]"
            ],
        );
    }

    #[test]
    fn an_entry_matches_by_name_or_by_its_wanted_keys() {
        check(LineField::Emitted, exactly(json!(["AUDIT", {"type": "DONE"}])), expect![""]);
        check(
            LineField::Emitted,
            exactly(json!([{"type": "AUDIT", "data": {"by": "al"}}, "DONE"])),
            expect![[r#"emitted[0].data.by: expected "al", actual "bo""#]],
        );
    }

    #[test]
    fn a_configuration_contains_ancestors_of_its_leaves() {
        check(LineField::Configuration, contains(json!(["work.build", "work.lint.done"])), expect![""]);
        check(
            LineField::Configuration,
            Matcher::Among { contains: vec![json!("work.test")], excludes: vec![json!("work.lint")] },
            expect![[r#"
                configuration: expected with work.test, actual [work.build.compiling, work.lint.done]
                configuration: expected without work.lint, actual [work.build.compiling, work.lint.done]"#]],
        );
    }
}
