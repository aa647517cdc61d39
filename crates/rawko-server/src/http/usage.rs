//! Usage of models over the latest instances, by day, agent and model. Completions are read from the journals; an instance
//! that did not move since is not read again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rawko_core::{ServiceName, Value, World};
use rawko_host::{HostError, Spent, past_step};
use rawko_store::{Filter, InstanceKey, InstanceRow};
use rawko_view::ViewError;
use rawko_view::journal::{EntryBody, Player};
use rawko_view::rows::spent;
use rawko_view::spending::is_uncounted;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::problem::ErrorResponse;

/// Instances that are counted.
const INSTANCES_MAX: usize = 5_000;
const PAGE: usize = 1_000;
/// Audit lines that are read of one instance.
const LINES_MAX: usize = 1_000_000;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(usage))
}

/// Usage of the latest instances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    /// Number of instances that were counted, at most 5,000.
    instances: usize,
    /// True if there are older ones.
    has_more: bool,
    /// One for each day, agent and model.
    parts: Vec<UsagePart>,
}

#[derive(Debug, Serialize, ToSchema)]
struct UsagePart {
    /// Day of the usage, UTC.
    #[schema(example = "2026-11-18")]
    day: String,
    /// `null` for the arbiter and charts.
    agent: Option<String>,
    /// `null` for usage that names no model: tool calls, and what a program reports.
    model: Option<String>,
    /// Instances whose usage began on that day.
    runs: u64,
    tokens: u64,
    cost_usd: f64,
    tool_calls: u64,
}

/// Usage of an instance by day and model, as far as its journal has it; `None`: no model is named.
type DatedUsage = Arc<BTreeMap<(String, Option<String>), Spent>>;

#[derive(Default)]
struct KnownUsage {
    /// Usage of instances, at a step.
    dated: HashMap<InstanceKey, (u64, DatedUsage)>,
    /// Usage that forks began with.
    inherited: HashMap<InstanceKey, Spent>,
}

/// Usage that is known from journals, so that an instance that did not move is not read again.
#[derive(Default)]
pub(crate) struct UsageCache {
    known: Mutex<KnownUsage>,
}

