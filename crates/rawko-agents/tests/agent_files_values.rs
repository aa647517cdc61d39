//! Findings of agent files with invalid values: models, commands, names, transitions, limits, tools.

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
              = help: `timeout` is a duration

            error[rawko::agents::invalid_value]: `maxTokens` of `limits` must be at least 1
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
            warning[rawko::agents::never_allowed]: `Bash` is both allowed and blocked
             --> a.yaml:4:19
              |
            4 |   allowed: [Read, Bash]
              |                   ^^^^
            5 |   blocked: [Bash]
              |             ---- blocked wins
              |
              = help: remove it from one of the lists

        "#]],
    );
}

#[test]
fn a_rule_that_nobody_could_hold_to() {
    check(
        "a.md",
        "---\ndescription: x\ntools: Grep, Read(src/**), Bash(git log:*)\n---\nText",
        expect![[r#"
            warning[rawko::agents::not_enforced]: `Read(src/**)` is narrower than rawko can enforce, so `Read` is not allowed
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
fn a_path_out_of_the_project() {
    check(
        "a.yaml",
        "whenToUse: x\nkind: process\ncommand: run\ncwd: ../other\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `cwd` is outside the project
         --> a.yaml:4:6
          |
        4 | cwd: ../other
          |      ^^^^^^^^
          |
          = help: write a path inside the project, without `..`

    "#]],
    );
}

#[test]
fn names_that_are_none() {
    check(
        "a.yaml",
        "name: The Planner\nwhenToUse: x\nsystemPrompt: p\n",
        expect![[r#"
        error[rawko::agents::invalid_value]: `The Planner` is not a valid agent name
         --> a.yaml:1:7
          |
        1 | name: The Planner
          |       ^^^^^^^^^^^
          |
          = help: use letters, digits, `-`, `_` and `.`; a name for people goes into `displayName`

    "#]],
    );
    check(
        "complete.md",
        "---\nwhenToUse: x\n---\nText",
        expect![[r#"
        error[rawko::agents::invalid_value]: no agent can be named `complete`
         --> complete.md:1:1
          |
        1 | ---
          | ^
          |
          = help: it is the target of transitions that end the task

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
        error[rawko::agents::invalid_value]: `python3 agent.py` is not a valid program name
         --> a.yaml:3:10
          |
        3 | command: python3 agent.py
          |          ^^^^^^^^^^^^^^^^
          |
          = help: the command is not run by a shell: write `command: [python3, agent.py]`

    "#]],
    );
    check(
        "a.yaml",
        "whenToUse: x\nkind: process\ncommand: []\n",
        expect![[r#"
            error[rawko::agents::invalid_value]: `command` has no program
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
        error[rawko::agents::conflicting_keys]: `command` is not valid for an agent of kind `llm`
         --> a.yaml:3:1
          |
        3 | command: [python3]
          | ^^^^^^^
          |
          = help: use it with `kind: process` or `kind: acp`

        error[rawko::agents::conflicting_keys]: `cwd` is not valid for an agent of kind `llm`
         --> a.yaml:4:1
          |
        4 | cwd: .
          | ^^^
          |
          = help: use it with `kind: process` or `kind: acp`

    "#]],
    );
}
