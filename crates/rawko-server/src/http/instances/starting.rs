//! Starts an instance of a published chart, or of one whose text is in the request.

use axum::extract::State;
use axum::response::Response;
use rawko_core::Value as Data;
use rawko_host::{Edition, HostError};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::keyed::{self, KeyedRequest};
use super::receipt::{ReceiptBody, check_id, created};
use crate::http::access::RequestCaller;
use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::role::Role;

/// Chart to start: `chart` or `text`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    /// A published chart: `order`, `order@1.2.0`, `order@^1`.
    chart: Option<String>,
    /// The text of a chart instead; requires the role `admin`, like an upload.
    text: Option<String>,
    /// Overrides the chart's declared context.
    #[serde(default)]
    input: Value,
    /// Instance id (generated if omitted).
    #[schema(min_length = 1, max_length = 200)]
    id: Option<String>,
    /// Budget of the instance and its descendants, for their whole life.
    budget: Option<Budget>,
}

/// Spending limits.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Budget {
    #[schema(minimum = 0)]
    cost_usd: Option<f64>,
    tokens: Option<u32>,
    /// Milliseconds of agent time.
    time: Option<u32>,
    tool_calls: Option<u32>,
}

/// Start an instance
///
/// With an `Idempotency-Key`, a repeated request returns the instance of the first one, also after a restart.
#[utoipa::path(post, path = "/v1/instances", tag = "instances", request_body = StartBody,
    responses((status = 201, body = ReceiptBody, headers(("Location" = String, description = "Path of the instance.")))))]
pub(super) async fn start(
    State(app): State<App>,
    caller: RequestCaller,
    keyed: KeyedRequest,
    Json(body): Json<StartBody>,
) -> Result<Response, ErrorResponse> {
    check_id(body.id.as_deref())?;
    if body.text.is_some() && caller.role < Role::Admin {
        let detail =
            "starting a chart from `text` requires the role `admin`; start a published one with `chart`";
        return Err(ErrorResponse::new(ProblemCode::Forbidden, detail));
    }
    let StartBody { chart, text, input, id, budget } = body;
    if !input.is_object() && !input.is_null() {
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, "`input` must be an object"));
    }
    let edition = app.read(move |app| edition(app, chart, text)).await?;
    let budget = budget.map(Budget::value).transpose()?.unwrap_or_default();
    let derived = if id.is_none() { keyed.instance(edition.chart.id()) } else { None };
    let started = app.engine().start(edition, input.into(), id.or_else(|| derived.clone()), budget).await;
    keyed::once(&app, derived, started.map_err(ErrorResponse::from)).await.map(created)
}

fn edition(app: &App, chart: Option<String>, text: Option<String>) -> Result<Edition, ErrorResponse> {
    let found: Result<Edition, HostError> = match (chart, text) {
        (Some(chart), None) => app.engine().library().resolve(&chart),
        (None, Some(text)) => Edition::read("chart.yaml", &text),
        (Some(_), Some(_)) | (None, None) => {
            return Err(ErrorResponse::new(ProblemCode::InvalidBody, "pass either `chart` or `text`"));
        }
    };
    found.map_err(ErrorResponse::from)
}

impl Budget {
    fn value(self) -> Result<Data, ErrorResponse> {
        if self.cost_usd.is_some_and(|most| !most.is_finite() || most < 0.0) {
            return Err(ErrorResponse::new(
                ProblemCode::InvalidBody,
                "`cost_usd` must be a number of at least 0",
            ));
        }
        let whole = |limit: Option<u32>| limit.map(|limit| Data::Int(i64::from(limit)));
        let limits = [
            ("cost_usd", self.cost_usd.map(Data::float)),
            ("tokens", whole(self.tokens)),
            ("time", whole(self.time)),
            ("tool_calls", whole(self.tool_calls)),
        ];
        Ok(Data::map(limits.into_iter().filter_map(|(key, limit)| Some((key, limit?)))))
    }
}
