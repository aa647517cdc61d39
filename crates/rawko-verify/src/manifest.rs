//! The manifest of a chart: the most that it can do. Ceilings from budgets and from the structure of its runs, what each
//! state may use, and which effects a person has to approve.

use std::sync::Arc;

use rawko_core::{DataTemplate, InvokeSpec, Map, NodeId, ServiceClass, Value, World};

use crate::ceiling::{PER_USD, starts};
use crate::explore::ExplorationLimits;
use crate::mode::Mode;
use crate::model::{Model, class_of};
use crate::verdicts::explore;

/// Returns the manifest of the first chart; the others may be invoked by it.
pub fn manifest(charts: &[Model], world: &World, limits: &ExplorationLimits<'_>) -> Option<Value> {
    let model = charts.first()?;
    let (explored, _) =
        explore(charts, world, limits, (Mode::Concrete, None), (limits.states_max, usize::MAX));
    let [agents, completions, tools, tokens, micros] = starts(model, &explored);
    let most = |count: Option<u64>| count.map_or(Value::Null, |count| Value::Int(count as i64));
    // An agent asks its model and calls tools as often as its budget allows.
    let with_agents = |count: Option<u64>, budget: &str| match agents {
        Some(0) => most(count),
        _ => of_chart(model, budget),
    };
    let cost = micros.map_or(Value::Null, |micros| Value::float(micros as f64 / PER_USD));
    let ceiling = Value::map([
        ("agents", most(agents)),
        ("completions", with_agents(completions, "completions")),
        ("tool_calls", with_agents(tools, "tool_calls")),
        ("tokens", most(tokens)),
        ("cost_usd", cost),
        ("time", of_chart(model, "time")),
    ]);
    Some(Value::map([
        ("chart", Value::str(model.chart.id())),
        ("version", Value::str(model.chart.version())),
        ("ceiling", ceiling),
        ("states", Value::list(states(model))),
        ("approvals", Value::list(approvals(model))),
    ]))
}

/// Returns the budget of the whole chart, or null.
fn of_chart(model: &Model, key: &str) -> Value {
    model.chart.node(NodeId::ROOT).policy.get("budget").get(key).clone()
}

fn states(model: &Model) -> Vec<Value> {
    let mut states = Vec::new();
    for (number, node) in model.blueprint.nodes.iter().enumerate() {
        let info = model.chart.node(NodeId(number as u32));
        let invokes: Vec<Value> = node.invokes.iter().map(invoke).collect();
        let mut map = Map::default();
        for key in ["tools", "budget", "loop"] {
            let part = info.policy.get(key);
            if !part.is_null() {
                map.insert(key.into(), part.clone());
            }
        }
        if invokes.is_empty() && map.is_empty() {
            continue;
        }
        map.insert("invokes".into(), Value::list(invokes));
        map.shift_insert(0, "state".into(), Value::str(&info.path));
        states.push(Value::Map(Arc::new(map)));
    }
    states
}

fn invoke(invoke: &InvokeSpec) -> Value {
    let src = match &invoke.src {
        DataTemplate::Literal(value) => value.clone(),
        DataTemplate::Expr(expr) => Value::from(format!("computed: {}", expr.text())),
        DataTemplate::List(_) | DataTemplate::Map(_) => Value::Null,
    };
    let class = class_of(invoke).map_or(Value::Null, |class| Value::str(class.as_str()));
    Value::map([("id", Value::Str(Arc::clone(&invoke.id))), ("src", src), ("class", class)])
}

/// Returns the questions to people with the invokes that need their approval.
fn approvals(model: &Model) -> Vec<Value> {
    let questions = model.invokes().filter(|(_, invoke)| class_of(invoke) == Some(ServiceClass::Human));
    let approval = |(node, invoke): (usize, &InvokeSpec)| {
        let guards = invoke.guards.iter().map(|id| Value::Str(Arc::clone(id))).collect();
        Value::map([
            ("question", Value::Str(Arc::clone(&invoke.id))),
            ("state", Value::str(&model.chart.node(NodeId(node as u32)).path)),
            ("guards", Value::list(guards)),
        ])
    };
    questions.map(approval).collect()
}

/// One difference between two manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestChange {
    /// True if the new chart may do more.
    pub is_more: bool,
    /// The difference in one line, for people.
    pub text: String,
}

/// Returns what a change of a chart adds in authority, and what it removes.
pub fn manifest_changes(old: &Value, new: &Value) -> Vec<ManifestChange> {
    let (old_lines, new_lines) = (authority(old), authority(new));
    let mut changes = Vec::new();
    let mut push = |is_more: bool, text: String| changes.push(ManifestChange { is_more, text });
    for line in new_lines.iter().filter(|line| !old_lines.contains(line)) {
        push(!line.is_limit, format!("+ {}", line.text));
    }
    for line in old_lines.iter().filter(|line| !new_lines.contains(line)) {
        push(line.is_limit, format!("- {}", line.text));
    }
    for (key, after) in new.get("ceiling").as_map().into_iter().flatten() {
        let before = old.get("ceiling").get(key);
        let size = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        if before != after {
            let shown =
                |value: &Value| if value.is_null() { "no limit".to_owned() } else { value.to_string() };
            push(size(after) > size(before), format!("{key}: {} → {}", shown(before), shown(after)));
        }
    }
    changes
}

#[derive(PartialEq)]
struct ManifestLine {
    /// It narrows what a chart may do: a blocked tool, a budget, an approval.
    is_limit: bool,
    text: String,
}

fn authority(manifest: &Value) -> Vec<ManifestLine> {
    let mut lines = Vec::new();
    let mut add = |is_limit: bool, text: String| lines.push(ManifestLine { is_limit, text });
    let list = |value: &Value| value.as_list().unwrap_or_default().to_vec();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for state in list(manifest.get("states")) {
        let path = word(state.get("state"));
        for invoke in list(state.get("invokes")) {
            add(false, format!("`{path}` invokes {}", word(invoke.get("src"))));
        }
        let tools = state.get("tools");
        list(tools.get("allowed"))
            .iter()
            .for_each(|tool| add(false, format!("`{path}` allows {}", word(tool))));
        list(tools.get("blocked"))
            .iter()
            .for_each(|tool| add(true, format!("`{path}` blocks {}", word(tool))));
        if !state.get("budget").is_null() {
            add(true, format!("`{path}` has the budget {}", state.get("budget")));
        }
    }
    for approval in list(manifest.get("approvals")) {
        let question = word(approval.get("question"));
        add(true, format!("a person is asked `{question}`"));
        for guarded in list(approval.get("guards")) {
            add(true, format!("`{}` needs the approval `{question}`", word(&guarded)));
        }
    }
    lines
}
