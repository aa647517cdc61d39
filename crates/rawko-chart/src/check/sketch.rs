//! Charts for tests, drawn in a few lines: indentation is nesting, a line is a state and what it does.
//!
//! ```text
//! p (parallel): STOP -> off; invoke job
//!   r1 = b                      a compound state whose initial is `b` (default: the first child)
//!     a: GO -> b; always -> a; after -> b; raise X; EVENT => a (re-enters); EVENT - (targetless)
//!     b: GO [context.x > 1] -> a; set x (an entry action assigns it); output {"status": "ok"}
//! ```

use rawko_core::expr::{self, Expr, NameResolver};
use rawko_core::{
    ActionBlueprint, ActionKind, Blueprint, ContextKey, DataTemplate, Delay, Docs, Guard, HistoryVariant,
    InitialSpec, InvokeSpec, NodeId, NodeKind, NodeSpec, Slot, TransitionSpec, TransitionTargets,
    TransitionTrigger, Unhandled, Value,
};

use crate::lowered::{InvokePlaces, LoweredChart, MorePlaces, NodePlaces, Places};

/// The context of every sketch.
const KEYS: [&str; 5] = ["x", "y", "ready", "tries", "max_tries"];

struct Keys;

impl NameResolver for Keys {
    fn context_key(&self, key: &str) -> Option<Slot> {
        KEYS.iter().position(|name| *name == key).map(|slot| Slot(slot as u32))
    }
    fn context_keys(&self) -> Vec<String> {
        Vec::new()
    }
    fn local(&self, _: &str) -> Option<usize> {
        None
    }
    fn state(&self, _: &str) -> Option<NodeId> {
        Some(NodeId::ROOT)
    }
}

struct SketchLine<'t> {
    indent: usize,
    key: &'t str,
    kind: Option<&'t str>,
    initial: Option<&'t str>,
    items: Vec<&'t str>,
}

impl<'t> SketchLine<'t> {
    fn parse(text: &'t str) -> Self {
        let indent = text.len() - text.trim_start().len();
        let (head, items) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let (head, initial) = match head.split_once('=') {
            Some((head, initial)) => (head, Some(initial.trim())),
            None => (head, None),
        };
        let (key, kind) = match head.trim().split_once(" (") {
            Some((key, kind)) => (key, Some(kind.trim_end_matches(')'))),
            None => (head.trim(), None),
        };
        let items = items.split(';').map(str::trim).filter(|item| !item.is_empty()).collect();
        SketchLine { indent, key, kind, initial, items }
    }
}

/// Builds the chart of a sketch, below a root named `chart`.
pub(crate) fn lowered(text: &str) -> LoweredChart {
    let lines: Vec<SketchLine<'_>> =
        text.lines().filter(|line| !line.trim().is_empty()).map(SketchLine::parse).collect();
    let margin = lines.iter().map(|line| line.indent).min().unwrap_or(0);
    let mut nodes = vec![node("", None)];
    let mut open: Vec<(usize, NodeId)> = Vec::new();
    for line in &lines {
        open.retain(|(indent, _)| *indent < line.indent);
        let parent = open.last().map_or(NodeId::ROOT, |(_, id)| *id);
        open.push((line.indent, NodeId(nodes.len() as u32)));
        nodes.push(node(line.key, Some(parent)));
    }
    let root = SketchLine { indent: margin, key: "", kind: None, initial: None, items: Vec::new() };
    let all: Vec<&SketchLine<'_>> = std::iter::once(&root).chain(&lines).collect();
    for (number, line) in all.iter().enumerate() {
        finish(&mut nodes, number, line);
    }
    let places = nodes.iter().map(places).collect();
    let blueprint = Blueprint {
        id: "chart".to_owned(),
        version: String::new(),
        hash: [0; 16],
        description: None,
        nodes,
        context: KEYS
            .iter()
            .map(|name| ContextKey { name: (*name).into(), initial: Value::Null, declared: true })
            .collect(),
        unhandled: Unhandled::Ignore,
        microsteps_max: 1000,
        events: None,
        context_schema: None,
    };
    LoweredChart { blueprint, places: Places { nodes: places, context: Vec::new() } }
}

fn node(key: &str, parent: Option<NodeId>) -> NodeSpec {
    NodeSpec {
        key: key.into(),
        name: key.into(),
        kind: NodeKind::Atomic,
        parent,
        initial: None,
        entry: Vec::new(),
        exit: Vec::new(),
        transitions: Vec::new(),
        timers: Vec::new(),
        invokes: Vec::new(),
        output: None,
        docs: None,
        policy: Value::Null,
    }
}

