//! Findings of invalid agent files: texts, keys and prompts.

use expect_test::{Expect, expect};
use rawko_agents::agent::Agents;
use rawko_chart::render::{ReportStyle, report};
use rawko_chart::{Severity, SourceFile};
use rawko_host::Environment;

/// Checks the printed findings. A file with errors gives no agent.
#[track_caller]
fn check(name: &str, text: &str, expected: Expect) {
    let source = SourceFile::new(name, text);
    let (agents, findings) = Agents::of_source(&source, &Environment::default());
    let is_wrong = findings.iter().any(|finding| finding.severity > Severity::Warning);
    assert_eq!(agents.all().is_empty(), is_wrong);
    expected.assert_eq(&report(&findings, &source, ReportStyle::default()));
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
        error[rawko::agents::invalid_value]: unknown agent kind `proces`
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
            error[rawko::agents::invalid_value]: `maxTokens` of `limits` must be at least 1
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
        error[rawko::agents::unclosed_frontmatter]: the frontmatter that begins here is not closed
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
        error[rawko::chart::yaml_syntax]: invalid YAML: mapping values are not allowed in this context
         --> a.md:3:22
          |
        3 | description: Use when: always
          |                      ^
          |
          = help: check for a missing colon, quote or bracket, or wrong indentation, here or just before

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
        warning[rawko::agents::no_description]: this agent has no `whenToUse`
         --> a.md:1:1
          |
        1 |
          | ^
          |
          = help: add `whenToUse`; until then only charts that name the agent use it

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
        warning[rawko::agents::no_description]: this agent has no `whenToUse`
         --> b.yaml:1:1
          |
        1 | # later
          | ^
          |
          = help: add `whenToUse`; until then only charts that name the agent use it

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
          | - the body of the file is also the prompt
          |
          = help: keep one of them

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
fn nothing_says_when_to_use_it() {
    check(
        "helper.md",
        "You help.",
        expect![[r#"
        warning[rawko::agents::no_description]: this agent has no `whenToUse`
         --> helper.md:1:1
          |
        1 | You help.
          | ^
          |
          = help: add `whenToUse`; until then only charts that name the agent use it

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
