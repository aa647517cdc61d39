//! Raw writes to the socket of a host, as an agent with a shell makes them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::scene::{Outcome, Scene, Table, ensure, mode, operator, said};

const ANSWER: &str = r#"{"op":"answer","id":"o-1","approved":true,"by":"ada"}"#;

/// Writes lines and returns everything that the host answers before it closes or falls silent.
fn talk(socket: &Path, text: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    // A host that refuses may close before all is written.
    let _ = stream.write_all(text.as_bytes());
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..length]);
        let lines = heard.iter().filter(|byte| **byte == b'\n').count();
        if lines >= text.matches('\n').count() {
            break;
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// Holds if the host answers nothing, or only that it refuses.
fn refused(heard: &str) -> Outcome {
    let is_refusal = |line: &str| line.starts_with(r#"{"error":{"code":"unauthorized","message":"#);
    ensure(heard.lines().all(is_refusal), heard)
}

pub(crate) fn attempts(table: &mut Table) {
    let scene = Scene::asking(&["o-1", "o-2"]);
    let _host = scene.serve(|_| {});
    let (socket, token) = (scene.socket(), scene.token());
    let hello = |token: &str| format!("{{\"op\":\"hello\",\"token\":{token}}}\n");
    let half = &token[..32];
    let chart = r#"{"name":"evil.yaml","text":"id: evil\ninitial: a\nstates: {a: {}}"}"#;
    let first = [
        ("an answer", ANSWER.to_owned()),
        ("a ping", r#"{"op":"ping"}"#.to_owned()),
        ("a link to the page", r#"{"op":"link"}"#.to_owned()),
        ("a start", format!(r#"{{"op":"start","charts":[{chart}],"input":null,"id":"evil"}}"#)),
        ("an event", r#"{"op":"send","id":"o-1","event":"WITHDRAWN"}"#.to_owned()),
        ("a cancellation", r#"{"op":"cancel","id":"o-1"}"#.to_owned()),
        ("a fork", r#"{"op":"fork","id":"o-1"}"#.to_owned()),
        ("a retry", r#"{"op":"retry","id":"o-1"}"#.to_owned()),
        ("a wait", r#"{"op":"settle","id":"o-1","patience_ms":0}"#.to_owned()),
        ("a channel", r#"{"op":"channel","request":{"ask":"list"}}"#.to_owned()),
        ("nonsense", "}{".to_owned()),
        ("nothing", String::new()),
        ("a token without a hello", format!(r#"{{"token":"{token}"}}"#)),
        (
            "an answer with a token",
            format!(r#"{{"op":"answer","id":"o-1","approved":true,"token":"{token}"}}"#),
        ),
        ("a line that never ends", "x".repeat(1 << 20)),
    ];
    let hellos = [
        ("no token", r#""""#.to_owned()),
        ("a wrong token", format!("\"{}\"", "0".repeat(64))),
        ("half of the token", format!("\"{half}\"")),
        ("more than the token", format!("\"{token}0\"")),
        ("the token in capitals", format!("\"{}\"", token.to_uppercase())),
        ("null", "null".to_owned()),
        ("a number", "0".to_owned()),
        ("a list", format!("[\"{token}\"]")),
        ("the user's name", format!("\"{}\"", operator())),
    ];
    let mut rows = Vec::new();
    for (name, line) in first {
        let heard = talk(&socket, &format!("{line}\n"));
        rows.push((format!("{name} without a hello"), refused(&heard)));
    }
    for (name, given) in hellos {
        // The answer is sent at once, without waiting for the reply to the hello.
        let heard = talk(&socket, &format!("{}{ANSWER}\n", hello(&given)));
        rows.push((format!("an answer after a hello with {name}"), refused(&heard)));
    }
    rows.push(("all of it together".to_owned(), scene.is_asking("o-1")));
    let listed = said(&scene.run(&["ps", "--all"]));
    rows.push(("a second instance".to_owned(), ensure(!listed.contains("evil"), listed)));
    rows.push(("the socket's mode".to_owned(), ensure(mode(&socket) == 0o600, "others can connect")));

    // The same answer with the credential is taken, in the name that the credential proves.
    let answer = ANSWER.replace("o-1", "o-2").replace("ada", "mallory");
    let heard = talk(&socket, &format!("{}{answer}\n", hello(&format!("\"{token}\""))));
    let control = ensure(heard.contains(r#"{"ok":{"receipt""#), heard);
    table.group("socket", control, rows);

    let shown = said(&scene.run(&["show", "o-2", "--json"]));
    let proven = format!(r#""by":"{}""#, operator());
    let name = "a claimed name".to_owned();
    let by = ensure(shown.replace(' ', "").contains(&proven), shown.clone());
    table.group("socket", ensure(shown.contains("succeeded"), shown), vec![(name, by)]);
}
