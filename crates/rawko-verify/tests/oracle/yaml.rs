//! Writes a random chart as rawko reads it.

use std::fmt::Write as _;

use crate::chart::{Action, Chart, EVENTS, Expr, Guard, Kind, OUTSIDE, Property, Transition, Trigger};

/// Milliseconds of one unit of time.
pub(crate) const UNIT_MS: usize = 12_000;

pub(crate) fn write(chart: &Chart) -> String {
    let mut text = String::from("id: random\ncontext: {x0: 0, x1: 0}\n");
    if chart.is_declared {
        text.push_str("events:\n");
        for (number, event) in EVENTS.iter().enumerate() {
            let internal = if number < OUTSIDE { "" } else { "internal: true, " };
            let data =
                "data: {type: object, required: [k], properties: {k: {type: integer, enum: [0, 1, 2]}}}";
            let _ = writeln!(text, "  {event}: {{{internal}{data}}}");
        }
    }
    node(chart, 0, 0, &mut text);
    text.push_str("properties:\n");
    for (number, one) in chart.properties.iter().enumerate() {
        let _ = writeln!(text, "  p{number}: {}", property(chart, one));
    }
    text
}

pub(crate) fn name(node: usize) -> String {
    format!("n{node}")
}

fn path(chart: &Chart, node: usize) -> String {
    match chart.nodes[node].parent {
        0 => name(node),
        parent => format!("{}.{}", path(chart, parent), name(node)),
    }
}

fn node(chart: &Chart, at: usize, depth: usize, text: &mut String) {
    let pad = "  ".repeat(depth);
    let this = &chart.nodes[at];
    match this.kind {
        Kind::Parallel => _ = writeln!(text, "{pad}type: parallel"),
        Kind::Final => _ = writeln!(text, "{pad}type: final"),
        Kind::Compound => _ = writeln!(text, "{pad}initial: {}", name(this.initial)),
        Kind::Atomic => {}
    }
    for (key, block) in [("entry", &this.entry), ("exit", &this.exit)] {
        if !block.is_empty() {
            let _ = writeln!(text, "{pad}{key}: {}", actions(block));
        }
    }
    let of = |wanted: &dyn Fn(&Transition) -> bool| {
        let mine = chart.transitions.iter().filter(|one| one.source == at && wanted(one));
        mine.map(|one| transition(chart, one)).collect::<Vec<_>>()
    };
    let list = |options: &[String]| format!("[{}]", options.join(", "));
    // The name keeps a state without anything else from being null.
    let _ = writeln!(text, "{pad}description: {}", name(at));
    let handled: Vec<String> = (0..EVENTS.len())
        .filter_map(|event| {
            let options = of(&|one| one.trigger == Trigger::Event(event));
            (!options.is_empty()).then(|| format!("{}: {}", EVENTS[event], list(&options)))
        })
        .collect();
    if !handled.is_empty() {
        let _ = writeln!(text, "{pad}on: {{{}}}", handled.join(", "));
    }
    let timers: Vec<String> = (1..4)
        .filter_map(|delay| {
            let options = of(&|one| one.trigger == Trigger::After(delay));
            (!options.is_empty()).then(|| format!("{}ms: {}", delay * UNIT_MS, list(&options)))
        })
        .collect();
    if !timers.is_empty() {
        let _ = writeln!(text, "{pad}after: {{{}}}", timers.join(", "));
    }
    for (key, trigger) in [("always", Trigger::Always), ("onDone", Trigger::Completed)] {
        let options = of(&|one| one.trigger == trigger);
        if !options.is_empty() {
            let _ = writeln!(text, "{pad}{key}: {}", list(&options));
        }
    }
    if let Some(invoke) = &this.invoke {
        let src = if invoke.is_human { "human" } else { "svc" };
        let timeout = invoke.timeout.map(|units| format!(", timeout: {}ms", units * UNIT_MS));
        let (done, failed) =
            (of(&|one| one.trigger == Trigger::Done), of(&|one| one.trigger == Trigger::Failed));
        let failed = if invoke.is_human { String::new() } else { format!(", onError: {}", list(&failed)) };
        let timeout = timeout.unwrap_or_default();
        let _ = writeln!(
            text,
            "{pad}invoke: {{id: i{at}, src: {src}{timeout}, onDone: {}{failed}}}",
            list(&done)
        );
    }
    let children: Vec<usize> =
        (1..chart.nodes.len()).filter(|child| chart.nodes[*child].parent == at).collect();
    if !children.is_empty() {
        let _ = writeln!(text, "{pad}states:");
        for child in children {
            let _ = writeln!(text, "{pad}  {}:", name(child));
            node(chart, child, depth + 2, text);
        }
    }
}