fn places(node: &NodeSpec) -> NodePlaces {
    let invokes = node.invokes.iter().map(|_| InvokePlaces::default()).collect();
    let more = MorePlaces { invokes, ..MorePlaces::default() }.boxed();
    NodePlaces { more, ..NodePlaces::default() }
}

fn finish(nodes: &mut [NodeSpec], number: usize, line: &SketchLine<'_>) {
    let id = NodeId(number as u32);
    let first_child = nodes.iter().position(|node| node.parent == Some(id));
    nodes[number].kind = match line.kind {
        Some("parallel") => NodeKind::Parallel,
        Some("final") => NodeKind::Final,
        Some("history") => NodeKind::History(HistoryVariant::Shallow),
        Some("deep") => NodeKind::History(HistoryVariant::Deep),
        Some(other) => panic!("no such kind: {other}"),
        None if first_child.is_some() => NodeKind::Compound,
        None => NodeKind::Atomic,
    };
    let initial = line.initial.map(|key| find(nodes, key));
    let initial = initial.or(first_child.map(|child| NodeId(child as u32)));
    if matches!(nodes[number].kind, NodeKind::Compound | NodeKind::History(_)) {
        nodes[number].initial =
            initial.map(|target| Box::new(InitialSpec { targets: vec![target], actions: Vec::new() }));
    }
    for item in &line.items {
        add(nodes, number, item);
    }
}

fn find(nodes: &[NodeSpec], key: &str) -> NodeId {
    let found = nodes.iter().position(|node| &*node.key == key);
    NodeId(found.unwrap_or_else(|| panic!("no state `{key}`")) as u32)
}

fn add(nodes: &mut [NodeSpec], number: usize, item: &str) {
    if let Some(id) = item.strip_prefix("invoke ") {
        let literal = || DataTemplate::Literal(Value::str(id));
        nodes[number].invokes.push(InvokeSpec {
            each: None,
            isolated: false,
            guards: Vec::new(),
            id: id.into(),
            src: literal(),
            input: literal(),
            timeout: None,
            on_timeout: false,
            retry: None,
        });
    } else if let Some(event) = item.strip_prefix("raise ") {
        let event = DataTemplate::Literal(Value::str(event));
        let kind = ActionKind::Raise { event, data: DataTemplate::Literal(Value::Null) };
        nodes[number].entry.push(ActionBlueprint::new("raise", kind));
    } else if let Some(key) = item.strip_prefix("set ") {
        let slot = Keys.context_key(key).unwrap_or_else(|| panic!("no key `{key}`"));
        let kind = ActionKind::Assign(vec![(slot, Expr::literal(Value::Null))]);
        nodes[number].entry.push(ActionBlueprint::new("set", kind));
    } else if let Some(tag) = item.strip_prefix("tag ") {
        nodes[number].docs = Some(Box::new(Docs { tags: vec![tag.to_owned()], ..Docs::default() }));
    } else if let Some(output) = item.strip_prefix("output ") {
        let output: serde_json::Value = serde_json::from_str(output).expect("output is JSON");
        nodes[number].output = Some(Box::new(DataTemplate::Literal(Value::from_json(output))));
    } else {
        add_transition(nodes, number, item);
    }
}

fn add_transition(nodes: &mut [NodeSpec], number: usize, item: &str) {
    let (trigger, arrow, targets) = match (item.split_once(" -> "), item.split_once(" => ")) {
        (Some((trigger, targets)), _) => (trigger, "->", targets),
        (None, Some((trigger, targets))) => (trigger, "=>", targets),
        (None, None) => (item.trim_end_matches(" -"), "-", ""),
    };
    let (trigger, guard) = match trigger.split_once(" [") {
        Some((trigger, guard)) => (trigger, Some(guard.trim_end_matches(']'))),
        None => (trigger, None),
    };
    let guard = guard.map(|text| {
        let expr = expr::parse(text).and_then(|ast| ast.resolve(&Keys)).expect("the guard parses");
        Guard { expr, text: text.into() }
    });
    let targets: TransitionTargets =
        targets.split(',').map(str::trim).filter(|key| !key.is_empty()).map(|key| find(nodes, key)).collect();
    let trigger = match trigger {
        "always" => TransitionTrigger::Always,
        "after" => {
            nodes[number].timers.push(Delay::Millis(1000));
            TransitionTrigger::After(nodes[number].timers.len() - 1)
        }
        event => TransitionTrigger::Event(event.into()),
    };
    nodes[number].transitions.push(TransitionSpec {
        trigger,
        guard,
        targets: (arrow != "-").then_some(targets),
        reenter: arrow == "=>",
        actions: Vec::new(),
        docs: None,
    });
}
