//! The packages of a release, installed from local files into empty folders without Rust on the path; each runs the demo.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value as Json;
use tempfile::TempDir;

/// Returns the folder with all packages, written once around the binary under test.
fn packages() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/build.py");
        let binary = env!("CARGO_BIN_EXE_rawko");
        let mut build = Command::new("python3");
        build.arg(script).args(["--level", "1", "--binary", binary, "--out"]).arg(&out);
        finish(&mut build);
        out
    })
}

/// Returns the one package with this ending.
fn package(ending: &str) -> String {
    let entries = fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{ending}: {found:?}");
    found[0].to_str().unwrap().to_owned()
}

/// Runs a command to its end and returns its output; panics if it fails.
fn finish(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

/// A machine of a newcomer: an empty home, and no folder on the path that holds Rust.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a line of shell with `bin` first on the path and returns its output.
    fn shell(&self, bin: &str, line: &str) -> String {
        let path = std::env::var_os("PATH").unwrap();
        let has_rust = |folder: &Path| ["cargo", "rustc"].iter().any(|name| folder.join(name).exists());
        let kept = std::env::split_paths(&path).filter(|folder| !has_rust(folder));
        let folders = std::iter::once(PathBuf::from(self.path(bin))).chain(kept);
        let mut command = Command::new("/bin/sh");
        command.args(["-euc", line]).current_dir(self.0.path()).env_clear();
        command.env("PATH", std::env::join_paths(folders).unwrap()).env("HOME", self.path("home"));
        finish(&mut command)
    }

    /// Runs the demo of the program that was installed into `bin`.
    fn demo(&self, bin: &str) {
        let found = self.shell(bin, "command -v cargo || command -v rustc || command -v rawko");
        assert_eq!(found.trim(), self.path(&format!("{bin}/rawko")));
        assert_demo(&self.shell(bin, "rawko demo slugs"));
    }
}

fn assert_demo(printed: &str) {
    assert!(printed.contains("complete  after 6 iterations: Approved."), "{printed}");
    assert_eq!(printed.lines().last(), Some("To start with your own project and model: rawko init"));
}

#[test]
fn the_tarball_installs_replaces_and_removes() {
    let machine = Machine::new();
    let line = format!("tar -xzf {} && rawko-*/install.sh", package(".tar.gz"));
    let printed = machine.shell("nothing", &line);
    assert!(printed.contains("next: add "), "{printed}");
    machine.demo("home/.local/bin");
    let again = machine.shell("home/.local/bin", "rawko-*/install.sh");
    assert!(again.ends_with("next: rawko demo\n"), "{again}");
    machine.shell("nothing", "rawko-*/install.sh --uninstall; ! test -e home/.local/bin/rawko");
}

#[test]
fn npx_runs_the_demo_of_the_npm_package() {
    let machine = Machine::new();
    let line = format!("npx --yes --offline --package={} rawko demo slugs", package(".tgz"));
    assert_demo(&machine.shell("nothing", &line));
}

#[test]
fn pip_installs_the_wheel() {
    let machine = Machine::new();
    let pip = "venv/bin/pip install --quiet --no-index --disable-pip-version-check";
    machine.shell("nothing", &format!("python3 -m venv venv && {pip} {}", package(".whl")));
    machine.demo("venv/bin");
    // The list of installed files is right: all of them can be found and removed.
    machine.shell("nothing", "venv/bin/pip uninstall --quiet --yes rawko; ! test -e venv/bin/rawko");
}

/// Into a root of its own, whose database knows no other package: hence `--force-depends`.
#[test]
fn dpkg_installs_the_debian_package() {
    let machine = Machine::new();
    let database = "root/var/lib/dpkg";
    let line = format!(
        "PATH=$PATH:/usr/sbin:/sbin; mkdir -p {database}/info {database}/updates; touch {database}/status; \
         dpkg --root=$PWD/root --log=$PWD/log --force-not-root --force-bad-path --force-depends -i {} 2>&1",
        package(".deb")
    );
    machine.shell("nothing", &line);
    machine.demo("root/usr/bin");
    let fields = machine.shell("nothing", &format!("dpkg-deb --field {}", package(".deb")));
    assert!(fields.contains("Depends: libc6 (>= 2."), "{fields}");
}

/// Most licences ask that a copy carries their text.
#[test]
fn every_package_carries_the_licences_of_its_crates() {
    let machine = Machine::new();
    let listings = [
        ("tar -tzf", ".tar.gz"),
        ("tar -tzf", ".tgz"),
        ("python3 -m zipfile -l", ".whl"),
        ("dpkg-deb --contents", ".deb"),
    ];
    for (list, ending) in listings {
        let listed = machine.shell("nothing", &format!("{list} {}", package(ending)));
        assert!(listed.contains("/THIRD-PARTY.txt"), "{ending}: {listed}");
    }
    let line = format!("tar -xzOf {} --wildcards '*/THIRD-PARTY.txt'", package(".tar.gz"));
    let texts = machine.shell("nothing", &line);
    for name in ["tokio@1.", "ring@0.", "serde_json@1.", "Permission is hereby granted"] {
        assert!(texts.contains(name), "{name}");
    }
    assert!(!texts.contains("rawko-core"));
}

#[test]
fn checksums_and_bill_of_materials_cover_what_is_shipped() {
    let machine = Machine::new();
    let sums = machine.shell("nothing", &format!("cd {} && sha256sum -c SHA256SUMS", packages().display()));
    for ending in [".tar.gz", ".tgz", ".whl", ".deb", ".rb", ".cdx.json"] {
        assert!(sums.contains(&format!("{ending}: OK")), "{ending} in {sums}");
    }
    let bill: Json = serde_json::from_str(&fs::read_to_string(package(".cdx.json")).unwrap()).unwrap();
    let components = bill["components"].as_array().unwrap();
    let names: Vec<&str> = components.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    for name in ["rawko-core", "rawko-restate", "serde_json", "tokio"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    // Crates of tests are not in the binary.
    assert!(!names.contains(&"rawko-testkit") && !names.contains(&"vt100"), "{names:?}");
    let unlicensed = components.iter().filter(|entry| entry["licenses"].is_null());
    assert_eq!(unlicensed.count(), 0);
    let formula = fs::read_to_string(package("rawko.rb")).unwrap();
    let listed = fs::read_to_string(packages().join("SHA256SUMS")).unwrap();
    let sum = listed.lines().find(|line| line.ends_with(".tar.gz")).unwrap().split(' ').next().unwrap();
    assert!(formula.contains(&format!("sha256 \"{sum}\"")), "{formula}");
}
