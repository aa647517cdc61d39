//! Triggers with a clock that the test moves: schedules, missed runs, changed definitions, signed webhooks and their
//! repetitions, over a real store and real sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rawko_core::Value as Data;
use rawko_host::{Clock, Edition, Environment, SettingsReader};
use rawko_server::{ServedTriggers, ServerTokens};
use rawko_store::Filter;
use rawko_triggers::{Trigger, read_section};
use serde_json::Value;

use crate::support::{Ask, TestServer, start, tokens};

const LOG: &str = include_str!("../../../../charts/trigger_log.yaml");
const SUM: &str = "statechart:\n  id: sum\n  version: 1.0.0\n  initial: counting\n  context: {total: 0}\n  states:\n    counting: {on: {ADD: {actions: [{type: assign, context_updates: {total: context.total + event.data}}]}}}\n";

/// 2026-11-18T00:30:00Z.
const START_MS: i64 = 1_794_961_800_000;
const HOUR_MS: i64 = 3_600_000;

#[derive(Clone)]
struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    fn new() -> FakeClock {
        FakeClock(Arc::new(AtomicI64::new(START_MS)))
    }

    fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn environment() -> Environment {
    [("HOOK", "It's a Secret to Everybody")].into_iter().collect()
}

fn triggers(text: &str) -> Vec<Trigger> {
    let environment = environment();
    let mut reader = SettingsReader::new(&environment);
    let document = rawko_chart::SpannedValue::read(text).unwrap();
    let (all, _) = read_section(&mut reader, &document, "config.yaml");
    assert!(reader.findings.is_empty(), "{:?}", reader.findings);
    all
}

async fn served(text: &str, clock: &FakeClock, tokens: ServerTokens) -> TestServer {
    let all = ServedTriggers::new(triggers(text), &environment()).unwrap();
    let clock = clock.clone();
    let server = start(tokens, |options| {
        options.clock = Arc::new(clock);
        options.triggers = all;
    })
    .await;
    for (name, text) in [("trigger_log.yaml", LOG), ("sum.yaml", SUM)] {
        server.host.library().offer(Edition::read(name, text).unwrap());
    }
    server
}

/// The ids of started instances, by time.
fn started(server: &TestServer, prefix: &str) -> Vec<String> {
    let page = server.host.reader().store().list(&Filter { limit: 500, ..Filter::default() }).unwrap();
    let mut ids: Vec<String> = page.rows.iter().map(|row| row.new.id.to_string()).collect();
    ids.retain(|id| id.starts_with(prefix));
    ids.sort();
    ids
}

async fn listed(server: &TestServer) -> BTreeMap<String, Value> {
    let list = server.get("/v1/triggers").send().await.json();
    let all = list["triggers"].as_array().unwrap().clone();
    all.into_iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one)).collect()
}