fn transition(chart: &Chart, one: &Transition) -> String {
    let mut parts = Vec::new();
    parts.extend(one.target.map(|target| format!("target: '#{}'", name(target))));
    parts.extend(one.reenter.then(|| "reenter: true".to_owned()));
    parts.extend(one.guard.map(|one| format!("guard: \"{}\"", guard(chart, one))));
    if !one.actions.is_empty() {
        parts.push(format!("actions: {}", actions(&one.actions)));
    }
    format!("{{{}}}", parts.join(", "))
}

fn guard(chart: &Chart, guard: Guard) -> String {
    let sign = |equal: bool| if equal { "==" } else { "!=" };
    match guard {
        Guard::Key(key, equal, value) => format!("context.x{key} {} {value}", sign(equal)),
        Guard::Data(equal, value) => format!("event.data.k {} {value}", sign(equal)),
        Guard::In(node) => format!("stateIn('{}')", path(chart, node)),
        Guard::NotIn(node) => format!("not stateIn('{}')", path(chart, node)),
        Guard::Approved => "event.data.approved".to_owned(),
    }
}

fn actions(actions: &[Action]) -> String {
    let assign =
        |key: &usize, value: String| format!("{{type: assign, context_updates: {{x{key}: \"{value}\"}}}}");
    let shown = actions.iter().map(|action| match action {
        Action::Set(key, value) => assign(key, value.to_string()),
        Action::Count(key) => assign(key, format!("(context.x{key} + 1) % 3")),
        Action::Take(key) => assign(key, "event.data.k".to_owned()),
        Action::Raise(event, value) => {
            format!("{{type: raise, event: {}, data: {{k: {value}}}}}", EVENTS[*event])
        }
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(", "))
}

fn property(chart: &Chart, property: &Property) -> String {
    let expr = |one: &Expr| expr(chart, one);
    match property {
        Property::Never(one) => format!("{{never: \"{}\"}}", expr(one)),
        Property::Always(one) => format!("{{always: \"{}\"}}", expr(one)),
        Property::Before(first, then) => {
            format!("{{before: {{first: \"{}\", then: \"{}\"}}}}", expr(first), expr(then))
        }
        Property::Within(from, to, units) => {
            let time = units * UNIT_MS;
            format!("{{within: {{from: \"{}\", to: \"{}\", time: {time}ms}}}}", expr(from), expr(to))
        }
        Property::LeadsTo { from, to, people_answer, events_arrive } => {
            let assumed = [(*people_answer, "people_answer"), (*events_arrive, "events_arrive")];
            let assumed: Vec<&str> = assumed.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
            let assume = match assumed.is_empty() {
                true => String::new(),
                false => format!(", assume: [{}]", assumed.join(", ")),
            };
            format!("{{leads_to: {{from: \"{}\", to: \"{}\"}}{assume}}}", expr(from), expr(to))
        }
    }
}

fn expr(chart: &Chart, one: &Expr) -> String {
    let inner = |one: &Expr| expr(chart, one);
    match one {
        Expr::In(node) => format!("in('{}')", path(chart, *node)),
        Expr::Event(event) => format!("event('{}')", EVENTS[*event]),
        Expr::Invoked(node) => format!("invoked('i{node}')"),
        Expr::Ended => "ended()".to_owned(),
        Expr::Key(key, value) => format!("context.x{key} == {value}"),
        Expr::Not(of) => format!("not ({})", inner(of)),
        Expr::And(left, right) => format!("({}) and ({})", inner(left), inner(right)),
        Expr::Or(left, right) => format!("({}) or ({})", inner(left), inner(right)),
    }
}
