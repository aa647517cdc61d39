//! Clients that want to know when an instance changes: its resources are reported after each step.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_host::Engine;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ServerNotification};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::task::JoinHandle;

use super::McpServer;
use super::resources::instance_of;

/// The watched addresses of one session; watching ends with it.
#[derive(Default)]
pub(super) struct Subscriptions {
    running: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
        running.drain().for_each(|(_, watch)| watch.abort());
    }
}

/// Reports each step of the instance that an address belongs to. One that is not of an instance never changes.
struct InstanceWatch {
    engine: Arc<dyn Engine>,
    uri: String,
    id: Option<String>,
    known: Option<u64>,
}

impl InstanceWatch {
    fn new(engine: &Arc<dyn Engine>, uri: String) -> Self {
        let id = instance_of(&uri);
        let mut watch = Self { engine: Arc::clone(engine), uri, id, known: None };
        watch.changed();
        watch
    }

    /// Returns the notification if the instance took a step since the last look.
    fn changed(&mut self) -> Option<ResourceUpdatedNotificationParam> {
        let now = self.engine.reader().find(self.id.as_deref()?).map(|row| row.step).ok();
        let is_new = now != self.known;
        self.known = now;
        is_new.then(|| ResourceUpdatedNotificationParam::new(self.uri.clone()))
    }
}

impl McpServer {
    /// Reports changes of resources until the client ends the request (2026-07-28).
    pub(super) async fn follow_resources(&self, context: SubscriptionContext) {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let mut watches: Vec<InstanceWatch> =
            uris.into_iter().map(|uri| InstanceWatch::new(self.engine(), uri)).collect();
        let mut changes = self.engine().changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return,
                changed = changes.changed() => if changed.is_err() { return },
            }
            for note in watches.iter_mut().filter_map(InstanceWatch::changed) {
                let note = ResourceUpdatedNotification::new(note);
                if context.sink().send(ServerNotification::ResourceUpdatedNotification(note)).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Reports changes of one resource (2025-11-25).
    pub(super) fn watch(&self, uri: String, peer: Peer<RoleServer>) {
        let mut watch = InstanceWatch::new(self.engine(), uri.clone());
        let mut changes = self.engine().changes();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(note) = watch.changed() else { continue };
                if peer.notify_resource_updated(note).await.is_err() {
                    return;
                }
            }
        });
        self.replace(uri, Some(task));
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.replace(uri.to_owned(), None);
    }

    fn replace(&self, uri: String, task: Option<JoinHandle<()>>) {
        let mut running = self.subscriptions.running.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match task {
            Some(task) => running.insert(uri, task),
            None => running.remove(&uri),
        };
        if let Some(before) = before {
            before.abort();
        }
    }
}
