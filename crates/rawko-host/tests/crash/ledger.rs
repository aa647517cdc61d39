//! The invariants that must hold after any kill. Reads the new part of the journal and keeps a model of every instance
//! beside it.

use std::collections::{BTreeMap, BTreeSet};

use rawko_core::{Effect, Event, Status};
use rawko_host::SnapshotReader;
use rawko_store::{Filter, InstanceKey, Record, RecordKind};

use crate::bank::Books;

#[derive(Default)]
pub(crate) struct Ledger {
    seq: u64,
    instances: BTreeMap<i64, Model>,
    /// Reports that the hub received: the order and its round.
    pub(crate) reports: BTreeSet<(String, i64)>,
    /// Effect ids in the journal.
    effects: BTreeSet<String>,
    pub(crate) records: u64,
}

#[derive(Default)]
struct Model {
    id: String,
    next_step: u64,
    ticks: Vec<i64>,
    /// Timers that are neither cancelled nor fired, and their due times.
    timers: BTreeMap<u64, i64>,
}

impl Ledger {
    /// Reads new records and compares them with the model, the acknowledgements, and the bank's books.
    pub(crate) fn check(
        &mut self,
        reader: &SnapshotReader,
        acknowledged: &BTreeMap<String, i64>,
        books: &Books,
    ) {
        assert!(reader.store().last_seq().unwrap() >= self.seq, "committed records are gone");
        loop {
            let records = reader.store().tail(self.seq, 5_000).unwrap();
            if records.is_empty() {
                break;
            }
            for record in records {
                self.take(reader, &record);
            }
        }
        for key in books.calls.keys() {
            assert!(self.effects.contains(key), "the bank was called for {key}, which is not in the journal");
        }
        for key in &books.once {
            assert_eq!(books.calls[key], 1, "{key} was called again, and nobody said that this is safe");
        }
        let by_id: BTreeMap<&str, &Model> =
            self.instances.values().map(|model| (model.id.as_str(), model)).collect();
        for (id, last) in acknowledged {
            let ticks = by_id.get(id.as_str()).map_or(&[][..], |model| &model.ticks);
            assert!(ticks.len() as i64 > *last, "{id}: event {last} was acknowledged and is lost");
        }
    }

    fn take(&mut self, reader: &SnapshotReader, record: &Record) {
        assert!(record.seq > self.seq, "records out of order");
        self.seq = record.seq;
        self.records += 1;
        let model = self.instances.entry(record.instance.0).or_insert_with(|| {
            let row =
                reader.store().instance(record.instance).unwrap().expect("a record without an instance");
            Model { id: row.new.id.to_string(), ..Model::default() }
        });
        assert!(record.kind != RecordKind::Failed, "{}: a step failed: {}", model.id, record.delta);
        assert_eq!(record.step, model.next_step, "{}: a step is missing or doubled", model.id);
        model.next_step += 1;
        if record.kind != RecordKind::Started {
            let event = serde_json::from_str(&reader.unpack(&record.event).unwrap()).unwrap();
            model.hear(&event, record.at_ms);
            if let Event::Named(named) = &event
                && &*named.name == "REPORT"
            {
                let name = named.data.get("name").as_str().unwrap().to_owned();
                let round = named.data.get("round").as_i64().unwrap();
                assert!(
                    self.reports.insert((name.clone(), round)),
                    "{name}: round {round} was reported twice"
                );
            }
        }
        if !record.effects.is_empty() {
            let effects: Vec<Effect> =
                serde_json::from_str(&reader.unpack(&record.effects).unwrap()).unwrap();
            for (index, effect) in effects.iter().enumerate() {
                self.effects.insert(format!("{}/{}/{index}", model.id, record.step));
                model.ask(effect);
            }
        }
    }

