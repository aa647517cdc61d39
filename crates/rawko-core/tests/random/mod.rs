//! Random charts and random deliveries from a seed, for the property tests.

use std::sync::Arc;

use rawko_core::expr::{self, Expr, NameResolver};
use rawko_core::{
    ActionBlueprint, ActionKind, Backoff, Blueprint, ContextKey, DataTemplate, Delay, EachSpec, Event,
    Foreach, Guard, HistoryVariant, InitialSpec, InvokeSpec, JoinRule, NodeId, NodeKind, NodeSpec, Retry,
    Slot, Snapshot, TransitionSpec, TransitionTrigger, Unhandled, Value,
};

/// A small generator whose whole state is the seed (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const EVENTS: &[&str] = &["A", "B", "C", "foo", "foo.bar", "foo.bar.baz"];
const DESCRIPTORS: &[&str] = &[
    "A",
    "A",
    "B",
    "B",
    "C",
    "foo",
    "foo.*",
    "foo.bar.*",
    "*",
    "error.execution",
    "done.invoke.job",
    "error.*",
];
const KEYS: &[&str] = &["n", "m", "log"];
const GUARDS: &[&str] = &[
    "context.n < 3",
    "context.n % 2 == 0",
    "context.m != null and context.m > 1",
    "event.type == 'A'",
    "context.n < 'three'",
    "length(context.log) < 4",
    "true",
    "false",
];
const UPDATES: &[(u32, &str)] = &[
    (0, "context.n + 1"),
    (0, "0"),
    (1, "context.n * 2"),
    (1, "event.data"),
    (2, "append(context.log, context.n)"),
    (2, "[]"),
    (1, "context.m + 1"),
    (1, "now()"),
];

struct Resolver;

impl NameResolver for Resolver {
    fn context_key(&self, key: &str) -> Option<Slot> {
        KEYS.iter().position(|known| *known == key).map(|at| Slot(at as u32))
    }
    fn context_keys(&self) -> Vec<String> {
        KEYS.iter().map(|key| (*key).to_owned()).collect()
    }
    fn local(&self, name: &str) -> Option<usize> {
        ["item", "index"].iter().position(|known| *known == name)
    }
    fn state(&self, path: &str) -> Option<NodeId> {
        path.strip_prefix('s').and_then(|number| number.parse().ok()).map(NodeId)
    }
}

pub(crate) fn expression(text: &str) -> Expr {
    expr::parse(text).expect("parses").resolve(&Resolver).expect("resolves")
}

fn guard(text: &str) -> Guard {
    Guard { expr: expression(text), text: text.into() }
}

fn literal(text: &str) -> DataTemplate {
    DataTemplate::Literal(Value::str(text))
}

fn action(kind: ActionKind) -> ActionBlueprint {
    ActionBlueprint::new("action", kind)
}

/// A chart with up to a few dozen nodes that uses every feature.
pub(crate) fn blueprint(dice: &mut Dice) -> Blueprint {
    let mut nodes = vec![node("", NodeKind::Compound, None)];
    grow(dice, &mut nodes, 0, 0);
    let count = nodes.len();
    for index in 0..count {
        furnish(dice, &mut nodes, index);
    }
    Blueprint {
        id: "random".into(),
        version: "1.0.0".into(),
        hash: [7; 16],
        description: None,
        nodes,
        context: vec![
            ContextKey { name: "n".into(), initial: Value::Int(0), declared: true },
            ContextKey { name: "m".into(), initial: Value::Null, declared: true },
            ContextKey { name: "log".into(), initial: Value::list(vec![]), declared: true },
        ],
        unhandled: dice.pick(&[Unhandled::Ignore, Unhandled::Ignore, Unhandled::Defer, Unhandled::Error]),
        microsteps_max: 50,
        events: None,
        context_schema: None,
    }
}

fn node(key: &str, kind: NodeKind, parent: Option<NodeId>) -> NodeSpec {
    NodeSpec {
        key: key.into(),
        name: key.into(),
        kind,
        parent,
        initial: None,
        entry: vec![],
        exit: vec![],
        transitions: vec![],
        timers: vec![],
        invokes: vec![],
        output: None,
        docs: None,
        policy: Value::Null,
    }
}

