//! The outcome of `rawko migrate`: a table for people, one JSON object for programs.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::Chart;
use rawko_host::{MigrationReport, MigrationVerdict};
use rawko_store::InstanceRow;
use serde_json::{Value as Json, json};

use super::Args;
use super::proof::Proof;
use super::replay::MigrationReplay;
use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::scenario::report::count;
use crate::table::{Cell, ConsoleTable};

/// Configurations without an image that are listed.
const LISTED_MAX: usize = 8;

pub(super) struct MigrationOutcome {
    reports: Vec<MigrationReport>,
    /// Chart and version of each instance before.
    charts: Vec<String>,
    target: Option<Arc<Chart>>,
    pub(super) proofs: Vec<Proof>,
    pub(super) replays: Vec<MigrationReplay>,
}

impl MigrationOutcome {
    pub(super) fn new(
        rows: &[InstanceRow],
        reports: Vec<MigrationReport>,
        target: Option<Arc<Chart>>,
    ) -> MigrationOutcome {
        let charts = rows.iter().map(|row| format!("{} {}", row.new.chart_id, row.new.version)).collect();
        MigrationOutcome { reports, charts, target, proofs: Vec::new(), replays: Vec::new() }
    }

    pub(super) fn has(&self, verdict: MigrationVerdict) -> bool {
        self.reports.iter().any(|report| report.verdict == verdict)
    }

    /// Returns the ids of the instances with a verdict.
    pub(super) fn with(&self, verdict: MigrationVerdict) -> Vec<String> {
        let chosen = self.reports.iter().filter(|report| report.verdict == verdict);
        chosen.map(|report| report.id.clone()).collect()
    }

    /// Replaces the dry run by the migrations themselves; its notes stay.
    pub(super) fn replace(&mut self, done: Vec<MigrationReport>) {
        let mut done: HashMap<String, MigrationReport> =
            done.into_iter().map(|report| (report.id.clone(), report)).collect();
        for report in &mut self.reports {
            if let Some(new) = done.remove(&report.id) {
                let notes = std::mem::take(&mut report.notes);
                *report = MigrationReport { notes, ..new };
            }
        }
    }

    pub(super) fn print(&self, args: &Args, console: &mut Console) -> Result<(), CommandFailure> {
        if args.json {
            return console.line(&self.to_json().to_string());
        }
        if self.reports.is_empty() {
            console.note(TextStyle::Dim, "none", "no matching instances");
            return Ok(());
        }
        self.table().print(console)?;
        for proof in &self.proofs {
            let style = if proof.without.is_empty() { TextStyle::Good } else { TextStyle::Notice };
            console.note(style, "proof", &proof.words());
            for (configuration, reasons) in proof.without.iter().take(LISTED_MAX) {
                console.note(
                    TextStyle::Dim,
                    "no image",
                    &format!("{}: {}", configuration.join(", "), reasons.join("; ")),
                );
            }
        }
        for replay in &self.replays {
            replay.print(console)?;
        }
        self.summary(args, console);
        Ok(())
    }

    fn table(&self) -> ConsoleTable {
        let mut table = ConsoleTable::new(&["INSTANCE", "FROM", "VERDICT", "STATES", ""]);
        for (report, from) in self.reports.iter().zip(&self.charts) {
            let (style, word) = match report.verdict {
                MigrationVerdict::Possible => (TextStyle::Good, "possible"),
                MigrationVerdict::Migrated => (TextStyle::Good, "migrated"),
                MigrationVerdict::Refused => (TextStyle::Bad, "refused"),
            };
            let details: Vec<&str> = report.reasons.iter().chain(&report.notes).map(String::as_str).collect();
            table.add(vec![
                Cell::painted(&report.id, TextStyle::Bold),
                Cell::new(from),
                Cell::painted(word, style),
                Cell::new(report.configuration.join(", ")),
                Cell::new(details.join("; ")),
            ]);
        }
        table
    }

    fn summary(&self, args: &Args, console: &mut Console) {
        let target = match &self.target {
            Some(chart) => format!("to {} {}", chart.id(), chart.version()),
            None => "back".to_owned(),
        };
        let all = self.reports.len();
        let number = |verdict| self.with(verdict).len();
        if args.apply {
            let done = number(MigrationVerdict::Migrated);
            let text = format!("{done} of {} {target}", count(all, "instance"));
            let style = if done == all { TextStyle::Good } else { TextStyle::Notice };
            return console.note(style, "migrated", &text);
        }
        let (possible, done) = (number(MigrationVerdict::Possible), number(MigrationVerdict::Migrated));
        let mut text = format!("{possible} of {} can be migrated {target}", count(all, "instance"));
        if done > 0 {
            text.push_str(&format!(", {done} already there"));
        }
        if possible > 0 {
            text.push_str("; pass --apply to migrate");
        }
        console.note(TextStyle::Notice, "dry run", &text);
    }

    fn to_json(&self) -> Json {
        let mut json = json!({"instances": self.reports});
        if let Some(chart) = &self.target {
            json["to"] = json!({"chart": chart.id(), "version": chart.version()});
            json["proof"] = self.proofs.iter().map(Proof::to_json).collect();
        }
        if !self.replays.is_empty() {
            json["replay"] = self.replays.iter().map(MigrationReplay::to_json).collect();
        }
        json
    }
}
