//! The manifest of a chart: the most that it can do. Ceilings from budgets and from the structure of its runs, what each
//! state may use, and which effects a person has to approve.

use std::sync::Arc;

use rawko_core::{
    ActionKind, DataTemplate, InvokeSpec, Map, NodeId, NodeSpec, ServiceClass, ServiceName, Value, World,
};

use crate::ceiling::{PER_USD, starts};
use crate::explore::{ExplorationLimits, ExplorationResult};
use crate::mode::Mode;
use crate::model::{Model, class_of};
use crate::report::PropertyVerdict;
use crate::verdicts::explore;
use crate::{builtin, parts};

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
        ("approvals", Value::list(approvals(model, &explored))),
        ("approval_respected", respects_approvals(model, &explored)),
    ]))
}

/// Returns the verdict of `approval_respected`; null if the chart asks no person.
fn respects_approvals(model: &Model, explored: &ExplorationResult) -> Value {
    const NAME: &str = "approval_respected";
    if !model.invokes().any(|(_, invoke)| class_of(invoke) == Some(ServiceClass::Human)) {
        return Value::Null;
    }
    let is_whole = explored.graph.complete && explored.gaps.is_empty();
    let is_open = !is_whole || builtin::open(NAME, explored).is_some();
    let verdict = match builtin::violation(NAME, model, explored, &[explored]) {
        Some(_) if is_whole => PropertyVerdict::Violated,
        None if !is_open => PropertyVerdict::Holds,
        _ => PropertyVerdict::Unknown,
    };
    Value::str(verdict.as_str())
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
        let (calls, sends) = actions(model, node);
        for key in ["tools", "budget", "loop"] {
            let part = info.policy.get(key);
            if !part.is_null() {
                map.insert(key.into(), part.clone());
            }
        }
        if invokes.is_empty() && map.is_empty() && calls.is_empty() && sends.is_empty() {
            continue;
        }
        map.insert("invokes".into(), Value::list(invokes));
        for (key, names) in [("inputs", inputs(node)), ("calls", calls), ("sends_to", sends)] {
            if !names.is_empty() {
                map.insert(key.into(), Value::list(names));
            }
        }
        map.shift_insert(0, "state".into(), Value::str(&info.path));
        states.push(Value::Map(Arc::new(map)));
    }
    states
}

/// Returns the handlers that the actions of a state call, and the targets outside the chart that they send events to.
fn actions(model: &Model, node: &NodeSpec) -> (Vec<Value>, Vec<Value>) {
    let (mut calls, mut sends) = (Vec::new(), Vec::new());
    let is_own = |target: &str| {
        matches!(target, "self" | "parent") || model.invokes().any(|(_, invoke)| *invoke.id == *target)
    };
    let add = |to: &mut Vec<Value>, name: Value| {
        if !to.contains(&name) {
            to.push(name);
        }
    };
    parts::each_action_of(node, &mut |kind| match kind {
        ActionKind::Call { handler, .. } => add(&mut calls, Value::Str(Arc::clone(handler))),
        ActionKind::Send { target, .. } => {
            let target = name_of(target);
            if !target.as_str().is_some_and(is_own) {
                add(&mut sends, target);
            }
        }
        _ => {}
    });
    (calls, sends)
}

/// Returns the inputs of the tools that a state calls, as far as they are written out: commands and paths.
fn inputs(node: &NodeSpec) -> Vec<Value> {
    let mut found = Vec::new();
    let mut add = |name: &str, input: &DataTemplate| {
        let input = written(input);
        let is_tool = ServiceName::of(name).class == ServiceClass::Tool;
        let is_empty = input.is_null() || input.as_map().is_some_and(|input| input.is_empty());
        let entry = Value::map([("tool", Value::str(name)), ("input", input)]);
        if is_tool && !is_empty && !found.contains(&entry) {
            found.push(entry);
        }
    };
    for invoke in &node.invokes {
        add(name_of(&invoke.src).as_str().unwrap_or_default(), &invoke.input);
    }
    parts::each_action_of(node, &mut |kind| {
        if let ActionKind::Call { handler, params } = kind {
            add(handler, params);
        }
    });
    found
}

/// Returns data as it is written; texts without their quotation marks.
fn written(template: &DataTemplate) -> Value {
    match template {
        DataTemplate::Literal(value) => value.clone(),
        DataTemplate::Expr(expr) => {
            let text = expr.text().trim();
            let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
            match inner.filter(|inner| !inner.contains('\'')) {
                Some(inner) => Value::str(inner),
                None => Value::from(format!("computed: {text}")),
            }
        }
        DataTemplate::List(items) => Value::list(items.iter().map(written).collect()),
        DataTemplate::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (Arc::clone(key), written(value)));
            Value::Map(Arc::new(entries.collect::<Map>()))
        }
    }
}

/// Returns a name as it is written.
fn name_of(template: &DataTemplate) -> Value {
    match template {
        DataTemplate::Literal(value) => value.clone(),
        DataTemplate::Expr(expr) => Value::from(format!("computed: {}", expr.text())),
        DataTemplate::List(_) | DataTemplate::Map(_) => Value::Null,
    }
}

fn invoke(invoke: &InvokeSpec) -> Value {
    let src = name_of(&invoke.src);
    let class = class_of(invoke).map_or(Value::Null, |class| Value::str(class.as_str()));
    Value::map([("id", Value::Str(Arc::clone(&invoke.id))), ("src", src), ("class", class)])
}

/// Returns the questions to people with the effects that need their approval: those that the chart names, or those that
/// start only after it in all runs.
fn approvals(model: &Model, explored: &ExplorationResult) -> Vec<Value> {
    let questions = model.invokes().filter(|(_, invoke)| class_of(invoke) == Some(ServiceClass::Human));
    let names = |names: &[Arc<str>]| Value::list(names.iter().map(|id| Value::Str(Arc::clone(id))).collect());
    let approval = |(node, invoke): (usize, &InvokeSpec)| {
        let mut map = Map::default();
        map.insert("question".into(), Value::Str(Arc::clone(&invoke.id)));
        map.insert("state".into(), Value::str(&model.chart.node(NodeId(node as u32)).path));
        map.insert("guards".into(), names(&invoke.guards));
        let found = builtin::needs_approval(model, explored, &invoke.id);
        if invoke.guards.is_empty() && !found.is_empty() {
            map.insert("inferred".into(), names(&found));
        }
        Value::Map(Arc::new(map))
    };
    questions.map(approval).collect()
}
