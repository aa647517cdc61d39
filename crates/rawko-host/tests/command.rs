//! Programs as services: their input, the meaning of their output, and that no process is left behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use rawko_core::Value;
use rawko_host::{Category, ServiceError};
use support::{call, service, shown};

/// Runs a script with `sh -c`, in a project of its own.
async fn run(script: &str, beside: &str, variables: &[(&str, &str)]) -> Result<Value, ServiceError> {
    let root = tempfile::tempdir().unwrap();
    run_in(root.path(), &["sh", "-c", script], beside, variables).await
}

async fn run_in(
    root: &Path,
    command: &[&str],
    beside: &str,
    variables: &[(&str, &str)],
) -> Result<Value, ServiceError> {
    let command = serde_json::to_string(command).unwrap();
    let service = service(root, &format!("{{command: {command}{beside}}}"), variables);
    service.call(call(Value::map([("amount", Value::Int(12))]))).await
}

async fn check(script: &str, expected: Expect) {
    expected.assert_eq(&shown(run(script, "", &[]).await));
}

#[tokio::test]
async fn a_program_gets_the_call_and_answers_with_json() {
    check("cat", expect![[r#"ok {"input":{"amount":12},"idempotency_key":"order-1/4/0","instance":"order-1","id":"charge","attempt":2,"policy":{"budget":{"tool_calls":3}}}"#]]).await;
    check("echo '[1, 2.5, null]'", expect!["ok [1,2.5,null]"]).await;
    check("true", expect!["ok null"]).await;
    check("printf ' \\n'", expect!["ok null"]).await;
}

#[tokio::test]
async fn its_environment_is_what_settings_say_and_nothing_else() {
    let names = "env | sed 's,^RAWKO_CALL=.*,RAWKO_CALL=MARK,' | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^PATH=' | sort | python3 -c 'import sys, json; print(json.dumps(sys.stdin.read().split()))'";
    let set = [("TOKEN", "s3cret"), ("CARRIER", "c4rrier"), ("HOME", "here"), ("OTHER", "no")];
    let beside = ", env: {REGION: eu, KEY: \"k-${TOKEN}\", PORT: 80}, pass_env: [CARRIER, UNSET]";
    expect![[r#"ok ["CARGO_NET_OFFLINE=true","CARRIER=c4rrier","HOME=/tmp/home","KEY=k-s3cret","PORT=80","RAWKO_ATTEMPT=2","RAWKO_CALL=MARK","RAWKO_IDEMPOTENCY_KEY=order-1/4/0","RAWKO_INSTANCE=order-1","REGION=eu","TERM=dumb","TMPDIR=/tmp","npm_config_offline=true"]"#]].assert_eq(&shown(run(names, beside, &set).await));
}

#[tokio::test]
async fn it_runs_in_the_project() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("sub")).unwrap();
    std::fs::write(root.path().join("sub/here.json"), "\"found\"").unwrap();
    let found = Ok(Value::str("found"));
    assert_eq!(run_in(root.path(), &["cat", "sub/here.json"], "", &[]).await, found);
    assert_eq!(run_in(root.path(), &["cat", "here.json"], ", cwd: sub", &[]).await, found);
    std::os::unix::fs::symlink("/", root.path().join("out")).unwrap();
    let outside = run_in(root.path(), &["true"], ", cwd: out", &[]).await.unwrap_err();
    assert_eq!((outside.category, outside.retryable), (Category::Host, Some(false)));
    let missing = run_in(root.path(), &["true"], ", cwd: gone", &[]).await.unwrap_err();
    assert_eq!((missing.category, missing.retryable), (Category::Host, Some(false)));
}

#[tokio::test]
async fn a_failure_says_why() {
    check("echo one >&2; echo two >&2; exit 3", expect![[r#"error {"category":"failed","message":"`sh` exited with code 3: two","exit_code":3,"stderr":"one\ntwo\n"}"#]]).await;
    check(
        "exit 7",
        expect![[
            r#"error {"category":"failed","message":"`sh` exited with code 7","exit_code":7,"stderr":""}"#
        ]],
    )
    .await;
    check(
        "kill -9 $$",
        expect![[
            r#"error {"category":"failed","message":"`sh` was killed by signal 9","signal":9,"stderr":""}"#
        ]],
    )
    .await;
    check("echo '{\"message\": \"declined\", \"retryable\": false, \"reason\": 51}'; exit 1", expect![[r#"error {"category":"failed","message":"declined","retryable":false,"reason":51,"exit_code":1,"stderr":""}"#]])
        .await;
    check(
        "echo '{\"category\": \"network\", \"message\": \"bank away\"}'; exit 1",
        expect![[r#"error {"category":"network","message":"bank away","exit_code":1,"stderr":""}"#]],
    )
    .await;
    check(
        "echo '{\"category\": \"refused\"}'; exit 1",
        expect![[
            r#"error {"category":"failed","message":"`sh` exited with code 1","exit_code":1,"stderr":""}"#
        ]],
    )
    .await;
    check(
        "echo nonsense; exit 1",
        expect![[
            r#"error {"category":"failed","message":"`sh` exited with code 1","exit_code":1,"stderr":""}"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_must_be_one_json_value() {
    check("echo hello", expect![[r#"error {"category":"invalid_answer","message":"the output of `sh` is not one JSON value: expected value at line 1 column 1","stdout":"hello\n","stderr":""}"#]]).await;
    check("echo 1 2", expect![[r#"error {"category":"invalid_answer","message":"the output of `sh` is not one JSON value: trailing characters at line 1 column 3","stdout":"1 2\n","stderr":""}"#]]).await;
}

#[tokio::test]
async fn stderr_is_kept_to_its_last_4_kib_on_a_character_boundary() {
    let error = run("python3 -c 'import sys; sys.stderr.write(\"ä\" * 5000 + \"!\")'; exit 1", "", &[]).await;
    let stderr = error.unwrap_err().details.get("stderr").to_string();
    assert_eq!((stderr.len(), stderr.chars().next(), stderr.ends_with("ä!")), (4095, Some('ä'), true));
}

#[tokio::test]
async fn large_input_and_output_do_not_block_each_other() {
    let root = tempfile::tempdir().unwrap();
    let echo = service(root.path(), "{command: [cat]}", &[]);
    let large = Value::from("x".repeat(1_000_000));
    assert_eq!(echo.call(call(large.clone())).await.unwrap().get("input"), &large);
    // A program that does not read its input succeeds.
    let deaf = service(root.path(), "{command: [echo, \"1\"]}", &[]);
    assert_eq!(deaf.call(call(large)).await, Ok(Value::Int(1)));
}

#[tokio::test]
async fn more_output_than_allowed_ends_it() {
    let expected = expect![[
        r#"error {"category":"invalid_answer","message":"the output of `sh` is larger than 64 KiB"}"#
    ]];
    expected.assert_eq(&shown(run("yes", ", output_max: 64KiB", &[]).await));
    let expected = expect![[
        r#"error {"category":"invalid_answer","message":"the output of `sh` is larger than 4 MiB"}"#
    ]];
    expected.assert_eq(&shown(run("yes", "", &[]).await));
}

#[tokio::test]
async fn a_program_that_is_not_there_says_where_it_was_looked_for() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("plain"), "no program").unwrap();
    let script = root.path().join("script");
    std::fs::write(&script, "#!/nowhere/python\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    let mut told = String::new();
    for program in ["no-such-program", "services/book", "./plain", "./script"] {
        let error = run_in(root.path(), &[program], "", &[]).await.unwrap_err();
        assert_eq!((error.category, error.retryable), (Category::Unknown, Some(false)));
        told += &format!("{}\n", error.message);
    }
    let path = std::env::var("PATH").unwrap().replace(':', ", ");
    let told = told.replace(&path, "PATHS").replace(root.path().to_str().unwrap(), "PROJECT");
    expect![[r#"
        program `no-such-program` not found in PATH (PATHS); write `./no-such-program` for one in the project
        program `services/book` not found: no file PROJECT/services/book
        the program `./plain` is not executable
        the `#!` line of the program `./script` names a program that does not exist
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_variable_that_is_not_set_stops_the_call() {
    let error = run("true", ", env: {KEY: \"${TOKEN}\"}", &[]).await;
    expect![[r#"error {"category":"host","message":"the environment variable `TOKEN` is not set","retryable":false}"#]].assert_eq(&shown(error));
}

#[tokio::test]
async fn secrets_are_taken_out_of_failures() {
    let set = [("TOKEN", "s3cret-token"), ("PASSED", "p4ssed-token")];
    let beside = ", env: {KEY: \"k-${TOKEN}\"}, pass_env: [PASSED]";
    for script in [
        "echo $KEY $PASSED >&2; exit 1",
        "echo \"{\\\"message\\\": \\\"$KEY\\\", \\\"x\\\": [{\\\"$PASSED\\\": \\\"$PASSED\\\"}]}\"; exit 1",
        "echo $KEY $PASSED",
        // At the cut, where half of one could remain.
        "python3 -c 'import os, sys; sys.stderr.write(os.environ[\"PASSED\"] + \"x\" * 4090)'; exit 1",
    ] {
        let error = format!("{:?}", run(script, beside, &set).await.unwrap_err());
        assert!(!error.contains("cret") && !error.contains("ssed-token"), "{error}");
    }
    let expected = expect![[
        r#"error {"category":"failed","message":"`sh` exited with code 1: k-${TOKEN} ${PASSED}","exit_code":1,"stderr":"k-${TOKEN} ${PASSED}\n"}"#
    ]];
    expected.assert_eq(&shown(run("echo $KEY $PASSED >&2; exit 1", beside, &set).await));
}

#[tokio::test]
async fn time_is_up() {
    let error = run("sleep 60", ", timeout: 50ms", &[]).await;
    expect![[r#"error {"category":"timeout","message":"`sh` was killed: no result within 50ms"}"#]]
        .assert_eq(&shown(error));
}

/// Processes left running do not delay the result, and are ended with it.
#[tokio::test]
async fn the_answer_does_not_wait_for_what_was_left_running() {
    let watch = Watch::new("sleep 60 & ready; echo 5");
    let (answer, ()) = tokio::join!(watch.call(), watch.until_all_are_gone(""));
    assert_eq!(answer, Ok(Value::Int(5)));
}

/// A program and its children hold a pipe open; its end proves that none of them runs any more.
struct Watch(tempfile::TempDir, String);

impl Watch {
    fn new(script: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(root.path().join("alive")).status().unwrap();
        assert!(made.success());
        Self(root, format!("exec 3>alive; ready() {{ echo ready >&3; }}; {script}"))
    }

    fn call(&self) -> rawko_host::ServiceFuture {
        let command = serde_json::to_string(&["sh", "-c", &self.1]).unwrap();
        service(self.0.path(), &format!("{{command: {command}}}"), &[]).call(call(Value::Null))
    }

    /// Waits until the program runs.
    async fn ready(&self) -> BufReader<File> {
        let path = self.0.path().join("alive");
        let opened = tokio::task::spawn_blocking(move || {
            let mut pipe = BufReader::new(File::open(path).unwrap());
            pipe.read_line(&mut String::new()).unwrap();
            pipe
        });
        opened.await.unwrap()
    }

    async fn until_all_are_gone(&self, last_words: &str) {
        let pipe = self.ready().await;
        gone(pipe, last_words).await;
    }
}

/// Waits for the last output and the end. The timeout only keeps a failing test from hanging.
async fn gone(mut pipe: BufReader<File>, last_words: &str) {
    let rest = tokio::task::spawn_blocking(move || {
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        rest
    });
    let rest =
        tokio::time::timeout(Duration::from_secs(30), rest).await.expect("something still runs").unwrap();
    assert_eq!(rest, last_words);
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_group() {
    for (script, last_words) in [
        ("sleep 60 & ready; sleep 60", ""),
        // SIGTERM comes first, so that it can clean up.
        ("trap 'echo tidied >&3; exit' TERM; sleep 60 & ready; wait", "tidied\n"),
        // A program that ignores SIGTERM is killed, and so is one whose parent has already exited.
        ("trap '' TERM; sleep 60 & ready; sleep 60", ""),
        ("(trap '' TERM; ready; sleep 60) & sleep 60", ""),
    ] {
        let watch = Watch::new(script);
        let running = tokio::spawn(watch.call());
        let pipe = watch.ready().await;
        running.abort();
        gone(pipe, last_words).await;
    }
}

#[test]
fn ending_the_runtime_ends_the_whole_group() {
    let watch = Watch::new("trap '' TERM; sleep 60 & ready; sleep 60");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pipe = runtime.block_on(async {
        tokio::spawn(watch.call());
        watch.ready().await
    });
    drop(runtime);
    tokio::runtime::Runtime::new().unwrap().block_on(gone(pipe, ""));
}
