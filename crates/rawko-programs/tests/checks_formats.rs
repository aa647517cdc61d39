//! Error counts for sample texts of each format. A keyword is never a count.

use expect_test::{Expect, expect};
use rawko_programs::checks::{CheckFormat, CheckOutput, count};

/// Prints `errors: summary`, then one line per finding.
#[track_caller]
fn counted(format: CheckFormat, text: &str, exit_code: i32, expected: Expect) {
    let output =
        CheckOutput { exit_code: Some(exit_code), stdout: text.to_owned(), ..CheckOutput::default() };
    let counted = count(&format, &output);
    let mut shown = format!("{}: {}\n", counted.errors, counted.summary);
    for finding in counted.findings {
        let place =
            finding.file.map(|file| format!("{file}:{} ", finding.line.unwrap_or(0))).unwrap_or_default();
        shown += &format!("  {place}{}\n", finding.message);
    }
    expected.assert_eq(&shown);
}

#[test]
fn tap() {
    counted(
        CheckFormat::Tap,
        "TAP version 13\n1..3\nok 1 - a\nok 2 - 1 failed\nok 3\n",
        0,
        expect![[r#"
        0: 3 tests passed
    "#]],
    );
    counted(
        CheckFormat::Tap,
        "1..4\nok 1 a\nnot ok 2 b # TODO later\nnot ok 3 c\n  ---\n  message: 'no'\n  ...\nok 4 # SKIP\n",
        1,
        expect![[r#"
            1: 1 of 3 tests failed
              c: no
        "#]],
    );
    counted(
        CheckFormat::Tap,
        "1..5\nok 1\nnot ok 2 - b\n",
        1,
        expect![[r#"
            4: 4 of 5 tests failed
              b
              3 planned tests did not run
        "#]],
    );
    counted(
        CheckFormat::Tap,
        "1..2\nok 1\nBail out! no database\n",
        1,
        expect![[r#"
            1: 1 of 2 tests failed
              the test run stopped early (`Bail out!`)
              1 planned test did not run
        "#]],
    );
    counted(
        CheckFormat::Tap,
        "# Subtest: outer\n    ok 1 - a\n    not ok 2 - b\n    1..2\nnot ok 1 - outer\n1..1\n",
        1,
        expect![[r#"
            1: 1 of 2 tests failed
              b
        "#]],
    );
}

#[test]
fn junit() {
    counted(
        CheckFormat::Junit,
        r#"<?xml version="1.0"?><testsuites><testsuite tests="3" failures="1"><testcase classname="t" name="ok"/><testcase classname="t" name="bad" file="t.py" line="7"><failure message="1 != 2&#10;more">trace</failure></testcase><testcase name="skipped"><skipped/></testcase></testsuite></testsuites>"#,
        1,
        expect![[r#"
            1: 1 of 2 tests failed
              t.py:7 t.bad: 1 != 2
        "#]],
    );
    counted(
        CheckFormat::Junit,
        r#"<testsuite><testcase name="failure in words only"/></testsuite>"#,
        0,
        expect![[r#"
            0: 1 test passed
        "#]],
    );
    counted(
        CheckFormat::Junit,
        "<html/>",
        0,
        expect![[r#"
        1: it exited with 0, and its result cannot be read: `<html>` is not JUnit's: <html/>
          it exited with 0, and its result cannot be read: `<html>` is not JUnit's: <html/>
    "#]],
    );
}

#[test]
fn sarif() {
    counted(
        CheckFormat::Sarif,
        r#"{"runs": [{"tool": {"driver": {"rules": [{"id": "E", "defaultConfiguration": {"level": "error"}}]}}, "results": [
        {"ruleId": "E", "message": {"text": "by its rule"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 3}}}]},
        {"level": "warning", "message": {"text": "an error in words only"}},
        {"level": "error", "message": {"text": "suppressed"}, "suppressions": [{"kind": "inSource"}]},
        {"level": "error", "message": {"text": "plain"}}]}]}"#,
        0,
        expect![[r#"
            2: 2 errors, 1 lesser finding
              a.c:3 by its rule
              plain
        "#]],
    );
    counted(
        CheckFormat::Sarif,
        r#"{"runs": [{"results": []}]}"#,
        0,
        expect![[r#"
        0: ok
    "#]],
    );
}

#[test]
fn cargo() {
    let message = |level: &str, text: &str, line: u32| {
        format!(
            r#"{{"reason":"compiler-message","message":{{"level":"{level}","message":"{text}","code":{{"code":"E0308"}},"spans":[{{"file_name":"src/lib.rs","line_start":{line},"is_primary":true}}]}}}}"#
        )
    };
    let summary = r#"{"reason":"compiler-message","message":{"level":"error","message":"aborting due to 1 previous error","code":null,"spans":[]}}"#;
    let end = |is_ok: bool| format!(r#"{{"reason":"build-finished","success":{is_ok}}}"#);
    let broken = [
        message("error", "mismatched types", 4),
        message("error", "mismatched types", 4),
        message("warning", "1 error", 9),
        summary.into(),
        end(false),
    ];
    counted(
        CheckFormat::Cargo,
        &broken.join("\n"),
        101,
        expect![[r#"
            1: 1 compiler error
              src/lib.rs:4 E0308: mismatched types
        "#]],
    );
    counted(
        CheckFormat::Cargo,
        &end(true),
        0,
        expect![[r#"
        0: it compiles
    "#]],
    );
    let tests = |failed: u32| {
        format!(
            "{}\n\nrunning 3 tests\ntest a ... ok\ntest it::says_0_failed ... {}\ntest b - should panic ... ok\n\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            end(true),
            if failed > 0 { "FAILED" } else { "ok" },
            if failed > 0 { "FAILED" } else { "ok" },
            3 - failed
        )
    };
    counted(
        CheckFormat::Cargo,
        &tests(1),
        101,
        expect![[r#"
        1: 1 of 3 tests failed
          test it::says_0_failed failed
    "#]],
    );
    counted(
        CheckFormat::Cargo,
        &tests(0),
        0,
        expect![[r#"
        0: 3 tests passed
    "#]],
    );
    counted(
        CheckFormat::Cargo,
        &format!("{}\nrunning 3 tests\n", tests(0)),
        0,
        expect![[r#"
        1: it exited with 0, and its result cannot be read: a test program of Rust was ended from within before it came to its end: running 3 tests
          it exited with 0, and its result cannot be read: a test program of Rust was ended from within before it came to its end: running 3 tests
    "#]],
    );
    // An abort keeps the count.
    counted(
        CheckFormat::Cargo,
        &format!("{}\nrunning 3 tests\n", tests(2)),
        101,
        expect![[r#"
        2: 2 of 3 tests failed
          test it::says_0_failed failed
    "#]],
    );
    counted(
        CheckFormat::Cargo,
        "error: no such command",
        101,
        expect![[r#"
        1: it exited with 101, and its result cannot be read: no messages of cargo; it needs `--message-format=json`: error: no such command
          it exited with 101, and its result cannot be read: no messages of cargo; it needs `--message-format=json`: error: no such command
    "#]],
    );
}

/// Runners of other languages print the same line.
#[test]
fn an_exit_within_a_test_of_rust_is_no_success() {
    let table = [
        ("running 5 tests\n", false, 0),
        ("running 5 tests\n", true, 1),
        ("running 5 tests\ntest a ... ok\n", false, 1),
        ("running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed;\n", true, 0),
    ];
    for (text, runs_cargo, expected) in table {
        let output =
            CheckOutput { exit_code: Some(0), stdout: text.to_owned(), runs_cargo, ..CheckOutput::default() };
        assert_eq!(count(&CheckFormat::Exit, &output).errors, expected, "{text}");
    }
}

#[test]
fn unittest() {
    counted(
        CheckFormat::Unittest,
        "..\n------\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n",
        0,
        expect![[r#"
            0: 1 test passed
        "#]],
    );
    counted(
        CheckFormat::Unittest,
        "E\n======\nERROR: test_a (t.T.test_a)\n------\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_a\nFAIL: test_b (t.T.test_b)\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=2, expected failures=1)\n",
        1,
        expect![[r#"
            2: 2 of 2 tests failed
              t.py:3 test_a (t.T.test_a)
              test_b (t.T.test_b)
        "#]],
    );
    counted(
        CheckFormat::Unittest,
        "FAILED (failures=9)\n",
        0,
        expect![[r#"
        1: it exited with 0, and its result cannot be read: no summary of unittest: FAILED (failures=9)
          it exited with 0, and its result cannot be read: no summary of unittest: FAILED (failures=9)
    "#]],
    );
}

#[test]
fn go() {
    let text = r#"{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"broken"}"#;
    counted(
        CheckFormat::Go,
        text,
        1,
        expect![[r#"
        2: 2 of 3 tests failed
          p: TestB/one
          broken does not build
    "#]],
    );
}
