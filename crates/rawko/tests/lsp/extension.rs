//! The VS Code extension: it builds to a package without a network, and the package has what the editor needs.

use std::process::Command;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::TOOLS;
use crate::support::{RAWKO, repository};

#[test]
fn the_extension_builds_to_a_package() {
    let dir = TempDir::new().unwrap();
    let package = dir.path().join("rawko.vsix");
    let built = Command::new("node")
        .arg(repository().join("editors/vscode/build.mjs"))
        .arg(repository().join(TOOLS))
        .arg(&package)
        .arg(RAWKO)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&built.stdout),
        String::from_utf8_lossy(&built.stderr)
    );
    let unpacked = dir.path().join("unpacked");
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    let status = Command::new("python3").args(["-c", script]).arg(&package).arg(&unpacked).status().unwrap();
    assert!(status.success());
    for file in
        ["extension.vsixmanifest", "[Content_Types].xml", "extension/package.json", "extension/readme.md"]
    {
        assert!(unpacked.join(file).exists(), "{file}");
    }
    let manifest: Json =
        serde_json::from_str(&std::fs::read_to_string(unpacked.join("extension/package.json")).unwrap())
            .unwrap();
    let entry = unpacked.join("extension").join(manifest["main"].as_str().unwrap());
    assert!(entry.exists(), "{}", entry.display());
    let schema = manifest["contributes"]["yamlValidation"][0]["url"].as_str().unwrap();
    let schema = std::fs::read_to_string(unpacked.join("extension").join(schema)).unwrap();
    assert_eq!(
        serde_json::from_str::<Json>(&schema).unwrap(),
        rawko_chart_schema(),
        "the schema is that of `rawko schema`"
    );

    // The bundle loads with a stand-in for the editor's own module, starts the server and registers its command.
    let loaded = Command::new("node")
        .arg(repository().join("tests/tools/lsp/extension.mjs"))
        .arg(&entry)
        .arg(RAWKO)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&loaded.stdout);
    assert!(loaded.status.success(), "{text}\n{}", String::from_utf8_lossy(&loaded.stderr));
    let loaded: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(loaded, json!({"commands": ["rawko.showDrawing", "rawko.restart"], "messages": []}));
}

/// Returns the schema that the binary prints.
fn rawko_chart_schema() -> Json {
    let output = Command::new(RAWKO).arg("schema").output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