/// Adds children below `parent`, which is compound or parallel.
fn grow(dice: &mut Dice, nodes: &mut Vec<NodeSpec>, parent: usize, depth: usize) {
    let parallel = nodes[parent].kind == NodeKind::Parallel;
    let mut real = Vec::new();
    for child in 0..2 + dice.below(3) {
        let kind = match dice.below(10) {
            0..=1 if depth < 3 => NodeKind::Parallel,
            2..=4 if depth < 4 => NodeKind::Compound,
            5 if !parallel && child > 0 => NodeKind::Final,
            6 if child > 0 => NodeKind::History(dice.pick(&[HistoryVariant::Shallow, HistoryVariant::Deep])),
            _ => NodeKind::Atomic,
        };
        let index = nodes.len();
        nodes.push(node(&format!("s{index}"), kind, Some(NodeId(parent as u32))));
        if !matches!(kind, NodeKind::History(_)) {
            real.push(NodeId(index as u32));
        }
        if matches!(kind, NodeKind::Compound | NodeKind::Parallel) {
            grow(dice, nodes, index, depth + 1);
        }
    }
    if nodes[parent].kind == NodeKind::Compound {
        nodes[parent].initial =
            Some(Box::new(InitialSpec { targets: vec![dice.pick(&real)], actions: actions(dice, 1) }));
    }
}

fn furnish(dice: &mut Dice, nodes: &mut [NodeSpec], index: usize) {
    let count = nodes.len();
    match nodes[index].kind {
        NodeKind::History(_) => return,
        NodeKind::Final => {
            nodes[index].output =
                dice.chance(50).then(|| Box::new(DataTemplate::Expr(expression("{n: context.n}"))));
        }
        NodeKind::Atomic | NodeKind::Compound | NodeKind::Parallel => {
            for _ in 0..dice.below(3) {
                let trigger = match dice.below(10) {
                    0 => TransitionTrigger::Always,
                    1 => {
                        nodes[index].timers.push(delay(dice));
                        TransitionTrigger::After(nodes[index].timers.len() - 1)
                    }
                    2 => TransitionTrigger::Event(format!("done.state.s{index}").into()),
                    _ => TransitionTrigger::Event(dice.pick(DESCRIPTORS).into()),
                };
                // Endless self-transitions of a compound are covered by the microstep limit; keep them rare.
                let guarded = trigger == TransitionTrigger::Always || dice.chance(40);
                let targets = dice.chance(80).then(|| targets(dice, nodes, count).into());
                nodes[index].transitions.push(TransitionSpec {
                    trigger,
                    guard: guarded.then(|| guard(dice.pick(GUARDS))),
                    targets,
                    reenter: dice.chance(30),
                    actions: actions(dice, 2),
                    docs: None,
                });
            }
            if dice.chance(15) && index > 0 {
                nodes[index].invokes.push(invoke(dice));
                if nodes[index].invokes[0].each.is_some() {
                    for failed in [false, true] {
                        nodes[index].transitions.push(TransitionSpec {
                            trigger: TransitionTrigger::Item { invoke: 0, failed },
                            guard: None,
                            targets: None,
                            reenter: false,
                            actions: actions(dice, 2),
                            docs: None,
                        });
                    }
                }
            }
        }
    }
    nodes[index].entry = actions(dice, 2);
    nodes[index].exit = actions(dice, 2);
}

/// One target, or one in each of two regions of the same parallel.
fn targets(dice: &mut Dice, nodes: &[NodeSpec], count: usize) -> Vec<NodeId> {
    let first = 1 + dice.below(count - 1);
    let parent = nodes[first].parent.expect("only the root has none").index();
    let first_is_region =
        nodes[parent].kind == NodeKind::Parallel && !matches!(nodes[first].kind, NodeKind::History(_));
    if first_is_region && dice.chance(50) {
        let regions: Vec<NodeId> = (1..count)
            .filter(|at| nodes[*at].parent == Some(NodeId(parent as u32)) && *at != first)
            .filter(|at| !matches!(nodes[*at].kind, NodeKind::History(_)))
            .map(|at| NodeId(at as u32))
            .collect();
        if let Some(second) = regions.first() {
            return vec![NodeId(first as u32), *second];
        }
    }
    vec![NodeId(first as u32)]
}

fn delay(dice: &mut Dice) -> Delay {
    match dice.below(4) {
        0 => Delay::Expr(expression("context.n * 10"), "context.n * 10".into()),
        1 => Delay::Expr(expression("'20ms'"), "'20ms'".into()),
        _ => Delay::Millis(dice.below(50) as u64),
    }
}

