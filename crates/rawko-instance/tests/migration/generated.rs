//! Generated pairs: the new chart lacks one thing that the instance holds. Each is refused with the name of that thing.

use serde_json::{Value as Json, json};

use crate::{chart, instance, migrated};

/// The place of the working state within the chart.
const SHAPES: usize = 4;
const TAGS: [&str; 3] = ["review", "pack_2", "x"];

/// Returns a chart whose instance, after `GO` and `LATER`, holds a call, a timer, a delayed event, a deferred event, a
/// history and a context; and the path of its working state.
fn base(shape: usize, tag: &str) -> (Json, Vec<String>) {
    let leaf = json!({
        "entry": [{"type": "send", "event": format!("TICK_{tag}"), "delay": "1h"}],
        "after": {"24h": "#end"},
        "invoke": {"id": format!("call_{tag}"), "src": "pay", "onDone": "#end", "onError": "#end"},
        "on": {format!("TICK_{tag}"): "#end"},
    });
    let name = |part: &str| format!("{part}_{tag}");
    let inner = json!({"initial": name("leaf"), "states": {name("leaf"): leaf}});
    let (top, path) = match shape {
        0 => (leaf.clone(), vec![name("work")]),
        1 => (inner, vec![name("work"), name("leaf")]),
        2 => {
            let outer = json!({"initial": name("mid"), "states": {name("mid"): inner}});
            (outer, vec![name("work"), name("mid"), name("leaf")])
        }
        _ => {
            let other = json!({"initial": "idle", "states": {"idle": {}}});
            (
                json!({"regions": {name("mid"): inner, "other": other}}),
                vec![name("work"), name("mid"), name("leaf")],
            )
        }
    };
    let first = json!({
        "initial": "one",
        "on": {"GO": name("work")},
        "states": {"one": {"on": {"NEXT": name("two")}}, name("two"): {}, "past": {"type": "history"}},
    });
    let chart = json!({"statechart": {
        "id": "generated", "version": "1.0.0", "initial": "first", "unhandled": "defer",
        "context": {name("amount"): 7, "note": "n"},
        "states": {
            "first": first,
            name("work"): top,
            "later": {"on": {name("LATER"): "first.past"}},
            "end": {"id": "end", "type": "final"},
        },
        "on": {"SKIP": ".later"},
    }});
    (chart, path)
}

fn leaf<'c>(chart: &'c mut Json, path: &[String]) -> &'c mut Json {
    let mut at = &mut chart["statechart"];
    for part in path {
        at = if at.get("regions").is_some() { &mut at["regions"][part] } else { &mut at["states"][part] };
    }
    at
}

fn removed(map: &mut Json, key: &str) {
    map.as_object_mut().unwrap().remove(key);
}

/// Removes one thing, and returns the words that the reason must have.
fn without(what: usize, chart: &mut Json, path: &[String], tag: &str) -> Option<[String; 2]> {
    let dotted = path.join(".");
    let found = match what {
        0 => {
            let (last, parents) = path.split_last().unwrap();
            let parent = leaf(chart, parents);
            let body = parent["states"][last].take();
            removed(&mut parent["states"], last);
            parent["states"]["renamed"] = body;
            match parents.is_empty() {
                true => chart["statechart"]["states"]["first"]["on"]["GO"] = json!("renamed"),
                false => leaf(chart, parents)["initial"] = json!("renamed"),
            }
            ["state".to_owned(), dotted]
        }
        1 => {
            leaf(chart, path)["invoke"]["id"] = json!("another");
            ["open call".to_owned(), format!("call_{tag}")]
        }
        2 => {
            removed(leaf(chart, path), "invoke");
            ["open call".to_owned(), format!("call_{tag}")]
        }
        3 => {
            removed(leaf(chart, path), "after");
            ["after 24h".to_owned(), dotted]
        }
        4 => {
            leaf(chart, path)["on"] = json!({"OTHER": "#end"});
            ["a delayed event".to_owned(), format!("TICK_{tag}")]
        }
        5 => {
            chart["statechart"]["states"]["later"]["on"] = json!({"OTHER": "first.past"});
            ["a deferred event".to_owned(), format!("LATER_{tag}")]
        }
        6 => {
            let first = &mut chart["statechart"]["states"]["first"]["states"];
            removed(first, &format!("two_{tag}"));
            first["one"]["on"]["NEXT"] = json!("three");
            first["three"] = json!({});
            ["recorded history".to_owned(), format!("first.two_{tag}")]
        }
        7 => {
            let key = format!("amount_{tag}");
            chart["statechart"]["context"][&key] = json!("seven");
            chart["statechart"]["context_schema"] =
                json!({"type": "object", "properties": {key: {"type": "string"}}});
            ["context".to_owned(), format!("amount_{tag}")]
        }
        8 => {
            leaf(chart, path)["invoke"]["src"] = json!("human");
            ["another kind of call".to_owned(), format!("call_{tag}")]
        }
        9 => {
            leaf(chart, path)["invoke"]["each"] = json!("[1, 2]");
            ["`each`".to_owned(), format!("call_{tag}")]
        }
        10 => {
            let moved = leaf(chart, path)["invoke"].take();
            removed(leaf(chart, path), "invoke");
            chart["statechart"]["states"]["later"]["invoke"] = moved;
            ["not active".to_owned(), format!("call_{tag}")]
        }
        _ => return None,
    };
    Some(found)
}

#[test]
fn every_generated_pair_without_a_counterpart_is_refused_by_name() {
    let mut refused = 0;
    for shape in 0..SHAPES {
        for tag in TAGS {
            let (old, path) = base(shape, tag);
            let chart_before = chart(&old.to_string());
            let later = format!("LATER_{tag}");
            let snapshot = instance(&chart_before, &["NEXT", "GO", &later]);
            // The control: the chart itself, in another version, takes everything.
            let mut same = old.clone();
            same["statechart"]["version"] = json!("1.1.0");
            let kept = migrated(&chart_before, &chart(&same.to_string()), &snapshot, "").unwrap();
            for part in
                [format!("call_{tag}"), later, "after 24h".into(), format!("TICK_{tag}"), "first.past".into()]
            {
                assert!(kept.contains(&part), "{part} in {kept}");
            }
            for what in 0.. {
                let mut new = same.clone();
                let Some(words) = without(what, &mut new, &path, tag) else { break };
                let found = migrated(&chart_before, &chart(&new.to_string()), &snapshot, "");
                let Err(reasons) = found else { panic!("{words:?} was taken: {found:?}") };
                let is_named = |reason: &String| words.iter().all(|word| reason.contains(word));
                assert!(reasons.iter().any(is_named), "{words:?} in {reasons:?}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 100, "{refused} pairs");
}
