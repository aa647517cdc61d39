//! The expression language as tables: an expression and its value, one row each. The guide's tables are checked against
//! these and against the implementation.
#![expect(clippy::unwrap_used, reason = "a helper of tests that cannot go on stops the test")]

mod bounds;
mod durations;
mod functions;
mod guide;
mod operator_rows;
mod operators;
mod problems;
mod properties;
mod types;

use std::sync::Arc;

use rawko_core::expr::{EvalScope, Expr, ExprProblem, NameResolver, parse};
use rawko_core::{Active, AgentEntry, Configuration, InstanceFacts, NamedEvent, NodeId, Slot, Value, World};

/// The states `root`, its child `review` and grandchild `review.open`: the last descendant of each.
const LAST: [NodeId; 3] = [NodeId(2), NodeId(2), NodeId(2)];

/// The scope of these tests. The context has one key for each kind of value, and `missing`.
struct Fixture {
    names: Vec<Arc<str>>,
    context: Vec<Value>,
    locals: Vec<Value>,
    event: NamedEvent,
    input: Value,
    world: World,
    instance: InstanceFacts,
    configuration: Configuration,
}

impl Fixture {
    fn new() -> Self {
        let context = serde_json::json!({
            "count": 3, "limit": 5, "ratio": 0.5, "name": "Ada", "risk_level": "low", "score": 95, "yes": true,
            "no": false, "missing": null, "empty": [], "list": [3, 1, 2], "words": ["b", "a"],
            "items": [{"id": 1, "ok": true}, {"id": 2, "ok": false}, {"id": 3, "ok": true}],
            "map": {"a": 1, "b": null, "in": 2, "a-b": 3}, "key": "a"
        });
        let entries = Value::from_json(context);
        let map = entries.as_map().unwrap();
        let mut event =
            NamedEvent::new("ORDER.placed", serde_json::json!({"output": "done", "tags": ["x"]}).into());
        event.origin = "parent".into();
        event.send_id = Some("s1".into());
        Self {
            names: map.keys().cloned().collect(),
            context: map.values().cloned().collect(),
            locals: vec!["first".into(), Value::Int(0)],
            event,
            input: serde_json::json!({"artifact": "main.rs"}).into(),
            world: World { env: serde_json::json!({"REGION": "eu"}).into(), agents: agents() },
            instance: InstanceFacts::new("order-7", None, 1_767_000_000_000),
            configuration: Configuration::from_frontier([NodeId(1)]),
        }
    }

    fn scope(&self) -> EvalScope<'_> {
        EvalScope {
            context: &self.context,
            context_names: &self.names,
            locals: &self.locals,
            event: Some(&self.event),
            input: &self.input,
            now_ms: 1_767_323_045_678,
            world: &self.world,
            instance: &self.instance,
            configuration: Active::new(&self.configuration, &LAST),
            sizes: None,
        }
    }
}

fn agents() -> Vec<AgentEntry> {
    let agent = |id: &str, roles: &[&str], task_types: &[&str]| AgentEntry {
        id: id.into(),
        roles: roles.iter().map(|role| role.to_string()).collect(),
        task_types: task_types.iter().map(|task| task.to_string()).collect(),
        details: serde_json::json!({"model": "m1"}).into(),
    };
    vec![
        agent("ann", &["reviewer"], &["code"]),
        agent("bob", &["reviewer", "writer"], &[]),
        agent("cy", &[], &[]),
    ]
}

impl NameResolver for Fixture {
    fn context_key(&self, key: &str) -> Option<Slot> {
        self.names.iter().position(|name| &**name == key).map(|slot| Slot(slot as u32))
    }
    fn context_keys(&self) -> Vec<String> {
        self.names.iter().map(|name| name.to_string()).collect()
    }
    fn local(&self, name: &str) -> Option<usize> {
        ["item", "index"].iter().position(|local| *local == name)
    }
    fn state(&self, path: &str) -> Option<NodeId> {
        ["root", "review", "review.open"]
            .iter()
            .position(|state| *state == path)
            .map(|node| NodeId(node as u32))
    }
}

fn load(text: &str) -> Result<Expr, Vec<ExprProblem>> {
    parse(text)?.resolve(&Fixture::new())
}

fn loaded(text: &str) -> Expr {
    load(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// Returns the value as compact JSON, or `error: …`.
fn evaluated(text: &str) -> String {
    let fixture = Fixture::new();
    match loaded(text).eval(&fixture.scope()) {
        Ok(value) => serde_json::to_string(&value).unwrap(),
        Err(error) => format!("error: {error}"),
    }
}

/// Each row: an expression, and its value as JSON or the beginning of `error: …`.
#[track_caller]
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, wanted)| (text, wanted, evaluated(text)))
        .filter(|(_, wanted, found)| !fits(found, wanted))
        .map(|(text, wanted, found)| format!("{text}\n   wanted {wanted}\n   found  {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fits(found: &str, wanted: &str) -> bool {
    if wanted.starts_with("error: ") { found.starts_with(wanted) } else { found == wanted }
}
