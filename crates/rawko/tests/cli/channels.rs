//! Channels from the command line: without a host, with a server, and with a server that is killed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use expect_test::{expect, expect_file};
use tempfile::TempDir;

use crate::parking::Background;
use crate::pty::Pty;
use crate::support::{RAWKO, by_ada, directory, operator, played, repository, run, stable};

/// An agent that answers every message of a person and keeps no state.
const PARROT: &str = r#"#!/bin/sh
echo '{"type":"register","protocol":1,"agent":"'"$RAWKO_AGENT"'","observe":false}'
while read -r line; do
  case "$line" in
    *'"turn_granted"'*'"wake up"'*) echo '{"type":"message","channel":"den","text":"Polly! TURN_COMPLETE"}' ;;
    *'"turn_granted"'*'"hold"'*) ;;
    *'"turn_granted"'*'"kind":"person"'*) echo '{"type":"message","channel":"den","text":"Polly! TURN_COMPLETE"}' ;;
    *'"turn_granted"'*) echo '{"type":"turn_complete","channel":"den"}' ;;
  esac
done
"#;

const SETTINGS: &str =
    "turns:\n  agents:\n    polly: {command: [./parrot.sh]}\n  channels:\n    den: {agents: [polly]}\n";
const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--channel-log", "json"];

