//! The READMEs of the packages show the examples that the tests run, and the packages hold the listed files.

use std::fs;

use std::process::Command;

use crate::support::{Language, finish, repository};

#[test]
fn the_readmes_show_the_examples() {
    for (readme, example) in [
        ("sdks/python/README.md", "sdks/python/examples/article.py"),
        ("sdks/typescript/README.md", "sdks/typescript/examples/article.mjs"),
    ] {
        let text = fs::read_to_string(repository().join(readme)).unwrap();
        let example = fs::read_to_string(repository().join(example)).unwrap();
        assert!(text.contains(&example), "{readme} does not show the example as it is");
    }
}

#[test]
fn the_packages_have_the_version_of_the_workspace() {
    let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    let python = fs::read_to_string(repository().join("sdks/python/pyproject.toml")).unwrap();
    assert!(python.contains(&format!("version = {version}\n")), "{python}");
    let node = fs::read_to_string(repository().join("sdks/typescript/package.json")).unwrap();
    assert!(node.contains(&format!("\"version\": {version},")), "{node}");
}

/// `npm pack` packs the same files as ours.
#[test]
fn the_tarball_holds_what_npm_would_pack() {
    let folder = repository().join("sdks/typescript");
    let listed = finish(Command::new("npm").args(["pack", "--dry-run", "--json"]).current_dir(&folder));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let files = listed[0]["files"].as_array().unwrap();
    let files: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    for expected in ["package.json", "README.md", "src/index.js", "src/index.d.ts", "src/types.d.ts"] {
        assert!(files.contains(&expected), "{files:?}");
    }
    assert!(!files.iter().any(|file| file.starts_with("examples")), "{files:?}");
}

/// The compiler accepts correct code and finds each mistake, with nothing but the package installed.
#[test]
fn the_types_of_the_package_hold() {
    const OPTIONS: &str = r#"{"compilerOptions": {"noEmit": true, "strict": true, "target": "es2022", "types": [],
        "module": "nodenext", "moduleResolution": "nodenext", "lib": ["es2022", "dom"]}, "files": ["types.mts"]}"#;
    let compiler = repository().join("target/tools/node/node_modules/typescript/bin/tsc");
    assert!(compiler.exists(), "`cargo xtask tools` installs TypeScript");
    let home = Language::Node.environment();
    let script = repository().join("crates/rawko/tests/sdks/types.ts");
    fs::copy(script, home.join("types.mts")).unwrap();
    fs::write(home.join("tsconfig.json"), OPTIONS).unwrap();
    finish(Command::new("node").arg(compiler).args(["-p", "."]).current_dir(home));
}
