//! Own properties while exploring: the truth of their expressions in each step, and the monitors of those that remember
//! something (`before`, `within`).

use rawko_chart::{Atom, Property, PropertyExpr, PropertyKind};
use rawko_core::expr::EvalScope;
use rawko_core::{Chart, InstanceFacts, NodeId, ServiceClass, ServiceName, Status, World};
use rawko_instance::outcome_of;

use crate::machine::{StepFact, StepFacts};
use crate::state::ModelState;

/// No clock runs and `from` does not hold.
const IDLE: i64 = i64::MAX;
/// No clock runs although `from` holds: `to` has been reached since its entry.
pub(crate) const SERVED: i64 = i64::MAX - 1;

/// The number of `leads_to` properties that are judged.
pub(crate) const LEADS_MAX: u32 = u64::BITS;

/// A violation found in one step.
pub(crate) struct BrokenProperty {
    pub(crate) property: usize,
    pub(crate) reason: String,
}

/// The truth of `leads_to` properties in one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LeadBits {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

pub(crate) struct PropertyWatch<'m> {
    pub(crate) chart: &'m Chart,
    pub(crate) properties: &'m [Property],
    pub(crate) world: &'m World,
    /// Data may be unknown; a condition on it then has the value that proves less.
    pub(crate) is_general: bool,
}

