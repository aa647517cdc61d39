//! Files that rawko itself opens because a project names them: none of them is outside the project, and nothing is
//! written before the project is trusted.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::{SETTINGS, Tally, Yard};

/// The person's home, from the project.
const UP: &str = "../home";

pub(super) fn attempt(tally: &mut Tally) {
    records(tally);
    before_trust(tally);
    scripts(tally);
}

fn settings(record: &str) -> String {
    SETTINGS.replacen("{default: demo/x,", &format!("{{default: demo/x, record: '{record}',"), 1)
}

/// The text of models is appended to a file of the person.
fn records(tally: &mut Tally) {
    let calls = ["{name: Bash, input: {command: 'touch made.txt'}}".to_owned()];
    let new = |record: &str| {
        let yard = Yard::with_calls(&calls, &[]);
        let record = record.replace("HOME", &yard.home().display().to_string()).replace("UP", UP);
        yard.write(".rawko/config.yaml", &settings(&record));
        fs::write(yard.home().join(".bashrc"), "# mine\n").unwrap();
        yard
    };
    let own = new(".rawko/tapes/all.jsonl");
    own.trust().run(&["run", "probe.yaml"]);
    let again = own.run(&["run", "probe.yaml"]);
    let control = again.code == Some(0)
        && own.read(".rawko/tapes/all.jsonl").is_some_and(|text| text.lines().count() == 4);
    for record in [
        "UP/.bashrc",
        "HOME/.bashrc",
        "./UP/.bashrc",
        ".rawko/../UP/.bashrc",
        ".rawko/agents/worker.md",
        ".rawko/tapes/../config.jsonl",
        ".rawko/tapes/run.sh",
        ".git/hooks/pre-commit",
        "AGENTS.md",
        "made.jsonl",
        ".rawko/tapes/link.jsonl",
    ] {
        let yard = new(record);
        fs::create_dir(yard.root().join(".rawko/tapes")).unwrap();
        symlink(yard.home().join(".bashrc"), yard.root().join(".rawko/tapes/link.jsonl")).unwrap();
        let before = yard.read(".rawko/agents/worker.md");
        yard.trust().run(&["run", "probe.yaml"]);
        let held = fs::read_to_string(yard.home().join(".bashrc")).unwrap() == "# mine\n"
            && yard.read(".rawko/agents/worker.md") == before
            && !yard.has("made.jsonl")
            && !yard.has(".rawko/config.jsonl")
            && !yard.has(".rawko/tapes/run.sh")
            && !yard.has("AGENTS.md")
            && !yard.has(".git");
        tally.row(format!("a project records to {record}"), held, control);
    }
}

/// A project that was only looked at.
fn before_trust(tally: &mut Tally) {
    let own = Yard::with_calls(&[], &[(".rawko/config.yaml", &settings(".rawko/tapes/all.jsonl"))]);
    own.trust().run(&["run", "probe.yaml"]);
    let control = own.has(".rawko/tapes/all.jsonl");
    for args in [
        &["check", "."][..],
        &["doctor"],
        &["agents", "list"],
        &["agents", "check"],
        &["run", "probe.yaml"],
        &["task", "Go."],
        &["mcp"],
    ] {
        let yard = Yard::with_calls(&[], &[(".rawko/config.yaml", &settings(".rawko/tapes/all.jsonl"))]);
        yard.run(args);
        tally.row(
            format!("untrusted: rawko {}", args.join(" ")),
            !yard.has(".rawko/tapes/all.jsonl"),
            control,
        );
    }
}

/// A script or a tape that is a file of the person, or never ends.
fn scripts(tally: &mut Tally) {
    let new = |kind: &str, file: &str| {
        let text = SETTINGS.replacen(
            "kind: scripted, file: .rawko/script.yaml",
            &format!("kind: {kind}, file: '{file}'"),
            1,
        );
        let yard = Yard::with_calls(&[], &[(".rawko/config.yaml", &text.replace("UP", UP))]);
        fs::write(yard.home().join("secret"), "- T0PSECRET: [\n").unwrap();
        yard
    };
    let control = new("scripted", ".rawko/script.yaml").trust().run(&["run", "probe.yaml"]).code == Some(0);
    for kind in ["scripted", "replay"] {
        for file in ["UP/secret", "/dev/zero", "/dev/stdin", ".rawko/../UP/secret"] {
            let yard = new(kind, file);
            let check = yard.run(&["check", "."]);
            let run = yard.trust().run(&["run", "probe.yaml"]);
            let held = check.code == Some(52) && run.code == Some(52) && !run.says("T0PSECRET");
            tally.row(format!("a project names {file} as {kind}"), held, control);
        }
        let yard = new(kind, ".rawko/endless");
        symlink("/dev/zero", yard.root().join(".rawko/endless")).unwrap();
        let run = yard.run(&["check", "."]);
        tally.row(format!("an endless file as {kind}"), run.code.is_some(), control);
    }
}
