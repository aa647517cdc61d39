//! Triggers with the real binary: missed runs and repeated deliveries over kills, lists, and refusals. Semantics with
//! a clock of their own are tested in `rawko-triggers` and in the server.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hmac::Mac;
use serde_json::Value as Json;

use crate::queue::until;
use crate::support::{command, directory, run};

const SECRET: &str = "s3cret-of-the-hook";
const JOB: &str = "statechart:\n  id: job\n  version: 1.0.0\n  initial: done\n  context: {due: ''}\n  states:\n    done: {type: final, output: {due: context.due}}\n";
const SUM: &str = "statechart:\n  id: sum\n  version: 1.0.0\n  initial: counting\n  context: {total: 0}\n  states:\n    counting: {on: {ADD: {actions: [{type: assign, context_updates: {total: context.total + event.data}}]}}}\n";

/// `rawko serve`, with the secret in its environment.
struct Served(Child);

impl Served {
    fn start(dir: &Path, listen: &str) -> Served {
        let mut command = command(dir, &["serve", "--listen", listen]);
        command.env("HOOK_SECRET", SECRET);
        Served(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn json(dir: &Path, args: &[&str]) -> Json {
    let printed = run(dir, args, "");
    serde_json::from_str(&printed.stdout).unwrap_or_else(|_| panic!("{}{}", printed.stdout, printed.stderr))
}

fn fired(dir: &Path, name: &str) -> i64 {
    json(dir, &["triggers", name, "--json"])["triggers"][0]["fired"].as_i64().unwrap()
}

/// The ids of all instances with this prefix, sorted; the same id would be there twice.
fn ids(dir: &Path, prefix: &str) -> Vec<String> {
    let shown = json(dir, &["ps", "--json", "--all", "--limit", "500"]);
    let rows = shown["instances"].as_array().unwrap().iter();
    let mut ids: Vec<String> = rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.retain(|id| id.starts_with(prefix));
    ids.sort();
    ids
}

#[test]
fn missed_runs_happen_once_each_over_kills() {
    const MINUTES: i64 = 30;
    let settings = "triggers:\n  every:\n    schedule: {cron: '* * * * *', zone: Europe/Zurich, missed: all, at_most: 100}\n    start: {chart: job, input: {due: due}}\n";
    let dir = directory(&[(".rawko/config.yaml", settings), (".rawko/charts/job.yaml", JOB)]);
    let dir = dir.path();
    // A trigger that was armed half an hour ago, and that no host has driven since.
    let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let since_ms = now_ms - now_ms % 60_000 - MINUTES * 60_000;
    let input = [format!("since_ms={since_ms}"), "definition=* * * * * Europe/Zurich".to_owned()];
    let armed = run(
        dir,
        &[
            "run",
            "trigger_log",
            "--id",
            "trigger:every",
            "--patience",
            "0s",
            "--input",
            &input[0],
            "--input",
            &input[1],
        ],
        "",
    );
    assert_eq!(armed.code, Some(55), "{}{}", armed.stdout, armed.stderr);
    let mut kills = 0;
    while fired(dir, "every") < MINUTES {
        let before = fired(dir, "every");
        let serving = Served::start(dir, "127.0.0.1:0");
        until("another run is recorded", || fired(dir, "every") > before);
        serving.kill();
        kills += 1;
    }
    let runs = ids(dir, "trigger:every:");
    let shown = &json(dir, &["triggers", "every", "--json"])["triggers"][0];
    // A run that was started and not recorded when the host was killed is one more.
    let recorded = usize::try_from(shown["fired"].as_i64().unwrap()).unwrap();
    assert!(runs.len() == recorded || runs.len() == recorded + 1, "{recorded} {runs:?}");
    assert_eq!(shown["missed"], 0);
    assert_eq!(runs.len(), runs.iter().collect::<BTreeSet<_>>().len());
    let outputs: BTreeSet<String> =
        runs.iter().map(|id| json(dir, &["show", id, "--json"])["output"]["due"].to_string()).collect();
    assert_eq!(outputs.len(), runs.len(), "every minute once: {outputs:?}");
    println!("triggers: {} runs, {kills} kills", runs.len());
}

/// Delivers a signed body; 0 if no response arrived.
fn deliver(address: &str, body: &str, delivery: &str) -> (u16, String) {
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let head = format!(
        "POST /v1/webhooks/hub HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\nx-github-event: push\r\nx-github-delivery: {delivery}\r\nx-hub-signature-256: sha256={hex}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut text = String::new();
    let sent = TcpStream::connect(address).and_then(|mut stream| {
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        stream.read_to_string(&mut text)
    });
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    (sent.ok().and(status).unwrap_or_default(), text)
}

const HOOK: &str = "triggers:
  hub:
    webhook: {signature: github, secret: '${HOOK_SECRET}'}
    rules:
      - {when: payload.add != null, send: {instance: \"'sum-1'\", event: ADD, data: payload.add}}
      - {when: payload.job != null, start: {chart: job, id: \"'job-' ~ payload.job\", input: {due: payload.job}}}
";

#[test]
fn repeated_deliveries_count_once_over_kills() {
    const DELIVERIES: i64 = 24;
    let dir = directory(&[
        (".rawko/config.yaml", HOOK),
        (".rawko/charts/job.yaml", JOB),
        (".rawko/charts/sum.yaml", SUM),
    ]);
    let dir = dir.path();
    let started = run(dir, &["run", "sum", "--id", "sum-1", "--patience", "0s"], "");
    assert_eq!(started.code, Some(55), "{}", started.stderr);
    let address = free_address();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A sender that repeats each delivery until it is accepted, and once more.
        let sender = scope.spawn(|| {
            for number in 1..=DELIVERIES {
                let bodies = [format!(r#"{{"add": {number}}}"#), format!(r#"{{"job": "{number}"}}"#)];
                for (kind, body) in bodies.iter().enumerate() {
                    let id = format!("d-{kind}-{number}");
                    until("the delivery is accepted", || deliver(&address, body, &id).0 == 200);
                    deliver(&address, body, &id);
                    deliver(&address, body, &format!("replayed-{id}"));
                }
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut kills = 0;
        while !is_over.load(Ordering::SeqCst) {
            let serving = Served::start(dir, &address);
            let before = total(dir);
            until("some deliveries arrive", || is_over.load(Ordering::SeqCst) || total(dir) > before);
            serving.kill();
            kills += 1;
        }
        sender.join().unwrap();
        println!("triggers: {} deliveries, {kills} kills", 2 * DELIVERIES);
    });
    assert_eq!(total(dir), DELIVERIES * (DELIVERIES + 1) / 2, "each number was added once");
    assert_eq!(ids(dir, "job-").len(), usize::try_from(DELIVERIES).unwrap());
    let shown = run(dir, &["triggers", "hub"], "");
    assert!(shown.stdout.contains("/v1/webhooks/hub") && shown.stdout.contains("d-1-24"), "{}", shown.stdout);
    let said = format!("{}{}", shown.stdout, run(dir, &["history", "trigger:hub", "--json"], "").stdout);
    assert!(!said.contains(SECRET), "{said}");
}

fn total(dir: &Path) -> i64 {
    json(dir, &["show", "sum-1", "--json"])["context"]["total"].as_i64().unwrap_or_default()
}

#[test]
fn a_forged_delivery_is_refused() {
    let dir = directory(&[(".rawko/config.yaml", HOOK), (".rawko/charts/job.yaml", JOB)]);
    let address = free_address();
    let serving = Served::start(dir.path(), &address);
    until("it listens", || TcpStream::connect(&address).is_ok());
    let mut stream = TcpStream::connect(&address).unwrap();
    let body = r#"{"job": "x"}"#;
    let head = format!(
        "POST /v1/webhooks/hub HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-hub-signature-256: sha256=00\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 401") && text.contains("the signature does not match"), "{text}");
    serving.kill();
    assert!(ids(dir.path(), "job-").is_empty());
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let settings = "triggers:
  a: {schedule: '61 * * * *', start: {chart: job}}
  b: {schedule: {cron: '@daily', zone: Mars/Olympus}, start: {chart: job}}
  c: {webhook: {signature: github, secret: abc123}, start: {chart: job}}
  d: {webhook: {signature: hmac, secret: '${X}', header: X-Sig}, start: {chart: jobb}}
  e: {schedule: '@daily', start: {chart: job, id: nothing}}
  f: {schedule: '@daily'}
";
    let dir = directory(&[(".rawko/config.yaml", settings), (".rawko/charts/job.yaml", JOB)]);
    let checked = run(dir.path(), &["check", "."], "");
    assert_eq!(checked.code, Some(52));
    let said = checked.stdout + &checked.stderr;
    for text in [
        "invalid minute `61`",
        "unknown time zone `Mars/Olympus`",
        "`secret` of trigger `c` must name an environment variable",
        "a trigger starts the unknown chart `jobb`",
        "invalid expression `nothing`",
        "trigger `f` requires one of `start`, `send`, `task` and `rules`",
    ] {
        assert!(said.contains(text), "{text}\n{said}");
    }
    assert!(!said.contains("unknown chart `job`"), "{said}");
    // A secret that is not set stops the server, and doctor reports it.
    std::fs::write(dir.path().join(".rawko/config.yaml"), HOOK).unwrap();
    let served = run(dir.path(), &["serve", "--listen", "127.0.0.1:0"], "");
    assert_eq!(served.code, Some(52));
    assert!(served.stderr.contains("environment variable HOOK_SECRET is not set"), "{}", served.stderr);
    let doctor = run(dir.path(), &["doctor", "--offline"], "");
    assert!((doctor.stdout + &doctor.stderr).contains("webhook `hub` cannot be verified"));
    // Without a signature only on loopback.
    let open = "triggers: {local: {webhook: {signature: none}, start: {chart: job}}}\n";
    std::fs::write(dir.path().join(".rawko/config.yaml"), open).unwrap();
    let mut command = command(dir.path(), &["serve", "--listen", "0.0.0.0:0"]);
    let refused = command.env("RAWKO_TOKEN", "a-token-of-my-own").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(52) && said.contains("webhook `local` has no signature"), "{said}");
}
