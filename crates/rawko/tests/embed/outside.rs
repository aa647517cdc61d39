//! A Rust project outside of the workspace, under thirty lines, that runs an agent workflow with a typed service. Building
//! all of rawko for it takes minutes, so `cargo xtask nightly outside` does; the default suite runs the same text as a
//! module of this test. The same holds for the packages of the workspace: here they are packed, each night also built.

use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = include_str!("program.txt");

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn cargo_toml() -> String {
    format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         rawko = {{ path = {:?}, default-features = false }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\
         serde_json = \"1\"\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n",
        here("")
    )
}

/// The program itself, built against the same interface.
#[allow(dead_code, clippy::print_stdout)]
mod program {
    include!("program.txt");

    #[tokio::test]
    async fn the_program_runs_an_agent_workflow_with_a_typed_service() {
        let project = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embed/project");
        assert_eq!(run(project).await.unwrap(), "https://example.test/hello");
    }
}

#[test]
fn the_program_is_short() {
    assert!(PROGRAM.lines().count() < 30, "{} lines", PROGRAM.lines().count());
}

#[test]
fn every_crate_can_be_packaged() {
    let target = tempfile::tempdir().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["package", "--workspace", "--quiet", "--allow-dirty"]).current_dir(here("../.."));
    if std::env::var_os("RAWKO_OUTSIDE").is_none() {
        cargo.args(["--no-verify", "--offline"]);
    }
    let output = cargo.arg("--target-dir").arg(target.path()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let packed = std::fs::read_dir(target.path().join("package")).unwrap().filter_map(Result::ok);
    let packed = packed.filter(|file| file.path().extension().is_some_and(|end| end == "crate")).count();
    let crates = std::fs::read_dir(here("..")).unwrap().count();
    assert!(packed >= crates, "{packed} of {crates}: {errors}");
}

#[test]
fn an_outside_project_runs_an_agent_workflow_with_a_typed_service() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    std::fs::write(dir.path().join("Cargo.toml"), cargo_toml()).unwrap();
    std::fs::write(dir.path().join("src/main.rs"), PROGRAM).unwrap();
    // The versions that this workspace is tested with.
    std::fs::copy(here("../../Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();
    if std::env::var_os("RAWKO_OUTSIDE").is_none() {
        // Its dependencies resolve with the versions of this workspace; the program itself runs as a module above.
        let metadata = ["metadata", "--quiet", "--format-version", "1"];
        let resolved = Command::new(env!("CARGO")).args(metadata).current_dir(dir.path()).output().unwrap();
        assert!(resolved.status.success(), "{}", String::from_utf8_lossy(&resolved.stderr));
        return;
    }
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--"])
        .arg(here("tests/embed/project"))
        .current_dir(dir.path())
        .env("CARGO_TARGET_DIR", here("../../target/outside"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "https://example.test/hello\n", "{errors}");
    println!("outside: a program of {} lines printed its URL", PROGRAM.lines().count());
}
