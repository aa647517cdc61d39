//! Writes a random chart as a Promela model: the algorithm of the statechart standard, spelled out for one chart. The
//! choice of an input is Promela, its macrostep one block of C; time passes in parts of a unit, so that every order of
//! timers and inputs is among the runs. All state is in one array `v`.

use std::fmt::Write as _;

use crate::chart::{
    Action, Chart, EVENTS, Expr, Guard, KEYS, OUTSIDE, Property, Transition, Trigger, VALUES,
};

/// Parts of a unit of time: one more than the clocks that may run.
const PARTS: usize = 4;
pub(super) const COMPLETED: usize = 20;
pub(super) const DONE: usize = 60;
pub(super) const FAILED: usize = 100;
const TICK: usize = 200;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Timer {
    After(usize, usize),
    Timeout(usize, usize),
}

/// Single values of the state, behind the arrays.
#[derive(Clone, Copy)]
#[rustfmt::skip]
pub(super) enum One { TimerCount, Over, Up, Runaway, Token, Fair, Seen, Bad2, Clock, Bad3, Acted }
const ONES: usize = 11;

pub(super) struct Writer<'c> {
    pub(super) chart: &'c Chart,
    pub(super) timers: Vec<Timer>,
    outside: Vec<usize>,
}

pub(crate) fn write(chart: &Chart) -> String {
    let mut timers = Vec::new();
    for (at, node) in chart.nodes.iter().enumerate() {
        for delay in 1..4 {
            let is_it = |one: &Transition| one.source == at && one.trigger == Trigger::After(delay);
            if chart.transitions.iter().any(is_it) {
                timers.push(Timer::After(at, delay));
            }
        }
        timers.extend(node.invoke.as_ref().and_then(|it| it.timeout).map(|delay| Timer::Timeout(at, delay)));
    }
    // An internal event does not come from outside.
    let is_outside = |event: &usize| !chart.is_declared || *event < OUTSIDE;
    let outside = chart.events().into_iter().filter(is_outside).collect();
    Writer { chart, timers, outside }.model()
}