const LISTS: &[&str] = &["[1, 2, 3]", "[]", "null", "[context.n]", "context.n", "[1, 2, 3, 4, 5, 6]"];

fn invoke(dice: &mut Dice) -> InvokeSpec {
    InvokeSpec {
        isolated: dice.chance(10),
        guards: Vec::new(),
        id: "job".into(),
        src: literal("svc"),
        input: DataTemplate::Map(vec![(Arc::from("n"), DataTemplate::Expr(expression("context.n")))]),
        timeout: dice.chance(30).then(|| delay(dice)),
        on_timeout: dice.chance(50),
        retry: dice.chance(50).then_some(Retry {
            max_attempts: 3,
            backoff: Backoff::Exponential,
            initial_delay_ms: 5,
            max_delay_ms: 100,
        }),
        each: dice.chance(40).then(|| {
            Box::new(EachSpec {
                list: expression(dice.pick(LISTS)),
                max_concurrent: 1 + dice.below(3) as u32,
                join: dice.pick(&[JoinRule::All, JoinRule::Any, JoinRule::Settled, JoinRule::AtLeast(2)]),
                on_item_error: dice.chance(50),
            })
        }),
    }
}

fn actions(dice: &mut Dice, most: usize) -> Vec<ActionBlueprint> {
    (0..dice.below(most + 1)).map(|_| one_action(dice, 0)).collect()
}

fn one_action(dice: &mut Dice, depth: usize) -> ActionBlueprint {
    let (slot, update) = dice.pick(UPDATES);
    let assign = ActionKind::Assign(vec![(Slot(slot), expression(update))]);
    let event = literal(dice.pick(EVENTS));
    action(match dice.below(12) {
        0 => ActionKind::Raise { event, data: DataTemplate::Expr(expression("context.n")) },
        1 => ActionKind::Emit { event, data: DataTemplate::Literal(Value::Null) },
        2 => ActionKind::Send {
            target: literal(dice.pick(&["self", "parent", "job", "elsewhere"])),
            event,
            data: DataTemplate::Literal(Value::Int(1)),
            delay: dice.chance(60).then(|| delay(dice)),
            id: dice.chance(50).then(|| literal("later")),
        },
        3 => ActionKind::Cancel { id: literal("later") },
        4 => ActionKind::Log { message: DataTemplate::Expr(expression("context.n")) },
        5 => ActionKind::Call { handler: "tool".into(), params: DataTemplate::Literal(Value::Null) },
        6 if depth < 2 => ActionKind::Choose {
            branches: vec![
                (Some(guard(dice.pick(GUARDS))), vec![one_action(dice, depth + 1)]),
                (None, vec![one_action(dice, depth + 1)]),
            ],
        },
        7 if depth < 1 => ActionKind::Foreach(Box::new(Foreach {
            array: expression("context.log"),
            local: 0,
            item_slot: dice.chance(30).then_some(Slot(1)),
            index_slot: None,
            actions: vec![action(ActionKind::Assign(vec![(Slot(0), expression("item + index"))]))],
        })),
        _ => assign,
    })
}

/// A possible delivery in this state: events, due timers, results, stale ones.
pub(crate) fn delivery(dice: &mut Dice, snapshot: &Snapshot, now_ms: &mut i64) -> Event {
    match dice.below(12) {
        0..=2 if !snapshot.timers().is_empty() => {
            let timer = snapshot.next_timer().expect("not empty");
            *now_ms = (*now_ms).max(timer.due_ms);
            Event::TimerFired { timer: timer.id }
        }
        3 if snapshot.pending().next().is_some() => {
            Event::InvokeDone { invocation: pending(dice, snapshot), data: Value::Int(5) }
        }
        4 if snapshot.pending().next().is_some() => Event::InvokeFailed {
            invocation: pending(dice, snapshot),
            error: Value::map([("message", Value::str("no"))]),
        },
        5 => Event::TimerFired { timer: 9_999 },
        6 => Event::InvokeDone { invocation: 9_999, data: Value::Null },
        7 if dice.chance(30) => Event::RetryRequested,
        8 if dice.chance(3) => Event::CancelRequested { reason: Value::Null },
        _ => Event::named(dice.pick(EVENTS), Value::Int(dice.below(5) as i64)),
    }
}

fn pending(dice: &mut Dice, snapshot: &Snapshot) -> u64 {
    let all: Vec<u64> = snapshot.pending().map(|known| known.id).collect();
    dice.pick(&all)
}