impl PropertyWatch<'_> {
    /// Returns the properties about a service or a tool whose name begins like this.
    pub(crate) fn naming(&self, known: &str) -> Vec<usize> {
        let is_tool = ServiceName::of(known).class == ServiceClass::Tool;
        let begins = |name: &str| name.starts_with(known) || is_tool;
        let is_named = |atom: &Atom| match atom {
            Atom::Invoked(name) => name.starts_with(known),
            Atom::Called(name) => begins(name),
            Atom::In(_) | Atom::Event(_) | Atom::Ended(_) => false,
        };
        let properties = self.properties.iter().enumerate();
        let named = properties.filter(|(_, property)| {
            crate::analysis::expressions(property).iter().any(|expr| expr.atoms.iter().any(is_named))
        });
        named.map(|(number, _)| number).collect()
    }

    /// Returns true for each monitor that holds a time.
    pub(crate) fn relative(&self) -> Vec<bool> {
        self.properties.iter().map(|property| matches!(property.kind, PropertyKind::Within { .. })).collect()
    }

    pub(crate) fn initial(&self) -> Vec<i64> {
        self.relative().into_iter().map(|is_time| if is_time { IDLE } else { 0 }).collect()
    }

    /// Judges one step: `monitors` are those before it, and become those after it.
    pub(crate) fn observe(
        &self,
        before: &[NodeId],
        facts: &StepFacts,
        state: &ModelState,
        monitors: &mut [i64],
    ) -> (Vec<BrokenProperty>, LeadBits) {
        let (mut broken, mut bits) = (Vec::new(), LeadBits::default());
        let mut lead = 0;
        for (number, property) in self.properties.iter().enumerate() {
            let holds = |expr: &PropertyExpr, otherwise: bool| {
                self.holds(expr, (&facts.moments, None), state, otherwise)
            };
            let reason = match &property.kind {
                PropertyKind::Never(expr) => holds(expr, true).then(|| format!("`{}` holds", expr.text)),
                PropertyKind::Always(expr) => {
                    (!holds(expr, false)).then(|| format!("`{}` does not hold", expr.text))
                }
                PropertyKind::Before { first, then } => {
                    self.before((first, then), before, facts, state, &mut monitors[number])
                }
                PropertyKind::Within { from, to, time_ms } => {
                    // A condition that is not known may have ended and begun again.
                    if holds(from, true) != holds(from, false) && monitors[number] == SERVED {
                        monitors[number] = IDLE;
                    }
                    clock(holds(from, true), holds(to, false), *time_ms, state.now_ms, &mut monitors[number]);
                    None
                }
                PropertyKind::LeadsTo { from, to } => {
                    if lead < LEADS_MAX {
                        bits.from |= u64::from(holds(from, true)) << lead;
                        bits.to |= u64::from(holds(to, false)) << lead;
                    }
                    lead += 1;
                    None
                }
            };
            broken.extend(reason.map(|reason| BrokenProperty { property: number, reason }));
        }
        (broken, bits)
    }

    /// Returns the time after which a `within` is violated, for each whose clock runs.
    pub(crate) fn deadlines<'s>(&'s self, monitors: &'s [i64]) -> impl Iterator<Item = (usize, i64)> + 's {
        let is_clock = |number: usize| matches!(self.properties[number].kind, PropertyKind::Within { .. });
        let clocks = monitors.iter().take(self.properties.len()).enumerate();
        clocks
            .filter(move |(number, at)| is_clock(*number) && **at < SERVED)
            .map(|(number, at)| (number, *at))
    }

    fn before(
        &self,
        (first, then): (&PropertyExpr, &PropertyExpr),
        before: &[NodeId],
        facts: &StepFacts,
        state: &ModelState,
        seen: &mut i64,
    ) -> Option<String> {
        let mut active: Vec<NodeId> = before.to_vec();
        let (mut first_at, mut then_at) = (None, None);
        for (number, moment) in facts.moments.iter().enumerate() {
            match moment {
                StepFact::Entered(node) => active.push(*node),
                StepFact::Exited(node) => active.retain(|known| known != node),
                _ => {}
            }
            let so_far = &facts.moments[..=number];
            // The context is known at rest; effects start when it has been written.
            let is_effect = matches!(moment, StepFact::Invoked { .. } | StepFact::Called(_));
            let may = |expr: &PropertyExpr| is_effect || expr.expr.reads().is_empty();
            if first_at.is_none() && may(first) && self.holds(first, (so_far, Some(&active)), state, false) {
                first_at = Some(number);
            }
            if then_at.is_none() && may(then) && self.holds(then, (so_far, Some(&active)), state, true) {
                then_at = Some(number);
            }
        }
        let end = facts.moments.len();
        if first_at.is_none() && self.holds(first, (&facts.moments, None), state, false) {
            first_at = Some(end);
        }
        let happens = self.holds(then, (&facts.moments, None), state, true);
        let is_early = happens && *seen == 0 && first_at.is_none_or(|first| first > then_at.unwrap_or(end));
        *seen |= i64::from(first_at.is_some());
        is_early.then(|| format!("`{}` holds, and `{}` has not", then.text, first.text))
    }

    /// Evaluates an expression at the end of a step, or in the middle of it with the states active there.
    fn holds(
        &self,
        expr: &PropertyExpr,
        (moments, active): (&[StepFact], Option<&[NodeId]>),
        state: &ModelState,
        otherwise: bool,
    ) -> bool {
        let locals: Vec<rawko_core::Value> =
            expr.atoms.iter().map(|atom| self.is_true(atom, moments, active, state).into()).collect();
        let facts = InstanceFacts::default();
        let scope = EvalScope {
            context: state.snapshot.context(),
            context_names: self.chart.context_names(),
            locals: &locals,
            event: None,
            input: state.snapshot.input(),
            now_ms: state.now_ms,
            world: self.world,
            instance: &facts,
            configuration: self.chart.active(state.snapshot.configuration()),
            sizes: None,
        };
        match self.is_general {
            true => expr.expr.holds_partial(&scope).unwrap_or(Some(false)).unwrap_or(otherwise),
            false => expr.expr.eval_guard(&scope).unwrap_or(false),
        }
    }

    fn is_true(
        &self,
        atom: &Atom,
        moments: &[StepFact],
        active: Option<&[NodeId]>,
        state: &ModelState,
    ) -> bool {
        match atom {
            Atom::In(node) => match active {
                Some(active) => active.contains(node),
                None => self.chart.active(state.snapshot.configuration()).contains(*node),
            },
            Atom::Event(name) => {
                moments.iter().any(|moment| matches!(moment, StepFact::Event(event) if **event == **name))
            }
            Atom::Invoked(name) => moments.iter().any(|moment| match moment {
                StepFact::Invoked { id, src, .. } => {
                    **id == **name || **src == **name || id.split('[').next() == Some(name)
                }
                _ => false,
            }),
            Atom::Called(name) => moments.iter().any(|moment| match moment {
                StepFact::Called(handler) | StepFact::Invoked { src: handler, .. } => {
                    **handler == **name || ServiceName::member_of(handler, ServiceClass::Tool) == Some(name)
                }
                _ => false,
            }),
            // An instance ends with its step.
            Atom::Ended(_) if active.is_some() => false,
            Atom::Ended(None) => state.snapshot.status().is_over(),
            Atom::Ended(Some(outcome)) => {
                state.snapshot.status() != Status::Active
                    && outcome_of(self.chart, &state.snapshot).is_some_and(|it| it.as_str() == outcome)
            }
        }
    }
}

/// Starts, keeps or ends the clock of a `within`.
fn clock(from: bool, to: bool, time_ms: u64, now_ms: i64, at: &mut i64) {
    let runs = *at < SERVED;
    *at = match (to, runs, from) {
        (true, _, true) => SERVED,
        (true, _, false) => IDLE,
        (false, true, _) => *at,
        (false, false, true) if *at == IDLE => {
            now_ms.saturating_add(i64::try_from(time_ms).unwrap_or(i64::MAX)).min(SERVED - 1)
        }
        (false, false, true) => SERVED,
        (false, false, false) => IDLE,
    };
}
