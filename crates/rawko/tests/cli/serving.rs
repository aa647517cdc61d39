//! `rawko serve` as a process: its output, the state that outlives it, and the secrets it never prints.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::parking::Background;
use crate::support::{directory, played, run, stable, token_of};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
const GATE: &str = r#"{"text": "id: gate\nversion: 1.0.0\ninitial: shut\nstates: {shut: {on: {OPEN: open}}, open: {type: final}}\n"}"#;

/// Sends a request of the operator and returns the status and the body of the response.
pub(crate) fn ask(dir: &Path, serving: &Background, method: &str, path: &str, body: &str) -> (u16, String) {
    let token = token_of(dir);
    ask_with(serving, method, path, &format!("authorization: Bearer {token}\r\n"), body)
}

/// Sends a request and returns the status and the body of the response.
fn ask_with(serving: &Background, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let address = serving.line.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) fn serve(dir: &Path) -> Background {
    Background::start(dir, &SERVE, "http://")
}

#[test]
fn it_prints_the_address_and_a_link() {
    let dir = directory(&[(".rawko/config.yaml", "")]);
    let serving = serve(dir.path());
    assert_eq!(ask(dir.path(), &serving, "GET", "/v1/session", "").0, 200);
    let address = serving.line.trim().to_owned();
    serving.signal("-TERM");
    let said = serving.end();
    let (link, rest) = said.split_once('\n').unwrap();
    let code = link.strip_prefix(&format!("{address}/login/")).unwrap();
    assert!(code.len() == 40 && code.bytes().all(|byte| byte.is_ascii_hexdigit()), "{link}");
    expect_test::expect![[r#"
        --- stderr
        parked: run `rawko serve` to continue all instances
        --- Some(143)
    "#]]
    .assert_eq(rest);
}

#[test]
fn an_uploaded_chart_is_offered_after_a_restart() {
    let dir = directory(&[(".rawko/config.yaml", "")]);
    let serving = serve(dir.path());
    let (status, body) = ask(dir.path(), &serving, "POST", "/v1/charts", GATE);
    assert_eq!(status, 201, "{body}");
    serving.signal("-KILL");
    serving.end();

    assert!(dir.path().join(".rawko/charts/uploaded/gate@1.0.0.yaml").exists());
    let serving = serve(dir.path());
    let (status, body) = ask(dir.path(), &serving, "GET", "/v1/charts/gate", "");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains(r#""source":"uploaded""#) && body.contains(r#""latest":true"#), "{body}");
    let started = run(dir.path(), &["run", "gate", "--id", "g-1", "--patience", "0s"], "");
    assert_eq!(started.code, Some(55), "{}", started.stderr);
    serving.signal("-INT");
    assert!(serving.end().ends_with("--- Some(130)\n"));
}

#[test]
fn tokens_of_the_settings_count_and_are_never_said() {
    let settings = "server:\n  tokens:\n    - {name: wall, role: read, file: wall.token}\n    - {name: ci, role: operate, file: ci.token}\n";
    // Tokens that can act are the person's.
    let dir = directory(&[
        (".config/rawko/config.yaml", settings),
        ("wall.token", "s3cret-wall\n"),
        ("ci.token", "s3cret-ci\n"),
    ]);
    let serving =
        Background::start(dir.path(), &[&SERVE[..], &["--channel-log", "json"]].concat(), "http://");
    let with = |token: &str| format!("authorization: Bearer {token}\r\n");
    let table = [
        ("GET", "/v1/charts", String::new(), "", 401),
        ("GET", "/v1/charts", with("s3cret-other"), "", 401),
        ("GET", "/v1/charts", with("s3cret-wall"), "", 200),
        ("POST", "/v1/channels", with("s3cret-wall"), r#"{"name": "den"}"#, 403),
        ("POST", "/v1/channels", with("s3cret-ci"), r#"{"name": "den", "agents": ["ada"]}"#, 201),
        ("POST", "/v1/charts", with("s3cret-ci"), GATE, 403),
        ("GET", "/s3cret-ci.js", String::new(), "", 404),
        ("POST", "/v1/session", String::new(), r#"{"token": "s3cret-ci"}"#, 200),
    ];
    let mut answers = String::new();
    for (method, path, headers, body, expected) in table {
        let (status, answer) = ask_with(&serving, method, path, &headers, body);
        assert_eq!(status, expected, "{method} {path} {answer}");
        answers += &answer;
    }
    serving.signal("-INT");
    let said = answers + &serving.end();
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_token_that_is_not_there_is_no_open_door() {
    let settings = "server: {tokens: [{name: ci, role: operate, env: RAWKO_TEST_NO_SUCH}], listn: 1}\n";
    let dir = directory(&[(".rawko/config.yaml", settings)]);
    expect_test::expect![[r#"
        $ rawko serve
        --- stderr
        error: invalid settings
        .rawko/config.yaml: `server` has no key `listn`
        --- exit code 52
    "#]]
    .assert_eq(&stable(&played(dir.path(), &["serve"]), dir.path()));
    std::fs::write(dir.path().join(".rawko/config.yaml"), settings.replace(", listn: 1", "")).unwrap();
    expect_test::expect![[r#"
        $ rawko serve
        --- stderr
        error: cannot load token `ci`: environment variable RAWKO_TEST_NO_SUCH is not set
        --- exit code 52
    "#]]
    .assert_eq(&stable(&played(dir.path(), &["serve"]), dir.path()));
}
