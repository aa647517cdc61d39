//! Checks sources: every file opens with a `//!` line, and files over the size limit may only shrink.

use std::collections::BTreeMap;
use std::fs;

use super::{code_lines, files, name};
use crate::run::root;

/// A longer file probably covers more than one subject.
const LINES_MAX: usize = 450;

#[test]
fn every_source_file_opens_with_what_lives_in_it() {
    let wrong: Vec<String> = ["crates", "xtask", "benches"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| name(&path))
        .collect();
    assert!(wrong.is_empty(), "no `//!` on the first line: {wrong:#?}");
}

/// A ratchet: `xtask/large-files.txt` lists the files over the limit with their length. They may shrink, not grow.
#[test]
fn large_files_only_shrink() {
    let list = fs::read_to_string(root().join("xtask/large-files.txt")).unwrap();
    let marks: BTreeMap<&str, usize> = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(' ').unwrap())
        .map(|(lines, file)| (file, lines.parse().unwrap()))
        .collect();
    let mut wrong = Vec::new();
    let sources: Vec<_> =
        ["crates", "xtask", "benches"].iter().flat_map(|folder| files(folder, ".rs")).collect();
    for path in &sources {
        let lines = fs::read_to_string(path).unwrap().lines().count();
        let file = name(path);
        let mark = marks.get(file.as_str()).copied().unwrap_or(LINES_MAX);
        if lines > mark {
            wrong.push(format!("{file}: {lines} lines, at most {mark}: split it by noun"));
        }
    }
    for (file, _) in marks {
        if !sources.iter().any(|path| name(path) == file) {
            wrong.push(format!("{file} is gone: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The repository must not contain machine-specific paths or addresses.
#[test]
fn no_path_or_registry_address_of_a_machine() {
    let needles = ["/root/", "/home/", "registry.npmjs", "static.crates.io", "index.crates.io", "deb.debian"];
    let wrong: Vec<String> = ["", ".ci"]
        .iter()
        .flat_map(|folder| {
            ["rs", "md", "toml", "yaml", "json", "js", "py", "mjs", "run", "txt"].map(|e| (*folder, e))
        })
        .flat_map(|(folder, ending)| files(folder, &format!(".{ending}")))
        .filter(|path| !path.ends_with("xtask/src/tidy/sources.rs"))
        .filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            let needle = needles.iter().find(|needle| text.contains(**needle))?;
            Some(format!("{}: {needle}", name(&path)))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Text of models, tools and files could steer a terminal: only the console and the log write to it, and both make text
/// printable first.
#[test]
fn only_the_console_and_the_log_write_to_the_terminal() {
    let writers = [
        "crates/rawko/src/console.rs",
        "crates/rawko-telemetry/src/logs.rs",
        // The output of the helper is a pipe to rawko, and its warnings are fixed texts.
        "crates/rawko-process/src/helper/init.rs",
        "crates/rawko-process/src/launch/warning.rs",
        // JSON to an editor.
        "crates/rawko/src/commands/lsp.rs",
        // Lines of a program, made printable.
        "crates/rawko-server/src/agents/process.rs",
        // Tests.
        "crates/rawko-tools/src/shell/lines.rs",
    ];
    // A question whether it is a terminal writes nothing.
    let is_writing = |line: &str| {
        ["stdout()", "stderr()", "print!(", "println!(", "eprint!(", "eprintln!("]
            .iter()
            .any(|needle| line.contains(needle))
            && !line.contains("is_terminal()")
            && !line.trim_start().starts_with("//")
    };
    let mut wrong = Vec::new();
    for path in files("crates", ".rs") {
        let file = name(&path);
        let is_tested = file.contains("/src/")
            && !file.starts_with("crates/rawko-testkit/")
            && !writers.contains(&file.as_str());
        let text = fs::read_to_string(&path).unwrap();
        let lines = code_lines(&text).into_iter().filter(|(_, line)| is_tested && is_writing(line));
        wrong.extend(lines.map(|(number, _)| format!("{file}:{number}")));
    }
    assert!(wrong.is_empty(), "write with the console: {wrong:#?}");
}

/// A process that is started elsewhere is not confined: only the launcher starts programs.
#[test]
fn processes_are_started_by_the_launcher() {
    // The demo runs this binary itself and a session the person's editor, in the foreground; the kit is for tests.
    let others = [
        "crates/rawko-process/src/",
        "crates/rawko/src/commands/demo.rs",
        "crates/rawko/src/session/external_editor.rs",
        "crates/rawko-testkit/",
    ];
    let words =
        ["process::Command", "Command::new(\"", "Command::new(std::env", ".spawn()?", "posix_spawn", "execv"];
    let mut wrong = Vec::new();
    for path in files("crates", ".rs") {
        let file = name(&path);
        if !file.contains("/src/") || others.iter().any(|start| file.starts_with(start)) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // Tests in a file may start what they like.
        for (number, line) in code_lines(&text) {
            let found = words.iter().filter(|word| line.contains(**word));
            wrong.extend(found.map(|word| format!("{file}:{number}: {word}")));
        }
    }
    assert!(wrong.is_empty(), "start a process without the launcher (`rawko_process::Launch`): {wrong:#?}");
}

/// A caller of `step` has its effects to interpret. Only the instance machine does; the others look at a step and perform
/// nothing.
#[test]
fn effects_are_interpreted_by_the_instance_machine_only() {
    let expected = [
        // Static checks: what a chart invokes at its start, and whether regions wait for each other.
        "crates/rawko-chart/src/check/recursion.rs",
        "crates/rawko-chart/src/check/region_cycles.rs",
        // The machine.
        "crates/rawko-instance/src/input/step.rs",
        "crates/rawko-instance/src/start.rs",
        // Events that a copy of the snapshot would take.
        "crates/rawko-sim/src/choices.rs",
        // Exploration. What follows without a driver comes from `rawko_instance::consequences`.
        "crates/rawko-verify/src/machine.rs",
        // Past steps again, with their traces.
        "crates/rawko-view/src/journal/traced.rs",
        "crates/rawko-view/src/offers.rs",
        // Past events on another chart, for their snapshots.
        "crates/rawko/src/commands/migrate/replay.rs",
    ];
    let names = ["step", "start", "step_traced", "start_traced"];
    let takes_steps = |text: &str| {
        // Tests in a file may take steps, and so may examples.
        let code = code_lines(text).into_iter().fold(String::new(), |code, (_, line)| {
            if line.trim_start().starts_with("//") { code } else { code + line + "\n" }
        });
        code.match_indices("rawko_core::").any(|(at, start)| {
            let rest = &code[at + start.len()..];
            let list = match rest.strip_prefix('{') {
                Some(rest) => rest.split(['}', ';']).next().unwrap_or_default(),
                None => {
                    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("")
                }
            };
            list.split([',', ' ', '\n']).any(|name| names.contains(&name))
        })
    };
    let found: Vec<String> = files("crates", ".rs")
        .iter()
        .filter(|path| name(path).contains("/src/") && !name(path).starts_with("crates/rawko-core/"))
        .filter(|path| takes_steps(&fs::read_to_string(path).unwrap()))
        .map(|path| name(path))
        .collect();
    let missing = expected.iter().filter(|file| !found.iter().any(|path| path == *file));
    let added = found.iter().filter(|file| !expected.contains(&file.as_str()));
    let wrong: Vec<String> = missing
        .map(|file| format!("{file} takes no step"))
        .chain(added.map(|file| format!("{file} takes steps: let an instance machine take them")))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names of services are built and taken apart in one place, `ServiceName` and `ServiceClass`; the table of the built-in
/// ones is `specs.rs`.
#[test]
fn names_of_services_are_known_to_the_registry_only() {
    let registry = [
        "crates/rawko-core/src/service.rs",
        "crates/rawko-agents/src/work/specs.rs",
        // Schemes of services that a program adds, and the kinds of programs in settings.
        "crates/rawko-host/src/services/table.rs",
        "crates/rawko-tools/src/settings.rs",
        // Importers write charts as text.
        "crates/rawko-import/",
    ];
    let families = ["agent", "tool", "work", "model", "checks", "git", "statechart", "channel"];
    let is_name = |line: &str| {
        // A name, not the key of a chart in YAML or an example in a help text.
        let at = |family: &&str| {
            line.match_indices(&format!("\"{family}:")).next().map(|(at, text)| at + text.len())
        };
        let is_code = !line.trim_start().starts_with("//") && !line.contains("\\\"");
        is_code && families.iter().filter_map(at).any(|end| !line[end..].starts_with([' ', '\\']))
    };
    // `name.split_once(':')` and `Some(("tool", tool)) =>`: the family as a word of its own.
    let subjects = ["name", "src", "call", "service", "handler"];
    let takes_apart = |line: &str| {
        let splits = subjects.iter().any(|subject| line.contains(&format!("{subject}.split_once(':')")));
        let pattern = line.split("=>").next().unwrap_or_default();
        let is_pattern = line.contains("=>") || line.contains("let Some(");
        let matches = families.iter().any(|family| pattern.contains(&format!("Some((\"{family}\",")));
        splits || (is_pattern && matches)
    };
    assert!(takes_apart("Some((\"tool\", tool)) => 1,") && takes_apart("    match name.split_once(':') {"));
    assert!(!takes_apart("_ => Some((\"tool\", name.to_owned())),") && !takes_apart("line.split_once(':')"));
    let mut wrong = Vec::new();
    for path in files("crates/rawko-server/page", ".js") {
        let text = fs::read_to_string(&path).unwrap();
        let is_prefix = |line: &str| families.iter().any(|family| line.contains(&format!("'{family}:'")));
        let lines = text.lines().enumerate().filter(|(_, line)| is_prefix(line));
        wrong.extend(lines.map(|(number, line)| format!("{}:{}: {}", name(&path), number + 1, line.trim())));
    }
    for path in files("crates", ".rs") {
        let file = name(&path);
        if !file.contains("/src/")
            || file.contains("tests")
            || registry.iter().any(|start| file.starts_with(start))
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = code_lines(&text).into_iter().filter(|(_, line)| is_name(line) || takes_apart(line));
        wrong.extend(lines.map(|(number, line)| format!("{file}:{number}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "use `ServiceClass` and `ServiceName`: {wrong:#?}");
}
