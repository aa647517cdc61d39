//! Random charts that read, keep and compute with data from outside, beside random runs of the simulation with any data:
//! a property that a run breaks is never proved, and a violation replays. `RAWKO_FUZZ_CHARTS` sets the number of charts.

use std::sync::Arc;

use rawko_core::{Value, World};
use rawko_sim::{Simulation, Stimulus, Stubs};
use rawko_verify::{ExplorationLimits, Model, PropertyVerdict, Storage, verify};

use crate::support::{model, replay};

/// Charts in the fast tier.
const CHARTS: u64 = 12;
/// Random runs of a chart, and stimuli of a run.
const RUNS: usize = 60;
const STIMULI: usize = 14;

const GUARDS: [&str; 40] = [
    "event.data.x == C",
    "event.data.x > C",
    "event.data.x <= C",
    "event.data.x >= 0.5 and event.data.x < C",
    "event.data.ok",
    "not event.data.ok",
    "event.data.ok == true",
    "event.data.ok == false",
    "event.data.kind == 'a'",
    "event.data.kind in ['a', 'b']",
    "event.data.kind > 'a'",
    "event.data.o == null",
    "event.data.o.k == C",
    "event.data.o.k > C",
    "event.data == null",
    "event.data == 'a'",
    "length(event.data.list) > 1",
    "event.data.x + 1 > C",
    "event.data.x * event.data.o.k == 6",
    "event.data.x == context.m",
    "event.data.category == 'timeout'",
    "event.data.code == C",
    "event.type == 'E1'",
    "starts_with(event.type, 'E')",
    "context.n > C",
    "context.n == C",
    "context.n < 0",
    "context.m == C",
    "context.m == 'a'",
    "context.m == null",
    "context.m.k == C",
    "context.m2.o.k == C",
    "context.m2.x == C",
    "context.flag",
    "not context.flag",
    "context[context.key] == C",
    "context.last == 'special'",
    "(event.data.o ?? context.m) == C",
    "length(context.seen) > 1",
    "event.data.x in [1, C]",
];

const ASSIGNS: [&str; 27] = [
    "n: context.n + 1",
    "n: context.n - 1",
    "n: 0",
    "n: event.data.x + 1",
    "n: context.n + event.data.x",
    "n: 10 / event.data.x",
    "n: context.m",
    "m: event.data.x",
    "m: event.data.o",
    "m: event.data",
    "m: event.data.kind",
    "m: event.data.o.k",
    "m: event.data.x ?? C",
    "m: context.n",
    "m: context.m2",
    "m: context.m ?? event.data.o",
    "m: context[context.key]",
    "m: {\"k\": event.data.x}",
    "m2: event.data",
    "m2: context.m",
    "m2: event",
    "flag: true",
    "flag: event.data.ok",
    "flag: event.data.x > C",
    "last: event.type",
    "key: 'm'",
    "seen: context.seen ~ [event.data.x]",
];

/// A small generator of random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len())]
    }

    fn filled(&mut self, from: &[&str]) -> String {
        let constant = self.below(5).to_string();
        self.pick(from).replace('C', &constant)
    }

    fn assign(&mut self) -> String {
        let assign = self.filled(&ASSIGNS);
        let (key, value) = assign.split_once(": ").unwrap();
        format!("{key}: {value:?}")
    }

    fn target(&mut self) -> &'static str {
        self.pick(&["s0", "s1", "s2", "s3", "s1", "s2", "s3", "bad", "done"])
    }

    fn actions(&mut self) -> String {
        let mut actions = Vec::new();
        for _ in 0..self.below(3) {
            actions.push(match self.below(9) {
                0 => "{type: raise, event: R, data: {x: event.data.x, o: event.data.o}}".to_owned(),
                1 => "{type: log, message: {expr: 'event.data.x + 1'}}".to_owned(),
                2 => format!(
                    "{{type: choose, branches: [{{guard: {:?}, actions: [{{type: assign, context_updates: {{{}}}}}]}}]}}",
                    self.filled(&GUARDS),
                    self.assign()
                ),
                3 => "{type: send, event: LATE, delay: 7s, data: {x: event.data.x}}".to_owned(),
                _ => format!("{{type: assign, context_updates: {{{}}}}}", self.assign()),
            });
        }
        actions.join(", ")
    }

    fn options(&mut self) -> String {
        let mut options = Vec::new();
        for _ in 0..=self.below(3) {
            let (guard, target, actions) = (self.filled(&GUARDS), self.target(), self.actions());
            let target = if self.below(5) == 0 { String::new() } else { format!("target: {target}, ") };
            options.push(format!("{{{target}guard: {guard:?}, actions: [{actions}]}}"));
        }
        if self.below(2) == 0 {
            let (target, actions) = (self.pick(&["s0", "s1", "s2", "s3", "done"]), self.actions());
            options.push(format!("{{target: {target}, actions: [{actions}]}}"));
        }
        format!("[{}]", options.join(", "))
    }

    fn chart(&mut self) -> String {
        let mut text = "id: fuzz\ninitial: s0\n\
            context: {n: 0, m: null, m2: null, flag: false, last: null, key: n, seen: []}\nstates:\n"
            .to_owned();
        for state in 0..4 {
            text.push_str(&format!("  s{state}:\n"));
            if state > 0 && self.below(2) == 0 {
                let retry =
                    if self.below(2) == 0 { ", retry: {max_attempts: 2, initial_delay: 5s}" } else { "" };
                let (done, error) = (self.options(), self.options());
                text.push_str(&format!(
                    "    invoke: {{id: q{state}, src: svc{retry}, onDone: {done}, onError: {error}}}\n"
                ));
            }
            if self.below(3) == 0 {
                let (delay, options) = (self.pick(&["5s", "10s", "12s"]), self.options());
                text.push_str(&format!("    after: {{{delay}: {options}}}\n"));
            }
            text.push_str("    on:\n      END: done\n");
            for event in ["E1", "E2", "'E3.*'", "'*'", "R", "error.execution", "LATE"] {
                let often = if event.len() == 2 { 2 } else { 6 };
                if self.below(often) == 0 {
                    let options = self.options();
                    text.push_str(&format!("      {event}: {options}\n"));
                }
            }
        }
        text.push_str("  bad: {type: final}\n  done: {type: final}\n");
        text.push_str("properties: {p: {never: \"in('bad')\"}, q: {never: 'context.n == 4'}}\n");
        text
    }

    fn value(&mut self) -> Value {
        match self.below(12) {
            0 => Value::Null,
            1 => Value::Bool(true),
            2 => Value::Bool(false),
            3..7 => Value::Int(self.below(9) as i64 - 2),
            7 => Value::float(self.below(40) as f64 / 10.0),
            8..10 => Value::str(self.pick(&["a", "b", "z", "", "timeout"])),
            10 => {
                Value::map([("k", Value::Int(self.below(6) as i64)), ("x", Value::Int(self.below(6) as i64))])
            }
            _ => Value::list(vec![Value::Int(1); self.below(4)]),
        }
    }

    fn data(&mut self) -> Value {
        if self.below(6) == 0 {
            return self.value();
        }
        let mut fields = Vec::new();
        for name in ["x", "ok", "kind", "o", "list", "code", "category", "retryable"] {
            if self.below(3) > 0 {
                fields.push((name, self.value()));
            }
        }
        Value::map(fields)
    }

    fn stimulus(&mut self) -> Stimulus {
        match self.below(10) {
            0 | 1 => Stimulus::advance([1_000, 2_000, 5_000, 10_000, 13_000][self.below(5)]),
            2 | 3 => {
                let kind = self.pick(&["done", "error"]);
                Stimulus::event(&format!("{kind}.invoke.q{}", 1 + self.below(3)), self.data())
            }
            _ => {
                let name = self.pick(&["E1", "E2", "E1", "E2", "E3", "E3.x", "special"]);
                Stimulus::event(name, self.data())
            }
        }
    }
}

