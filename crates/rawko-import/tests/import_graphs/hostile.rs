//! Hostile texts: no panic, and every accepted text loads.

use rawko_import::{self as import, ImportOptions, NoteKind};

use crate::chart;

proptest::proptest! {
    /// No text makes an importer panic; every accepted text loads.
    #[test]
    fn hostile_texts_do_not_panic(
        parts in proptest::collection::vec(proptest::sample::select(&[
            "digraph", "strict ", "subgraph", "{", "}", "[", "]", "->", "--", "=", ";", ",", "\"", "<", ">", "a", "start", "b.c",
            "node", "edge", "graph", "shape=Mdiamond", "shape=component", "shape=tripleoctagon", "condition=\"outcome=x && !y\"",
            "label=\"[A] b\"", "/*", "*/", "//", "\n", "#", "\\", "é", "\u{0}", ":", "+", "max_visits=2", "goal_gate=true", " ",
        ][..]), 0..60),
    ) {
        let text = parts.concat();
        for text in [text.clone(), format!("digraph {{ start -> {text} }}"), format!("digraph {{ start -> a [{text}] a -> b }}")] {
            if let Ok(imported) = import::dot(&text, ImportOptions::default())
                && imported.notes.iter().all(|note| note.kind != NoteKind::Lost)
            {
                chart(&imported);
            }
        }
    }

    /// Arbitrary JSON in the places of machines and graphs.
    #[test]
    fn hostile_json_does_not_panic(json in any_machine()) {
        let text = json.to_string();
        for imported in [import::xstate(&text, ImportOptions::default()), import::langgraph(&text, ImportOptions::default())] {
            if let Ok(imported) = imported && imported.notes.iter().all(|note| note.kind != NoteKind::Lost) {
                chart(&imported);
            }
        }
    }
}

fn any_machine() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    const WORDS: [&str; 62] = [
        "",
        "a",
        "b",
        "#a",
        ".b",
        "a.b",
        "a\\.b",
        "*",
        "x.*",
        "#m",
        "parallel",
        "final",
        "history",
        "deep",
        "compound",
        "atomic",
        "m",
        "xstate.raise",
        "xstate.log",
        "event.x",
        "context",
        "GO",
        "a b",
        "1",
        "10",
        "-1",
        "1.5",
        "xstate.stateIn",
        "__start__",
        "__end__",
        "states",
        "on",
        "initial",
        "type",
        "entry",
        "exit",
        "always",
        "after",
        "invoke",
        "src",
        "id",
        "target",
        "guard",
        "actions",
        "onDone",
        "onError",
        "reenter",
        "tags",
        "meta",
        "context",
        "output",
        "nodes",
        "edges",
        "source",
        "conditional",
        "data",
        "metadata",
        "params",
        "guards",
        "cond",
        "in",
        "internal",
    ];
    let word = (0..WORDS.len()).prop_map(|at| WORDS[at].to_owned());
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        word.clone().prop_map(Into::into),
        word.clone().prop_map(Into::into),
    ];
    let value = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            proptest::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    });
    (value.clone(), value.clone(), value).prop_map(|(states, on, nodes)| {
        serde_json::json!({"id": "m", "initial": "a", "states": {"a": states, "b": {"on": on, "states": nodes.clone()}}, "nodes": nodes, "edges": [nodes]})
    })
}
