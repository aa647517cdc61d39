//! Requests to a default `rawko serve` on loopback, as `curl` or a page of another site makes them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::scene::{Host, Outcome, Scene, Table, ensure};

/// Sends a request; returns the status and the whole response.
fn ask(host: &Host, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&host.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    let own = [("host", host.address.as_str()), ("content-type", "application/json")];
    let own = own.iter().filter(|(name, _)| !headers.iter().any(|(given, _)| given == name));
    own.chain(headers).for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    let heard = String::from_utf8_lossy(&heard).into_owned();
    (heard.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0), heard)
}

fn is(expected: &[u16], (status, heard): (u16, String)) -> Outcome {
    ensure(expected.contains(&status), heard)
}

const CHART: &str = r#"{"text":"id: evil\nversion: 1.0.0\ninitial: a\nstates: {a: {}}"}"#;
const ANSWER: (&str, &str, &str) = ("POST", "/v1/instances/o-1/answer", r#"{"approved":true,"by":"ada"}"#);

/// Requests that need a token, with a body that is accepted with one.
const REQUESTS: [(&str, &str, &str); 24] = [
    ANSWER,
    ("POST", "/v1/instances/o-1/events", r#"{"type":"WITHDRAWN"}"#),
    ("POST", "/v1/instances/o-1/cancel", "{}"),
    ("POST", "/v1/instances/o-1/fork", "{}"),
    ("POST", "/v1/instances/o-1/retry", "{}"),
    ("POST", "/v1/instances", r#"{"chart":"order"}"#),
    ("POST", "/v1/instances", CHART),
    ("POST", "/v1/tasks", r#"{"task":"x"}"#),
    ("POST", "/v1/charts", CHART),
    ("POST", "/v1/charts/check", CHART),
    ("POST", "/v1/channels", r#"{"name":"den"}"#),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{}}}"#,
    ),
    ("GET", "/mcp", ""),
    ("DELETE", "/mcp", ""),
    ("GET", "/v1/instances", ""),
    ("GET", "/v1/instances/o-1/journal", ""),
    ("GET", "/v1/approvals", ""),
    ("GET", "/v1/audit", ""),
    ("GET", "/v1/triggers", ""),
    ("GET", "/v1/stream", ""),
    ("GET", "/v1/agents", ""),
    ("GET", "/v1/openapi.json", ""),
    ("GET", "/metrics", ""),
    ("GET", "/v1/nothing/of/the/kind", ""),
];

pub(crate) fn attempts(table: &mut Table) {
    let scene = Scene::asking(&["o-1", "o-2"]);
    let settings = "server: {tokens: [{name: bot, role: agent, env: BOT_TOKEN}, {name: wall, role: read, env: WALL_TOKEN}]}\n";
    scene.write(".rawko/config.yaml", settings);
    let host = scene.serve(|command| {
        command.env("BOT_TOKEN", "a-token-of-a-bot").env("WALL_TOKEN", "a-token-of-a-wall");
    });
    let token = scene.token();
    let bearer = format!("Bearer {token}");
    let mut rows = Vec::new();
    for (method, path, body) in REQUESTS {
        rows.push((
            format!("{method} {path} without a token"),
            is(&[401], ask(&host, method, path, &[], body)),
        ));
    }
    let (method, path, body) = ANSWER;
    let query = format!("{path}?token={token}&access_token={token}");
    let basic = format!("Basic {token}");
    type Way<'w> = (&'w str, &'w str, Vec<(&'w str, &'w str)>, &'w [u16]);
    let ways: [Way<'_>; 14] = [
        ("a wrong token", path, vec![("authorization", "Bearer 0000")], &[401]),
        ("an empty token", path, vec![("authorization", "Bearer ")], &[401]),
        ("another scheme", path, vec![("authorization", &basic)], &[401]),
        ("the token in the query", &query, vec![], &[400, 401]),
        ("the token as a cookie", path, vec![("cookie", &token)], &[401]),
        ("a forged cookie", path, vec![("cookie", "rawko_session=726f6f74.9999999999999.00")], &[401]),
        ("a forged name", path, vec![("x-forwarded-user", "root"), ("x-remote-user", "root")], &[401]),
        ("a forged origin of the request", path, vec![("x-forwarded-for", "127.0.0.1")], &[401]),
        ("an upgrade", path, vec![("upgrade", "websocket"), ("connection", "upgrade")], &[400, 401]),
        (
            "another host name (DNS rebinding)",
            path,
            vec![("host", "evil.example"), ("authorization", &bearer)],
            &[403],
        ),
        (
            "a page of another site",
            path,
            vec![("origin", "http://evil.example"), ("authorization", &bearer)],
            &[403],
        ),
        (
            "a page on another port",
            path,
            vec![("origin", "http://127.0.0.1:1"), ("authorization", &bearer)],
            &[403],
        ),
        (
            "a cross-site fetch",
            path,
            vec![("sec-fetch-site", "cross-site"), ("authorization", &bearer)],
            &[403],
        ),
        ("an agent's token", path, vec![("authorization", "Bearer a-token-of-a-bot")], &[403]),
    ];
    for (name, path, headers, expected) in ways {
        rows.push((format!("an answer with {name}"), is(expected, ask(&host, method, path, &headers, body))));
    }
    for (name, given) in [("an agent", "Bearer a-token-of-a-bot"), ("a reader", "Bearer a-token-of-a-wall")] {
        for (method, path, body) in
            REQUESTS.into_iter().filter(|(method, path, _)| *method == "POST" && !path.ends_with("check"))
        {
            let asked = ask(&host, method, path, &[("authorization", given)], body);
            rows.push((format!("{method} {path} with the token of {name}"), is(&[403], asked)));
        }
    }
    let health = ask(&host, "GET", "/v1/health", &[], "");
    let is_minimal = health.1.ends_with(r#"{"status":"ok"}"#);
    rows.push(("what health tells a stranger".to_owned(), ensure(is_minimal, health.1)));
    rows.push(("all of it together".to_owned(), scene.is_asking("o-1")));
    let control = ask(&host, method, "/v1/instances/o-2/answer", &[("authorization", &bearer)], body);
    table.group("http", is(&[200], control), rows);
    links(&host, &scene, table);
    agents(&host, table);
}

/// Registers an agent over WebSocket; returns the first message of the server.
fn register(host: &Host, token: &str, in_header: bool, agent: &str) -> String {
    let mut stream = TcpStream::connect(&host.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let bearer = if in_header { format!("authorization: Bearer {token}\r\n") } else { String::new() };
    let request = format!(
        "GET /v1/agents HTTP/1.1\r\nhost: {}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n{bearer}\r\n",
        host.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
    let own = if in_header { String::new() } else { format!(r#","token":"{token}""#) };
    let text = format!(r#"{{"type":"register","protocol":1,"agent":"{agent}"{own}}}"#);
    // One masked frame; the mask is zero.
    let frame = [&[0x81, 0x80 | u8::try_from(text.len()).unwrap(), 0, 0, 0, 0], text.as_bytes()].concat();
    stream.write_all(&frame).unwrap();
    let mut message = vec![0; 4096];
    let count = stream.read(&mut message).unwrap();
    String::from_utf8_lossy(&message[..count]).into_owned()
}

/// The token of one agent used for another one, whose words the people of a channel would read.
fn agents(host: &Host, table: &mut Table) {
    let mut rows = Vec::new();
    for in_header in [true, false] {
        for name in ["ada", "wall", "operator", "Bot"] {
            let heard = register(host, "a-token-of-a-bot", in_header, name);
            let refused = heard.contains("invalid_name") && !heard.contains("registered");
            rows.push((format!("the token of bot as `{name}`"), ensure(refused, heard)));
        }
        let heard = register(host, "a-token-of-a-wall", in_header, "wall");
        rows.push(("the token of a reader".to_owned(), ensure(heard.contains("unauthorized"), heard)));
    }
    let heard = register(host, "a-token-of-a-bot", true, "bot");
    table.group("agents", ensure(heard.contains(r#""type":"registered""#), heard), rows);
}

/// The one-time link that `serve` prints.
fn links(host: &Host, scene: &Scene, table: &mut Table) {
    let path = host.link.trim_start_matches("http://").trim_start_matches(&host.address).to_owned();
    let (_, code) = path.rsplit_once('/').unwrap();
    let guess = format!("/login/{}", "0".repeat(code.len()));
    let login = |path: &str, headers: &[(&str, &str)]| ask(host, "GET", path, headers, "");
    let mut rows = vec![
        ("a guessed code".to_owned(), is(&[401], login(&guess, &[]))),
        ("half of the code".to_owned(), is(&[401], login(&path[..path.len() - 4], &[]))),
        ("a page of another site".to_owned(), is(&[403], login(&path, &[("origin", "http://evil.example")]))),
        ("another host name".to_owned(), is(&[403], login(&path, &[("host", "evil.example")]))),
    ];
    let opened = login(&path, &[]);
    let cookie = opened.1.split("rawko_session=").nth(1).and_then(|rest| rest.split(';').next());
    let cookie = format!("rawko_session={}", cookie.unwrap_or_default());
    let attributes = opened.1.contains("; HttpOnly; SameSite=Strict");
    rows.push(("a cookie that scripts read".to_owned(), ensure(attributes, opened.1.clone())));
    rows.push(("the same link again".to_owned(), is(&[401], login(&path, &[]))));
    let by_cookie = |headers: &[(&str, &str)]| {
        let headers = [&[("cookie", cookie.as_str())], headers].concat();
        ask(host, "GET", "/v1/instances", &headers, "")
    };
    rows.push((
        "the cookie from another site".to_owned(),
        is(&[403], by_cookie(&[("origin", "http://evil.example")])),
    ));
    rows.push((
        "the cookie under another name".to_owned(),
        is(&[403], by_cookie(&[("host", "evil.example")])),
    ));
    let control = is(&[303], opened).and_then(|()| is(&[200], by_cookie(&[])));
    table.group("link", control, rows);
    let another = scene.run(&["serve", "--link"]);
    let text = String::from_utf8_lossy(&another.stdout).trim().to_owned();
    let path = text.trim_start_matches("http://").trim_start_matches(&host.address).to_owned();
    let without = scene.command(&["serve", "--link"]).env("RAWKO_CALL", "x").output().unwrap();
    let row = ("a link for an agent".to_owned(), ensure(without.status.code() == Some(41), "it got one"));
    table.group("link", is(&[303], login(&path, &[])), vec![row]);
}
