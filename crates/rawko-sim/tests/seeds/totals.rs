//! Summary of a run, in numbers and as text: for the report, for inspecting one seed, and to show that a seed is
//! reproducible.

use std::fmt::Write as _;

use rawko_store::{Filter, Store};

use crate::run::Run;

/// Totals over runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) instances: u64,
    pub(crate) records: u64,
    pub(crate) calls: u64,
    pub(crate) ticks: u64,
    pub(crate) crashes: u64,
    pub(crate) takeovers: u64,
    /// Requests to pause or resume.
    pub(crate) pauses: u64,
    /// Hosts that noticed that they were replaced.
    pub(crate) fenced: u64,
    /// Virtual time at the end.
    pub(crate) virtual_ms: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Totals) {
        self.instances += other.instances;
        self.records += other.records;
        self.calls += other.calls;
        self.ticks += other.ticks;
        self.crashes += other.crashes;
        self.takeovers += other.takeovers;
        self.pauses += other.pauses;
        self.fenced += other.fenced;
        self.virtual_ms += other.virtual_ms;
    }
}

impl Run {
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            instances: self.store.list(&Filter::default()).unwrap().total,
            records: self.store.last_seq().unwrap(),
            calls: self.world.borrow().calls,
            ticks: self.ticks.len() as u64,
            virtual_ms: u64::try_from(self.driver.now_ms()).unwrap_or(0),
            ..self.totals.clone()
        }
    }

    /// The journals and the audit as text.
    pub(crate) fn trace(&self) -> String {
        let mut text = format!("{:?}\n", self.totals());
        for row in self.store.list(&Filter::default()).unwrap().rows.iter().rev() {
            writeln!(text, "\n{} {:?}", row.new.id, row.head).unwrap();
            for record in self.store.records(row.key, 0, usize::MAX).unwrap() {
                let (event, effects) = (&record.event, &record.effects);
                let (step, at_ms, kind) = (record.step, record.at_ms, record.kind);
                writeln!(text, "  {:>4} {step:>3} {at_ms:>8} {kind:?} {event} {effects}", record.seq)
                    .unwrap();
            }
            for line in self.store.audit(Some(&row.new.id), usize::MAX).unwrap() {
                let (effect, service) = (&line.effect, &line.service);
                let (decision, reason) = (&line.decision, &line.reason);
                writeln!(text, "  {:>17} {effect} {service} {decision} {reason}", line.at_ms).unwrap();
            }
        }
        text
    }
}