    /// Checks the end state: every instance is done, and every effect happened exactly as often as it should.
    pub(crate) fn close(&self, reader: &SnapshotReader, books: &Books) {
        let store = reader.store();
        assert_eq!(store.open_effects(None).unwrap(), [], "effects are left over");
        assert_eq!(store.inbound(None).unwrap(), [], "events are left over");
        assert_eq!(store.report().unwrap().problems, Vec::<String>::new());
        let mut paid = BTreeMap::new();
        for (key, (order, round)) in &books.paid {
            let twice = paid.insert((order.clone(), *round), key);
            assert_eq!(twice, None, "{order} paid twice in round {round}: {key}");
        }
        for row in store.list(&Filter::default()).unwrap().rows {
            if &*row.new.id == "hub" {
                continue;
            }
            assert_eq!(row.head.status, Status::Done, "{} did not finish", row.new.id);
            let model = &self.instances[&row.key.0];
            assert_eq!(model.timers, BTreeMap::new(), "{}: timers that never fired", row.new.id);
            if row.new.parent.is_none() {
                self.close_order(reader, &row, model, &paid);
            }
        }
    }

    fn close_order(
        &self,
        reader: &SnapshotReader,
        row: &rawko_store::InstanceRow,
        model: &Model,
        paid: &BTreeMap<(String, u64), &String>,
    ) {
        let restored = reader.snapshot(row, None).unwrap();
        let output = restored.snapshot.output().to_json();
        let id = row.new.id.to_string();
        assert_eq!(output["late"], 6, "{id}: delayed sends");
        assert_eq!(output["packed"], 6, "{id}: events of children");
        let ticks: Vec<i64> = serde_json::from_value(output["ticks"].clone()).unwrap();
        assert_eq!(ticks, (0..ticks.len() as i64).collect::<Vec<_>>(), "{id}: events lost or doubled");
        assert_eq!(ticks, model.ticks, "{id}: the context disagrees with the journal");
        if let Ok(mut acks) = serde_json::from_value::<Vec<i64>>(output["acks"].clone()) {
            acks.sort_unstable();
            assert_eq!(acks, (0..6).collect::<Vec<_>>(), "{id}: answers of the hub");
            let missing = (0..6).find(|round| !self.reports.contains(&(id.clone(), *round)));
            assert_eq!(missing, None, "{id}: a report to the hub is lost");
        }
        let receipts: Vec<String> = serde_json::from_value(output["receipts"].clone()).unwrap();
        let expected: Vec<String> = (0..6).map(|round| paid[&(id.clone(), round)].clone()).collect();
        assert_eq!(receipts, expected, "{id}: receipts");
    }

    pub(crate) fn instances(&self) -> usize {
        self.instances.len()
    }

    pub(crate) fn last(&self) -> Option<InstanceKey> {
        self.instances.keys().next_back().map(|key| InstanceKey(*key))
    }
}

impl Model {
    fn hear(&mut self, event: &Event, at_ms: i64) {
        match event {
            Event::Named(named) if &*named.name == "TICK" => {
                let n = named.data.get("n").as_i64().unwrap();
                assert_eq!(n, self.ticks.len() as i64, "{}: an event is missing or applied twice", self.id);
                self.ticks.push(n);
            }
            Event::TimerFired { timer } => {
                let due_ms = self.timers.remove(timer);
                let due_ms = due_ms.unwrap_or_else(|| panic!("{}: timer {timer} fired twice", self.id));
                assert!(due_ms <= at_ms, "{}: timer {timer} fired early", self.id);
            }
            Event::Named(_)
            | Event::InvokeDone { .. }
            | Event::InvokeFailed { .. }
            | Event::RetryRequested
            | Event::ItemRetryRequested { .. }
            | Event::CancelRequested { .. }
            | Event::PauseRequested { .. }
            | Event::ResumeRequested { .. } => {}
        }
    }

    fn ask(&mut self, effect: &Effect) {
        match effect {
            Effect::SetTimer { timer, due_ms } => {
                assert_eq!(self.timers.insert(*timer, *due_ms), None, "{}: timer {timer} set twice", self.id);
            }
            Effect::CancelTimer { timer } => {
                assert!(self.timers.remove(timer).is_some(), "{}: timer {timer} was not set", self.id);
            }
            // A top-level final state drops all timers.
            Effect::Complete { .. } => self.timers.clear(),
            Effect::Invoke(_)
            | Effect::StopInvoke { .. }
            | Effect::Send(_)
            | Effect::Emit { .. }
            | Effect::Call { .. }
            | Effect::Log { .. }
            | Effect::Fault(_)
            | Effect::Cancelled { .. }
            | Effect::Stall { .. } => {}
        }
    }
}
