//! Read, Write, Edit, Glob and Grep on real files.

use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use rawko_core::Value;
use rawko_model::MessagePart;
use serde_json::json;

use super::support::Bench;

#[tokio::test]
async fn read_gives_numbered_lines_from_where_it_is_asked() {
    let bench = Bench::new();
    bench.write("a.txt", "one\ntwo\r\nthree\nfour\n");
    let all = bench.run("Read", json!({ "path": "a.txt" })).await;
    assert_eq!(all.content, "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n");
    assert_eq!(all.data.get("path"), &Value::str("a.txt"));
    let part = bench.run("Read", json!({ "path": "./a.txt", "offset": 2, "limit": 2 })).await;
    assert_eq!(part.content, "     2\ttwo\n     3\tthree\n[more lines follow: continue with offset 4]\n");
    let after = bench.run("Read", json!({ "path": "a.txt", "offset": 9 })).await;
    assert_eq!(after.content, "`a.txt` has only 4 lines; there is none at 9.");
}

#[tokio::test]
async fn read_knows_what_is_no_text() {
    let bench = Bench::new();
    let png = b"\x89PNG\r\n\x1a\nrest";
    bench.write("picture.txt", png);
    bench.write("blob", b"a\x00b");
    bench.write("latin", b"caf\xe9 au lait");
    bench.write("empty", "");
    std::fs::create_dir(bench.root().join("dir")).unwrap();
    let picture = bench.run("Read", json!({ "path": "picture.txt" })).await;
    let [MessagePart::Image { media_type, data }] = &picture.images[..] else { panic!("{picture:?}") };
    assert_eq!((media_type.as_str(), data.as_str()), ("image/png", "iVBORw0KGgpyZXN0"));
    for (path, expected, is_error) in [
        ("blob", "`blob` is a binary file of 3 bytes, not text", true),
        ("latin", "`latin` is a binary file of 12 bytes, not text", true),
        ("empty", "`empty` is empty.", false),
        ("dir", "`dir` is a directory: list it with Glob", true),
        ("lati", "there is no `lati`; did you mean `latin`?", true),
        ("no/such/thing", "there is no `no/such/thing` in the project", true),
    ] {
        let outcome = bench.run("Read", json!({ "path": path })).await;
        assert_eq!((outcome.content.as_str(), outcome.is_error), (expected, is_error));
    }
}

#[tokio::test]
async fn read_keeps_to_its_limits() {
    let bench = Bench::new();
    bench.write("long", "x\n".repeat(5000));
    bench.write("wide", "y".repeat(100_000));
    let long = bench.run("Read", json!({ "path": "long", "limit": 100_000 })).await;
    assert_eq!(long.content.lines().count(), 2001);
    assert!(long.content.ends_with("[more lines follow: continue with offset 2001]\n"));
    let wide = bench.run("Read", json!({ "path": "wide" })).await;
    assert!(wide.content.len() < 3000 && wide.content.contains("[98000 more bytes in this line]"));
}

#[tokio::test]
async fn a_pipe_that_nobody_writes_to_holds_nobody_up() {
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.root().join("pipe")).status().unwrap();
    assert!(made.success());
    let outcome = bench.run("Read", json!({ "path": "pipe" })).await;
    assert_eq!(outcome.content, "`pipe` is not a regular file");
}

#[tokio::test]
async fn write_makes_and_replaces_files() {
    let bench = Bench::new();
    let made = bench.run("Write", json!({ "path": "src/deep/a.txt", "content": "one" })).await;
    assert_eq!(made.content, "Created `src/deep/a.txt`: 3 bytes.");
    assert_eq!(made.data.to_json(), json!({ "path": "src/deep/a.txt", "bytes": 3, "created": true }));
    let script = bench.root().join("src/deep/a.txt");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o751)).unwrap();
    let replaced = bench.run("Write", json!({ "path": "src/deep/a.txt", "content": "twotwo" })).await;
    assert_eq!(replaced.data.to_json(), json!({ "path": "src/deep/a.txt", "bytes": 6, "created": false }));
    assert_eq!(bench.text("src/deep/a.txt"), "twotwo");
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o751);
    let left: Vec<_> = std::fs::read_dir(script.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing temporary is left");
}

#[tokio::test]
async fn write_does_not_go_through_a_hard_link() {
    let bench = Bench::new();
    let secret = bench.outside().join("secret");
    std::fs::write(&secret, "old").unwrap();
    std::fs::hard_link(&secret, bench.root().join("inside")).unwrap();
    bench.run("Write", json!({ "path": "inside", "content": "new" })).await;
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "old");
    assert_eq!(bench.text("inside"), "new");
}

