//! Agent files with something wrong, as whoever wrote them sees it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use rawko_agents::agent::Agents;
use rawko_chart::codes::agents::{ALL, DUPLICATE_AGENT, UNKNOWN_ENDING, UNREADABLE};
use rawko_chart::render::{Style, report};
use rawko_chart::{Finding, Severity, Source};
use rawko_host::Environment;

/// What is shown. A file with more than warnings gives no agent.
#[track_caller]
fn check(name: &str, text: &str, expected: Expect) {
    let source = Source::new(name, text);
    let (agents, findings) = Agents::of_source(&source, &Environment::default());
    let is_wrong = findings.iter().any(|finding| finding.severity > Severity::Warning);
    assert_eq!(agents.all().is_empty(), is_wrong);
    expected.assert_eq(&report(&findings, &source, Style::default()));
}

#[test]
fn misspelt_keys() {
    check(
        "a.yaml",
        "name: a\nwhenTouse: x\nsystemPromt: y\nwhenToUse: z\nsystemPrompt: p\ntools: {alowed: [Read]}\nlimits: {maxIteration: 3}\n",
        expect![[r#"
            error[rawko::agents::unknown_key]: an agent has no key `whenTouse`
             --> a.yaml:2:1
              |
            2 | whenTouse: x
              | ^^^^^^^^^
              |
              = help: did you mean `whenToUse`?

            error[rawko::agents::unknown_key]: an agent has no key `systemPromt`
             --> a.yaml:3:1
              |
            3 | systemPromt: y
              | ^^^^^^^^^^^
              |
              = help: did you mean `systemPrompt`?

            error[rawko::agents::unknown_key]: `tools` has no key `alowed`
             --> a.yaml:6:9
              |
            6 | tools: {alowed: [Read]}
              |         ^^^^^^
              |
              = help: did you mean `allowed`?

            error[rawko::agents::unknown_key]: `limits` has no key `maxIteration`
             --> a.yaml:7:10
              |
            7 | limits: {maxIteration: 3}
              |          ^^^^^^^^^^^^
              |
              = help: did you mean `maxIterations`?

        "#]],
    );
}

#[test]
fn places_in_markdown_are_lines_of_the_file() {
    check(
        "a.md",
        "---\nname: a\ndescription: x\nkind: proces\n---\nYou are an agent.\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: there is no kind of agent `proces`
         --> a.md:4:7
          |
        4 | kind: proces
          |       ^^^^^^
          |
          = help: did you mean `process`?

    "#]],
    );
}

#[test]
fn places_behind_a_byte_order_mark_and_umlauts() {
    check(
        "a.md",
        "\u{feff}---\r\nname: a\r\ndescription: für Änderungen\r\nlimits: {maxTokens: 0}\r\n---\r\nText\r\n",
        expect![[r#"
            error[rawko::agents::invalid_value]: `maxTokens` of `limits` is at least 1
             --> a.md:4:21
              |
            4 | limits: {maxTokens: 0}␍
              |                     ^
              |
              = help: write a larger number

        "#]],
    );
}

#[test]
fn frontmatter_without_end() {
    check(
        "a.md",
        "---\nname: a\n\nYou are an agent.\n",
        expect![[r#"
        error[rawko::agents::unclosed_frontmatter]: the frontmatter that begins here has no end
         --> a.md:1:1
          |
        1 | ---
          | ^^^
          |
          = help: put a line `---` between the keys and the prompt

    "#]],
    );
}

#[test]
fn yaml_that_is_none() {
    check(
        "a.md",
        "---\nname: a\ndescription: Use when: always\n---\nText\n",
        expect![[r#"
        error[rawko::chart::yaml_syntax]: this is not YAML: mapping values are not allowed in this context
         --> a.md:3:22
          |
        3 | description: Use when: always
          |                      ^
          |
          = help: look for a missing colon, quote or bracket, or for wrong indentation, here or just before

    "#]],
    );
}

#[test]
fn no_prompt_in_yaml_and_in_markdown() {
    check(
        "a.yaml",
        "name: a\nwhenToUse: x\n",
        expect![[r#"
        error[rawko::agents::missing_key]: the agent has no prompt
         --> a.yaml:1:7
          |
        1 | name: a
          |       ^
          |
          = help: add `systemPrompt`

    "#]],
    );
    check(
        "a.md",
        "---\nname: a\nwhenToUse: x\n---\n\n",
        expect![[r#"
        error[rawko::agents::missing_key]: the agent has no prompt
         --> a.md:2:7
          |
        2 | name: a
          |       ^
          |
          = help: write it below the second `---`

    "#]],
    );
}

#[test]
fn nothing_at_all() {
    check(
        "a.md",
        "",
        expect![[r#"
        warning[rawko::agents::no_description]: nothing says when to choose this agent
         --> a.md:1:1
          |
        1 |
          | ^
          |
          = help: add `whenToUse`; only a chart that names the agent uses it now

        error[rawko::agents::missing_key]: the agent has no prompt
         --> a.md:1:1
          |
        1 |
          | ^
          |
          = help: write it below the second `---`

    "#]],
    );
    check(
        "b.yaml",
        "# later\n",
        expect![[r#"
        warning[rawko::agents::no_description]: nothing says when to choose this agent
         --> b.yaml:1:1
          |
        1 | # later
          | ^
          |
          = help: add `whenToUse`; only a chart that names the agent uses it now

        error[rawko::agents::missing_key]: the agent has no prompt
         --> b.yaml:1:1
          |
        1 | # later
          | ^
          |
          = help: add `systemPrompt`

    "#]],
    );
}

#[test]
fn a_list_instead_of_an_agent() {
    check(
        "a.yaml",
        "- name: a\n",
        expect![[r#"
            error[rawko::agents::wrong_type]: an agent must be a map
             --> a.yaml:1:1
              |
            1 | - name: a
              | ^^^^^^^^^ found a list

        "#]],
    );
}

#[test]
fn the_prompt_twice() {
    check(
        "a.md",
        "---\nname: a\nwhenToUse: x\nsystemPrompt: p\n---\nText\n",
        expect![[r#"
        error[rawko::agents::conflicting_keys]: the prompt is given twice
         --> a.md:4:1
          |
        4 | systemPrompt: p
          | ^^^^^^^^^^^^
        5 | ---
        6 | Text
          | - the text of the file is the prompt too
          |
          = help: keep one of them

    "#]],
    );
}

#[test]
fn the_model_twice_and_one_that_is_none() {
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\nmodel: a/b\nprovider: {name: a, modl: b}\n",
        expect![[r#"
            error[rawko::agents::conflicting_keys]: the model is given twice
             --> a.yaml:3:1
              |
            3 | model: a/b
              | ^^^^^
            4 | provider: {name: a, modl: b}
              | -------- and here
              |
              = help: keep `provider: {name, model}` or `model: provider/model`

            error[rawko::agents::unknown_key]: `provider` has no key `modl`
             --> a.yaml:4:21
              |
            4 | provider: {name: a, modl: b}
              |                     ^^^^
              |
              = help: did you mean `model`?

        "#]],
    );
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\nmodel: openai/\nvisionModel: 5\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `model` cannot be `openai/`
         --> a.yaml:3:8
          |
        3 | model: openai/
          |        ^^^^^^^
          |
          = help: write `provider/model`, for example `openai/gpt-5`, or a model's name alone

        error[rawko::agents::wrong_type]: `visionModel` must be text
         --> a.yaml:4:14
          |
        4 | visionModel: 5
          |              ^ found a whole number

    "#]],
    );
}

#[test]
fn one_key_in_two_spellings() {
    check(
        "a.yaml",
        "whenToUse: x\nwhen_to_use: y\nsystemPrompt: p\n",
        expect![[r#"
        error[rawko::agents::conflicting_keys]: `when_to_use` and `whenToUse` are the same key
         --> a.yaml:2:1
          |
        1 | whenToUse: x
          | --------- first here
        2 | when_to_use: y
          | ^^^^^^^^^^^
          |
          = help: keep one of them

    "#]],
    );
}

#[test]
fn a_program_without_command_and_a_command_without_program() {
    check(
        "a.yaml",
        "whenToUse: x\nkind: acp\n",
        expect![[r#"
        error[rawko::agents::missing_key]: an agent of kind `acp` needs a command
         --> a.yaml:2:7
          |
        2 | kind: acp
          |       ^^^
          |
          = help: add `command: [program, argument]`

    "#]],
    );
    check(
        "a.yaml",
        "whenToUse: x\nkind: process\ncommand: python3 agent.py\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `python3 agent.py` cannot be the name of a program
         --> a.yaml:3:10
          |
        3 | command: python3 agent.py
          |          ^^^^^^^^^^^^^^^^
          |
          = help: no shell takes it apart: write `command: [python3, agent.py]`

    "#]],
    );
    check(
        "a.yaml",
        "whenToUse: x\nkind: process\ncommand: []\n",
        expect![[r#"
            error[rawko::agents::invalid_value]: `command` names no program
             --> a.yaml:3:10
              |
            3 | command: []
              |          ^^
              |
              = help: write for example `[python3, agent.py]`

        "#]],
    );
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\ncommand: [python3]\ncwd: .\n",
        expect![[r#"
        error[rawko::agents::conflicting_keys]: `command` means nothing for an agent of kind `llm`
         --> a.yaml:3:1
          |
        3 | command: [python3]
          | ^^^^^^^
          |
          = help: it is for `kind: process` and `kind: acp`

        error[rawko::agents::conflicting_keys]: `cwd` means nothing for an agent of kind `llm`
         --> a.yaml:4:1
          |
        4 | cwd: .
          | ^^^
          |
          = help: it is for `kind: process` and `kind: acp`

    "#]],
    );
}

#[test]
fn a_path_out_of_the_project() {
    check(
        "a.yaml",
        "whenToUse: x\nkind: process\ncommand: run\ncwd: ../other\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `cwd` leads out of the project
         --> a.yaml:4:6
          |
        4 | cwd: ../other
          |      ^^^^^^^^
          |
          = help: write a path of the project, without `..`

    "#]],
    );
}

#[test]
fn names_that_are_none() {
    check(
        "a.yaml",
        "name: The Planner\nwhenToUse: x\nsystemPrompt: p\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `The Planner` cannot be the name of an agent
         --> a.yaml:1:7
          |
        1 | name: The Planner
          |       ^^^^^^^^^^^
          |
          = help: letters, digits, `-`, `_` and `.`; words for people go into `displayName`

    "#]],
    );
    check(
        "complete.md",
        "---\nwhenToUse: x\n---\nText",
        expect![[r#"
        error[rawko::agents::invalid_value]: no agent can be called `complete`
         --> complete.md:1:1
          |
        1 | ---
          | ^
          |
          = help: it is where transitions lead when nothing is left to do

    "#]],
    );
}

#[test]
fn transitions_to_nobody() {
    check(
        "developer.yaml",
        "whenToUse: x\nsystemPrompt: p\ntransitions: {onSuccess: complte, onFailure: reviewer, custom: {again: develper}}\n",
        expect![[r#"
            error[rawko::agents::unknown_transition]: there is no agent `complte`
             --> developer.yaml:3:26
              |
            3 | transitions: {onSuccess: complte, onFailure: reviewer, custom: {again: develper}}
              |                          ^^^^^^^
              |
              = help: did you mean `complete`?

            error[rawko::agents::unknown_transition]: there is no agent `reviewer`
             --> developer.yaml:3:46
              |
            3 | transitions: {onSuccess: complte, onFailure: reviewer, custom: {again: develper}}
              |                                              ^^^^^^^^
              |
              = help: an agent's name, or `complete` when nothing is left to do

            error[rawko::agents::unknown_transition]: there is no agent `develper`
             --> developer.yaml:3:72
              |
            3 | transitions: {onSuccess: complte, onFailure: reviewer, custom: {again: develper}}
              |                                                                        ^^^^^^^^
              |
              = help: did you mean `developer`?

        "#]],
    );
}

#[test]
fn limits_that_are_none() {
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\nlimits: {maxIterations: many, timeout: soon, maxTokens: -1}\n",
        expect![[r#"
            error[rawko::agents::wrong_type]: `maxIterations` of `limits` must be a whole number
             --> a.yaml:3:25
              |
            3 | limits: {maxIterations: many, timeout: soon, maxTokens: -1}
              |                         ^^^^ found text

            error[rawko::agents::invalid_value]: `soon` is not a duration; write for example `1500`, `250ms`, `30s`, `15m`, `24h`, `7d` or `PT1H`
             --> a.yaml:3:40
              |
            3 | limits: {maxIterations: many, timeout: soon, maxTokens: -1}
              |                                        ^^^^
              |
              = help: `timeout` is a length of time

            error[rawko::agents::invalid_value]: `maxTokens` of `limits` is at least 1
             --> a.yaml:3:57
              |
            3 | limits: {maxIterations: many, timeout: soon, maxTokens: -1}
              |                                                         ^^
              |
              = help: write a larger number

        "#]],
    );
}

#[test]
fn tools_of_the_wrong_shape() {
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\ntools: {allowed: {Read: true}, blocked: 3, bashFilter: [ls]}\n",
        expect![[r#"
            error[rawko::agents::wrong_type]: `allowed` of `tools` must be a list
             --> a.yaml:3:18
              |
            3 | tools: {allowed: {Read: true}, blocked: 3, bashFilter: [ls]}
              |                  ^^^^^^^^^^^^ found a map

            error[rawko::agents::wrong_type]: `blocked` of `tools` must be a list
             --> a.yaml:3:41
              |
            3 | tools: {allowed: {Read: true}, blocked: 3, bashFilter: [ls]}
              |                                         ^ found a whole number

            error[rawko::agents::wrong_type]: `bashFilter` must be a map
             --> a.yaml:3:56
              |
            3 | tools: {allowed: {Read: true}, blocked: 3, bashFilter: [ls]}
              |                                                        ^^^^ found a list

        "#]],
    );
}

#[test]
fn a_tool_allowed_and_blocked() {
    check(
        "a.yaml",
        "whenToUse: x\nsystemPrompt: p\ntools:\n  allowed: [Read, Bash]\n  blocked: [Bash]\n",
        expect![[r#"
            warning[rawko::agents::never_allowed]: `Bash` is allowed and blocked
             --> a.yaml:4:19
              |
            4 |   allowed: [Read, Bash]
              |                   ^^^^
            5 |   blocked: [Bash]
              |             ---- blocked wins
              |
              = help: take it out of one of the lists

        "#]],
    );
}

#[test]
fn a_rule_that_nobody_could_hold_to() {
    check(
        "a.md",
        "---\ndescription: x\ntools: Grep, Read(src/**), Bash(git log:*)\n---\nText",
        expect![[r#"
            warning[rawko::agents::not_enforced]: `Read(src/**)` is a finer rule than an agent can be held to, so `Read` is not allowed
             --> a.md:3:14
              |
            3 | tools: Grep, Read(src/**), Bash(git log:*)
              |              ^^^^^^^^^^^^
              |
              = help: allow all of `Read`, or confine the agent in the project's settings

        "#]],
    );
}

#[test]
fn nothing_says_when_to_use_it() {
    check(
        "helper.md",
        "You help.",
        expect![[r#"
        warning[rawko::agents::no_description]: nothing says when to choose this agent
         --> helper.md:1:1
          |
        1 | You help.
          | ^
          |
          = help: add `whenToUse`; only a chart that names the agent uses it now

    "#]],
    );
}

#[test]
fn a_key_written_twice() {
    check(
        "a.md",
        "---\nname: a\nname: b\n---\nText",
        expect![[r#"
        error[rawko::chart::duplicate_key]: the key `name` is written twice
         --> a.md:3:1
          |
        2 | name: a
          | ---- first written here
        3 | name: b
          | ^^^^ written again here
          |
          = help: keep one of them; several transitions for one event are written as a list

    "#]],
    );
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The files of a project with something wrong, as they are shown below it.
#[test]
fn what_only_shows_in_folders() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    write(root, ".rawko/agents/a.md", b"---\nname: same\ndescription: d\n---\nA");
    write(root, ".rawko/agents/b.yaml", b"whenToUse: d\nsystemPrompt: p\nname: same\n");
    write(root, ".rawko/agents/latin.md", b"---\ndescription: f\xfcr alle\n---\nText");
    write(root, ".rawko/agents/notes.json", b"{}");
    write(root, ".rawko/agents/.hidden.md", b"---");
    write(root, ".rawko/agents/old.md~", b"---");
    std::os::unix::fs::symlink("nowhere.md", root.join(".rawko/agents/link.md")).unwrap();
    let (agents, problems) = Agents::read(root, &Environment::default());
    assert_eq!(agents.all().len(), 1);
    let unusable: Vec<&str> = agents.unusable().iter().map(|unusable| unusable.name.as_str()).collect();
    assert_eq!(unusable, ["latin", "link"]);
    let shown: String =
        problems.iter().map(|(source, findings)| report(findings, source, Style::default())).collect();
    expect![[r#"
        warning[rawko::agents::unknown_ending]: this file is not read: agents are in files that end in `.md`, `.yaml` or `.yml`
         --> .rawko/agents/notes.json:1:1
          |
        1 |
          | ^
          |
          = help: rename it, or move it elsewhere

        error[rawko::agents::duplicate_agent]: there is an agent `same` already: .rawko/agents/a.md
         --> .rawko/agents/b.yaml:3:7
          |
        3 | name: same
          |       ^^^^
          |
          = help: give one of them another `name`

        error[rawko::chart::invalid_utf8]: the text is not UTF-8: byte 18 (0xfc) does not belong there
         --> .rawko/agents/latin.md:2:15
          |
        2 | description: f�r alle
          |               ^
          |
          = help: save the file as UTF-8

        error[rawko::agents::unreadable]: the agent cannot be read: No such file or directory (os error 2)
         --> .rawko/agents/link.md:1:1
          |
        1 |
          | ^
          |
          = help: make it readable, or take it away

    "#]].assert_eq(&shown.replace(&format!("{}/", root.display()), ""));
}

const WHOLE: &str = "---\nname: reviewer\ndescription: |\n  Prüft Änderungen: <example>\nkind: process\ncommand: [python3, a.py]\n\
tools: {allowed: [Read, \"Bash(git log:*)\"], blocked: [Write]}\ntransitions: {onSuccess: complete}\nlimits: {timeout: 5m}\n\
model: openai/gpt-5\nroles: [a]\nmetadata: {x: [1, {y: null}]}\n---\nYou review — politely.\n";

/// A text with a piece taken out, doubled or put elsewhere.
fn damaged() -> impl Strategy<Value = String> {
    (0..WHOLE.len(), 0..60usize, 0..WHOLE.len(), any::<bool>()).prop_map(|(from, length, to, is_kept)| {
        let at = |offset: usize| WHOLE.floor_char_boundary(offset);
        let (from, end) = (at(from), at(from + length));
        let piece = &WHOLE[from.min(end)..end];
        let rest =
            if is_kept { WHOLE.to_owned() } else { format!("{}{}", &WHOLE[..from], &WHOLE[end.max(from)..]) };
        let to = rest.floor_char_boundary(to);
        format!("{}{piece}{}", &rest[..to], &rest[to..])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is in a file: it is an agent, or something says why not; and every place can be shown.
    #[test]
    fn no_file_is_passed_over_in_silence(text in damaged(), is_claude in any::<bool>(), ending in 0..2usize) {
        let project = tempfile::tempdir().unwrap();
        let folder = if is_claude { ".claude" } else { ".rawko" };
        let ending = if is_claude { "md" } else { ["md", "yaml"][ending] };
        write(project.path(), &format!("{folder}/agents/a.{ending}"), text.as_bytes());
        let (agents, problems) = Agents::read(project.path(), &Environment::default());
        let wrong: usize = problems.iter().flat_map(|(_, findings)| findings).filter(|finding| finding.severity > Severity::Warning).count();
        prop_assert_eq!(agents.all().len() == 1, wrong == 0);
        prop_assert_eq!(agents.all().len() + agents.unusable().len(), 1);
        for (source, findings) in &problems {
            report(findings, source, Style::default());
            prop_assert!(findings.iter().all(|finding| text.get(finding.span.range()).is_some()));
        }
    }
}

/// The file on a page shows what the page is about.
#[test]
fn the_agent_on_a_page_has_what_the_page_is_about() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors/agents");
    let folders = [UNREADABLE, UNKNOWN_ENDING, DUPLICATE_AGENT];
    for code in ALL.iter().filter(|code| !folders.contains(code)) {
        let page = fs::read_to_string(pages.join(format!("{}.md", code.slug()))).unwrap();
        let block = page.split("```").nth(1).unwrap();
        let (name, text) = match block.strip_prefix("yaml\n") {
            Some(text) => ("agent.yaml", text),
            None => ("agent.md", block.strip_prefix("markdown\n").unwrap()),
        };
        let (_, findings) = Agents::of_source(&Source::new(name, text), &Environment::default());
        let found: Vec<&str> = findings.iter().map(|finding: &Finding| finding.code).collect();
        assert!(found.contains(&code.name), "the agent of {} gives {found:?}", code.name);
    }
}