impl Writer<'_> {
    // The layout of `v`.
    pub(super) fn active(&self, node: usize) -> String {
        format!("v[{node}]")
    }
    pub(super) fn pending(&self, node: usize) -> String {
        format!("v[{}]", self.chart.nodes.len() + node)
    }
    pub(super) fn invoked(&self, node: usize) -> String {
        format!("v[{}]", 2 * self.chart.nodes.len() + node)
    }
    fn ended_invoke(&self, node: usize) -> String {
        format!("v[{}]", 3 * self.chart.nodes.len() + node)
    }
    fn key(&self, key: usize) -> String {
        format!("v[{}]", 4 * self.chart.nodes.len() + key)
    }
    pub(super) fn seen_event(&self, event: &str) -> String {
        format!("v[{} + {event}]", 4 * self.chart.nodes.len() + KEYS)
    }
    fn timers_at(&self) -> usize {
        4 * self.chart.nodes.len() + KEYS + EVENTS.len()
    }
    /// Field 0: remaining parts, 1: running, 2: its place in the list, 3: ended in this step.
    pub(super) fn timer(&self, field: usize, timer: &str) -> String {
        format!("v[{} + {timer}]", self.timers_at() + field * self.timers.len())
    }
    pub(super) fn one(&self, one: One) -> String {
        format!("v[{}]", self.timers_at() + 4 * self.timers.len() + one as usize)
    }

    fn model(&self) -> String {
        let mut out = String::new();
        let size = self.timers_at() + 4 * self.timers.len() + ONES;
        let _ = writeln!(out, "byte v[{size}]; byte inp; byte dat;");
        let code = format!("{}\n{}\n{}", self.moment(), self.macrostep(), self.input());
        let _ = writeln!(out, "c_code {{\n{}\n}}", code.replace("v[", "now.v["));
        let (over, count, clock) = (self.one(One::Over), self.one(One::TimerCount), self.one(One::Clock));
        let _ = writeln!(out, "active proctype M() {{\n  c_code {{ first_step(); }};");
        out.push_str("  do\n  :: atomic {\n    if\n    :: inp = 0\n");
        let end = if self.chart.is_declared { VALUES } else { VALUES + 1 };
        for event in &self.outside {
            for value in 0..end {
                let _ = writeln!(out, "    :: !{over} -> inp = {}; dat = {value}", event + 1);
            }
        }
        for at in self.chart.invokes() {
            let pending = self.pending(at);
            let _ = writeln!(out, "    :: {pending} -> inp = {}; dat = 1", DONE + at);
            match self.is_human(at) {
                true => _ = writeln!(out, "    :: {pending} -> inp = {}; dat = 0", DONE + at),
                false => _ = writeln!(out, "    :: {pending} -> inp = {}", FAILED + at),
            }
        }
        let _ = writeln!(out, "    :: ({count} > 0 || {clock} < 250) -> inp = {TICK}\n    fi;");
        out.push_str("    c_code { next_step(now.inp, now.dat); now.inp = 0; now.dat = 0; }\n  }\n  od\n}\n");
        self.properties(&mut out);
        out
    }

    pub(super) fn is_human(&self, at: usize) -> bool {
        self.chart.nodes[at].invoke.as_ref().is_some_and(|invoke| invoke.is_human)
    }

    /// The start, and one chosen input: what it ends, then its macrostep.
    fn input(&self) -> String {
        let mut out = format!("static void finish(int judged) {{\n{}}}\n", self.finish());
        let (up, clock) = (self.one(One::Up), self.one(One::Clock));
        let _ = writeln!(
            out,
            "static void first_step(void) {{ {clock} = 254; clear(); macrostep(1, 1, 0, 0); finish(1); {up} = 1; }}"
        );
        let _ = writeln!(out, "static void next_step(int inp, int dat) {{\n  int judged = 0, i;");
        (0..self.timers.len()).for_each(|at| _ = writeln!(out, "  {} = 0;", self.timer(3, &at.to_string())));
        self.chart.invokes().iter().for_each(|at| _ = writeln!(out, "  {} = 0;", self.ended_invoke(*at)));
        let (acted, bad2, bad3) = (self.one(One::Acted), self.one(One::Bad2), self.one(One::Bad3));
        let _ = writeln!(out, "  {acted} = 0; {bad2} = 0; {bad3} = 0;\n  if (inp == {TICK}) {{");
        let _ = writeln!(
            out,
            "    if ({clock} == 0) {{ {bad3} = 1; {clock} = 253; }} else if ({clock} < 250) {clock}--;"
        );
        let (listed, count) = (self.timer(2, "i"), self.one(One::TimerCount));
        let left = self.timer(0, &listed);
        let _ =
            writeln!(out, "    for (i = 0; i < {count}; i++) {{ {left}--; if ({left} == 0) judged = 1; }}");
        let _ = writeln!(out, "    if (judged) {{ clear(); {acted} = 1; macrostep(0, 2, 0, 0); }}");
        let _ = writeln!(out, "  }} else if (inp > 0) {{\n    judged = 1; clear();");
        for at in self.chart.invokes() {
            let codes = (DONE + at, FAILED + at);
            let stop = self.stop_invoke(at);
            let _ =
                writeln!(out, "    if (inp == {} || inp == {}) {{ {acted} = 1; {stop} }}", codes.0, codes.1);
        }
        let _ = writeln!(out, "    if (inp <= 4) {} = 1;\n    moment();", self.seen_event("inp - 1"));
        let _ = writeln!(out, "    if (macrostep(0, 0, inp, dat)) {acted} = 1;\n  }}\n  finish(judged);\n}}");
        out
    }

    pub(super) fn stop_invoke(&self, at: usize) -> String {
        let (pending, ended) = (self.pending(at), self.ended_invoke(at));
        let mut out = format!("if ({pending}) {{ {pending} = 0; {ended} = 1; }} st[{at}] = 0; ");
        for (number, timer) in self.timers.iter().enumerate() {
            if matches!(timer, Timer::Timeout(of, _) if *of == at) {
                let _ = write!(out, "cancel({number}); ");
            }
        }
        out
    }

    /// What stands between two inputs, and what one step shows.
    fn finish(&self) -> String {
        let mut out = String::from("  int rest = 1;\n");
        let Property::Before(first, then) = &self.chart.properties[2] else { unreachable!() };
        let (first, then) = (self.expr(first), self.expr(then));
        let (seen, bad2) = (self.one(One::Seen), self.one(One::Bad2));
        let _ = writeln!(
            out,
            "  if (judged) {{\n    if (!fa && ({first})) fa = mn; if (!ta) ta = mn;\n\
             \x20   if (({then}) && !{seen} && (!fa || fa > ta)) {bad2} = 1;\n    if (fa) {seen} = 1;"
        );
        let Property::Within(from, to, units) = &self.chart.properties[3] else { unreachable!() };
        let (from, to, ticks, clock) = (self.expr(from), self.expr(to), units * PARTS, self.one(One::Clock));
        let _ = writeln!(
            out,
            "    if ({to}) {clock} = ({from}) ? 253 : 254;\n    else if ({clock} < 250) ;\n\
             \x20   else if ({from}) {{ if ({clock} == 254) {clock} = {ticks}; }}\n    else {clock} = 254;\n  }}"
        );
        let Property::LeadsTo { people_answer, events_arrive, .. } = &self.chart.properties[4] else {
            unreachable!()
        };
        let timers = (0..self.timers.len()).map(|at| at.to_string());
        let mut work: Vec<String> =
            timers.map(|at| format!("(!{} || {})", self.timer(1, &at), self.timer(3, &at))).collect();
        for at in self.chart.invokes() {
            if !self.is_human(at) || *people_answer {
                work.push(format!("(!{} || {})", self.pending(at), self.ended_invoke(at)));
            }
        }
        if *events_arrive {
            let (acted, over) = (self.one(One::Acted), self.one(One::Over));
            work.push(format!("({acted} || {over} || !({}))", self.takes_events()));
        }
        let (token, fair) = (self.one(One::Token), self.one(One::Fair));
        let _ = writeln!(out, "  {fair} = 0;");
        for (number, served) in work.iter().enumerate() {
            let _ = writeln!(out, "  if ({token} == {number} && {served}) {token} = {};", number + 1);
        }
        let _ =
            writeln!(out, "  if ({token} == {}) {{ {token} = 0; {fair} = 1; }}\n  (void)rest;", work.len());
        out
    }

    /// Some event from outside would be handled.
    fn takes_events(&self) -> String {
        let mut ways = vec!["0".to_owned()];
        let end = if self.chart.is_declared { VALUES } else { VALUES + 1 };
        for one in &self.chart.transitions {
            let Trigger::Event(event) = one.trigger else { continue };
            if self.outside.contains(&event) {
                for value in 0..end {
                    let guard = self.guard(one.guard).replace("cd", &value.to_string());
                    ways.push(format!("({} && {guard})", self.active(one.source)));
                }
            }
        }
        ways.dedup();
        ways.join(" || ")
    }

    /// One fact within a step: `before` compares the first moments at which its expressions hold.
    fn moment(&self) -> String {
        let Property::Before(first, then) = &self.chart.properties[2] else { unreachable!() };
        let (first, then) = (self.expr(first), self.expr(then));
        let mut clear = String::new();
        (0..self.chart.nodes.len()).for_each(|at| clear += &format!("{} = 0; ", self.invoked(at)));
        (0..EVENTS.len())
            .for_each(|event| clear += &format!("{} = 0; ", self.seen_event(&event.to_string())));
        format!(
            "static int fa, ta, mn; static uchar st[40];\n\
             static void clear(void) {{ {clear} fa = 0; ta = 0; mn = 1; }}\n\
             static void moment(void) {{ int rest = 0; (void)rest; if (!fa && ({first})) fa = mn; if (!ta && ({then})) ta = mn; mn++; }}"
        )
    }

    fn properties(&self, out: &mut String) {
        let properties = &self.chart.properties;
        let (up, over) = (self.one(One::Up), self.one(One::Over));
        let at_rest = |one: &Expr| self.expr(one).replace(&format!("(rest && {over})"), &over);
        let _ = writeln!(out, "ltl runs {{ [] !{} }}", self.one(One::Runaway));
        let (bad2, bad3, fair) = (self.one(One::Bad2), self.one(One::Bad3), self.one(One::Fair));
        // The formulas of `rawko verify --json`; a run that has ended stays where it is.
        for (number, property) in properties.iter().enumerate() {
            let formula = match property {
                Property::Never(one) => format!("[] (!{up} || !({}))", at_rest(one)),
                Property::Always(one) => format!("[] (!{up} || ({}))", at_rest(one)),
                Property::Before(..) => format!("[] !{bad2}"),
                Property::Within(..) => format!("[] !{bad3}"),
                Property::LeadsTo { from, to, .. } => {
                    let (from, to) = (at_rest(from), at_rest(to));
                    format!("([] <> ({fair})) -> ([] (({up} && ({from})) -> <> ({up} && ({to}))))")
                }
            };
            let _ = writeln!(out, "ltl p{number} {{ {formula} }}");
        }
    }

    fn expr(&self, one: &Expr) -> String {
        match one {
            Expr::In(node) => self.active(*node),
            Expr::Event(event) => self.seen_event(&event.to_string()),
            Expr::Invoked(node) => self.invoked(*node),
            Expr::Ended => format!("(rest && {})", self.one(One::Over)),
            Expr::Key(key, value) => format!("({} == {value})", self.key(*key)),
            Expr::Not(inner) => format!("!({})", self.expr(inner)),
            Expr::And(left, right) => format!("({} && {})", self.expr(left), self.expr(right)),
            Expr::Or(left, right) => format!("({} || {})", self.expr(left), self.expr(right)),
        }
    }

    pub(super) fn guard(&self, guard: Option<Guard>) -> String {
        let sign = |equal: bool| if equal { "==" } else { "!=" };
        match guard {
            None => "1".to_owned(),
            Some(Guard::Key(key, equal, value)) => format!("({} {} {value})", self.key(key), sign(equal)),
            Some(Guard::Data(equal, value)) => format!("(cd {} {value})", sign(equal)),
            Some(Guard::In(node)) => self.active(node),
            Some(Guard::NotIn(node)) => format!("!{}", self.active(node)),
            Some(Guard::Approved) => "(cd == 1)".to_owned(),
        }
    }

    pub(super) fn actions(&self, actions: &[Action]) -> String {
        let shown = actions.iter().map(|action| match action {
            Action::Set(key, value) => format!("{} = {value}; ", self.key(*key)),
            Action::Count(key) => format!("{0} = ({0} + 1) % 3; ", self.key(*key)),
            Action::Take(key) => format!("{} = cd; ", self.key(*key)),
            Action::Raise(event, value) => format!("raise_({}, {value}); ", event + 1),
        });
        shown.collect()
    }

    /// Timers are listed in the order in which they were set.
    pub(super) fn timer_code(&self) -> String {
        if self.timers.is_empty() {
            return "static void cancel(int t) { (void)t; }\nstatic void set(int t, int d) { (void)t; (void)d; }".to_owned();
        }
        let count = self.one(One::TimerCount);
        let (left, running, ended) = (self.timer(0, "t"), self.timer(1, "t"), self.timer(3, "t"));
        let (at, next) = (self.timer(2, "i"), self.timer(2, "i + 1"));
        let last = self.timer(2, &count);
        format!(
            "static void cancel(int t) {{ int i = 0; if (!{running}) return; {running} = 0; {ended} = 1; {left} = 0;\n\
             \x20 while ({at} != t) i++;\n  for (; i + 1 < {count}; i++) {at} = {next};\n  {count}--; {last} = 0; }}\n\
             static void set(int t, int d) {{ {running} = 1; {left} = d * {PARTS}; {last} = t; {count}++; }}"
        )
    }
}
