//! Channel notifications in a stream: they report that a channel changed, not the change itself.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::hub::HubCommand;
use crate::serving::ServingChannels;

/// Watches channels until dropped.
#[derive(Default)]
pub(super) struct ChannelWatch {
    names: HashSet<String>,
    tasks: JoinSet<()>,
}

impl ChannelWatch {
    /// Watches all existing channels.
    pub(super) fn all(&mut self, serving: &Arc<ServingChannels>, hub: &mpsc::UnboundedSender<HubCommand>) {
        // If the names cannot be read, a channel is added at its next event.
        for name in serving.channels().names().unwrap_or_default() {
            self.one(name, serving, hub);
        }
    }

    pub(super) fn one(
        &mut self,
        name: String,
        serving: &Arc<ServingChannels>,
        hub: &mpsc::UnboundedSender<HubCommand>,
    ) {
        if self.names.insert(name.clone()) {
            self.tasks.spawn(watch(name, Arc::clone(serving), hub.clone()));
        }
    }
}

async fn watch(name: String, serving: Arc<ServingChannels>, hub: mpsc::UnboundedSender<HubCommand>) {
    let Ok(mut glance) = serving.channels().watch(&name).await else { return };
    loop {
        let version = glance.borrow_and_update().version;
        if hub.send(HubCommand::Channel { name: name.clone(), version }).is_err() {
            return;
        }
        if glance.changed().await.is_err() {
            return;
        }
    }
}