#[tokio::test]
async fn edit_replaces_what_stands_there_once() {
    let bench = Bench::new();
    bench.write("a.rs", "fn main() {\n    let x = 1;\n    let y = 1;\n}\n");
    let edited =
        bench.run("Edit", json!({ "path": "a.rs", "old_string": "x = 1", "new_string": "x = 2" })).await;
    assert_eq!(edited.content, "Edited `a.rs` at line 2.");
    assert_eq!(
        edited.data.to_json(),
        json!({ "path": "a.rs", "bytes": 44, "created": false, "replacements": 1 })
    );
    let all = json!({ "path": "a.rs", "old_string": "let ", "new_string": "let mut ", "replace_all": true });
    assert_eq!(bench.run("Edit", all).await.content, "Edited `a.rs`: 2 occurrences replaced.");
    assert_eq!(bench.text("a.rs"), "fn main() {\n    let mut x = 2;\n    let mut y = 1;\n}\n");
}

#[tokio::test]
async fn edit_says_why_it_cannot() {
    let bench = Bench::new();
    bench.write("a.rs", "fn main() {\n    let x = 1;\n    let x = 1;\n}\n");
    let mut said = Vec::new();
    for (old, new) in
        [("let x = 1;", "let x = 2;"), ("\tlet x = 1;", ""), ("let z", ""), ("", "x"), ("fn", "fn")]
    {
        let outcome =
            bench.run("Edit", json!({ "path": "a.rs", "old_string": old, "new_string": new })).await;
        assert!(outcome.is_error, "{old}");
        said.push(outcome.content);
    }
    expect![[r#"
        `old_string` occurs 2 times in `a.rs` (lines 2, 3): give more of the text around the one you mean, or set replace_all
        `old_string` does not stand in `a.rs`: its first line is like line 2, but not all of it is the same, whitespace included. That line is `    let x = 1;`. Read the file again and copy the text exactly, without line numbers
        `old_string` does not stand in `a.rs`, nor any line like it: read the file again
        `old_string` is empty: to write a whole file use Write
        `old_string` and `new_string` are the same"#]]
    .assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn edit_keeps_the_ends_of_lines() {
    let bench = Bench::new();
    bench.write("dos.txt", "one\r\ntwo\r\nthree\r\n");
    bench.run("Edit", json!({ "path": "dos.txt", "old_string": "one\ntwo", "new_string": "1\n2" })).await;
    assert_eq!(bench.text("dos.txt"), "1\r\n2\r\nthree\r\n");
}

fn tree(bench: &Bench) {
    bench.write("src/main.rs", "fn main() {\n    helper();\n}\n");
    bench.write("src/inner/helper.rs", "pub fn helper() {}\n");
    bench.write(".github/ci.yaml", "run: helper\n");
    bench.write("target/out.rs", "fn helper() {}\n");
    bench.write(".gitignore", "target/\n");
    bench.write(".git/config.rs", "helper\n");
    bench.write("blob.rs", b"helper\x00");
}

#[tokio::test]
async fn glob_lists_what_git_does_not_ignore() {
    let bench = Bench::new();
    tree(&bench);
    for (input, expected) in [
        (json!({ "pattern": "**/*.rs" }), "blob.rs\nsrc/inner/helper.rs\nsrc/main.rs"),
        (json!({ "pattern": "*.rs" }), "blob.rs"),
        (json!({ "pattern": "*.rs", "path": "src" }), "src/main.rs"),
        (json!({ "pattern": "src/**" }), "src/inner/helper.rs\nsrc/main.rs"),
        (json!({ "pattern": "**/*.yaml" }), ".github/ci.yaml"),
        (json!({ "pattern": "*.py" }), "No file matches `*.py`."),
        (
            json!({ "pattern": "{a" }),
            "`{a` is not a pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
        ),
    ] {
        assert_eq!(bench.run("Glob", input.clone()).await.content, expected, "{input}");
    }
}

#[tokio::test]
async fn grep_finds_lines() {
    let bench = Bench::new();
    tree(&bench);
    for (input, expected) in [
        (
            json!({ "pattern": "helper" }),
            ".github/ci.yaml:1:run: helper\nsrc/inner/helper.rs:1:pub fn helper() {}\nsrc/main.rs:2:    helper();",
        ),
        (
            json!({ "pattern": "HELPER\\(", "ignore_case": true, "glob": "*.rs", "output": "files" }),
            "src/inner/helper.rs\nsrc/main.rs",
        ),
        (
            json!({ "pattern": "helper", "path": "src/main.rs", "context": 1 }),
            "src/main.rs-1-fn main() {\nsrc/main.rs:2:    helper();\nsrc/main.rs-3-}",
        ),
        (json!({ "pattern": "e", "path": "src", "output": "count" }), "src/inner/helper.rs:1\nsrc/main.rs:1"),
        (
            json!({ "pattern": "helper", "limit": 1 }),
            ".github/ci.yaml:1:run: helper\n[there may be more: narrow the search or raise `limit`]",
        ),
        (json!({ "pattern": "nowhere" }), "Nothing matches `nowhere`."),
    ] {
        assert_eq!(bench.run("Grep", input.clone()).await.content, expected, "{input}");
    }
    let wrong = bench.run("Grep", json!({ "pattern": "(" })).await;
    assert!(
        wrong.is_error && wrong.content.starts_with("`(` is not a regular expression"),
        "{}",
        wrong.content
    );
}
