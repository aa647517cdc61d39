//! Messages about requests that wait for a person, sent to the webhooks of `server.notify`. Each request is sent once to each
//! receiver: deliveries are on disk, failed ones are retried, and a restart changes neither.

mod answering;
mod link;
mod message;
mod outbox;
mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rawko_http::{HttpClients, retry_after_ms};
use rawko_store::{Filter, InstanceKey, WaitReason};
use rawko_view::standing::{self, PendingAsk};
use reqwest::Url;

pub(crate) use answering::routes;
pub use message::MessageFormat;
use message::NoticeMessage;
use outbox::{NoticeOutcome, Outbox};
pub use settings::Receiver;
pub(crate) use settings::{public_url_of, receivers_of};

use super::app::App;
use super::problem::ErrorResponse;

/// The shortest time between two passes: commits arrive faster.
const BETWEEN: Duration = Duration::from_millis(300);
/// A pass without any change, for requests that are due again.
const IDLE: Duration = Duration::from_secs(5);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
const PAGE: usize = 500;

/// What the notifier needs besides the server.
#[derive(Clone, Debug)]
pub struct NotifyOptions {
    /// File that records deliveries.
    pub outbox: PathBuf,
    /// Name of the token that signs links.
    pub signer: String,
}

/// Sends messages about pending requests.
pub(crate) struct Notifier {
    app: App,
    receivers: Vec<(Receiver, Url)>,
    options: NotifyOptions,
    outbox: Outbox,
    client: HttpClients,
    /// The requests of the last pass.
    seen: Seen,
}

/// Requests by instance, each with the chart, and the step at which they were read. Ordered, so that messages are sent in
/// the order of their instances.
type Seen = BTreeMap<InstanceKey, (u64, Vec<(String, PendingAsk)>)>;

impl Notifier {
    /// Returns `None` if there is nothing to notify. A receiver without an address is an error.
    pub(crate) fn new(app: &App, options: NotifyOptions) -> Result<Option<Notifier>, String> {
        let settings = app.settings();
        if settings.notify.is_empty() {
            return Ok(None);
        }
        let environment = rawko_host::Environment::of_process();
        let addressed = |receiver: &Receiver| Ok((receiver.clone(), receiver.address(&environment)?));
        let receivers = settings.notify.iter().map(addressed).collect::<Result<Vec<_>, String>>()?;
        let outbox = Outbox::open(&options.outbox)?;
        let (app, client, seen) = (app.clone(), HttpClients::default(), Seen::new());
        Ok(Some(Notifier { app, receivers, options, outbox, client, seen }))
    }

    /// Runs until the server closes.
    pub(crate) async fn serve(mut self) {
        let (mut changes, mut closing) = (self.app.engine().changes(), self.app.closing());
        loop {
            // The host reports a store that fails.
            let _ = self.pass().await;
            let is_over = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => true,
                () = tokio::time::sleep(IDLE) => false,
                changed = changes.changed() => changed.is_err(),
            };
            if is_over {
                return;
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }

    async fn pass(&mut self) -> Result<(), ErrorResponse> {
        let seen = std::mem::take(&mut self.seen);
        self.seen = self.app.read(move |app| pending(app, seen)).await?;
        let asked: Vec<(String, PendingAsk)> =
            self.seen.values().flat_map(|(_, asks)| asks.clone()).collect();
        let mut known = Vec::new();
        for (chart, ask) in &asked {
            for (receiver, url) in self.receivers.clone() {
                // The next server sends the rest.
                if *self.app.closing().borrow() {
                    return Ok(());
                }
                let key = format!("{}/{}/{}/{}", receiver.name, ask.instance, ask.invoke, ask.since_ms);
                if self.outbox.is_due(&key, self.app.now_ms()) {
                    let outcome = self.send(&receiver, &url, chart, ask, &key).await;
                    self.outbox.note(&key, outcome, self.app.now_ms());
                }
                known.push(key);
            }
        }
        self.outbox.keep_only(&known);
        Ok(())
    }

    /// Sends one message. Returns the time until the next attempt if it failed and the receiver names one.
    async fn send(
        &self,
        receiver: &Receiver,
        url: &Url,
        chart: &str,
        ask: &PendingAsk,
        key: &str,
    ) -> NoticeOutcome {
        let failed = NoticeOutcome::Failed { retry_after_ms: None };
        let message = NoticeMessage { key, chart, ask, link: self.link(receiver, ask) };
        let Ok(body) = serde_json::to_vec(&message.body(receiver.format)) else { return failed };
        let Ok(client) = self.client.for_url(url) else { return failed };
        let request = client
            .post(url.clone())
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

    fn link(&self, receiver: &Receiver, ask: &PendingAsk) -> Option<String> {
        let lifetime_ms = i64::try_from(receiver.links_for?.as_millis()).unwrap_or(i64::MAX);
        let base = self.app.public_url();
        let token = self.app.access().tokens.named(&self.options.signer)?;
        let until_ms = self.app.now_ms().saturating_add(lifetime_ms);
        let claim = link::Claim {
            token: self.options.signer.clone(),
            receiver: receiver.name.clone(),
            instance: ask.instance.to_string(),
            invoke: ask.invoke.clone(),
            since_ms: ask.since_ms,
            until_ms: ask.expires_ms.map_or(until_ms, |expires_ms| expires_ms.min(until_ms)),
        };
        Some(format!("{base}/#/answer/{}", claim.signed(token)))
    }
}

/// Returns all pending requests. An instance that took no step since it was seen is not read again.
fn pending(app: &App, mut seen: Seen) -> Result<Seen, ErrorResponse> {
    let (reader, mut all, mut before) = (app.reader(), Seen::new(), None);
    loop {
        let filter = Filter { waits: vec![WaitReason::Person], before, limit: PAGE, ..Filter::default() };
        let page = reader.store().list(&filter)?;
        for row in &page.rows {
            let known = seen.remove(&row.key).filter(|(step, _)| *step == row.step);
            let asks = match known {
                Some((_, asks)) => asks,
                None => {
                    let chart = row.new.chart_id.to_string();
                    standing::asked(reader, row)?.into_iter().map(|ask| (chart.clone(), ask)).collect()
                }
            };
            all.insert(row.key, (row.step, asks));
        }
        before = page.next;
        if before.is_none() {
            return Ok(all);
        }
    }
}