fn den() -> TempDir {
    let dir = directory(&[(".rawko/config.yaml", SETTINGS), ("parrot.sh", PARROT)]);
    std::fs::set_permissions(dir.path().join("parrot.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn texts(dir: &Path) -> String {
    by_ada(&run(dir, &["channels", "messages", "den"], "").stdout)
}

#[test]
fn channels_without_a_server() {
    let dir = directory(&[]);
    let shown = played(
        dir.path(),
        &[
            "channels",
            "channels create standup --agent bob --agent ada --option defaultTimeoutSeconds=30",
            "channels create standup",
            "channels create not.good",
            "channels create other --option timeout=3",
            "channels post standup Anybody? --as kim",
            "channels post standup Anybody? --key k-1",
            "channels post standup Anybody? --key k-1",
            "channels assign standup ada",
            "channels remove standup bob",
            "channels skip standup",
            "channels pause standup",
            "channels priority standup ada -3",
            "channels",
            "channels messages standup --after 1",
            "channels messages standup --json",
            "channels log standup",
            "channels show nowhere",
            "channels close standup",
            "channels",
        ],
    );
    expect![[r#"
        $ rawko channels
        --- stderr
        none: no channels yet; create one with `rawko channels create NAME`
        $ rawko channels create standup --agent bob --agent ada --option defaultTimeoutSeconds=30
        standup  0 messages
            turn     no agent
            order    round robin
            OFFLINE  bob              0 unread, assigned
            OFFLINE  ada              0 unread, assigned
        $ rawko channels create standup
        --- stderr
        error: channel `standup` already exists
        --- exit code 2
        $ rawko channels create not.good
        --- stderr
        error: invalid name `not.good`: use at most 64 letters, digits, `-` and `_`
        --- exit code 2
        $ rawko channels create other --option timeout=3
        --- stderr
        error: invalid turn option: unknown field `timeout`, expected one of `defaultTimeoutSeconds`, `humanInterruptMode`, `announceTimeouts`, `announceDisconnects`, `announceEmpty`, `autoDetectTurnEnd`, `autoDetectSilenceSeconds`, `waitTimeoutSeconds`, `humanHoldSeconds`, `reconnectGraceSeconds`, `turnOrder`, `restWhenQuiet`, `tellAfterRounds`, `stuckAfterRounds`, `turnsUnattendedMax`, `joinMessages`
        --- exit code 2
        $ rawko channels post standup Anybody? --as kim
           1  kim (ada): Anybody?
        $ rawko channels post standup Anybody? --key k-1
           2  ada: Anybody?
        $ rawko channels post standup Anybody? --key k-1
        --- stderr
        ignored: already posted with this key
        $ rawko channels assign standup ada
        --- stderr
        error: `ada` is already assigned to this channel
        --- exit code 1
        $ rawko channels remove standup bob
        standup  2 messages
            turn     no agent
            order    round robin
            OFFLINE  ada              2 unread, assigned
            OFFLINE  bob              2 unread
        $ rawko channels skip standup
        --- stderr
        error: no turn is active
        --- exit code 1
        $ rawko channels pause standup
        standup  2 messages
            turn     paused, no agent
            order    round robin
            OFFLINE  ada              2 unread, assigned
            OFFLINE  bob              2 unread
        $ rawko channels priority standup ada -3
        standup  2 messages
            turn     paused, no agent
            order    round robin
            OFFLINE  ada              2 unread, priority -3, assigned
            OFFLINE  bob              2 unread
        $ rawko channels
        CHANNEL  TURN              AGENTS  MESSAGES
        standup  paused, no agent  0 of 1  2
        $ rawko channels messages standup --after 1
           2  ada: Anybody?
        $ rawko channels messages standup --json
        {"number":1,"at_ms":0,"kind":"person","from":"kim (ada)","text":"Anybody?"}
        {"number":2,"at_ms":0,"kind":"person","from":"ada","text":"Anybody?","id":"k-1"}
        $ rawko channels log standup
        $ rawko channels show nowhere
        --- stderr
        error: channel `nowhere` not found
        --- exit code 2
        $ rawko channels close standup
        $ rawko channels
        --- stderr
        none: no channels yet; create one with `rawko channels create NAME`
    "#]].assert_eq(&stable(&shown, dir.path()));
}

/// The prompt writes to the terminal itself: colours, and text without any escape in it.
#[test]
fn a_chat_on_a_terminal_shows_messages_above_its_prompt() {
    let dir = den();
    run(dir.path(), &["channels", "create", "hall"], "");
    let mut terminal = Pty::start(dir.path(), &["chat", "hall", "--as", "kim"], (80, 24));
    terminal.wait_for("hall> ");
    terminal.press("hello\r");
    terminal.wait_for(": hello");
    let screen = terminal.screen();
    let message = screen.lines().find(|line| line.ends_with(": hello")).unwrap();
    assert!(message.starts_with("   1  kim"), "{screen}");
    terminal.press("/help\r");
    terminal.wait_for("leave (also Ctrl-D)");
    assert!(terminal.screen().contains("\n  text          post a message"), "{}", terminal.screen());
    terminal.press("/quit\r");
    assert_eq!(terminal.wait_for_end().code(), Some(0));
}

#[test]
fn a_server_lets_agents_take_turns_and_parks_them() {
    let dir = den();
    let serving = Background::start(dir.path(), &SERVE, "http://127.0.0.1:");
    let said = by_ada(
        &run(dir.path(), &["chat", "den", "--as", "kim", "--patience", "30s"], "hello\n/nonsense\n").stdout,
    );
    let mut said: Vec<&str> = said.lines().filter(|line| !line.starts_with('—')).collect();
    said.sort();
    let expected =
        ["   1  kim (ada): hello", "   2  polly: Polly!", "unknown command `/nonsense`; see `/help`"];
    assert_eq!(said, expected);
    let second = run(dir.path(), &SERVE, "");
    assert_eq!((second.code, second.stderr.contains("already hosted by")), (Some(3), true));
    serving.signal("-INT");
    let ended = serving.end();
    assert!(
        ended.contains(r#""from":"QUEUED","to":"ACTIVE","trigger":"Turn granted","channel":"den""#),
        "{ended}"
    );
    assert!(
        ended.ends_with("parked: run `rawko serve` to continue all instances\n--- Some(130)\n"),
        "{ended}"
    );
}

#[test]
fn a_killed_server_loses_neither_turn_nor_deadline_nor_messages() {
    let dir = den();
    let serving = Background::start(dir.path(), &SERVE, "http://");
    run(dir.path(), &["chat", "den", "--as", "kim", "--patience", "30s"], "hello\n");
    run(dir.path(), &["channels", "post", "den", "hold", "--as", "kim"], "");
    let turn = |dir: &Path| {
        let shown = run(dir, &["channels", "show", "den", "--json"], "").stdout;
        let channel: serde_json::Value = serde_json::from_str(&shown).unwrap();
        channel["turn"].clone()
    };
    let before = turn(dir.path());
    assert_eq!(before["agent"], "polly");
    serving.signal("-KILL");
    serving.end();

    let serving = Background::start(dir.path(), &SERVE, "http://");
    assert_eq!(turn(dir.path()), before, "the same turn, the same deadline");
    assert_eq!(texts(dir.path()), "   1  kim (ada): hello\n   2  polly: Polly!\n   3  kim (ada): hold\n");
    run(dir.path(), &["channels", "skip", "den"], "");
    run(dir.path(), &["chat", "den", "--as", "kim", "--patience", "30s"], "wake up\n");
    assert!(
        texts(dir.path()).ends_with("   4  kim (ada): wake up\n   5  polly: Polly!\n"),
        "{}",
        texts(dir.path())
    );
    serving.signal("-TERM");
    assert!(serving.end().ends_with("--- Some(143)\n"));
}

#[test]
fn a_server_for_everybody_wants_a_token() {
    let dir = directory(&[("empty", "\n")]);
    let shown = played(
        dir.path(),
        &[
            "serve --listen 0.0.0.0:0",
            "serve --listen 0.0.0.0:0 --token-file empty",
            "serve --token-file nowhere",
        ],
    );
    expect![[r#"
        $ rawko serve --listen 0.0.0.0:0
        --- stderr
        error: refusing to listen on 0.0.0.0:0 without a token; pass --token-file or set RAWKO_TOKEN
        --- exit code 2
        $ rawko serve --listen 0.0.0.0:0 --token-file empty
        --- stderr
        error: refusing to listen on 0.0.0.0:0 without a token; pass --token-file or set RAWKO_TOKEN
        --- exit code 2
        $ rawko serve --token-file nowhere
        --- stderr
        error: file `nowhere` not found
        --- exit code 2
    "#]]
    .assert_eq(&stable(&shown, dir.path()));
}

/// Sessions, keys and rate limits are tracked by the name of a token.
#[test]
fn two_tokens_cannot_have_one_name() {
    let name = operator();
    let settings = format!("server: {{tokens: [{{name: {name}, role: read, file: guest}}]}}\n");
    let dir = directory(&[(".rawko/config.yaml", &*settings), ("guest", "a-1\n"), ("own", "b-2\n")]);
    expect![[r#"
        $ rawko serve --token-file own
        --- stderr
        error: duplicate token `ada`: the operator has this name; rename the token in the settings
        --- exit code 52
    "#]]
    .assert_eq(&played(dir.path(), &["serve --token-file own"]).replace(&format!("`{name}`"), "`ada`"));
}

#[test]
fn settings_that_are_wrong_stop_the_server() {
    let dir = directory(&[(".rawko/config.yaml", "turns:\n  humanInterruptMode: loud\n  agent: {}\n")]);
    expect![[r#"
        $ rawko serve --listen 127.0.0.1:0
        --- stderr
        error[rawko::settings::invalid_value]: invalid value of `humanInterruptMode`: unknown variant `loud`, expected one of `queue`, `interrupt`, `inject`, `parallel`
         --> .rawko/config.yaml:2:23
          |
        2 |   humanInterruptMode: loud
          |                       ^^^^
          |
          = help: see the guide on channels

        error[rawko::settings::unknown_key]: `turns` has no key `agent`
         --> .rawko/config.yaml:3:3
          |
        3 |   agent: {}
          |   ^^^^^
          |
          = help: did you mean `agents`?

        error: invalid settings in `.rawko/config.yaml`
        --- exit code 52
    "#]].assert_eq(&stable(&played(dir.path(), &["serve --listen 127.0.0.1:0"]), dir.path()));
}

#[test]
fn doctor_looks_at_turns_too() {
    let dir = directory(&[(".rawko/config.yaml", "turns:\n  humanInterruptMode: loud\n  agent: {}\n")]);
    let told = run(dir.path(), &["doctor"], "");
    assert_eq!(told.code, Some(1), "{}", told.stdout);
    assert!(told.stdout.contains(".rawko/config.yaml:3: `turns` has no key `agent`"), "{}", told.stdout);
    assert!(
        told.stdout.contains(".rawko/config.yaml:2: invalid value of `humanInterruptMode`"),
        "{}",
        told.stdout
    );
}

const NEWS: &str = "
statechart:
  id: news
  initial: telling
  context: {why: null}
  states:
    telling:
      entry:
        - {type: send, target: 'channel:den', event: NEWS, data: {text: The build is green.}}
        - {type: send, target: 'channel:nowhere', event: NEWS, data: {text: Hello?}}
      on:
        error.communication:
          actions: [{type: assign, context_updates: {why: event.data.message}}]
        READ: done
    done: {type: final}
";

/// A message from a chart is posted to the channel once, in whichever process hosts.
#[test]
fn a_chart_speaks_in_a_channel() {
    let settings = format!("governance: {{allow: ['channel:*']}}\n{SETTINGS}");
    for is_served in [false, true] {
        let dir = den();
        std::fs::write(dir.path().join(".rawko/config.yaml"), &settings).unwrap();
        std::fs::write(dir.path().join("news.yaml"), NEWS).unwrap();
        let serving = is_served.then(|| Background::start(dir.path(), &SERVE, "http://"));
        if !is_served {
            run(dir.path(), &["channels", "create", "den"], "");
        }
        let ran = run(dir.path(), &["run", "news.yaml", "--id", "n", "--output-format", "json"], "");
        assert_eq!(ran.code, Some(55), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("channel `nowhere` not found"), "{}", ran.stdout);
        assert!(texts(dir.path()).starts_with("   1  n: The build is green.\n"), "{}", texts(dir.path()));
        // The next host does not repeat the message.
        assert_eq!(run(dir.path(), &["send", "n", "READ"], "").code, Some(0));
        assert_eq!(texts(dir.path()).matches("green").count(), 1, "{}", texts(dir.path()));
        if let Some(serving) = serving {
            serving.signal("-TERM");
            serving.end();
        }
    }
}

#[test]
fn the_standup_example() {
    let dir = repository().join("examples/standup");
    let output = Command::new("sh")
        .arg("run.sh")
        .current_dir(&dir)
        .env("RAWKO", RAWKO)
        .env_remove("RAWKO_TOKEN")
        .env_remove("RAWKO_CALL")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    expect_file![dir.join("transcript.txt")].assert_eq(&by_ada(&String::from_utf8(output.stdout).unwrap()));
}
