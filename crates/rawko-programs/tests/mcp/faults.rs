//! Servers that fail to start, die, hang or return too much.

use std::time::Duration;

use rawko_chart::SourceFile;
use rawko_host::Environment;
use rawko_programs::mcp::{McpConfig, McpHealthState, McpServers, McpSettings, McpTransport, read_mcp};
use rawko_tools::ToolSource;
use serde_json::json;

use crate::support::{
    TIME_LIMIT, call, everything, is_alive, kill_server, names, peer, said, settings, start, stdio, until,
};

#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    let unset = McpTransport::Unusable { why: "the environment variable `TOKEN` is not set".into() };
    let cases = [
        (
            "it ends",
            stdio("it", "sh", &["-c", "echo 'no licence found' >&2; exit 3"]),
            vec!["`sh` ended with exit code 3", "no licence found"],
        ),
        (
            "no program",
            stdio("it", "no-such-program", &[]),
            vec!["program `no-such-program` not found in PATH"],
        ),
        (
            "no file",
            stdio("it", "./no/such/file", &[]),
            vec!["program `./no/such/file` not found: looked for"],
        ),
        ("silence", stdio("it", "sleep", &["1000"]), vec!["did not answer within 2s", "`sleep` still runs"]),
        ("not the protocol", stdio("it", "echo", &["hello"]), vec!["`echo` ended with exit code 0"]),
        ("not usable", McpConfig::new("it", unset), vec!["the environment variable `TOKEN` is not set"]),
    ];
    for (case, config, expected) in cases {
        let mut settings = settings();
        settings.start_timeout = Duration::from_secs(2);
        let servers = McpServers::start(vec![config], settings);
        assert!(names(&servers).await.is_empty(), "{case}");
        assert!(servers.has("mcp__it__anything"), "{case}: the name is ours all the same");
        let outcome = call(&servers, "mcp__it__anything", json!({})).await;
        assert!(outcome.is_error, "{case}");
        assert!(
            outcome.content.starts_with("the MCP server `it` is not available: "),
            "{case}: {}",
            outcome.content
        );
        for words in expected {
            assert!(outcome.content.contains(words), "{case}: {}", outcome.content);
        }
        let health = &servers.health()[0];
        assert!(
            matches!(health.state, McpHealthState::Down | McpHealthState::Unusable),
            "{case}: {health:?}"
        );
        assert!(health.problem.is_some(), "{case}");
    }
}

#[tokio::test]
async fn a_crash_during_a_call_is_told_and_the_next_call_works() {
    let servers = start(peer(&[]));
    let crash = call(&servers, "mcp__peer__crash", json!({})).await;
    assert!(crash.is_error);
    for words in ["was lost during this call", "is not known", "exit code 7", "the database is on fire"] {
        assert!(crash.content.contains(words), "{words}: {}", crash.content);
    }
    assert_eq!(said(&servers, "mcp__peer__add", json!({"a": 1, "b": 2})).await, "3");
    let health = &servers.health()[0];
    assert_eq!((health.starts, health.state, &health.problem), (2, McpHealthState::Up, &None));
}

#[tokio::test]
async fn a_kill_during_a_call_is_told() {
    let servers = start(peer(&[]));
    said(&servers, "mcp__peer__add", json!({"a": 1, "b": 1})).await;
    let waiting = call(&servers, "mcp__peer__wait", json!({}));
    let kill = async {
        said(&servers, "mcp__peer__add", json!({"a": 2, "b": 2})).await;
        kill_server(&servers);
    };
    let (outcome, ()) = tokio::join!(waiting, kill);
    assert!(outcome.is_error);
    assert!(outcome.content.contains("ended by signal 9"), "{}", outcome.content);
    assert_eq!(said(&servers, "mcp__peer__add", json!({"a": 3, "b": 3})).await, "6");
}