impl UsageCache {
    fn known(&self) -> MutexGuard<'_, KnownUsage> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Read the usage of models
#[utoipa::path(get, path = "/v1/usage", tag = "server", responses((status = 200, body = Usage)))]
async fn usage(State(app): State<App>) -> Result<axum::Json<Usage>, ErrorResponse> {
    app.compute(count).await.map(axum::Json)
}

type UsageParts = BTreeMap<(String, Option<String>, Option<String>), (u64, Spent)>;

fn count(app: &App) -> Result<Usage, ViewError> {
    let (rows, has_more) = latest(app)?;
    let by_id: HashMap<&str, &InstanceRow> = rows.iter().map(|row| (&*row.new.id, row)).collect();
    let mut counted_below: HashMap<Arc<str>, Spent> = HashMap::new();
    for row in &rows {
        let Some(parent) = &row.new.parent else { continue };
        // A child that still runs is not part of its parent's usage yet.
        if by_id.get(&*parent.id).is_some_and(|parent| !is_uncounted(parent, row)) {
            let sum = counted_below.entry(Arc::clone(&parent.id)).or_default();
            *sum = sum.plus(spent(row));
        }
    }
    let mut parts = UsageParts::new();
    for row in &rows {
        let below = counted_below.get(&row.new.id).copied().unwrap_or_default();
        let own = less(less(spent(row), inherited(app, row)), below);
        if own.tokens > 0 || own.tool_calls > 0 {
            add(app, row, own, &mut parts)?;
        }
    }
    let part = |((day, agent, model), (runs, spent)): (_, (u64, Spent))| UsagePart {
        day,
        agent,
        model,
        runs,
        tokens: spent.tokens,
        cost_usd: spent.cost_usd,
        tool_calls: spent.tool_calls,
    };
    Ok(Usage { instances: rows.len(), has_more, parts: parts.into_iter().map(part).collect() })
}

/// Adds what an instance spent itself: by day and model as far as its journal has it, and the rest on the day of its last
/// change.
fn add(app: &App, row: &InstanceRow, own: Spent, parts: &mut UsageParts) -> Result<(), ViewError> {
    let agent = row.new.agent().map(|agent| agent.to_string());
    let mut rest = own;
    // A damaged journal is the matter of `doctor`; what the instance spent is in its row, too.
    let mut by_part = dated(app, row).map(|dated| (*dated).clone()).unwrap_or_default();
    for known in by_part.values() {
        rest = less(rest, *known);
    }
    if rest.tokens > 0 || rest.tool_calls > 0 {
        let sum = by_part.entry((day_of(row.updated_ms), None)).or_default();
        *sum = sum.plus(rest);
    }
    let names_model = by_part.keys().any(|(_, model)| model.is_some());
    let mut begun = HashSet::new();
    for ((day, model), spent) in by_part {
        let is_run = (model.is_some() || !names_model) && begun.insert(model.clone());
        let (runs, sum) = parts.entry((day, agent.clone(), model)).or_default();
        *runs += u64::from(is_run);
        *sum = sum.plus(spent);
    }
    Ok(())
}

fn day_of(at_ms: i64) -> String {
    let day = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    day.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// Returns the usage that a fork began with: it was spent by its origin. Without the origin, all counts as its own.
fn inherited(app: &App, row: &InstanceRow) -> Spent {
    let Some(origin) = &row.new.origin else { return Spent::default() };
    if let Some(known) = app.usage().known().inherited.get(&row.key) {
        return *known;
    }
    let past = past_step(app.reader(), &origin.id, Some(origin.step), &Value::Null);
    let inherited = match past {
        Ok(past) => past.ledger.total,
        Err(HostError::NoInstance(_)) => Spent::default(),
        // It may be readable the next time.
        Err(_) => return Spent::default(),
    };
    let mut known = app.usage().known();
    if known.inherited.len() > 4 * INSTANCES_MAX {
        known.inherited.clear();
    }
    known.inherited.insert(row.key, inherited);
    inherited
}

/// Returns the usage in an instance's journal.
fn dated(app: &App, row: &InstanceRow) -> Result<DatedUsage, ViewError> {
    let known = app.usage().known().dated.get(&row.key).cloned();
    if let Some((_, dated)) = known.filter(|(step, _)| *step == row.step) {
        return Ok(dated);
    }
    let reader = app.reader();
    let mut player = Player::new(reader.clone(), None::<World>);
    let mut dated: BTreeMap<(String, Option<String>), Spent> = BTreeMap::new();
    for record in reader.store().records(row.key, 0, usize::MAX)? {
        let entry = player.glance(&record)?;
        let EntryBody::Answered { data, .. } = &entry.what else { continue };
        let usage = data.get("usage");
        let spent = Spent { tool_calls: 0, time_ms: 0, ..Spent::of(usage) };
        // A decision of the arbiter names its model in the record of the question; a rule asks none.
        let asked = data.get("record").get("model").as_str().filter(|_| spent.tokens > 0);
        let model = data.get("model").as_str().filter(|_| !usage.is_null()).or(asked);
        let Some(model) = model else { continue };
        let sum = dated.entry((day_of(record.at_ms), Some(model.to_owned()))).or_default();
        *sum = sum.plus(spent);
    }
    if spent(row).tool_calls > 0 {
        // Each call has one line in the audit.
        for line in reader.store().audit(Some(&row.new.id), LINES_MAX)? {
            if &*line.decision == "allowed" && ServiceName::of(&line.service).class.is_counted() {
                dated.entry((day_of(line.at_ms), None)).or_default().tool_calls += 1;
            }
        }
    }
    let dated = Arc::new(dated);
    let mut known = app.usage().known();
    if known.dated.len() > 4 * INSTANCES_MAX {
        known.dated.clear();
    }
    known.dated.insert(row.key, (row.step, Arc::clone(&dated)));
    Ok(dated)
}

fn less(one: Spent, other: Spent) -> Spent {
    Spent {
        tokens: one.tokens.saturating_sub(other.tokens),
        cost_usd: (one.cost_usd - other.cost_usd).max(0.0),
        time_ms: one.time_ms.saturating_sub(other.time_ms),
        tool_calls: one.tool_calls.saturating_sub(other.tool_calls),
    }
}

fn latest(app: &App) -> Result<(Vec<InstanceRow>, bool), ViewError> {
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let page = app.reader().store().list(&Filter { before, limit: PAGE, ..Filter::default() })?;
        rows.extend(page.rows);
        before = page.next;
        if before.is_none() || rows.len() >= INSTANCES_MAX {
            return Ok((rows, before.is_some()));
        }
    }
}
