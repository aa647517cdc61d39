//! `rawko check`: a file, a project, and the output for programs.

use std::path::Path;

use expect_test::{Expect, expect};

use crate::support::{directory, run, transcript};

const MAIN: &str = "\
statechart:
  id: main
  version: '1.0.0'
  initial: work
  states:
    work:
      invoke:
        id: build
        src: agent:joiner
        onDone: charge
        onError: failed
    charge:
      invoke:
        id: pay
        src: charge_card
        onDone: ship
        onError: failed
    ship:
      invoke:
        id: kid
        src: statechart:kid@1.0.0
        onDone: done
        onError: failed
    done: {type: final, output: {ok: true}}
    failed: {type: final, output: {ok: false}}
";

const KID: &str = "\
statechart:
  id: kid
  version: '1.0.0'
  initial: a
  states:
    a: {on: {GO: b}}
    b: {type: final}
";

const PROJECT: &[(&str, &str)] = &[
    ("main.yaml", MAIN),
    ("main.scenario.yaml", "scenarios: []\n"),
    ("docker-compose.yaml", "services:\n  web: {image: x}\n"),
    ("package.json", "{\"name\": \"x\"}"),
    (".rawko/charts/kid.yaml", KID),
    (".rawko/registry.yaml", "machine_registry:\n  - {id: kid, version: '1.0.0', src: charts/kid.yaml}\n"),
    (".rawko/agents/joiner.md", "---\nname: joiner\nwhenToUse: For wood.\n---\nBuild.\n"),
    (".rawko/config.yaml", "services:\n  charge_card: {command: [pay]}\n"),
    (".rawko/state/leftover.yaml", "statechart: [broken\n"),
    ("node_modules/x/chart.yaml", "statechart: [broken\n"),
];

fn with(files: &[(&'static str, &'static str)]) -> tempfile::TempDir {
    let kept = PROJECT.iter().filter(|(name, _)| files.iter().all(|(other, _)| other != name)).copied();
    directory(&kept.chain(files.iter().copied()).collect::<Vec<_>>())
}

fn check(files: &[(&'static str, &'static str)], args: &[&str], expect: Expect) {
    expect.assert_eq(&transcript(with(files).path(), args, ""));
}

