//! Usage of models over the latest instances, by day, agent and model. Completions are read from the journals; an instance
//! that did not move since is not read again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rawko_core::World;
use rawko_host::Spent;
use rawko_store::{Filter, InstanceKey, InstanceRow};
use rawko_view::ViewError;
use rawko_view::journal::{EntryBody, Player};
use rawko_view::rows::spent;
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
    /// Day on which the instance was created, UTC.
    #[schema(example = "2026-11-18")]
    day: String,
    /// `null` for the arbiter and charts.
    agent: Option<String>,
    /// `null` for usage that names no model: tool calls, and what a program reports.
    model: Option<String>,
    /// Instances with usage.
    runs: u64,
    tokens: u64,
    cost_usd: f64,
    tool_calls: u64,
}

/// Usage by model.
type Models = Arc<BTreeMap<String, Spent>>;

/// Usage by model of instances, at a step.
#[derive(Default)]
pub(crate) struct UsageCache {
    known: Mutex<HashMap<InstanceKey, (u64, Models)>>,
}

/// Read the usage of models
#[utoipa::path(get, path = "/v1/usage", tag = "server", responses((status = 200, body = Usage)))]
async fn usage(State(app): State<App>) -> Result<axum::Json<Usage>, ErrorResponse> {
    app.compute(count).await.map(axum::Json)
}

type UsageParts = BTreeMap<(String, Option<String>, Option<String>), (u64, Spent)>;

fn count(app: &App) -> Result<Usage, ViewError> {
    let (rows, has_more) = latest(app)?;
    let mut below: HashMap<Arc<str>, Spent> = HashMap::new();
    for row in &rows {
        if let Some(parent) = &row.new.parent {
            let sum = below.entry(Arc::clone(&parent.id)).or_default();
            *sum = sum.plus(spent(row));
        }
    }
    let mut parts = UsageParts::new();
    for row in &rows {
        let own = less(spent(row), below.get(&row.new.id).copied().unwrap_or_default());
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

/// Adds what an instance spent itself: by model as far as its journal names one, and the rest.
fn add(app: &App, row: &InstanceRow, own: Spent, parts: &mut UsageParts) -> Result<(), ViewError> {
    let day = Timestamp::from_millisecond(row.new.created_ms).unwrap_or_default();
    let day = day.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string();
    let agent = row.new.agent().map(|agent| agent.to_string());
    let mut rest = own;
    for (model, spent) in models(app, row)?.iter() {
        let (runs, sum) = parts.entry((day.clone(), agent.clone(), Some(model.clone()))).or_default();
        *runs += 1;
        *sum = sum.plus(Spent { tool_calls: 0, time_ms: 0, ..*spent });
        rest = less(rest, Spent { tool_calls: 0, time_ms: 0, ..*spent });
    }
    if rest.tokens > 0 || rest.tool_calls > 0 {
        let (runs, sum) = parts.entry((day, agent, None)).or_default();
        *runs += u64::from(rest.tokens == own.tokens);
        *sum = sum.plus(rest);
    }
    Ok(())
}

/// Returns the usage of an instance by model.
fn models(app: &App, row: &InstanceRow) -> Result<Models, ViewError> {
    let known = app.usage().known.lock().unwrap_or_else(PoisonError::into_inner).get(&row.key).cloned();
    if let Some((_, models)) = known.filter(|(step, _)| *step == row.step) {
        return Ok(models);
    }
    let reader = app.reader();
    let mut player = Player::new(reader.clone(), None::<World>);
    let mut models: BTreeMap<String, Spent> = BTreeMap::new();
    for record in reader.store().records(row.key, 0, usize::MAX)? {
        let entry = player.glance(&record)?;
        let EntryBody::Answered { data, .. } = &entry.what else { continue };
        let usage = data.get("usage");
        let spent = Spent::of(usage);
        // A decision of the arbiter names its model in the record of the question; a rule asks none.
        let asked = data.get("record").get("model").as_str().filter(|_| spent.tokens > 0);
        let model = data.get("model").as_str().filter(|_| !usage.is_null()).or(asked);
        let Some(model) = model else { continue };
        let sum = models.entry(model.to_owned()).or_default();
        *sum = sum.plus(spent);
    }
    let models = Arc::new(models);
    let mut known = app.usage().known.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() > 4 * INSTANCES_MAX {
        known.clear();
    }
    known.insert(row.key, (row.step, Arc::clone(&models)));
    Ok(models)
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
