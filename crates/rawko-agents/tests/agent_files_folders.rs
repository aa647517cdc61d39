//! Agent files in folders, properties of arbitrary texts, and the documentation pages.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use expect_test::expect;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use rawko_agents::agent::Agents;
use rawko_chart::codes::agents::{ALL, DUPLICATE_AGENT, UNKNOWN_ENDING, UNREADABLE};
use rawko_chart::render::{ReportStyle, report};
use rawko_chart::{Finding, Severity, SourceFile};
use rawko_host::Environment;

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Findings about files as such: duplicate names, unreadable files, unknown extensions.
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
        problems.iter().map(|(source, findings)| report(findings, source, ReportStyle::default())).collect();
    expect![[r#"
        warning[rawko::agents::unknown_ending]: this file is not read: agents are in files that end in `.md`, `.yaml` or `.yml`
         --> .rawko/agents/notes.json:1:1
          |
        1 |
          | ^
          |
          = help: rename it, or move it elsewhere

        error[rawko::agents::duplicate_agent]: there is already an agent `same`: .rawko/agents/a.md
         --> .rawko/agents/b.yaml:3:7
          |
        3 | name: same
          |       ^^^^
          |
          = help: give one of them another `name`

        error[rawko::chart::invalid_utf8]: the text is not UTF-8: byte 18 (0xfc) is invalid
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
          = help: make it readable, or remove it

    "#]].assert_eq(&shown.replace(&format!("{}/", root.display()), ""));
}

#[test]
fn rules_that_name_nothing_are_shown() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    write(root, ".mcp.json", br#"{"mcpServers": {"github": {"command": "gh-mcp"}}}"#);
    let tools =
        "allowed: [Read, Grpe, read_file, Task, mcp__github__get_issue, mcp__githb__get_issue, 'mcp__*']";
    let agent = format!("name: a\nwhenToUse: d\nsystemPrompt: p\ntools: {{{tools}, blocked: [LSP]}}\n");
    write(root, ".rawko/agents/a.yaml", agent.as_bytes());
    // A program brings tools of its own.
    let program =
        "name: b\nwhenToUse: d\nkind: process\ncommand: [python3, b.py]\ntools: {allowed: [Teleport]}\n";
    write(root, ".rawko/agents/b.yaml", program.as_bytes());
    let (agents, problems) = Agents::read(root, &Environment::default());
    assert_eq!(agents.all().len(), 2);
    let found: Vec<String> = problems
        .iter()
        .flat_map(|(source, findings)| findings.iter().map(move |finding| (source, finding)))
        .map(|(source, finding)| format!("{} at `{}`", finding.message, &source.text[finding.span.range()]))
        .collect();
    assert_eq!(
        found,
        [
            "there is no tool `Grpe` at `Grpe`",
            "there is no MCP server `githb` for `mcp__githb__get_issue` at `mcp__githb__get_issue`",
            "there is no tool `LSP` at `LSP`",
        ]
    );
}

const WHOLE: &str = "---\nname: reviewer\ndescription: |\n  Prüft Änderungen: <example>\nkind: process\ncommand: [python3, a.py]\n\
tools: {allowed: [Read, \"Bash(git log:*)\"], blocked: [Write]}\ntransitions: {onSuccess: complete}\nlimits: {timeout: 5m}\n\
model: openai/gpt-5\nroles: [a]\nmetadata: {x: [1, {y: null}]}\n---\nYou review — politely.\n";

/// A text with a piece removed, doubled or moved.
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

    /// Any file gives an agent or a finding, and every location is valid.
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
            report(findings, source, ReportStyle::default());
            prop_assert!(findings.iter().all(|finding| text.get(finding.span.range()).is_some()));
        }
    }
}

/// The example on a page produces the finding of that page.
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
        let (_, findings) = Agents::of_source(&SourceFile::new(name, text), &Environment::default());
        let found: Vec<&str> = findings.iter().map(|finding: &Finding| finding.code).collect();
        assert!(found.contains(&code.name), "the agent of {} gives {found:?}", code.name);
    }
}
