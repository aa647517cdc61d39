//! Agents as child processes: started, killed, restarted.

use std::os::unix::fs::PermissionsExt;

use rawko_turns::ChannelEvent;

use crate::support::Setup;

/// Posts a message when it gets the turn, and completes the turn on request.
const AGENT: &str = r#"#!/bin/sh
[ "$1" ] || exec sh "$0" MARK
echo '{"type":"register","protocol":1,"agent":"'"$RAWKO_AGENT"'","observe":false}'
while read -r line; do
  case "$line" in
    *'"turn_granted"'*) echo '{"type":"message","channel":"standup","text":"here"}' ;;
    *'"text":"go on"'*) echo '{"type":"turn_complete","channel":"standup"}' ;;
  esac
done
"#;

/// Posts the variables that it sees.
const NOSY: &str = r#"#!/bin/sh
echo '{"type":"register","protocol":1,"agent":"'"$RAWKO_AGENT"'","observe":false}'
while read -r line; do
  case "$line" in
    *'"turn_granted"'*) echo '{"type":"message","channel":"standup","text":"'$(env | cut -d= -f1 | sort)'"}' ;;
  esac
done
"#;

/// Starts a process that detaches, which ends by itself after two minutes.
const FORKING: &str = r#"#!/bin/sh
echo '{"type":"register","protocol":1,"agent":"'"$RAWKO_AGENT"'","observe":false}'
while read -r line; do
  case "$line" in
    *'"turn_granted"'*)
      setsid sh -c 'sleep 120; : MARK detached' >/dev/null 2>&1 </dev/null &
      echo '{"type":"message","channel":"standup","text":"here"}' ;;
  esac
done
"#;

fn setup() -> Setup {
    with_worker("{command: [./worker.sh], defaultTimeoutSeconds: 600}", AGENT)
}

fn with_worker(worker: &str, script: &str) -> Setup {
    let setup =
        Setup::with(&format!("agents:\n  worker: {worker}\nchannels:\n  standup: {{agents: [worker]}}"));
    let path = setup.folder().join("worker.sh");
    std::fs::write(&path, script.replace("MARK", &mark(&setup))).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    setup
}

/// A word that only the processes of this setup have in their command line. They have ids of their own namespace, so an
/// id that they tell is of no use here.
fn mark(setup: &Setup) -> String {
    setup.folder().file_name().unwrap().to_string_lossy().replace('.', "")
}

/// Returns the processes with this word in their command line. Those that have ended have none.
fn with_mark(word: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().into_string().ok());
    let ids = ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
    let has_word = |id: &String| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    ids.filter(has_word).collect()
}

fn kill(ids: &[String]) {
    assert!(!ids.is_empty());
    assert!(std::process::Command::new("kill").arg("-9").args(ids).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_loses_its_turn_and_is_started_again_when_it_is_assigned() {
    let setup = setup();
    let mark = mark(&setup);
    let server = setup.start().await;
    let mut ada = server.agent("ada").await;
    server.until("standup", |channel| channel.posted == 1).await;
    server.serving.assign("standup", "ada", "kim").await.unwrap();
    kill(&with_mark(&mark));
    ada.expect("turn_granted").await;
    assert_eq!(server.state("standup", "worker").await, "OFFLINE");
    assert!(
        server.texts("standup").await.contains(&"channel: ⚠️ worker disconnected, skipping turn".to_owned())
    );
    server.members_are_in_step("standup").await;

    server.serving.assign("standup", "worker", "kim").await.unwrap();
    server.until("standup", |channel| channel.state_of(&"worker".into()).as_str() == "QUEUED").await;
    ada.post("standup", "Your turn TURN_COMPLETE").await;
    server
        .until("standup", |channel| channel.turn.as_ref().is_some_and(|turn| turn.agent.as_str() == "worker"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_an_agent_detached_ends_with_the_server() {
    let setup = with_worker("{command: [./worker.sh], defaultTimeoutSeconds: 600}", FORKING);
    let detached = format!("{} detached", mark(&setup));
    let server = setup.start().await;
    server.until("standup", |channel| channel.posted == 1).await;
    // The message may arrive before the detached process has its command line.
    for _ in 0..500 {
        if !with_mark(&detached).is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(!with_mark(&detached).is_empty());
    server.serving.close().await;
    assert!(with_mark(&detached).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_says_reaches_a_process_in_its_turn() {
    let server = setup().start().await;
    server.until("standup", |channel| channel.posted == 1).await;
    let said = ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: "go on".into() };
    server.serving.channels().apply("standup", said).await.unwrap();
    server.until("standup", |channel| channel.turn.is_none()).await;
    assert_eq!(server.state("standup", "worker").await, "IDLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_an_agent_that_is_not_there() {
    let turns = "agents:\n  ghost: {command: [./nowhere]}\nchannels:\n  standup: {agents: [ghost, ada]}";
    let server = Setup::with(turns).start().await;
    let mut ada = server.agent("ada").await;
    ada.expect("turn_granted").await;
    assert_eq!(server.state("standup", "ghost").await, "OFFLINE");
    let told = server.troubles.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("agent ghost: cannot start `./nowhere`: "), "{told:?}");
}

/// Cargo sets two variables in every test: one is passed by name, the other stands for the server's tokens and keys.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_sees_only_the_variables_it_is_given() {
    let [passed, planted] = ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"];
    assert!([passed, planted].iter().all(|name| std::env::var_os(name).is_some()));
    let worker = format!("{{command: [./worker.sh], env: {{COLOUR: red}}, pass_env: [{passed}]}}");
    let server = with_worker(&worker, NOSY).start().await;
    server.until("standup", |channel| channel.posted == 1).await;
    let said = server.texts("standup").await.remove(0);
    let seen: Vec<&str> = said.split_whitespace().collect();
    for name in [passed, "COLOUR", "PATH", "RAWKO_AGENT"] {
        assert!(seen.contains(&name), "{name} is not in {said}");
    }
    assert!(!seen.contains(&planted), "{said}");
}
