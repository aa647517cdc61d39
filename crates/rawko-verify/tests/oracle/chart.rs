//! Random charts with finite data and random properties, as plain data. Two writers turn them into text: `yaml` for
//! rawko, `promela` for SPIN. Nothing here uses the code under test.

/// SplitMix64: the same charts from the same seed, everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub(crate) const EVENTS: [&str; 4] = ["A", "B", "C", "R"];
/// Events that come from outside; the last one is only raised.
pub(crate) const OUTSIDE: usize = 3;
/// Values of `event.data.k` and of context keys.
pub(crate) const VALUES: usize = 3;
pub(crate) const KEYS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Atomic,
    Compound,
    Parallel,
    Final,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Guard {
    /// `context.x == c`, or `!=`.
    Key(usize, bool, usize),
    /// `event.data.k == c`, or `!=`.
    Data(bool, usize),
    In(usize),
    NotIn(usize),
    Approved,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Set(usize, usize),
    /// `(context.x + 1) % 3`.
    Count(usize),
    /// `event.data.k`.
    Take(usize),
    /// An event with `k`.
    Raise(usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trigger {
    Event(usize),
    Always,
    /// A delay in units.
    After(usize),
    /// `onDone` of a compound or parallel state.
    Completed,
    /// Result, failure and timeout of the state's invoke.
    Done,
    Failed,
}

#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) source: usize,
    pub(crate) trigger: Trigger,
    pub(crate) guard: Option<Guard>,
    pub(crate) target: Option<usize>,
    pub(crate) reenter: bool,
    pub(crate) actions: Vec<Action>,
}

#[derive(Clone, Debug)]
pub(crate) struct Invoke {
    pub(crate) is_human: bool,
    /// In units; never on questions.
    pub(crate) timeout: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) parent: usize,
    pub(crate) kind: Kind,
    pub(crate) initial: usize,
    /// The last node of its subtree: nodes are numbered in document order.
    pub(crate) last: usize,
    pub(crate) entry: Vec<Action>,
    pub(crate) exit: Vec<Action>,
    pub(crate) invoke: Option<Invoke>,
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    In(usize),
    Event(usize),
    Invoked(usize),
    Ended,
    Key(usize, usize),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) enum Property {
    Never(Expr),
    Always(Expr),
    Before(Expr, Expr),
    Within(Expr, Expr, usize),
    LeadsTo { from: Expr, to: Expr, people_answer: bool, events_arrive: bool },
}

/// Node 0 is the chart itself.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) nodes: Vec<Node>,
    pub(crate) transitions: Vec<Transition>,
    /// `event.data.k` is declared as one of the values; otherwise it may be anything, and is only compared.
    pub(crate) is_declared: bool,
    pub(crate) properties: Vec<Property>,
}

impl Chart {
    pub(crate) fn random(random: &mut Random) -> Chart {
        let mut chart = Chart {
            nodes: vec![node(0, Kind::Compound)],
            transitions: Vec::new(),
            is_declared: random.chance(50),
            properties: Vec::new(),
        };
        let count = 2 + random.below(3);
        chart.grow(random, 0, count, 2);
        for source in 1..chart.nodes.len() {
            chart.decorate(random, source);
        }
        if random.chance(30) {
            chart.transition(random, 0, Trigger::Event(0));
        }
        chart.properties = properties(random, &chart);
        chart
    }

    fn grow(&mut self, random: &mut Random, parent: usize, count: usize, depth: usize) {
        let mut children = Vec::new();
        let is_parallel = self.nodes[parent].kind == Kind::Parallel;
        for number in 0..count {
            let kind = match random.below(100) {
                _ if number == 0 && !is_parallel && depth < 2 => Kind::Atomic,
                0..25 if depth > 0 => Kind::Compound,
                25..40 if depth > 0 => Kind::Parallel,
                40..55 if number > 0 && !is_parallel => Kind::Final,
                _ => Kind::Atomic,
            };
            let at = self.nodes.len();
            self.nodes.push(node(parent, kind));
            children.push(at);
            match kind {
                Kind::Compound => self.grow(random, at, 2 + random_extra(at), depth - 1),
                Kind::Parallel => self.grow(random, at, 2, depth - 1),
                Kind::Atomic | Kind::Final => {}
            }
            self.nodes[at].last = self.nodes.len() - 1;
        }
        self.nodes[parent].last = self.nodes.len() - 1;
        let live: Vec<usize> =
            children.iter().copied().filter(|child| self.nodes[*child].kind != Kind::Final).collect();
        self.nodes[parent].initial = random.pick(&live);
    }

    fn decorate(&mut self, random: &mut Random, at: usize) {
        if random.chance(25) {
            self.nodes[at].entry = vec![self.action(random, false)];
        }
        if random.chance(15) {
            self.nodes[at].exit = vec![self.action(random, false)];
        }
        let kind = self.nodes[at].kind;
        if kind == Kind::Final {
            return;
        }
        for event in 0..EVENTS.len() {
            for _ in 0..usize::from(random.chance(35)) + usize::from(random.chance(10)) {
                self.transition(random, at, Trigger::Event(event));
            }
        }
        let timers = self.transitions.iter().filter(|one| matches!(one.trigger, Trigger::After(_))).count()
            + self
                .nodes
                .iter()
                .filter(|node| node.invoke.as_ref().is_some_and(|it| it.timeout.is_some()))
                .count();
        if timers < 2 && random.chance(25) {
            let delay = 1 + random.below(3);
            self.transition(random, at, Trigger::After(delay));
        }
        if random.chance(12) {
            self.transition(random, at, Trigger::Always);
        }
        if kind != Kind::Atomic && random.chance(60) {
            self.transition(random, at, Trigger::Completed);
        }
        let invokes = self.nodes.iter().filter(|node| node.invoke.is_some()).count();
        if invokes < 2 && random.chance(20) {
            let is_human = random.chance(40);
            let timeout = (!is_human && timers < 2 && random.chance(30)).then(|| 1 + random.below(3));
            self.nodes[at].invoke = Some(Invoke { is_human, timeout });
            self.transition(random, at, Trigger::Done);
            if !is_human {
                self.transition(random, at, Trigger::Failed);
                self.transitions.last_mut().unwrap().guard = None;
            }
        }
    }

