//! Usage of agents, counted over the instances that run them.

use std::collections::HashMap;
use std::sync::Arc;

use rawko_core::{Status, Value};
use rawko_host::Spent;
use rawko_store::{Filter, InstanceRow, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::app::App;

const PAGE: usize = 1_000;

/// Totals over all instances in the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Work {
    /// Number of running calls.
    busy: u64,
    calls: u64,
    failures: u64,
    cost_usd: f64,
}

/// Returns the usage by agent.
pub(super) fn work(app: &App) -> Result<HashMap<Arc<str>, Work>, StoreError> {
    let mut all: HashMap<Arc<str>, Work> = HashMap::new();
    let mut before = None;
    loop {
        let page = app.reader().store().list(&Filter { before, limit: PAGE, ..Filter::default() })?;
        for row in &page.rows {
            if let Some(agent) = row.new.agent() {
                all.entry(agent).or_default().add(row);
            }
        }
        before = page.next;
        if before.is_none() {
            return Ok(all);
        }
    }
}

impl Work {
    fn add(&mut self, row: &InstanceRow) {
        self.calls += 1;
        match row.head.status {
            Status::Active => self.busy += 1,
            Status::Error => self.failures += 1,
            Status::Done | Status::Cancelled => {}
        }
        self.cost_usd += cost(row);
    }
}

fn cost(row: &InstanceRow) -> f64 {
    let ledger = row.head.ledger.as_deref();
    let ledger: Value = ledger.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Spent::of(ledger.get("total")).cost_usd
}
