//! Two lists of command lines under a rule that denies a command: other ways to run it, all of which must be denied,
//! and ordinary lines, none of which may.

use std::fs;
use std::path::Path;

use rawko_core::Value;

use super::{Party, PermissionEffect, Permissions, Roots, judge};

const EVASIONS: &str = include_str!("../../tests/lines/evasions.txt");
const HARMLESS: &str = include_str!("../../tests/lines/harmless.txt");

fn lines(text: &'static str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| line.replace("\\n", "\n"))
}

/// Returns the lines of a list with this effect.
fn of_effect(text: &'static str, root: &Path, effect: PermissionEffect) -> Vec<String> {
    let deny = vec!["Bash(touch:*)".to_owned()];
    let rules =
        [Permissions { party: Party::Project, file: "config.yaml".into(), deny, ..Permissions::default() }];
    let roots = Roots { project: root.to_owned(), home: None };
    let decided = |line: &String| {
        let input = Value::map([("command", Value::str(line))]);
        judge(&rules, "Bash", &input, &roots, None)
    };
    let all = lines(text).map(|line| (decided(&line), line)).filter(|(judged, _)| judged.effect == effect);
    all.map(|(judged, line)| format!("{line:?} {}", judged.rule)).collect()
}

#[test]
fn a_denied_command_does_not_run_by_other_means_and_others_do() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    write("bad.sh", "#!/bin/sh\ntouch x\n");
    write("good.sh", "#!/bin/sh\nls\n");
    write("bad.py", "import subprocess\nsubprocess.run(['touch', 'x'])\n");
    write("good.py", "print('touch')\n");
    write("open.txt", "text\n");
    fs::create_dir(root.join("src")).unwrap();
    fs::copy("/usr/bin/touch", root.join("copy")).unwrap();
    std::os::unix::fs::symlink("/usr/bin/touch", root.join("link")).unwrap();
    std::os::unix::fs::symlink("/usr/bin", root.join("linked")).unwrap();
    let (tried, ran) = (lines(EVASIONS).count(), of_effect(EVASIONS, &root, PermissionEffect::Allow));
    let denied = of_effect(HARMLESS, &root, PermissionEffect::Deny);
    assert!(
        ran.is_empty() && denied.is_empty(),
        "ran:\n{}\n\ndenied:\n{}",
        ran.join("\n"),
        denied.join("\n")
    );
    assert!(tried >= 250, "{tried}");
}
