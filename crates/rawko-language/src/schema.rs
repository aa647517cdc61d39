//! Keys, values and descriptions that a JSON Schema has for a path. Separate from suggestions, which add names.

use serde_json::Value;

/// Items of lists in a path.
pub(crate) const ITEM: &str = "[]";

/// Follows references and alternatives to the nodes that describe an object, a list or a value.
fn spread<'s>(schema: &'s Value, node: &'s Value, found: &mut Vec<&'s Value>) {
    if !node.is_object() || found.iter().any(|known| std::ptr::eq(*known, node)) {
        return;
    }
    found.push(node);
    if let Some(reference) =
        node["$ref"].as_str().and_then(|path| schema.pointer(path.trim_start_matches('#')))
    {
        spread(schema, reference, found);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for option in node[key].as_array().into_iter().flatten() {
            spread(schema, option, found);
        }
    }
    spread(schema, &node["then"], found);
    spread(schema, &node["else"], found);
}

/// Returns the nodes that describe the value at a path.
fn nodes_at<'s>(schema: &'s Value, path: &[String]) -> Vec<&'s Value> {
    let mut nodes = Vec::new();
    spread(schema, schema, &mut nodes);
    for key in path {
        let mut next = Vec::new();
        for node in nodes {
            let own = &node["properties"][key];
            let inner = match key.as_str() {
                ITEM => &node["items"],
                _ if own.is_null() => &node["additionalProperties"],
                _ => own,
            };
            spread(schema, inner, &mut next);
        }
        nodes = next;
    }
    nodes
}

/// Returns the keys that a map at a path may have, with their descriptions.
pub(crate) fn keys_at<'s>(schema: &'s Value, path: &[String]) -> Vec<(&'s str, &'s str)> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for node in nodes_at(schema, path) {
        for (key, it) in node["properties"].as_object().into_iter().flatten().filter(|(_, it)| it.is_object())
        {
            let about = it["description"].as_str().unwrap_or_default();
            match keys.iter_mut().find(|(known, _)| *known == key) {
                Some(known) if known.1.is_empty() => known.1 = about,
                Some(_) => {}
                None => keys.push((key, about)),
            }
        }
    }
    keys
}

/// Returns the values that a path may have, where they can be listed.
pub(crate) fn values_at(schema: &Value, path: &[String]) -> Vec<(String, String)> {
    let mut values: Vec<(String, String)> = Vec::new();
    let mut add = |value: String, about: &str| {
        if !values.iter().any(|(known, _)| *known == value) {
            values.push((value, about.to_owned()));
        }
    };
    for node in nodes_at(schema, path) {
        for value in node["enum"].as_array().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            add(text, node["description"].as_str().unwrap_or_default());
        }
        if node["type"] == "boolean" {
            ["true", "false"].into_iter().for_each(|value| add(value.to_owned(), ""));
        }
    }
    values
}

/// Returns the description of the key at the end of a path.
pub(crate) fn description_at<'s>(schema: &'s Value, path: &[String]) -> Option<&'s str> {
    let (key, above) = path.split_last()?;
    let mut nodes = nodes_at(schema, above).into_iter();
    nodes.find_map(|node| node["properties"][key]["description"].as_str().filter(|text| !text.is_empty()))
}
