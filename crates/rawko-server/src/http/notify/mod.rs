//! Messages about requests that wait for a person, sent to the webhooks of `server.notify`. Each request is sent once to each
//! receiver: deliveries are on disk, failed ones are retried, and a restart changes neither.

mod answering;
mod delivery;
mod link;
mod message;
mod outbox;
mod settings;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rawko_http::HttpClients;
use rawko_store::{Filter, InstanceKey, WaitReason};
use rawko_view::standing::{self, PendingAsk};
use reqwest::Url;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use answering::routes;
use delivery::{Delivery, PendingAsks, key_of};
pub use message::MessageFormat;
use outbox::Outbox;
pub use settings::Receiver;
pub(crate) use settings::{public_url_of, receivers_of};

use super::app::App;
use super::problem::ErrorResponse;

/// The shortest time between two passes: commits arrive faster.
const BETWEEN: Duration = Duration::from_millis(300);
/// A pass without any change, for requests that are due again.
const IDLE: Duration = Duration::from_secs(5);
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
    outbox: Arc<Mutex<Outbox>>,
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
        let outbox = Arc::new(Mutex::new(Outbox::open(&options.outbox)?));
        Ok(Some(Notifier { app: app.clone(), receivers, options, outbox, seen: Seen::new() }))
    }

    /// Runs until the server closes. Messages that are being sent then are finished.
    pub(crate) async fn serve(mut self) {
        let (mut changes, mut closing) = (self.app.engine().changes(), self.app.closing());
        let asks = watch::Sender::new(PendingAsks::default());
        let mut deliveries = JoinSet::new();
        for (receiver, url) in &self.receivers {
            let (app, outbox) = (self.app.clone(), Arc::clone(&self.outbox));
            let (receiver, url, signer) = (receiver.clone(), url.clone(), self.options.signer.clone());
            let delivery = Delivery { app, receiver, url, signer, outbox, client: HttpClients::default() };
            deliveries.spawn(delivery.serve(asks.subscribe()));
        }
        loop {
            // The host reports a store that fails.
            if let Ok(pending) = self.pass().await {
                asks.send_replace(pending);
            }
            let is_over = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => true,
                () = tokio::time::sleep(IDLE) => false,
                changed = changes.changed() => changed.is_err(),
            };
            if is_over {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        drop(asks);
        while deliveries.join_next().await.is_some() {}
    }

    /// Returns the pending requests, and forgets messages about others.
    async fn pass(&mut self) -> Result<PendingAsks, ErrorResponse> {
        let seen = std::mem::take(&mut self.seen);
        self.seen = self.app.read(move |app| pending(app, seen)).await?;
        let asked: Vec<(String, PendingAsk)> =
            self.seen.values().flat_map(|(_, asks)| asks.clone()).collect();
        let keys = |(receiver, _): &(Receiver, Url)| -> Vec<String> {
            asked.iter().map(|(_, ask)| key_of(&receiver.name, ask)).collect()
        };
        let known: Vec<String> = self.receivers.iter().flat_map(keys).collect();
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).keep_only(&known);
        Ok(Arc::new(asked))
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
