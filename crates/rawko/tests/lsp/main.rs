//! `rawko lsp` with the official client library: findings while typing, completion, hover, definitions, rename, symbols
//! and drawings; and the VS Code extension, built to a package.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod extension;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod support;

use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use support::{RAWKO, command, directory, repository, run};

pub(crate) const TOOLS: &str = "target/tools/lsp";

const ORDER: &str = "\
statechart:
  id: order
  version: 1.0.0
  initial: open
  states:
    open:
      description: 😀
      on: {PAY: {target: paying, guard: \"not stateIn('paid')\"}}
    paying:
      invoke: {src: 'statechart:parcel', onDone: paid, onError: open}
    paid: {type: final}
  properties:
    order_is_kept: {never: \"in('paid') and in('open')\"}
";
const PARCEL: &str =
    "statechart: {id: parcel, version: 1.0.0, initial: a, states: {a: {on: {GO: b}}, b: {type: final}}}\n";

fn project() -> tempfile::TempDir {
    directory(&[
        (".rawko/config.yaml", "services: {}\n"),
        (".rawko/charts/order.yaml", ORDER),
        (".rawko/charts/parcel.yaml", PARCEL),
        (".rawko/agents/writer.md", "---\nname: writer\ndescription: Writes.\n---\nWrite.\n"),
    ])
}

/// Plays steps in an editor and returns the results; the server must exit in order.
fn play(dir: &Path, steps: &Json) -> Vec<Json> {
    let tools = repository().join(TOOLS);
    assert!(
        tools.join("node_modules").exists(),
        "run `cargo xtask tools` first: {} is missing",
        tools.display()
    );
    let mut node = Command::new("node");
    node.arg(repository().join("tests/tools/lsp/client.mjs"))
        .arg(tools)
        .arg(RAWKO)
        .arg(dir)
        .arg(steps.to_string());
    for (name, value) in command(dir, &[]).get_envs() {
        match value {
            Some(value) => node.env(name, value),
            None => node.env_remove(name),
        };
    }
    let output = node.current_dir(dir).output().unwrap();
    let (text, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let mut played: Json =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{stderr}"));
    assert_eq!(played["exit"], 0, "{stderr}");
    serde_json::from_value(played["results"].take()).unwrap()
}

/// Returns the position of a part of a text, in lines and UTF-16 code units.
fn place(text: &str, part: &str) -> Json {
    let before = &text[..text.find(part).unwrap_or_else(|| panic!("no `{part}` in {text}"))];
    let line = before.rsplit('\n').next().unwrap();
    json!({"line": before.matches('\n').count(), "character": line.encode_utf16().count()})
}

fn request(method: &str, file: &str, params: &Json) -> Json {
    json!({"request": method, "file": file, "params": params})
}

fn codes(diagnostics: &Json) -> Vec<&str> {
    diagnostics.as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect()
}

#[test]
fn findings_of_check_arrive_while_one_types() {
    let dir = project();
    let (file, broken) = (".rawko/charts/order.yaml", ORDER.replace("target: paying", "target: payin"));
    let at = place(ORDER, "paying, guard");
    let end = json!({"line": at["line"], "character": at["character"].as_u64().unwrap() + 6});
    let same = json!({"range": {"start": at, "end": end}, "text": "payin"});
    let steps = json!([
        {"open": file, "text": ORDER},
        {"change": file, "edits": [{"text": ORDER.replace("PAY", "P")}], "wait": false},
        {"change": file, "edits": [{"text": ORDER}], "wait": false},
        {"change": file, "edits": [same]},
        {"open": "order.json", "text": "{\"statechart\": {\"id\": \"o\", \"initial\": \"x\", \"states\": {\"a\": {}}}}"},
        {"open": "compose.yaml", "text": "services:\n  db: {image: x}\n"},
        {"open": "list.yaml", "text": "- a\n- b\n"},
        request("textDocument/completion", "list.yaml", &json!({"position": {"line": 2, "character": 0}})),
    ]);
    let results = play(dir.path(), &steps);
    assert_eq!(results[0], json!([]), "the chart has no problems");
    let found = &results[3][0];
    assert_eq!(found["code"], "rawko::chart::unknown_target", "{:#}", results[3]);
    assert!(found["message"].as_str().unwrap().contains("did you mean `paying`?"), "{found:#}");
    assert_eq!((&found["range"]["start"], &found["severity"]), (&at, &json!(1)), "{found:#}");
    assert_eq!(codes(&results[4]), ["rawko::chart::unknown_initial"]);
    assert_eq!((&results[5], &results[6]), (&json!([]), &json!([])), "files that are not rawko's");
    assert!(
        results[7]["result"].to_string().contains("\"statechart\""),
        "it may become a chart: {:#}",
        results[7]
    );

    // The same findings as on the command line.
    std::fs::write(dir.path().join(file), broken).unwrap();
    let checked: Json =
        serde_json::from_str(&run(dir.path(), &["check", file, "--json"], "").stdout).unwrap();
    let expected: Vec<&str> =
        checked["findings"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap()).collect();
    assert_eq!(codes(&results[3]), expected);
}

#[test]
fn settings_and_agents_are_checked_as_they_are_typed() {
    let dir = project();
    let steps = json!([
        {"open": ".rawko/config.yaml", "text": "services: {}\nphases: {build: {tool: [Read]}}\n"},
        {"open": ".rawko/agents/writer.md", "text": "---\nname: writer\ndescription: Writes.\nmodle: x\n---\nWrite.\n"},
        {"open": ".rawko/registry.yaml", "text": "machine_registry:\n  - {id: order}\n"},
    ]);
    let results = play(dir.path(), &steps);
    for (number, part) in [(0, "tool"), (1, "modle"), (2, "version")] {
        let found = &results[number];
        assert!(
            !found.as_array().unwrap().is_empty() && found.to_string().contains(part),
            "{number}: {found:#}"
        );
    }
}

#[test]
fn an_editor_completes_explains_and_follows_names() {
    let dir = project();
    let file = ".rawko/charts/order.yaml";
    let typed = ORDER.replace("target: paying", "target: pa");
    let at = |text: &str, part: &str, more: u64| {
        let mut at = place(text, part);
        at["character"] = json!(at["character"].as_u64().unwrap() + more);
        json!({"position": at})
    };
    let steps = json!([
        {"open": file, "text": typed},
        request("textDocument/completion", file, &at(&typed, "target: pa", 10)),
        {"change": file, "edits": [{"text": ORDER}]},
        request("textDocument/hover", file, &at(ORDER, "initial", 2)),
        request("textDocument/definition", file, &at(ORDER, "paid'", 1)),
        request("textDocument/definition", file, &at(ORDER, "statechart:parcel", 13)),
        request("textDocument/documentSymbol", file, &json!({})),
        request("textDocument/references", file, &json!({"position": place(ORDER, "open:"), "context": {"includeDeclaration": true}})),
        request("rawko/drawing", file, &json!({"theme": "dark"})),
        request("textDocument/formatting", file, &json!({})),
        request("textDocument/hover", "other.yaml", &at(ORDER, "initial", 2)),
    ]);
    let results = play(dir.path(), &steps);
    let items = results[1]["result"].as_array().unwrap();
    let labels: Vec<&str> = items.iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["paying", "paid"]);
    assert_eq!(items[0]["textEdit"]["range"]["start"], at(&typed, "target: pa", 8)["position"]);
    let hover = results[3]["result"]["contents"]["value"].as_str().unwrap();
    assert!(hover.contains("**initial**") && hover.contains("starts in"), "{hover}");
    let definition = &results[4]["result"];
    assert_eq!(definition["range"]["start"], place(ORDER, "paid: {type"), "{definition:#}");
    let parcel = &results[5]["result"];
    assert!(parcel["uri"].as_str().unwrap().ends_with("/.rawko/charts/parcel.yaml"), "{parcel:#}");
    assert_eq!(parcel["range"]["start"], place(PARCEL, "parcel"), "{parcel:#}");
    let chart = &results[6]["result"][0];
    let names: Vec<&str> =
        chart["children"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!((chart["name"].as_str().unwrap(), names), ("order", vec!["open", "paying", "paid"]));
    assert_eq!(results[7]["result"].as_array().unwrap().len(), 4, "{:#}", results[7]);
    let svg = results[8]["result"]["svg"].as_str().unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("paying"), "{svg}");
    assert_eq!(results[9]["error"]["code"], -32601, "an unknown method");
    assert_eq!(results[10]["error"]["code"], -32602, "a document that is not open");
}

#[test]
fn a_state_is_renamed_in_targets_guards_and_properties() {
    let dir = project();
    let file = ".rawko/charts/order.yaml";
    let position = place(ORDER, "paid: {type");
    let rename =
        |name: &str| request("textDocument/rename", file, &json!({"position": position, "newName": name}));
    let steps = json!([
        {"open": file, "text": ORDER},
        request("textDocument/prepareRename", file, &json!({"position": position})),
        rename("settled"),
        rename("open"),
        rename("not valid"),
    ]);
    let results = play(dir.path(), &steps);
    assert_eq!(results[1]["result"]["placeholder"], "paid");
    let edits =
        results[2]["result"]["changes"].as_object().unwrap().values().next().unwrap().as_array().unwrap();
    let mut lines: Vec<Vec<u16>> = ORDER.split('\n').map(|line| line.encode_utf16().collect()).collect();
    for edit in edits.iter().rev() {
        let at = |end: &str, key: &str| edit["range"][end][key].as_u64().unwrap() as usize;
        let new: Vec<u16> = edit["newText"].as_str().unwrap().encode_utf16().collect();
        lines[at("start", "line")].splice(at("start", "character")..at("end", "character"), new);
    }
    let renamed: Vec<String> = lines.iter().map(|line| String::from_utf16(line).unwrap()).collect();
    assert_eq!(renamed.join("\n"), ORDER.replace("paid", "settled"));
    for (result, reason) in [(&results[3], "open"), (&results[4], "letters")] {
        assert!(result["error"]["message"].as_str().unwrap().contains(reason), "{result:#}");
    }
}

#[test]
fn an_editor_that_goes_away_ends_the_server() {
    let dir = project();
    let left = run(dir.path(), &["lsp"], "");
    assert_eq!(left.code, Some(1), "{left:?}");
    let nonsense = run(dir.path(), &["lsp"], "Content-Length: x\r\n\r\n");
    assert_eq!(nonsense.code, Some(1));
    assert!(nonsense.stderr.contains("Content-Length"), "{}", nonsense.stderr);
}
