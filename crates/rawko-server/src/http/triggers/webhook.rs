//! The addresses of webhooks. The signature is the credential: no token is needed, and nothing but the rules of this one
//! webhook can be reached. A response is sent once everything is on disk; a sender that gets none sends again.

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, header};
use rawko_core::Value;
use rawko_store::StoreError;
use rawko_triggers::{
    SignatureSecret, Trigger, TriggerOutcome, TriggerRun, Webhook, WebhookDelivery, read_payload,
};
use rawko_view::triggers::StoredTrigger;
use serde::Serialize;
use utoipa::ToSchema;

use super::perform::{armed, is_at_rest, perform, record};
use crate::http::access::wrong_token;
use crate::http::app::App;
use crate::http::extract::Path;
use crate::http::listen::PeerAddress;
use crate::http::problem::{ErrorResponse, ProblemCode};

/// Headers that expressions see; the rest may contain secrets.
const HEADERS_SHOWN: [&str; 7] = [
    "content-type",
    "user-agent",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-slack-retry-num",
    "x-slack-retry-reason",
];

/// What came of a delivery.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryReceipt {
    /// `started`, `sent`, `queued`, `exists`, `ignored` or `duplicate`; `challenge` for Slack's test.
    outcome: String,
    /// Instance that was started or received the event.
    instance: Option<String>,
    /// Text that Slack sent to test the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge: Option<String>,
}

/// Deliver a webhook
///
/// The sender signs the request by the method in the settings of the trigger; a token is not required.
#[utoipa::path(post, path = "/v1/webhooks/{name}", tag = "triggers", params(("name" = String, Path)),
    request_body(content = String, content_type = "application/json"),
    responses((status = 200, body = DeliveryReceipt)))]
pub(crate) async fn deliver(
    State(app): State<App>,
    peer: Option<Extension<PeerAddress>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<axum::Json<DeliveryReceipt>, ErrorResponse> {
    let peer = peer.map(|Extension(peer)| peer);
    let found = app.triggers().find(&name).and_then(|trigger| Some((trigger, trigger.webhook()?)));
    let Some((trigger, webhook)) = found else {
        return Err(ErrorResponse::new(ProblemCode::NotFound, "webhook not found"));
    };
    verify(&app, trigger, webhook, peer, &headers, &body)?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = header(header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let invalid =
        |error: rawko_triggers::PayloadError| ErrorResponse::new(ProblemCode::InvalidBody, error.to_string());
    let payload = read_payload(kind, &body).map_err(invalid)?;
    let delivery = WebhookDelivery::new(webhook, &header, &body, payload, app.now_ms());
    if let Some(challenge) = delivery.challenge(webhook) {
        return Ok(receipt("challenge", None, Some(challenge.to_owned())));
    }
    let _turn = match app.triggers().turns.get(&name) {
        Some(turn) => Some(turn.lock().await),
        None => None,
    };
    let stored = armed(&app, trigger).await?;
    if is_at_rest(&stored) {
        let detail = "this webhook is paused or was ended; retry later";
        return Err(ErrorResponse::new(ProblemCode::Unavailable, detail));
    }
    if is_known(&app, &stored, &delivery).await? {
        return Ok(receipt("duplicate", None, None));
    }
    handle(&app, trigger, &delivery, &shown(&header)).await
}

fn receipt(
    outcome: &str,
    instance: Option<String>,
    challenge: Option<String>,
) -> axum::Json<DeliveryReceipt> {
    axum::Json(DeliveryReceipt { outcome: outcome.to_owned(), instance, challenge })
}

/// Fails unless the request is genuine. A wrong signature costs as much as a wrong token.
fn verify(
    app: &App,
    trigger: &Trigger,
    webhook: &Webhook,
    peer: Option<PeerAddress>,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), ErrorResponse> {
    if !webhook.signature.is_signed() {
        let is_local = peer.is_some_and(|PeerAddress(address)| address.ip().is_loopback());
        if !is_local || !app.is_loopback() {
            let detail = "webhooks without a signature are accepted from this machine only";
            return Err(ErrorResponse::new(ProblemCode::Forbidden, detail));
        }
        return Ok(());
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let no_secret = || ErrorResponse::new(ProblemCode::Unavailable, "the webhook has no secret");
    let secret: &SignatureSecret = app.triggers().secrets.get(&trigger.name).ok_or_else(no_secret)?;
    webhook.signature.verify(secret, &header, body, app.now_ms()).map_err(|refusal| {
        let limited = wrong_token(app, peer);
        match limited.code() {
            ProblemCode::Unauthorized => ErrorResponse::new(ProblemCode::Unauthorized, refusal.to_string()),
            _ => limited,
        }
    })
}

/// Returns the headers that expressions see, as a map.
fn shown<'h>(header: &dyn Fn(&str) -> Option<&'h str>) -> Value {
    let entries = HEADERS_SHOWN.iter().filter_map(|name| Some((*name, Value::str(header(name)?))));
    Value::map(entries)
}

/// The key under which a delivery that did something is recorded: the signed content if the id is not signed.
fn key_of(delivery: &WebhookDelivery) -> String {
    delivery.content_key.clone().unwrap_or_else(|| format!("delivery {}", delivery.key))
}

async fn is_known(
    app: &App,
    stored: &StoredTrigger,
    delivery: &WebhookDelivery,
) -> Result<bool, ErrorResponse> {
    let (row, key) = (stored.row.key, key_of(delivery));
    let known =
        app.read(move |app| Ok::<_, StoreError>(app.reader().store().delivered(row, &key)?.is_some()));
    known.await
}

async fn handle(
    app: &App,
    trigger: &Trigger,
    delivery: &WebhookDelivery,
    headers: &Value,
) -> Result<axum::Json<DeliveryReceipt>, ErrorResponse> {
    let entry = TriggerRun {
        at_ms: app.now_ms(),
        due_ms: None,
        key: delivery.key.clone(),
        kind: delivery.kind.clone(),
        outcome: TriggerOutcome::Ignored,
        instance: None,
        detail: None,
        missed: 0,
    };
    let entry = match trigger.on(delivery, headers, app.now_ms()) {
        Ok(None) => entry,
        Err(error) => {
            TriggerRun { outcome: TriggerOutcome::Failed, detail: Some(error.to_string()), ..entry }
        }
        Ok(Some(command)) => {
            let done = perform(app, &command).await?;
            TriggerRun {
                outcome: done.outcome,
                detail: done.detail,
                instance: Some(command.instance),
                ..entry
            }
        }
    };
    // A delivery that did nothing may be sent again once the rules or charts are corrected.
    let key = match entry.outcome {
        TriggerOutcome::Started | TriggerOutcome::Sent | TriggerOutcome::Queued | TriggerOutcome::Exists => {
            key_of(delivery)
        }
        TriggerOutcome::Ignored | TriggerOutcome::Missed => format!("ignored {}", key_of(delivery)),
        TriggerOutcome::Failed => format!("failed {} {}", entry.at_ms, key_of(delivery)),
    };
    record(app, &trigger.name, &entry, key).await?;
    match entry.outcome {
        TriggerOutcome::Failed => {
            let detail = format!("the delivery failed; see `rawko triggers {}`", trigger.name);
            Err(ErrorResponse::new(ProblemCode::NotPossible, detail))
        }
        outcome => Ok(receipt(outcome.as_str(), entry.instance, None)),
    }
}
