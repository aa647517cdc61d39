//! `Delivery`: sends messages to one receiver, in order and one at a time. Each receiver has a task of its own: one that does
//! not respond delays no other.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rawko_http::{HttpClients, retry_after_ms};
use rawko_view::standing::PendingAsk;
use reqwest::Url;
use tokio::sync::watch;

use super::link::Claim;
use super::message::NoticeMessage;
use super::outbox::{NoticeOutcome, Outbox};
use super::settings::Receiver;
use crate::http::app::App;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// The pending requests with their charts. Only the last ones are kept, however long a receiver takes.
pub(super) type PendingAsks = Arc<Vec<(String, PendingAsk)>>;

/// Messages to one receiver.
pub(super) struct Delivery {
    pub(super) app: App,
    pub(super) receiver: Receiver,
    pub(super) url: Url,
    /// Name of the token that signs links.
    pub(super) signer: String,
    pub(super) outbox: Arc<Mutex<Outbox>>,
    pub(super) client: HttpClients,
}

/// Returns the name of a message: one for each receiver and request.
pub(super) fn key_of(receiver: &str, ask: &PendingAsk) -> String {
    format!("{receiver}/{}/{}/{}", ask.instance, ask.invoke, ask.since_ms)
}

impl Delivery {
    /// Runs until the server closes or the sender of `asks` is gone. Every value is a reason to look, also for failed messages
    /// that are due again.
    pub(super) async fn serve(self, mut asks: watch::Receiver<PendingAsks>) {
        let mut closing = self.app.closing();
        loop {
            let is_over = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => true,
                changed = asks.changed() => changed.is_err(),
            };
            if is_over {
                return;
            }
            let pending = Arc::clone(&asks.borrow_and_update());
            for (chart, ask) in &*pending {
                // The next server sends the rest.
                if *self.app.closing().borrow() {
                    return;
                }
                let key = key_of(&self.receiver.name, ask);
                // Sending takes time, and requests are answered meanwhile.
                let is_pending =
                    || asks.borrow().iter().any(|(_, it)| key_of(&self.receiver.name, it) == key);
                if self.outbox().is_due(&key, self.app.now_ms()) && is_pending() {
                    let outcome = self.send(chart, ask, &key).await;
                    self.outbox().note(&key, outcome, self.app.now_ms());
                }
            }
        }
    }

    fn outbox(&self) -> std::sync::MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one message. Returns the time until the next attempt if it failed and the receiver names one.
    async fn send(&self, chart: &str, ask: &PendingAsk, key: &str) -> NoticeOutcome {
        let failed = NoticeOutcome::Failed { retry_after_ms: None };
        let message = NoticeMessage { key, chart, ask, link: self.link(ask) };
        let Ok(body) = serde_json::to_vec(&message.body(self.receiver.format)) else { return failed };
        let Ok(client) = self.client.for_url(&self.url) else { return failed };
        let request = client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("idempotency-key", blake3::hash(key.as_bytes()).to_hex().to_string())
            .timeout(RESPONSE_TIMEOUT)
            .body(body);
        match request.send().await {
            Ok(response) if response.status().is_success() => NoticeOutcome::Sent,
            Ok(response) => NoticeOutcome::Failed {
                retry_after_ms: retry_after_ms(response.headers(), self.app.now_ms()),
            },
            Err(_) => failed,
        }
    }

    fn link(&self, ask: &PendingAsk) -> Option<String> {
        let lifetime_ms = i64::try_from(self.receiver.links_for?.as_millis()).unwrap_or(i64::MAX);
        let base = self.app.public_url();
        let token = self.app.access().tokens.named(&self.signer)?;
        let until_ms = self.app.now_ms().saturating_add(lifetime_ms);
        let claim = Claim {
            token: self.signer.clone(),
            receiver: self.receiver.name.clone(),
            instance: ask.instance.to_string(),
            invoke: ask.invoke.clone(),
            since_ms: ask.since_ms,
            until_ms: ask.expires_ms.map_or(until_ms, |expires_ms| expires_ms.min(until_ms)),
        };
        Some(format!("{base}/#/answer/{}", claim.signed(token)))
    }
}