#[test]
fn a_sound_project() {
    check(
        &[],
        &["check", "."],
        expect![[r#"
        $ rawko check .
        2 charts, no problems found
    "#]],
    );
}

/// The page shows their number beside each chart.
#[test]
fn the_built_in_charts_have_no_findings() {
    let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts");
    let expected = expect![[r#"
        $ rawko check .
        17 charts, no problems found
    "#]];
    expected.assert_eq(&transcript(&charts, &["check", "."], ""));
}

#[test]
fn a_file_in_a_project_knows_its_surroundings() {
    check(
        &[],
        &["check", "main.yaml"],
        expect![[r#"
        $ rawko check main.yaml
        1 chart, no problems found
    "#]],
    );
}

#[test]
fn a_project_whose_references_lead_nowhere() {
    check(
        &[
            (".rawko/agents/joiner.md", "---\nname: mason\nwhenToUse: For stone.\n---\nBuild.\n"),
            (".rawko/config.yaml", "services: {charge_cart: {}}\n"),
            (
                ".rawko/registry.yaml",
                "machine_registry:\n  - {id: kid, version: '2.0.0', src: charts/kit.yaml}\n",
            ),
        ],
        &["check", "."],
        expect![[r#"
            $ rawko check .
            error[rawko::project::registry_file_missing]: `kid` is registered, but its file `charts/kit.yaml` does not exist
             --> .rawko/registry.yaml:2:5
              |
            2 |   - {id: kid, version: '2.0.0', src: charts/kit.yaml}
              |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
              |
              = help: `src` is relative to the directory of the registry

            error[rawko::settings::missing_key]: service `charge_cart` has none of `command`, `http` and `remote`
             --> .rawko/config.yaml:1:12
              |
            1 | services: {charge_cart: {}}
              |            ^^^^^^^^^^^
              |
              = help: add `command: [program, argument]`, `http: {url: …}` or `remote: {}`

            error[rawko::chart::unknown_service]: there is no agent `joiner` in this project
             --> main.yaml:9:14
              |
            9 |         src: agent:joiner
              |              ^^^^^^^^^^^^
              |
              = help: add `.rawko/agents/joiner.md`, or check the whole project

            error[rawko::chart::unknown_service]: there is no service `charge_card` in this project
              --> main.yaml:15:14
               |
            15 |         src: charge_card
               |              ^^^^^^^^^^^
               |
               = help: did you mean `charge_cart`?

            2 charts, 4 errors
            --- exit code 52
        "#]],
    );
}

#[test]
fn a_registry_that_calls_a_chart_something_else() {
    let registry = "machine_registry:\n  - {id: kit, version: '1.0.0', src: charts/kid.yaml}\n";
    check(
        &[(".rawko/registry.yaml", registry)],
        &["check", ".rawko/registry.yaml"],
        expect![[r#"
        $ rawko check .rawko/registry.yaml
        error[rawko::project::registry_mismatch]: `kit@1.0.0` is registered, but `charts/kid.yaml` is `kid@1.0.0`
         --> .rawko/registry.yaml:2:5
          |
        2 |   - {id: kit, version: '1.0.0', src: charts/kid.yaml}
          |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: give both the same id and version

        1 chart, 1 error
        --- exit code 52
    "#]],
    );
}

#[test]
fn two_charts_of_a_project_that_are_called_the_same() {
    // A directory with a `.rawko` is a project of its own, and a chart without a version is `0.0.0`.
    check(
        &[
            ("old/kid.yaml", KID),
            ("parts/kid/.rawko/charts/kid.yaml", KID),
            ("one.yaml", "statechart: {id: it, initial: a, states: {a: {type: final}}}\n"),
            ("two.yaml", "id: it\ninitial: a\nversion: '0.0.0'\nstates: {a: {type: final}}\n"),
        ],
        &["check", "."],
        expect![[r#"
            $ rawko check .
            error[rawko::project::duplicate_chart]: `kid@1.0.0` is already the id of the chart in `.rawko/charts/kid.yaml`
             --> old/kid.yaml:2:7
              |
            2 |   id: kid
              |       ^^^
              |
              = help: give one of them another `id` or `version`

            error[rawko::project::duplicate_chart]: `it@0.0.0` is already the id of the chart in `one.yaml`
             --> two.yaml:1:5
              |
            1 | id: it
              |     ^^
              |
              = help: give one of them another `id` or `version`

            6 charts, 2 errors
            --- exit code 52
        "#]],
    );
}

#[test]
fn settings_and_agents_that_cannot_be_read_are_said() {
    check(
        &[(".rawko/config.yaml", "services: [\n"), (".rawko/agents/joiner.md", "---\nname: [\n---\n")],
        &["check", "."],
        expect![[r#"
            $ rawko check .
            error[rawko::chart::yaml_syntax]: invalid YAML: unclosed bracket '['
             --> .rawko/agents/joiner.md:2:7
              |
            2 | name: [
              |       ^
              |
              = help: check for a missing colon, quote or bracket, or wrong indentation, here or just before

            error[rawko::chart::yaml_syntax]: invalid YAML: unclosed bracket '['
             --> .rawko/config.yaml:1:11
              |
            1 | services: [
              |           ^
              |
              = help: check for a missing colon, quote or bracket, or wrong indentation, here or just before

            warning[rawko::chart::unknown_service]: unknown service `charge_card`
              --> main.yaml:15:14
               |
            15 |         src: charge_card
               |              ^^^^^^^^^^^
               |
               = help: configure `charge_card` in `.rawko/config.yaml`, or check the whole project

            2 charts, 2 errors, 1 warning
            --- exit code 52
        "#]],
    );
}

#[test]
fn warnings_fail_only_when_strict() {
    let chart = "\
statechart:
  id: warned
  initial: a
  states:
    a:
      invoke: {id: x, src: charge_card, onDone: b}
    b: {type: final}
";
    check(
        &[("main.yaml", chart)],
        &["check", "main.yaml"],
        expect![[r#"
            $ rawko check main.yaml
            warning[rawko::chart::invoke_without_on_error]: nothing handles a failure of invoke `x`
             --> main.yaml:6:28
              |
            6 |       invoke: {id: x, src: charge_card, onDone: b}
              |                            ^^^^^^^^^^^ if this fails, the instance stops with status `error`
              |
              = help: add `onError` to the invoke, or handle `error.invoke.x` in `a` or above it

            1 chart, 1 warning
        "#]],
    );
    check(
        &[("main.yaml", chart)],
        &["check", "main.yaml", "--strict"],
        expect![[r#"
            $ rawko check main.yaml --strict
            warning[rawko::chart::invoke_without_on_error]: nothing handles a failure of invoke `x`
             --> main.yaml:6:28
              |
            6 |       invoke: {id: x, src: charge_card, onDone: b}
              |                            ^^^^^^^^^^^ if this fails, the instance stops with status `error`
              |
              = help: add `onError` to the invoke, or handle `error.invoke.x` in `a` or above it

            1 chart, 1 warning
            --- exit code 52
        "#]],
    );
}

#[test]
fn json_for_tools() {
    check(
        &[("main.yaml", "statechart:\n  id: main\n  initial: aa\n  states:\n    ab: {}\n")],
        &["check", "main.yaml", "--json"],
        expect![[r#"
            $ rawko check main.yaml --json
            {
              "ok": false,
              "charts": 1,
              "errors": 1,
              "warnings": 0,
              "findings": [
                {
                  "code": "rawko::chart::unknown_initial",
                  "severity": "fatal",
                  "message": "the chart starts in `aa`, which is not a state inside it",
                  "label": "",
                  "help": "its states are `ab`",
                  "file": "main.yaml",
                  "place": {
                    "start": {
                      "line": 3,
                      "column": 12,
                      "byte": 34
                    },
                    "end": {
                      "line": 3,
                      "column": 14,
                      "byte": 36
                    }
                  },
                  "related": []
                }
              ]
            }
            --- exit code 52
        "#]],
    );
}

#[test]
fn several_paths_and_charts_given_with_them() {
    let dir = directory(&[("main.yaml", MAIN), ("kid.yaml", KID)]);
    expect![[r#"
        $ rawko check main.yaml --with kid.yaml
        warning[rawko::chart::unknown_service]: unknown agent `joiner`
         --> main.yaml:9:14
          |
        9 |         src: agent:joiner
          |              ^^^^^^^^^^^^
          |
          = help: add `.rawko/agents/joiner.md`, or check the whole project

        warning[rawko::chart::unknown_service]: unknown service `charge_card`
          --> main.yaml:15:14
           |
        15 |         src: charge_card
           |              ^^^^^^^^^^^
           |
           = help: configure `charge_card` in `.rawko/config.yaml`, or check the whole project

        1 chart, 2 warnings
    "#]]
    .assert_eq(&transcript(dir.path(), &["check", "main.yaml", "--with", "kid.yaml"], ""));
    expect![[r#"
        $ rawko check main.yaml kid.yaml
        warning[rawko::chart::unknown_service]: unknown agent `joiner`
         --> main.yaml:9:14
          |
        9 |         src: agent:joiner
          |              ^^^^^^^^^^^^
          |
          = help: add `.rawko/agents/joiner.md`, or check the whole project

        warning[rawko::chart::unknown_service]: unknown service `charge_card`
          --> main.yaml:15:14
           |
        15 |         src: charge_card
           |              ^^^^^^^^^^^
           |
           = help: configure `charge_card` in `.rawko/config.yaml`, or check the whole project

        2 charts, 2 warnings
    "#]]
    .assert_eq(&transcript(dir.path(), &["check", "main.yaml", "kid.yaml"], ""));
}

#[test]
fn a_chart_from_standard_input() {
    expect![[r#"
        $ rawko check -
        1 chart, no problems found
    "#]]
    .assert_eq(&transcript(directory(&[]).path(), &["check", "-"], KID));
}

#[test]
fn a_directory_without_charts() {
    expect![[r#"
        $ rawko check .
        --- stderr
        error: no charts found in `.`
        --- exit code 2
    "#]]
    .assert_eq(&transcript(directory(&[]).path(), &["check", "."], ""));
}

#[test]
fn hostile_text_is_refused_in_words() {
    let deep = "[".repeat(100_000);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n\
                g: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nstatechart: *g\n";
    let junk = "\u{1}junk ".repeat(2_000_000);
    for text in [deep.as_str(), bomb, junk.as_str(), "", "a: 1\na: 2\n", "\u{0}"] {
        let dir = directory(&[("x.yaml", text)]);
        let run = run(dir.path(), &["check", "x.yaml"], "");
        assert_eq!(run.code, Some(52), "{}", &text[..text.len().min(40)]);
        assert!(run.stdout.len() < 10_000, "{} bytes said", run.stdout.len());
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_in_words() {
    let dir = directory(&[]);
    std::fs::write(dir.path().join("x.yaml"), b"statechart:\n  id: \xff\xfe\n").unwrap();
    expect![[r#"
        $ rawko check x.yaml
        error[rawko::chart::invalid_utf8]: the text is not UTF-8: byte 18 (0xff) is invalid
         --> x.yaml:2:7
          |
        2 |   id: ��
          |       ^
          |
          = help: save the file as UTF-8

        1 chart, 1 error
        --- exit code 52
    "#]]
    .assert_eq(&transcript(dir.path(), &["check", "x.yaml"], ""));
}

#[test]
fn colour_is_for_terminals() {
    let dir = with(&[("main.yaml", "statechart:\n  id: main\n  initial: aa\n  states:\n    ab: {}\n")]);
    let plain = run(dir.path(), &["check", "main.yaml"], "").stdout;
    assert!(!plain.contains('\u{1b}'));
    let forced = run(dir.path(), &["check", "main.yaml", "--color", "always"], "").stdout;
    assert!(forced.contains('\u{1b}'));
}
