//! The request behind a signed link, and its answer. The code of the link is the credential: no token is needed, and nothing
//! but this one request can be seen or answered.

use axum::extract::{Extension, State};
use rawko_host::PersonAnswer;
use rawko_view::document::AskDocument;
use rawko_view::standing;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::link::Claim;
use crate::http::Routes;
use crate::http::access::wrong_token;
use crate::http::app::App;
use crate::http::extract::{Json, Path};
use crate::http::listen::PeerAddress;
use crate::http::problem::{ErrorResponse, ProblemCode};

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(read, answer))
}

/// The request of a link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkedRequest {
    #[serde(flatten)]
    ask: AskDocument,
    /// Chart of the requesting instance.
    chart: String,
    /// Time at which the link expires.
    link_until_ms: i64,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkedAnswer {
    approved: bool,
    comment: Option<String>,
    /// Fields of a form.
    #[serde(default)]
    data: Value,
}

/// Acknowledgement of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkedReceipt {
    approved: bool,
}

/// Read the request of a signed link
#[utoipa::path(get, path = "/v1/requests/{code}", tag = "people", params(("code" = String, Path)),
    responses((status = 200, body = LinkedRequest)))]
async fn read(
    State(app): State<App>,
    peer: Option<Extension<PeerAddress>>,
    Path(code): Path<String>,
) -> Result<axum::Json<LinkedRequest>, ErrorResponse> {
    let claim = claim(&app, &code, peer)?;
    app.read(move |app| find(app, &claim)).await.map(axum::Json)
}

/// Answer the request of a signed link
#[utoipa::path(post, path = "/v1/requests/{code}", tag = "people", params(("code" = String, Path)),
    request_body = LinkedAnswer, responses((status = 200, body = LinkedReceipt)))]
async fn answer(
    State(app): State<App>,
    peer: Option<Extension<PeerAddress>>,
    Path(code): Path<String>,
    Json(body): Json<LinkedAnswer>,
) -> Result<axum::Json<LinkedReceipt>, ErrorResponse> {
    let claim = claim(&app, &code, peer)?;
    let (wanted, LinkedAnswer { approved, comment, data }) = (claim.clone(), body);
    app.read(move |app| find(app, &wanted)).await?;
    let by = Some(format!("link:{}", claim.receiver));
    let answer = PersonAnswer {
        approved,
        by,
        claimed: None,
        asked_ms: Some(claim.since_ms),
        comment,
        data: data.into(),
    };
    app.engine().answer(claim.instance, Some(claim.invoke), answer).await?;
    Ok(axum::Json(LinkedReceipt { approved }))
}

/// Returns the claim of a code. A wrong one costs as much as a wrong token.
fn claim(app: &App, code: &str, peer: Option<Extension<PeerAddress>>) -> Result<Claim, ErrorResponse> {
    Claim::of(code, &app.access().tokens, app.now_ms()).ok_or_else(|| {
        let limited = wrong_token(app, peer.map(|Extension(peer)| peer));
        match limited.code() {
            ProblemCode::Unauthorized => {
                ErrorResponse::new(ProblemCode::Unauthorized, "this link is not valid or has expired")
            }
            _ => limited,
        }
    })
}

fn find(app: &App, claim: &Claim) -> Result<LinkedRequest, ErrorResponse> {
    let row = app.reader().find(&claim.instance)?;
    let asks = standing::asked(app.reader(), &row)?;
    let ask = asks.iter().find(|ask| ask.invoke == claim.invoke && ask.since_ms == claim.since_ms);
    let over = || ErrorResponse::new(ProblemCode::NotAsked, "this request was answered, or no longer waits");
    Ok(LinkedRequest {
        ask: AskDocument::of(ask.ok_or_else(over)?),
        chart: row.new.chart_id.to_string(),
        link_until_ms: claim.until_ms,
    })
}
