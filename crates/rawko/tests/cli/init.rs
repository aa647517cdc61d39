//! `rawko init`: the written files are valid, no file is ever overwritten, and the settings fit the project.

use std::fs;
use std::path::Path;

use expect_test::{expect, expect_file};
use rawko_testkit::{ModelAnswer, ProviderServer, ReceivedRequest, anthropic};

use crate::pty::Pty;
use crate::support::{Run, command, directory, played, repository, run, transcript};

/// Runs with an API key in the environment. The key is never used.
fn with_key(dir: &Path, args: &[&str], key: &str) -> Run {
    let output = without_keys(dir, args).env(key, "not-a-key").output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn without_keys(dir: &Path, args: &[&str]) -> std::process::Command {
    let mut command = command(dir, args);
    for provider in ["ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "ZAI", "OPENROUTER"] {
        command.env_remove(format!("{provider}_API_KEY"));
    }
    command
}

fn files_below(dir: &Path, from: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files_below(dir, &path));
        } else {
            all.push(path.strip_prefix(dir).unwrap().display().to_string());
        }
    }
    all.sort();
    all
}

#[test]
fn a_new_project_is_written_and_sound() {
    let dir = directory(&[("test_sums.py", "import unittest\n")]);
    let written = with_key(dir.path(), &["init"], "ANTHROPIC_API_KEY");
    expect![[r#"
        wrote  .rawko/config.yaml
        wrote  .rawko/README.md
        wrote  .rawko/agents/planner.md
        wrote  .rawko/agents/developer.md
        wrote  .rawko/agents/tester.md
        wrote  .rawko/agents/reviewer.md
        wrote  .rawko/charts/review.yaml
        wrote  .rawko/charts/review.scenario.yaml
        wrote  .rawko/.gitignore
    "#]]
    .assert_eq(&written.stdout);
    expect![[r#"
        next: rawko doctor, then rawko task "…"
    "#]]
    .assert_eq(&written.stderr);
    assert_eq!(written.code, Some(0));

    expect![[r#"
        $ rawko check .
        1 chart, no problems found
        $ rawko test
        .rawko/charts/review.scenario.yaml
          ok      checks and reviewer agree
          ok      the reviewer asks for changes
          ok      no review if the checks fail
          ok      the checks cannot be run
          ok      the reviewer fails

        coverage of .rawko/charts/review.yaml: 100% (5 of 5 states, 6 of 6 transitions)

        5 scenarios: 5 passed
    "#]]
    .assert_eq(&played(dir.path(), &["check .", "test"]));
    let agents = with_key(dir.path(), &["agents", "check"], "ANTHROPIC_API_KEY");
    expect![[r#"
        ok      agent builder: asks claude-sonnet-4-5
        ok      agent developer: asks claude-sonnet-4-5
        ok      agent explorer: asks claude-sonnet-4-5
        ok      agent planner: asks claude-sonnet-4-5
        ok      agent reviewer: asks claude-sonnet-4-5
        ok      agent tester: asks claude-sonnet-4-5
    "#]]
    .assert_eq(&agents.stdout);
    assert_eq!((agents.code, agents.stderr.as_str()), (Some(0), ""));
    let asked = command(dir.path(), &["doctor"]).env_remove("ANTHROPIC_API_KEY").output().unwrap();
    let asked = String::from_utf8(asked.stdout).unwrap();
    assert!(asked.contains("problem  model") && asked.contains("set ANTHROPIC_API_KEY"), "{asked}");
    let doctor = run(dir.path(), &["doctor", "--offline"], "");
    assert_eq!((doctor.code, doctor.stderr.as_str()), (Some(0), ""));
    assert!(doctor.stdout.lines().all(|line| line.starts_with("ok ")), "{}", doctor.stdout);
}

/// The golden of the settings as written; the other files are identical to those in the repository.
#[test]
fn the_settings_of_a_python_project() {
    let dir = directory(&[("tests/test_sums.py", "import unittest\n")]);
    with_key(dir.path(), &["init"], "OPENAI_API_KEY");
    let settings = fs::read_to_string(dir.path().join(".rawko/config.yaml")).unwrap();
    expect_file!["golden/init_config.yaml"].assert_eq(&settings);
}

#[test]
fn settings_fit_what_is_there() {
    struct Case {
        name: &'static str,
        file: (&'static str, &'static str),
        key: &'static str,
        says: &'static [&'static str],
    }
    let table = [
        Case {
            name: "a cargo workspace",
            file: ("Cargo.toml", "[workspace]\n"),
            key: "ANTHROPIC_API_KEY",
            says: &["default: anthropic/", "\"cargo\", \"test\"", "format: cargo, timeout: 30m"],
        },
        Case {
            name: "npm's own test runner",
            file: ("package.json", r#"{"scripts": {"test": "node --test"}}"#),
            key: "GEMINI_API_KEY",
            says: &["default: gemini/", "\"--test-reporter=tap\"], format: tap"],
        },
        Case {
            name: "pytest, with a place for its report",
            file: ("pytest.ini", ""),
            key: "ZAI_API_KEY",
            says: &["default: zai/", "\"--junitxml={report}\"", "format: junit"],
        },
        Case {
            name: "a makefile",
            file: ("Makefile", "test: build\n\techo\n"),
            key: "OPENROUTER_API_KEY",
            says: &["default: openrouter/", "command: [\"make\", \"test\"], format: exit"],
        },
        Case {
            name: "nothing that is known",
            file: ("notes.txt", ""),
            key: "OPENAI_API_KEY",
            says: &["default: openai/", "# No checks found", "# phases:"],
        },
    ];
    for Case { name, file, key, says } in table {
        let dir = directory(&[file]);
        let written = with_key(dir.path(), &["init"], key);
        assert_eq!(written.code, Some(0), "{name}: {}", written.stderr);
        let settings = fs::read_to_string(dir.path().join(".rawko/config.yaml")).unwrap();
        says.iter()
            .for_each(|words| assert!(settings.contains(words), "{name}: no `{words}` in\n{settings}"));
        let checked = with_key(dir.path(), &["agents", "check"], key);
        assert_eq!(checked.code, Some(0), "{name}: {}{}", checked.stdout, checked.stderr);
    }
}

#[test]
fn without_a_key_and_without_tests_it_says_what_is_missing() {
    let dir = directory(&[]);
    let output = without_keys(dir.path(), &["init", "inside/new"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    expect![[r#"
        note: no test command found; add one under `phases` in .rawko/config.yaml
        note: no API key found; run `export ANTHROPIC_API_KEY=…`, or edit .rawko/config.yaml
        next: cd inside/new && rawko doctor, then rawko task "…"
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).unwrap());
    assert!(dir.path().join("inside/new/.rawko/agents/planner.md").is_file());
}

#[test]
fn what_is_there_is_kept() {
    let own = "---\nname: tester\nwhenToUse: For tests.\n---\nMy own tester.\n";
    let dir = directory(&[
        (".rawko/agents/tester.md", own),
        (".rawko/config.yaml", "governance: {allow: ['agent:tester']}\n"),
        ("Makefile", "test:\n"),
    ]);
    let first = with_key(dir.path(), &["init"], "OPENAI_API_KEY");
    expect![[r#"
        kept   .rawko/config.yaml
        wrote  .rawko/README.md
        wrote  .rawko/agents/planner.md
        wrote  .rawko/agents/developer.md
        kept   .rawko/agents/tester.md
        wrote  .rawko/agents/reviewer.md
        wrote  .rawko/charts/review.yaml
        wrote  .rawko/charts/review.scenario.yaml
        wrote  .rawko/.gitignore
    "#]]
    .assert_eq(&first.stdout);
    assert_eq!(fs::read_to_string(dir.path().join(".rawko/agents/tester.md")).unwrap(), own);
    let before: Vec<_> = files_below(dir.path(), dir.path());
    fs::write(dir.path().join(".rawko/README.md"), "mine now").unwrap();

    let again = with_key(dir.path(), &["init"], "OPENAI_API_KEY");
    assert!(again.stdout.lines().all(|line| line.starts_with("kept ")), "{}", again.stdout);
    expect![[r#"
        note: already set up; nothing was changed
    "#]]
    .assert_eq(&again.stderr);
    assert_eq!(again.code, Some(0));
    assert_eq!(files_below(dir.path(), dir.path()), before);
    assert_eq!(fs::read_to_string(dir.path().join(".rawko/README.md")).unwrap(), "mine now");
}

#[test]
fn what_cannot_be_written_is_told() {
    let dir = directory(&[(".rawko", "a file where a directory should be")]);
    let run = with_key(dir.path(), &["init"], "OPENAI_API_KEY");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("cannot write `./.rawko/config.yaml`"), "{}", run.stderr);
}

#[test]
fn state_is_kept_out_of_git() {
    let dir = directory(&[("Makefile", "test:\n")]);
    with_key(dir.path(), &["init"], "OPENAI_API_KEY");
    let git = |args: &[&str]| {
        std::process::Command::new("git").args(args).current_dir(dir.path()).output().unwrap()
    };
    assert!(git(&["init", "--quiet"]).status.success());
    let ignored = |path: &str| git(&["check-ignore", "--quiet", path]).status.success();
    assert!(ignored(".rawko/state/rawko.db"));
    assert!(!ignored(".rawko/config.yaml"));
}

#[test]
fn the_demo_project_is_sound() {
    let dir = directory(&[]);
    expect![[r#"
        $ rawko init --demo slugs
        wrote  slugs/README.md
        wrote  slugs/slugs.py
        wrote  slugs/test_slugs.py
        wrote  slugs/.rawko/config.yaml
        wrote  slugs/.rawko/script.yaml
        wrote  slugs/.rawko/README.md
        wrote  slugs/.rawko/agents/planner.md
        wrote  slugs/.rawko/agents/developer.md
        wrote  slugs/.rawko/agents/tester.md
        wrote  slugs/.rawko/agents/reviewer.md
        wrote  slugs/.rawko/charts/review.yaml
        wrote  slugs/.rawko/charts/review.scenario.yaml
        wrote  slugs/.rawko/.gitignore
        --- stderr
        next: cd slugs && rawko task "Leave punctuation out of slugs, and number those that are taken"
    "#]]
    .assert_eq(&transcript(dir.path(), &["init", "--demo", "slugs"], ""));
    let slugs = dir.path().join("slugs");
    expect![[r#"
        $ rawko check .
        1 chart, no problems found
        $ rawko agents check
        ok      agent builder: asks scripted
        ok      agent developer: asks scripted
        ok      agent explorer: asks scripted
        ok      agent planner: asks scripted
        ok      agent reviewer: asks scripted
        ok      agent tester: asks scripted
    "#]]
    .assert_eq(&played(&slugs, &["check .", "agents check"]));
    let doctor = run(&slugs, &["doctor"], "");
    assert!(doctor.stdout.lines().all(|line| line.starts_with("ok ")), "{}", doctor.stdout);
    expect![[r#"
        $ rawko init --demo slugs
        --- stderr
        error: `slugs` is not empty; pass an empty or new directory
        --- exit code 2
    "#]]
    .assert_eq(&transcript(dir.path(), &["init", "--demo", "slugs"], ""));
}

/// The README of the project names only commands that exist.
#[test]
fn the_readme_names_commands_that_there_are() {
    let folder = repository().join("crates/rawko/src/templates");
    for file in ["project/README.md", "demo/README.md"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let commands = text.split("rawko ").skip(1).filter_map(|rest| rest.split_whitespace().next());
        let commands: Vec<&str> = commands
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .filter(|word| !word.is_empty())
            .collect();
        assert!(commands.contains(&"task"), "{file}: {commands:?}");
        for name in commands.into_iter().filter(|name| !["reads"].contains(name)) {
            let run = run(&repository(), &[name, "--help"], "");
            assert_eq!(run.code, Some(0), "{file}: there is no `rawko {name}`");
        }
    }
}

/// A wrong number is asked again, the key is shown as stars and stored nowhere, and the model is tried.
#[test]
fn on_a_terminal_it_asks_for_a_provider_and_a_key() {
    let dir = directory(&[]);
    let mut command = without_keys(dir.path(), &["init"]);
    // No request leaves this machine.
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let mut terminal = Pty::of(command, (100, 40));
    terminal.wait_for("number, or Enter to skip");
    assert_eq!(
        terminal.screen().matches("gemini/").count(),
        1,
        "a provider with two variables is one choice"
    );
    terminal.press("99\r");
    terminal.wait_for("a number from 1 to");
    terminal.press("1\r");
    terminal.wait_for("ANTHROPIC_API_KEY: ");
    terminal.press("sk-secret-words\r");
    terminal.wait_for("rawko stores no key");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("***") && !text.contains("sk-secret"), "{text}");
    assert!(text.contains("trying: one small request to anthropic/"), "{text}");
    assert!(text.contains("warning"), "the model was not tried: {text}");
    for file in files_below(dir.path(), dir.path()) {
        let body = fs::read(dir.path().join(&file)).unwrap();
        assert!(!String::from_utf8_lossy(&body).contains("sk-secret"), "{file}");
    }
}

/// The model answers: the key that was typed reaches the provider, and nothing else gets it.
#[test]
fn on_a_terminal_the_typed_key_is_tried() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reply = |_: &ReceivedRequest| anthropic::reply(&ModelAnswer::text(&["Hello."]));
    let server = runtime.block_on(ProviderServer::new(reply)).unwrap();
    let user = format!("providers: {{anthropic: {{kind: anthropic, base_url: \"{}\"}}}}\n", server.url());
    let dir = directory(&[("home/rawko/config.yaml", &user), ("project/README.md", "x\n")]);
    let mut command = without_keys(&dir.path().join("project"), &["init"]);
    command.env("XDG_CONFIG_HOME", dir.path().join("home"));
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env_remove(name);
    }
    let mut terminal = Pty::of(command, (100, 40));
    terminal.wait_for("number, or Enter to skip");
    terminal.press("1\r");
    terminal.wait_for("ANTHROPIC_API_KEY: ");
    terminal.press("sk-secret-words\r");
    terminal.wait_for("rawko stores no key");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("answers") && !text.contains("warning"), "{text}");
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "one small request");
    assert_eq!(asked[0].headers.get("x-api-key").map(String::as_str), Some("sk-secret-words"));
    for file in files_below(dir.path(), dir.path()) {
        let body = fs::read(dir.path().join(&file)).unwrap();
        assert!(!String::from_utf8_lossy(&body).contains("sk-secret"), "{file}");
    }
}

#[test]
fn on_a_terminal_the_questions_can_be_skipped() {
    let dir = directory(&[]);
    let mut terminal = Pty::of(without_keys(dir.path(), &["init"]), (100, 40));
    terminal.wait_for("number, or Enter to skip");
    terminal.press("\r");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(dir.path().join(".rawko/config.yaml").is_file(), "{text}");
}
