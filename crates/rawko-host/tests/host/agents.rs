//! Agents that run as charts: the caller's policy applies to them, their spending counts for all ancestors, and
//! unfinished work is an error that contains the partial result.

use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{AgentBinding, AgentRequest, AgentResolver, Category, Edition, Fork, Gate, ServiceError};
use serde_json::json;

use crate::bench::{Act, bench, rest, send, start};

const LEAD: &str = "
statechart:
  id: lead
  initial: build
  context: {rounds: 0, log: []}
  states:
    build:
      tools: {allowed: [Read, Edit]}
      budget: {tokens: 100, tool_calls: 2}
      initial: working
      states:
        working:
          tools: {blocked: [Edit]}
          invoke:
            id: dev
            src: agent:developer
            input: {task: \"'round ' ~ context.rounds\"}
            onDone:
              target: working
              reenter: true
              actions: [{type: assign, context_updates: {rounds: context.rounds + 1, log: 'append(context.log, event.data.text)'}}]
            onError: {target: over, actions: [{type: assign, context_updates: {log: 'append(context.log, event.data)'}}]}
    over: {type: final, output: context.log}
";

/// An agent that calls its model once.
const PLAYER: &str = "
statechart:
  id: player
  initial: thinking
  context: {task: null, got: null, problem: null}
  states:
    thinking:
      invoke:
        id: complete
        src: model:complete
        onDone: {target: calling, actions: [{type: assign, context_updates: {got: event.data.text}}]}
        onError: {target: limited, actions: [{type: assign, context_updates: {problem: event.data}}]}
    calling:
      invoke: {id: tool, src: tool:Read, onDone: done, onError: {target: limited, actions: [{type: assign, context_updates: {problem: event.data}}]}}
    done: {type: final, output: {outcome: {literal: finished}, text: \"context.task ~ ': ' ~ context.got\"}}
    limited: {type: final, output: {outcome: {literal: limit_reached}, text: context.got, message: context.problem.message}}
";

struct Troupe;

impl AgentResolver for Troupe {
    fn resolve(&self, casting: &AgentRequest<'_>) -> Result<AgentBinding, ServiceError> {
        match casting.agent {
            "developer" => Ok(AgentBinding::Chart { chart: "player".into(), input: casting.input.clone() }),
            "ada" => Ok(AgentBinding::Person { input: casting.input.clone() }),
            _ => Err(ServiceError::new(Category::Unknown, "nobody plays it")),
        }
    }

    fn result(&self, output: Value) -> Result<Value, Value> {
        if output.get("outcome").as_str() == Some("finished") { Ok(output) } else { Err(output) }
    }
}

fn model(tokens: u64) -> Act {
    Act::Answer(json!({"text": "ok", "usage": {"tokens": tokens, "cost_usd": 0.5}}))
}

#[tokio::test]
async fn an_agent_works_within_what_its_caller_has_left() {
    let bench = bench(&[LEAD, PLAYER])
        .service("model:complete", &[model(60)])
        .service("tool:Read", &[Act::Answer(json!({}))])
        .gate(Gate::new(&["agent:*"], &[], None).unwrap())
        .agents(Arc::new(Troupe));
    let host = bench.host().await;
    start(&host, "lead", json!({})).await;
    // Two rounds of 60 tokens: the third agent never begins.
    assert_eq!(
        rest(&host, "i").await,
        r#"done [over] ["round 0: ok","round 1: ok",{"category":"limit","message":"`i` has used up `budget.tokens`, set around the chart `lead`","retryable":false}]"#
    );
    let policies: Vec<String> = {
        let calls = bench.calls.lock().unwrap();
        // The hash of the chart changes with its text.
        let without_chart = |policy: &Value| {
            let mut policy = policy.as_map().cloned().unwrap_or_default();
            policy.shift_remove("chart");
            Value::Map(policy.into())
        };
        calls.iter().map(|call| format!("{} {}", call.name, without_chart(&call.policy))).collect()
    };
    assert_eq!(
        policies,
        [
            r#"model:complete {"within":[{"allowed":["Read","Edit"],"blocked":["Edit"],"source":"`tools` of the state `build.working` of the chart `lead`"}],"budget":{"tokens":100,"tool_calls":2},"agent":"developer"}"#,
            r#"tool:Read {"within":[{"allowed":["Read","Edit"],"blocked":["Edit"],"source":"`tools` of the state `build.working` of the chart `lead`"}],"budget":{"tokens":40,"tool_calls":2},"agent":"developer"}"#,
            r#"model:complete {"within":[{"allowed":["Read","Edit"],"blocked":["Edit"],"source":"`tools` of the state `build.working` of the chart `lead`"}],"budget":{"tokens":40,"tool_calls":1},"agent":"developer"}"#,
            r#"tool:Read {"within":[{"allowed":["Read","Edit"],"blocked":["Edit"],"source":"`tools` of the state `build.working` of the chart `lead`"}],"budget":{"tokens":0,"tool_calls":1},"agent":"developer"}"#,
        ]
    );
    let ledger = bench.store.find("i").unwrap().unwrap().head.ledger;
    assert_eq!(
        ledger.as_deref(),
        Some(r#"{"total":{"tokens":120,"cost_usd":1.0,"time_ms":0,"tool_calls":2}}"#)
    );
}

#[tokio::test]
async fn work_that_did_not_finish_is_an_error_with_the_work_in_it() {
    let bench = bench(&[LEAD, PLAYER])
        .service("model:complete", &[model(10)])
        .service("tool:Read", &[Act::Answer(json!({}))])
        .agents(Arc::new(Troupe));
    let host = bench.host().await;
    start(&host, "lead", json!({})).await;
    assert_eq!(
        rest(&host, "i").await,
        r#"done [over] ["round 0: ok","round 1: ok",{"outcome":"limit_reached","text":"ok","message":"`i.developer.2` has used up `budget.tool_calls`, set around the chart `player`"}]"#
    );
}

/// Calls its model once for each GO.
const SAVER: &str = "
statechart:
  id: saver
  initial: waiting
  context: {rounds: 0}
  states:
    waiting: {on: {GO: working}}
    working:
      invoke:
        id: dev
        src: agent:developer
        onDone: {target: waiting, actions: [{type: assign, context_updates: {rounds: context.rounds + 1}}]}
        onError: over
    over: {type: final, output: context.rounds}
";

#[tokio::test]
async fn a_fork_goes_on_with_what_was_left_of_the_budget() {
    let bench = bench(&[SAVER, PLAYER])
        .service("model:complete", &[model(60)])
        .service("tool:Read", &[Act::Answer(json!({}))])
        .agents(Arc::new(Troupe));
    let host = bench.host().await;
    let saver = Edition::read("saver.yaml", SAVER).unwrap();
    let budget = json!({"tokens": 150, "cost_usd": 9}).into();
    host.start_within(saver, Value::Null, Some("i".into()), budget).await.unwrap();
    for _ in 0..2 {
        send(&host, "i", "GO").await;
        assert_eq!(rest(&host, "i").await, "waits [waiting]");
    }
    // Two rounds were four steps. A round may begin while any budget is left; one costs 60 tokens.
    let table = [
        ("before anything", 0, json!(null), 0, 3, 180),
        ("after one round", 2, json!(null), 60, 3, 180),
        ("while the second is under way", 3, json!(null), 60, 3, 180),
        ("after both", 4, json!(null), 120, 3, 180),
        ("with a smaller budget", 4, json!({"tokens": 120}), 120, 2, 120),
        ("with a larger one", 4, json!({"tokens": 250}), 120, 5, 300),
        ("with one of another kind", 4, json!({"cost_usd": 1}), 120, 2, 120),
    ];
    for (name, at, budget, begun, rounds, spent) in table {
        let fork = Fork { at: Some(at), set: vec![], id: Some(name.into()) };
        host.fork_within("i", fork, &budget.into()).await.unwrap();
        let tokens = || {
            let ledger = host.reader().find(name).unwrap().head.ledger.unwrap_or_else(|| "{}".into());
            let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
            ledger["total"]["tokens"].as_u64().unwrap_or(0)
        };
        assert!(at == 3 || tokens() == begun, "{name}: {}", tokens());
        while rest(&host, name).await.starts_with("waits") {
            send(&host, name, "GO").await;
        }
        let results = host.results(name).unwrap();
        assert_eq!((results.output.to_json(), tokens()), (json!(rounds), spent), "{name}");
    }
}

const ASKING: &str = "
statechart:
  id: asking
  initial: asked
  context: {who: ada}
  states:
    asked: {invoke: {id: boss, src: {expr: \"'agent:' ~ context.who\"}, input: {title: {literal: Release?}}, onDone: done, onError: wrong}}
    done: {type: final, output: \"'yes'\"}
    wrong: {type: final, output: \"'no'\"}
";

#[tokio::test]
async fn a_person_or_nobody_may_play_an_agent_too() {
    let bench = bench(&[ASKING]).agents(Arc::new(Troupe));
    let host = bench.host().await;
    start(&host, "asking", json!({})).await;
    assert_eq!(rest(&host, "i").await, "asks [asked]");
    let host = bench.host().await;
    let answer = rawko_host::PersonAnswer {
        approved: true,
        by: None,
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    };
    host.answer("i", None, answer).await.unwrap();
    assert_eq!(rest(&host, "i").await, r#"done [done] "yes""#);
}