/// Returns the stimuli of a run that breaks `p` or `q`, for each of them.
fn broken_by_chance(text: &str, dice: &mut Dice) -> [Option<Vec<Stimulus>>; 2] {
    let chart = model(text).chart;
    let mut broken = [None, None];
    for _ in 0..RUNS {
        let input = Value::Map(Arc::default());
        let mut simulation =
            Simulation::new(Arc::clone(&chart), Vec::new(), Stubs::default(), World::default(), input);
        let mut line = simulation.start();
        let mut stimuli = Vec::new();
        for _ in 0..STIMULI {
            let stimulus = dice.stimulus();
            line = simulation.apply(&stimulus);
            stimuli.push(stimulus);
            let is_bad = line.configuration.iter().any(|state| state == "bad");
            let is_four = line.context.get("n").as_f64() == Some(4.0);
            for (at, is_broken) in [is_bad, is_four].into_iter().enumerate() {
                if is_broken && broken[at].is_none() {
                    broken[at] = Some(stimuli.clone());
                }
            }
            if ["done", "cancelled"].contains(&&*line.status) {
                break;
            }
        }
        drop(line);
    }
    broken
}

#[test]
fn what_a_random_run_breaks_is_not_proved() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (charts, first) =
        (number("RAWKO_FUZZ_CHARTS").unwrap_or(CHARTS), number("RAWKO_FUZZ_SEED").unwrap_or(1));
    let (mut proved, mut violated, mut open, mut missed) = (0, 0, 0, 0);
    for seed in first..first + charts {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let text = dice.chart();
        let models: [Model; 1] = [model(&text)];
        // What takes too long stays open.
        let began = std::time::Instant::now();
        let limits = ExplorationLimits {
            states_max: 1_000,
            stop: &|_| began.elapsed() > std::time::Duration::from_millis(500),
            storage: Storage::Exact,
        };
        let report = verify(&models, &World::default(), &limits).unwrap();
        let broken = broken_by_chance(&text, &mut dice);
        for (name, broken) in ["p", "q"].into_iter().zip(broken) {
            let found = report.property(name).unwrap();
            match found.verdict {
                PropertyVerdict::Holds => {
                    proved += 1;
                    assert_eq!(broken, None, "seed {seed}: `{name}` is proved ({})\n{text}", found.bound);
                }
                PropertyVerdict::Violated => {
                    violated += 1;
                    let lines = replay(&[&text], found.trace.as_ref().unwrap());
                    let last = lines.last().unwrap();
                    let is_broken = match name {
                        "p" => last.configuration.iter().any(|state| state == "bad"),
                        _ => last.context.get("n").as_f64() == Some(4.0),
                    };
                    assert!(is_broken, "seed {seed}: the trace of `{name}` does not replay\n{text}");
                }
                PropertyVerdict::Unknown => {
                    open += 1;
                    missed += usize::from(broken.is_some());
                }
            }
        }
    }
    println!("{proved} proved, {violated} violated, {open} open, of which a random run breaks {missed}");
}