#[tokio::test]
async fn missed_runs_by_policy_and_once_each() {
    let clock = FakeClock::new();
    let text = "
skipped: {schedule: {cron: '0 * * * *', missed: skip}, start: {chart: door}}
single: {schedule: '0 * * * *', start: {chart: door}}
every: {schedule: {cron: '0 * * * *', missed: all, at_most: 3}, start: {chart: door}}
unknown: {schedule: '0 * * * *', start: {chart: window}}
";
    let server = served(text, &clock, ServerTokens::default()).await;
    let runner = server.server.triggers();
    runner.pass().await;
    assert_eq!(started(&server, "trigger:").len(), 4, "armed, and nothing of the past is due");
    clock.advance(HOUR_MS / 2 + 1_000);
    for _ in 0..3 {
        runner.pass().await;
    }
    for name in ["skipped", "single", "every"] {
        let id = format!("trigger:{name}:");
        assert_eq!(started(&server, &id), [format!("{id}20261118T0100Z")], "on time, whatever the policy");
    }
    // Nothing looks for five hours and a half.
    clock.advance(5 * HOUR_MS + HOUR_MS / 2);
    for _ in 0..3 {
        runner.pass().await;
    }
    let runs = |name: &str| {
        let id = format!("trigger:{name}:");
        started(&server, &id).iter().map(|it| it[id.len() + 9..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(runs("skipped"), ["0100Z"]);
    assert_eq!(runs("single"), ["0100Z", "0600Z"]);
    assert_eq!(runs("every"), ["0100Z", "0400Z", "0500Z", "0600Z"]);
    let all = listed(&server).await;
    let numbers = |name: &str| (all[name]["fired"].as_i64(), all[name]["missed"].as_i64());
    assert_eq!(numbers("skipped"), (Some(1), Some(5)));
    assert_eq!(numbers("single"), (Some(2), Some(4)));
    assert_eq!(numbers("every"), (Some(4), Some(2)));
    assert_eq!(all["every"]["next"], "2026-11-18T07:00:00+00:00");
    assert_eq!(numbers("unknown"), (Some(0), Some(4)), "a failure is not repeated for ever");
    let last = &all["unknown"]["recent"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["outcome"], &last["detail"]), (&"failed".into(), &"chart `window` not found".into()));
    server.stop().await;
}

#[tokio::test]
async fn a_run_that_was_not_recorded_is_not_started_again() {
    let clock = FakeClock::new();
    let server =
        served("h: {schedule: '@hourly', start: {chart: door}}", &clock, ServerTokens::default()).await;
    server.server.triggers().pass().await;
    // A host that was killed between the start and the record.
    let id = "trigger:h:20261118T0100Z".to_owned();
    let door = server.host.library().resolve("door").unwrap();
    server.host.start_within(door, Data::Null, Some(id.clone()), Data::Null).await.unwrap();
    clock.advance(HOUR_MS);
    server.server.triggers().pass().await;
    assert_eq!(started(&server, "trigger:h:"), [id]);
    let all = listed(&server).await;
    assert_eq!((&all["h"]["fired"], &all["h"]["last"]["outcome"]), (&1.into(), &"started".into()));
    server.stop().await;
}

#[tokio::test]
async fn pausing_the_instance_pauses_the_trigger() {
    let clock = FakeClock::new();
    let server =
        served("h: {schedule: '@hourly', start: {chart: door}}", &clock, ServerTokens::default()).await;
    let runner = server.server.triggers();
    runner.pass().await;
    server.host.pause("trigger:h", Data::str("ada")).await.unwrap();
    clock.advance(2 * HOUR_MS);
    runner.pass().await;
    assert!(started(&server, "trigger:h:").is_empty());
    assert_eq!(listed(&server).await["h"]["status"], "paused");
    server.host.resume("trigger:h", Data::str("ada")).await.unwrap();
    runner.pass().await;
    assert_eq!(started(&server, "trigger:h:"), ["trigger:h:20261118T0200Z"]);
    server.stop().await;
}

/// The signature of `Hello`-style bodies is computed with the crates that the server uses for nothing else.
fn signed(ask: Ask, body: &str, delivery: &str) -> Ask {
    use hmac::Mac;
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(b"It's a Secret to Everybody").unwrap();
    mac.update(body.as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    ask.header("content-type", "application/json")
        .header("x-hub-signature-256", &format!("sha256={hex}"))
        .header("x-github-event", "push")
        .header("x-github-delivery", delivery)
        .body(body.as_bytes().to_vec())
}

const HOOKS: &str = "
hub:
  webhook: {signature: github, secret: '${HOOK}'}
  rules:
    - {when: payload.open == true, start: {chart: door}}
    - {when: payload.add != null, send: {instance: \"'sum-1'\", event: ADD, data: payload.add}}
    - {when: payload.wrong != null, send: {instance: \"'sum-1'\", event: NOPE}}
plain: {webhook: {signature: none, delivery: X-Id}, start: {chart: door}}
clock: {schedule: '@daily', start: {chart: door}}
";

#[tokio::test]
async fn a_signed_delivery_counts_once() {
    let clock = FakeClock::new();
    // With tokens: the signature alone is the credential of a webhook.
    let server = served(HOOKS, &clock, tokens()).await;
    let sum = server.host.library().resolve("sum").unwrap();
    server.host.start_within(sum, Data::Null, Some("sum-1".to_owned()), Data::Null).await.unwrap();
    let hub = || server.ask("POST", "/v1/webhooks/hub");
    let outcome = async |ask: Ask| {
        let answer = ask.send().await;
        (answer.status, answer.json()["outcome"].as_str().unwrap_or_default().to_owned())
    };
    let said = |outcome: &str| (200, outcome.to_owned());
    assert_eq!(outcome(signed(hub(), r#"{"open": true}"#, "d-1")).await, said("started"));
    assert_eq!(outcome(signed(hub(), r#"{"open": true}"#, "d-1")).await, said("duplicate"));
    assert_eq!(outcome(signed(hub(), r#"{"open": true}"#, "d-2")).await, said("duplicate"), "a replay");
    assert_eq!(started(&server, "trigger:hub:"), ["trigger:hub:d-1"]);
    for _ in 0..3 {
        assert!(
            ["sent", "duplicate"].contains(&outcome(signed(hub(), r#"{"add": 5}"#, "d-3")).await.1.as_str())
        );
    }
    assert_eq!(outcome(signed(hub(), r#"{"add": 7}"#, "d-4")).await, said("sent"));
    let row = server.host.reader().store().find("sum-1").unwrap().unwrap();
    let restored = server.host.reader().snapshot(&row, None).unwrap();
    assert_eq!(restored.snapshot.context_map(&restored.chart).get("total").as_i64(), Some(12));
    assert_eq!(outcome(signed(hub(), r#"{"other": 1}"#, "d-5")).await, said("ignored"));
    assert_eq!(outcome(signed(hub(), r#"{"wrong": 1}"#, "d-6")).await.0, 422, "the chart has no such event");
    // Refused: another body, no signature, unknown names, schedules.
    let forged = signed(hub(), r#"{"open": true}"#, "d-7").body(b"{\"open\": true }".to_vec());
    assert_eq!(forged.send().await.status, 401);
    assert_eq!(hub().body(b"{}".to_vec()).send().await.status, 401);
    assert_eq!(server.ask("POST", "/v1/webhooks/clock").body(b"{}".to_vec()).send().await.status, 404);
    assert_eq!(server.ask("POST", "/v1/webhooks/nothing").body(b"{}".to_vec()).send().await.status, 404);
    assert_eq!(signed(hub(), "{", "d-8").send().await.status, 422);
    // Unsigned, from this machine.
    let plain = |id: &str| server.ask("POST", "/v1/webhooks/plain").header("x-id", id).body(b"{}".to_vec());
    assert_eq!(outcome(plain("one")).await, said("started"));
    assert_eq!(outcome(plain("one")).await, said("duplicate"));
    assert_eq!(outcome(plain("two")).await, said("started"));
    server.stop().await;
}

#[tokio::test]
async fn the_same_delivery_many_times_at_once_counts_once() {
    let clock = FakeClock::new();
    let server = served(HOOKS, &clock, ServerTokens::default()).await;
    let asks = (0..20).map(|at| {
        signed(server.ask("POST", "/v1/webhooks/hub"), r#"{"open": true}"#, &format!("d-{}", at % 4))
    });
    let sent: Vec<_> = asks.map(|ask| tokio::spawn(ask.send())).collect();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for one in sent {
        let outcome = one.await.unwrap().json()["outcome"].as_str().unwrap().to_owned();
        *outcomes.entry(outcome).or_default() += 1;
    }
    assert_eq!(outcomes, BTreeMap::from([("started".to_owned(), 1), ("duplicate".to_owned(), 19)]));
    assert_eq!(started(&server, "trigger:hub:").len(), 1);
    server.stop().await;
}
