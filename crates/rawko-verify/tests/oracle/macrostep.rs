//! The macrostep of one chart in C: selection, conflicts, exits, actions, entries, completion, invokes, timers.

use std::fmt::Write as _;

use crate::chart::{Kind, Transition, Trigger};
use crate::promela::{COMPLETED, DONE, FAILED, One, Timer, Writer};

impl Writer<'_> {
    pub(super) fn macrostep(&self) -> String {
        let (over, runaway) = (self.one(One::Over), self.one(One::Runaway));
        let transitions = self.chart.transitions.len().max(1);
        let mut out = format!(
            "static int q[40], qd[40], qn;\n\
             static void raise_(int e, int d) {{ if (qn < 40) {{ q[qn] = e; qd[qn] = d; qn++; }} else {runaway} = 1; }}\n{}\n\
             static int macrostep(int starting, int phase, int ev, int cd) {{\n\
             \x20 int kind = 1, tk = 0, handled = 0, micro = 0, kn, i, j;\n  uchar en[{transitions}], k[{transitions}], pos[{transitions}];\n\
             \x20 qn = 0; memset(st, 0, sizeof(st));\n\
             \x20 while (!{over} && !{runaway}) {{\n",
            self.timer_code()
        );
        // The phases: 0 a given event, 1 eventless, 2 the queue, then invokes and due timers.
        out.push_str("    if (starting || phase == 0) ;\n    else if (phase == 1) kind = 3;\n");
        out.push_str("    else if (qn > 0) {\n      kind = 1; ev = q[0]; cd = qd[0]; for (i = 0; i + 1 < qn; i++) { q[i] = q[i + 1]; qd[i] = qd[i + 1]; } qn--;\n");
        let _ = writeln!(
            out,
            "      if (ev <= 4) {} = 1;\n      moment();\n    }} else {{",
            self.seen_event("ev - 1")
        );
        for at in self.chart.invokes() {
            let timeout = self.timers.iter().enumerate().find_map(|(number, timer)| match timer {
                Timer::Timeout(of, delay) if *of == at => Some(format!("set({number}, {delay});")),
                _ => None,
            });
            let (timeout, pending, invoked) =
                (timeout.unwrap_or_default(), self.pending(at), self.invoked(at));
            let _ = writeln!(
                out,
                "      if (st[{at}]) {{ st[{at}] = 0; {pending} = 1; {invoked} = 1; {timeout} moment(); }}"
            );
        }
        if self.timers.is_empty() {
            out.push_str("      break;\n");
        } else {
            let (count, listed) = (self.one(One::TimerCount), self.timer(2, "j"));
            let left = self.timer(0, &listed);
            let _ = writeln!(
                out,
                "      for (j = 0; j < {count} && {left} > 0; j++) ;\n      if (j == {count}) break;"
            );
            let _ = writeln!(out, "      kind = 2; tk = {listed}; cancel(tk);");
        }
        for (number, timer) in self.timers.iter().enumerate() {
            if let Timer::Timeout(at, _) = timer {
                let stop = self.stop_invoke(*at);
                let _ = writeln!(
                    out,
                    "      if (tk == {number}) {{ {stop} kind = 1; ev = {}; cd = 99; moment(); }}",
                    FAILED + at
                );
            }
        }
        out.push_str("    }\n    kn = 0; memset(en, 0, sizeof(en)); memset(k, 0, sizeof(k)); memset(pos, 0, sizeof(pos));\n    if (!starting) {\n");
        self.selection(&mut out);
        out.push_str("    }\n    if (starting || kn > 0) {\n      if (kn > 0) handled = 1;\n");
        let _ = writeln!(out, "      if (++micro > 200) {runaway} = 1;");
        self.take(&mut out);
        out.push_str("      phase = 1;\n    } else phase = phase == 1 ? 2 : 1;\n    starting = 0;\n  }\n  (void)i; (void)j; return handled;\n}\n");
        out
    }

    fn is_candidate(&self, one: &Transition) -> String {
        let guard = self.guard(one.guard);
        let is_event = |code: usize| format!("kind == 1 && ev == {code} && {guard}");
        match one.trigger {
            Trigger::Event(event) => is_event(event + 1),
            Trigger::Completed => is_event(COMPLETED + one.source),
            Trigger::Done => is_event(DONE + one.source),
            Trigger::Failed => is_event(FAILED + one.source),
            Trigger::Always => format!("kind == 3 && {guard}"),
            // Timers consider only their own transitions.
            Trigger::After(_) => "0".to_owned(),
        }
    }

    fn selection(&self, out: &mut String) {
        let chart = self.chart;
        for leaf in 1..chart.nodes.len() {
            if !matches!(chart.nodes[leaf].kind, Kind::Atomic | Kind::Final) {
                continue;
            }
            let _ = write!(out, "      if ({}) {{ ", self.active(leaf));
            let mut at = leaf;
            loop {
                for (number, one) in chart.transitions.iter().enumerate().filter(|(_, one)| one.source == at)
                {
                    let _ = write!(out, "if ({}) {{ {} }} else ", self.is_candidate(one), self.add(number));
                }
                if at == 0 {
                    break;
                }
                at = chart.nodes[at].parent;
            }
            out.push_str("; }\n");
        }
        for (number, timer) in self.timers.iter().enumerate() {
            let Timer::After(at, delay) = timer else { continue };
            let _ = write!(out, "      if (kind == 2 && tk == {number}) {{ ");
            for (number, one) in chart.transitions.iter().enumerate() {
                if one.source == *at && one.trigger == Trigger::After(*delay) {
                    let _ = write!(out, "if ({}) {{ {} }} else ", self.guard(one.guard), self.add(number));
                }
            }
            out.push_str("; }\n");
        }
    }

    /// Adds an enabled transition unless one that was kept takes precedence.
    fn add(&self, number: usize) -> String {
        let chart = self.chart;
        let one = &chart.transitions[number];
        let (mut stronger, mut weaker) = (vec!["0".to_owned()], String::new());
        for (other, it) in chart.transitions.iter().enumerate() {
            let (Some(mine), Some(theirs)) = (self.domain(one), self.domain(it)) else { continue };
            if other == number || !(chart.is_within(mine, theirs) || chart.is_within(theirs, mine)) {
                continue;
            }
            let is_inside = one.source != it.source && chart.is_within(one.source, it.source);
            match is_inside {
                true => _ = write!(weaker, "k[{other}] = 0; "),
                false => stronger.push(format!("k[{other}]")),
            }
        }
        format!(
            "if (!en[{number}]) {{ en[{number}] = 1; if (!({})) {{ {weaker} k[{number}] = 1; pos[{number}] = kn++; }} }}",
            stronger.join(" || ")
        )
    }

    /// The innermost state that stays active. `None` if nothing is left.
    fn domain(&self, one: &Transition) -> Option<usize> {
        let chart = self.chart;
        let target = one.target?;
        let domain = match !one.reenter && chart.is_within(target, one.source) {
            true => one.source,
            false => {
                let mut at = one.source;
                loop {
                    at = chart.nodes[at].parent;
                    if at == 0 || (at != target && chart.is_within(target, at)) {
                        break at;
                    }
                }
            }
        };
        (chart.nodes[domain].last != domain).then_some(domain)
    }

    fn take(&self, out: &mut String) {
        let chart = self.chart;
        let of = |wanted: &dyn Fn(&Transition) -> bool| {
            let numbers = (0..chart.transitions.len()).filter(|number| wanted(&chart.transitions[*number]));
            let mut taken: Vec<String> = numbers.map(|number| format!("k[{number}]")).collect();
            taken.push("0".to_owned());
            taken.join(" || ")
        };
        for at in (1..chart.nodes.len()).rev() {
            let leaves =
                of(&|one| self.domain(one).is_some_and(|domain| domain != at && chart.is_within(at, domain)));
            let (active, exit) = (self.active(at), self.actions(&chart.nodes[at].exit));
            let mut stops = String::new();
            for (number, timer) in self.timers.iter().enumerate() {
                if matches!(timer, Timer::After(of, _) if *of == at) {
                    let _ = write!(stops, "cancel({number}); ");
                }
            }
            if chart.nodes[at].invoke.is_some() {
                stops.push_str(&self.stop_invoke(at));
            }
            let _ = writeln!(
                out,
                "      if ({active} && ({leaves})) {{ {active} = 0; {exit} {stops} moment(); }}"
            );
        }
        out.push_str("      for (j = 0; j < kn; j++) {\n");
        for (number, one) in chart.transitions.iter().enumerate() {
            let actions = self.actions(&one.actions);
            let _ = writeln!(out, "        if (k[{number}] && pos[{number}] == j) {{ {actions} }}");
        }
        out.push_str("      }\n");
        let default = self.entries(0, 0);
        for at in 0..chart.nodes.len() {
            let enters = of(&|one| match (self.domain(one), one.target) {
                (Some(domain), Some(target)) => self.entries(domain, target).contains(&at),
                _ => false,
            });
            let starts = if default.contains(&at) || at == 0 { " || starting" } else { "" };
            let (over, active, entered) = (self.one(One::Over), self.active(at), self.enter(at));
            let _ = writeln!(
                out,
                "      if (!{over} && !{active} && ({enters}{starts})) {{ {active} = 1; {entered} }}"
            );
        }
    }

    /// The states that a transition enters below its domain.
    fn entries(&self, domain: usize, target: usize) -> Vec<usize> {
        let chart = self.chart;
        let mut entered = Vec::new();
        let mut at = target;
        self.complete(at, &mut entered);
        while at != domain {
            entered.push(at);
            let parent = chart.nodes[at].parent;
            if chart.nodes[parent].kind == Kind::Parallel {
                let regions = (1..chart.nodes.len()).filter(|region| chart.nodes[*region].parent == parent);
                for region in regions.filter(|region| *region != at) {
                    entered.push(region);
                    self.complete(region, &mut entered);
                }
            }
            at = parent;
        }
        entered
    }

    /// The states that are entered with one that is entered without a target inside.
    fn complete(&self, at: usize, entered: &mut Vec<usize>) {
        let chart = self.chart;
        match chart.nodes[at].kind {
            Kind::Compound => {
                entered.push(chart.nodes[at].initial);
                self.complete(chart.nodes[at].initial, entered);
            }
            Kind::Parallel => {
                for region in (1..chart.nodes.len()).filter(|region| chart.nodes[*region].parent == at) {
                    entered.push(region);
                    self.complete(region, entered);
                }
            }
            Kind::Atomic | Kind::Final => {}
        }
    }

    fn enter(&self, at: usize) -> String {
        let chart = self.chart;
        let mut out = format!("moment(); {}", self.actions(&chart.nodes[at].entry));
        for (number, timer) in self.timers.iter().enumerate() {
            if let Timer::After(of, delay) = timer
                && *of == at
            {
                let _ = write!(out, "set({number}, {delay}); ");
            }
        }
        if chart.nodes[at].invoke.is_some() {
            let _ = write!(out, "st[{at}] = 1; ");
        }
        if chart.nodes[at].kind != Kind::Final {
            return out;
        }
        let parent = chart.nodes[at].parent;
        if parent == 0 {
            let _ = write!(out, "{} = 1; ", self.one(One::Over));
            for node in (0..chart.nodes.len()).rev() {
                let exit = self.actions(&chart.nodes[node].exit);
                let has_invoke = chart.nodes[node].invoke.is_some();
                let stop = if has_invoke { self.stop_invoke(node) } else { String::new() };
                let _ = write!(out, "if ({}) {{ {exit} {stop} }} ", self.active(node));
            }
            (0..self.timers.len()).for_each(|number| _ = write!(out, "cancel({number}); "));
            return out;
        }
        let _ = write!(out, "raise_({}, 0); ", COMPLETED + parent);
        let (mut done, mut closing) = (parent, String::new());
        while done != 0 && chart.nodes[chart.nodes[done].parent].kind == Kind::Parallel {
            done = chart.nodes[done].parent;
            let _ = write!(out, "if ({}) {{ raise_({}, 0); ", self.is_done(done), COMPLETED + done);
            closing.push_str("} ");
        }
        out + &closing
    }

    fn is_done(&self, at: usize) -> String {
        let chart = self.chart;
        let children = || (1..chart.nodes.len()).filter(|child| chart.nodes[*child].parent == at);
        match chart.nodes[at].kind {
            Kind::Final => self.active(at),
            Kind::Atomic => "0".to_owned(),
            Kind::Compound => {
                let finals = children().filter(|child| chart.nodes[*child].kind == Kind::Final);
                let mut active: Vec<String> = finals.map(|child| self.active(child)).collect();
                active.push("0".to_owned());
                format!("({})", active.join(" || "))
            }
            Kind::Parallel => {
                let regions: Vec<String> = children().map(|child| self.is_done(child)).collect();
                format!("({})", regions.join(" && "))
            }
        }
    }
}