#[tokio::test]
async fn a_server_that_is_lost_again_and_again_is_left_alone() {
    let mut settings = settings();
    settings.failures_max = 3;
    let servers = McpServers::start(vec![peer(&[])], settings);
    for _ in 0..3 {
        let crash = call(&servers, "mcp__peer__crash", json!({})).await;
        assert!(crash.content.contains("was lost during this call"), "{}", crash.content);
    }
    let refused = call(&servers, "mcp__peer__add", json!({"a": 1, "b": 1})).await;
    assert!(refused.content.contains("it failed 3 times in a row and is left alone"), "{}", refused.content);
    assert!(refused.content.contains("the database is on fire"), "the last reason: {}", refused.content);
    assert_eq!((servers.health()[0].starts, servers.health()[0].state), (3, McpHealthState::LeftAlone));
    assert!(names(&servers).await.contains(&"mcp__peer__add".to_owned()), "its tools are still known");
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_and_the_server_lives_on() {
    let mut config = stdio("everything", "node", &[&everything(), "stdio"]);
    config.timeout = Some(Duration::from_millis(1500));
    let servers = start(config);
    names(&servers).await;
    let long = json!({"duration": 600, "steps": 2});
    let outcome = call(&servers, "mcp__everything__trigger-long-running-operation", long).await;
    assert!(outcome.is_error);
    assert!(outcome.content.contains("did not answer within 1.5s"), "{}", outcome.content);
    assert_eq!(
        said(&servers, "mcp__everything__echo", json!({"message": "still here"})).await,
        "Echo: still here"
    );
    assert_eq!(servers.health()[0].starts, 1);
}

/// After a question without a call, the calls of a server run one at a time.
#[tokio::test]
async fn waiting_for_another_call_does_not_count_as_time_of_a_call() {
    let mut config = peer(&[]);
    config.timeout = Some(Duration::from_secs(3));
    let servers = start(config);
    assert!(said(&servers, "mcp__peer__ask", json!({})).await.starts_with("asked"));
    let nap = || said(&servers, "mcp__peer__nap", json!({"seconds": 2}));
    let (one, other) = tokio::join!(nap(), nap());
    assert_eq!((one.as_str(), other.as_str()), ("called nap", "called nap"));
}

#[tokio::test]
async fn answers_that_are_errors_and_answers_that_are_too_long() {
    let mut settings = settings();
    settings.output_bytes_max = 100;
    let servers = McpServers::start(vec![peer(&[])], settings);
    let refused = call(&servers, "mcp__peer__refuse", json!({})).await;
    assert!(refused.is_error);
    assert_eq!(refused.content, "the MCP server `peer` answered with an error: the arguments are wrong");

    let flood = said(&servers, "mcp__peer__flood", json!({"bytes": 1_000_000})).await;
    assert_eq!(flood, format!("{}\n[999900 more bytes were cut]", "x".repeat(100)));

    let nothing = call(&servers, "mcp__peer__nothing", json!({})).await;
    assert!(
        nothing.content.contains("has no tool `mcp__peer__nothing`; it has mcp__peer__add"),
        "{}",
        nothing.content
    );

    let text = call(&servers, "mcp__peer__add", json!("one and one")).await;
    assert_eq!(text.content, "the input of `mcp__peer__add` must be a map");
    assert_eq!(servers.health()[0].starts, 1, "none of this costs the server its life");
}

#[tokio::test]
async fn tools_come_and_go_and_have_names_that_models_take() {
    let servers = start(peer(&[]));
    let before = names(&servers).await;
    assert!(!before.contains(&"mcp__peer__grown".to_owned()));
    said(&servers, "mcp__peer__grow", json!({})).await;
    // The notification of a changed list may arrive shortly after the response.
    let listed = async {
        while !names(&servers).await.contains(&"mcp__peer__grown".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIME_LIMIT, listed).await.expect("the new tool is listed");

    assert!(
        before.contains(&"mcp__peer__log_all".to_owned())
            && before.contains(&"mcp__peer__log_all_2".to_owned())
    );
    assert_eq!(said(&servers, "mcp__peer__log_all", json!({})).await, "called log.all");
    assert_eq!(said(&servers, "mcp__peer__log_all_2", json!({})).await, "called log all");
}

#[tokio::test]
async fn however_many_need_it_a_server_is_started_once() {
    let servers = start(peer(&[]));
    let add = |a: i64| said(&servers, "mcp__peer__add", json!({"a": a, "b": 1}));
    let sums = tokio::join!(add(1), add(2), add(3), names(&servers));
    assert_eq!((sums.0.as_str(), sums.1.as_str(), sums.2.as_str()), ("2", "3", "4"));
    assert_eq!(servers.health()[0].starts, 1);
}

#[tokio::test]
async fn hints_say_what_may_be_repeated() {
    let servers = start(peer(&[]));
    assert!(!servers.is_safe_to_repeat("mcp__peer__add"), "nobody knows before the tools are listed");
    names(&servers).await;
    let cases = [("add", true), ("set", true), ("crash", false), ("grow", false), ("nothing", false)];
    for (tool, expected) in cases {
        assert_eq!(servers.is_safe_to_repeat(&format!("mcp__peer__{tool}")), expected, "{tool}");
    }
    assert!(!servers.has("mcp__other__add"));
    assert!(!servers.has("Read"));
}

#[tokio::test]
async fn a_server_sees_little_of_the_environment() {
    let mut config = peer(&[]);
    let McpTransport::Stdio { env, .. } = &mut config.transport else { unreachable!() };
    env.push(("GIVEN".into(), "x".into()));
    let seen = said(&start(config), "mcp__peer__env", json!({})).await;
    let seen: Vec<&str> = seen.split(',').collect();
    assert!(seen.contains(&"GIVEN") && seen.contains(&"PATH"), "{seen:?}");
    let of_test = ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "LD_LIBRARY_PATH"];
    assert!(!seen.iter().any(|name| of_test.contains(name)), "{seen:?}");
}

#[tokio::test]
async fn secrets_do_not_come_back_in_what_a_server_says() {
    let environment = Environment::from_iter([
        ("PATH", std::env::var("PATH").unwrap()),
        ("TOKEN", "s3cret-word".to_owned()),
    ]);
    let file = r#"{"mcpServers": {
        "shouts": {"command": "sh", "args": ["-c", "echo bad token $KEY >&2; exit 1"], "env": {"KEY": "x-${TOKEN}"}}
    }}"#;
    let (configs, findings) =
        read_mcp(&SourceFile::new(".mcp.json", file), &environment, std::path::Path::new("."));
    assert!(findings.is_empty(), "{findings:?}");
    let servers = McpServers::start(configs, McpSettings { environment, ..settings() });
    let outcome = call(&servers, "mcp__shouts__anything", json!({})).await;
    assert!(outcome.content.contains("bad token x-[hidden]"), "{}", outcome.content);
    assert!(!format!("{:?}", servers.health()).contains("s3cret"), "{:?}", servers.health());
}

#[tokio::test]
async fn a_server_ends_with_everything_it_started() {
    for case in ["dropped", "closed"] {
        // The process id of the child is one of its own namespace: it is known by its argument.
        let argument = format!("1000.{}", std::process::id());
        let servers = start(peer(&["--child", &argument]));
        said(&servers, "mcp__peer__add", json!({"a": 1, "b": 1})).await;
        let server = servers.health()[0].pid.unwrap();
        let child_is_alive = || {
            let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let lines =
                processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
            lines.into_iter().any(|line| line == format!("sleep\0{argument}\0"))
        };
        assert!(is_alive(server) && child_is_alive(), "{case}");
        if case == "closed" {
            servers.close().await;
        }
        drop(servers);
        until("both are dead", || !is_alive(server) && !child_is_alive());
    }
}