    fn transition(&mut self, random: &mut Random, source: usize, trigger: Trigger) {
        let target = random.chance(85).then(|| 1 + random.below(self.nodes.len() - 1));
        let has_data = matches!(trigger, Trigger::Event(_));
        let is_always = trigger == Trigger::Always;
        let is_asking = self.nodes[source].invoke.as_ref().is_some_and(|invoke| invoke.is_human);
        let guard = match random.below(100) {
            0..30 if trigger == Trigger::Done && is_asking => Some(Guard::Approved),
            0..25 => Some(Guard::Key(random.below(KEYS), random.chance(70), random.below(VALUES))),
            25..40 if has_data => Some(Guard::Data(random.chance(70), random.below(VALUES))),
            40..50 => Some(Guard::In(1 + random.below(self.nodes.len() - 1))),
            50..55 => Some(Guard::NotIn(1 + random.below(self.nodes.len() - 1))),
            _ if is_always => Some(Guard::Key(random.below(KEYS), true, random.below(VALUES))),
            _ => None,
        };
        let mut actions: Vec<Action> = (0..random.below(2)).map(|_| self.action(random, has_data)).collect();
        if target.is_none() && actions.is_empty() {
            actions.push(self.action(random, has_data));
        }
        let reenter = target.is_some() && random.chance(25);
        self.transitions.push(Transition { source, trigger, guard, target, reenter, actions });
    }

    fn action(&self, random: &mut Random, has_data: bool) -> Action {
        match random.below(100) {
            0..35 => Action::Set(random.below(KEYS), random.below(VALUES)),
            35..60 => Action::Count(random.below(KEYS)),
            60..80 if has_data && self.is_declared => Action::Take(random.below(KEYS)),
            80..100 => Action::Raise(random.below(EVENTS.len()), random.below(VALUES)),
            _ => Action::Set(random.below(KEYS), random.below(VALUES)),
        }
    }

    pub(crate) fn is_within(&self, node: usize, of: usize) -> bool {
        of <= node && node <= self.nodes[of].last
    }

    /// The events that a property may mention: those declared, or those handled.
    pub(crate) fn events(&self) -> Vec<usize> {
        let is_handled =
            |event: usize| self.transitions.iter().any(|one| one.trigger == Trigger::Event(event));
        (0..EVENTS.len()).filter(|event| self.is_declared || is_handled(*event)).collect()
    }

    pub(crate) fn invokes(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|at| self.nodes[*at].invoke.is_some()).collect()
    }
}

fn random_extra(at: usize) -> usize {
    usize::from(at.is_multiple_of(3))
}

fn node(parent: usize, kind: Kind) -> Node {
    Node { parent, kind, initial: 0, last: 0, entry: Vec::new(), exit: Vec::new(), invoke: None }
}

/// One property of each form, and some more of random forms that need no monitor in the model.
fn properties(random: &mut Random, chart: &Chart) -> Vec<Property> {
    let at_rest = |random: &mut Random| expr(random, chart, 2, true);
    let (people_answer, events_arrive) = (random.chance(40), random.chance(40));
    let mut properties = vec![
        Property::Never(expr(random, chart, 3, true)),
        Property::Always(Expr::Not(Box::new(expr(random, chart, 3, true)))),
        Property::Before(expr(random, chart, 1, false), expr(random, chart, 1, false)),
        Property::Within(at_rest(random), at_rest(random), 1 + random.below(3)),
        Property::LeadsTo { from: at_rest(random), to: at_rest(random), people_answer, events_arrive },
    ];
    for _ in 0..random.below(4) {
        let depth = 1 + random.below(4);
        let one = |random: &mut Random| expr(random, chart, depth, true);
        properties.push(match random.below(4) {
            0 => Property::Never(Expr::And(Box::new(one(random)), Box::new(one(random)))),
            1 => Property::Always(Expr::Or(Box::new(one(random)), Box::new(one(random)))),
            _ => Property::LeadsTo { from: one(random), to: one(random), people_answer, events_arrive },
        });
    }
    properties
}

/// An expression; only with `is_any` it may negate and read the context.
fn expr(random: &mut Random, chart: &Chart, depth: usize, is_any: bool) -> Expr {
    let (invokes, events) = (chart.invokes(), chart.events());
    let inner = |random: &mut Random| Box::new(expr(random, chart, depth - 1, is_any));
    match random.below(100) {
        0..25 if depth > 0 => Expr::And(inner(random), inner(random)),
        25..40 if depth > 0 => Expr::Or(inner(random), inner(random)),
        40..50 if depth > 0 && is_any => Expr::Not(inner(random)),
        50..60 if !events.is_empty() => Expr::Event(random.pick(&events)),
        60..68 if !invokes.is_empty() => Expr::Invoked(random.pick(&invokes)),
        68..72 => Expr::Ended,
        72..80 if is_any => Expr::Key(random.below(KEYS), random.below(VALUES)),
        _ => Expr::In(1 + random.below(chart.nodes.len() - 1)),
    }
}
