//! Places in half-typed texts: `‸` is the cursor.

use super::{PlaceKind, TextScan};
use crate::names::ProjectNames;
use crate::{explain, suggest};

fn check(text: &str, kind: PlaceKind, path: &str, word: &str) {
    let offset = text.find('‸').unwrap();
    let (_, place) = TextScan::at(&text.replace('‸', ""), offset);
    assert_eq!(
        (place.kind, place.path.join("/").as_str(), place.word.as_str()),
        (kind, path, word),
        "{text}"
    );
}

#[test]
fn places_are_known_while_a_text_is_typed() {
    use PlaceKind::{Key, Text, Value};

    check("‸", Key, "", "");
    check("statechart:\n  in‸", Key, "statechart", "in");
    check("statechart:\n  initial: a‸\n  states:\n", Value, "statechart/initial", "a");
    check("statechart:\n  initial: a\n  ‸", Key, "statechart", "");
    check("states:\n  a:\n    on:\n      GO: ‸", Value, "states/a/on/GO", "");
    check("states:\n  a:\n    on:\n      GO: {target: b, gu‸}\n  b: {}", Key, "states/a/on/GO", "gu");
    check("states:\n  a:\n    on:\n      GO: {target: ‸\n  b: {}\n", Value, "states/a/on/GO/target", "");
    check("states:\n  a:\n    always:\n      - target: b‸", Value, "states/a/always/[]/target", "b");
    check("states:\n  a:\n    entry:\n    - lo‸", Key, "states/a/entry/[]", "lo");
    check("states:\n  a: {on: {E: [{target: ‸", Value, "states/a/on/E/[]/target", "");
    check("states:\n  a: {on: {E: [x, y]}, ‸}", Key, "states/a", "");
    check("a: b # note‸", Text, "", "");
    check("description: |\n  some‸ text\n", Text, "", "");
    check("description: |\n  some text\n‸", Key, "", "");
    check("{\"id\": \"c\", \"states\": {\n  \"a\": {\"on\": {\"GO\": \"‸\"}}}}", Value, "states/a/on/GO", "");
    check("{\"id\": \"c\",\n \"ini‸\": 1}", Key, "", "ini");
    check("{\"id\": \"c\",\n ‸", Key, "", "");
    check("a: 'it''s'\nb: \"\\\"x\"\nc: ‸", Value, "c", "");
    check("ä: ü‸", Value, "ä", "ü");
    check("a:\r\n  b: x‸\r\n", Value, "a/b", "x");
}

#[test]
fn every_place_of_a_chart_is_known() {
    use PlaceKind::{Key, Text, Value};

    let text = "statechart:\n  id: order\n  context: {amount: 0, by: null}\n  states:\n    checking:\n      always:\n        \
                - {target: char, guard: context.amount}\n        - tar\n    charging:\n      invoke:\n        src: x\n      \
                on: {GO: }\n      description: |\n        on: not a key\n    paid: {type: final}\n";
    let cases = [
        ("- {target: char", Value, "statechart/states/checking/always/[]/target", "char"),
        ("guard: context.am", Value, "statechart/states/checking/always/[]/guard", "context.am"),
        ("- tar", Key, "statechart/states/checking/always/[]", "tar"),
        ("        src: ", Value, "statechart/states/charging/invoke/src", ""),
        ("on: {GO: ", Value, "statechart/states/charging/on/GO", ""),
        ("on: not a", Text, "", ""),
        ("    paid: {ty", Key, "statechart/states/paid", "ty"),
        ("  id: or", Value, "statechart/id", "or"),
    ];
    for (part, kind, path, word) in cases {
        let at = text.find(part).unwrap() + part.len();
        check(&format!("{}‸{}", &text[..at], &text[at..]), kind, path, word);
    }
    let outline = crate::outline::ChartOutline::of(&TextScan::at(text, 0).0.keys);
    assert_eq!(outline.context.into_iter().collect::<Vec<_>>(), ["amount", "by"]);
    assert_eq!(
        outline.states.iter().map(|(path, _)| path.join(".")).collect::<Vec<_>>(),
        ["checking", "charging", "paid"]
    );
    assert_eq!(outline.events.into_iter().collect::<Vec<_>>(), ["GO"]);
}

#[test]
fn keys_after_unclosed_braces_are_still_found() {
    let (scan, _) = TextScan::at("states:\n  a: {on: {E: \n  b:\n    on:\n      F: a\n  c: {}\n", 0);
    let paths: Vec<String> = scan.keys.iter().map(|key| key.path.join("/")).collect();
    assert!(
        paths.contains(&"states/b/on/F".to_owned()) && paths.contains(&"states/c".to_owned()),
        "{paths:?}"
    );
}

#[test]
fn no_prefix_of_a_chart_makes_the_reader_fail() {
    let charts = [
        "statechart:\n  id: c\n  initial: a\n  states:\n    a:\n      on: {GO: {target: b, guard: \"context.n > 3\"}}\n    b: {type: final} # é\n",
        "{\"statechart\": {\"id\": \"c\", \"initial\": \"a\", \"states\": {\"a\": {\"on\": {\"E\": [\"é\\\"\"]}}}}}",
    ];
    let names = ProjectNames::default();
    for chart in charts {
        for (end, _) in chart.char_indices() {
            for at in [end, end / 2].into_iter().filter(|at| chart.is_char_boundary(*at)) {
                suggest(&chart[..end], at, &names);
                explain(&chart[..end], at, &names);
            }
        }
    }
}

fn labels(text: &str) -> Vec<String> {
    let offset = text.find('‸').unwrap();
    let found = suggest(&text.replace('‸', ""), offset, &ProjectNames::default());
    found.items.into_iter().map(|it| it.insert).collect()
}

#[test]
fn suggestions_fit_the_place() {
    let chart = |at: &str| {
        format!(
            "statechart:\n  id: c\n  initial: one\n  context: {{count: 0}}\n  states:\n    one:\n{at}\n    other: {{}}\n"
        )
    };
    assert_eq!(labels(&chart("      on:\n        GO: o‸")), ["one", "other"]);
    assert_eq!(labels(&chart("      on:\n        GO: {target: oth‸}")), ["other"]);
    assert_eq!(labels(&chart("      inv‸")), ["invoke: "]);
    assert!(labels(&chart("      type: ‸")).contains(&"final".to_owned()));
    assert_eq!(labels(&chart("      always: {guard: context.‸, target: other}")), ["context.count"]);
    let json = "{\"id\": \"c\", \"states\": {\"one\": {\"on\": {\"GO\": \"‸\"}}, \"two\": {}}}";
    assert_eq!(labels(json), ["one", "two"]);
    assert!(labels("{\"id\": \"c\", ini‸").contains(&"\"initial\": ".to_owned()));
}

#[test]
fn words_are_explained() {
    let text =
        "statechart:\n  id: c\n  initial: one\n  states:\n    one: {on: {GO: two}}\n    two: {type: final}\n";
    let about = |word: &str| {
        let at = text.find(word).unwrap() + 1;
        explain(text, at, &ProjectNames::default()).map(|it| (it.title, it.text))
    };
    assert_eq!(about("two}}").unwrap().1, "State two, line 6.");
    assert_eq!(about("one: {").unwrap().1, "State one.");
    assert_eq!(about("GO").unwrap().1, "Transition on this event.");
    assert!(about("initial").unwrap().1.len() > 10, "from the schema");
}
