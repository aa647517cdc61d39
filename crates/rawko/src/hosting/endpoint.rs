//! `channel:x` as a target of `send` in charts: the event is posted to the channel in the name of the sending instance.

use std::sync::Arc;

use rawko_core::{ServiceName, Value};
use rawko_host::{Category, Closure, OnRestart, Service, ServiceCall, ServiceError};
use rawko_server::ChannelRequest;
use rawko_turns::ChannelEvent;
use tokio::sync::watch;

use super::local_client::LocalClient;
use super::protocol::RequestRefusal;

/// The host gets the endpoint before the local_client exists, and stored effects may run at once: they wait for it.
#[derive(Clone)]
pub(super) struct ChannelEndpoint {
    local_client: Arc<watch::Sender<Option<LocalClient>>>,
}

impl ChannelEndpoint {
    pub(super) fn new() -> Self {
        Self { local_client: Arc::new(watch::Sender::new(None)) }
    }

    pub(super) fn open(&self, local_client: &LocalClient) {
        self.local_client.send_replace(Some(local_client.clone()));
    }

    /// Breaks the reference cycle: the local_client holds the host, and the host holds this.
    pub(super) fn close(&self) {
        self.local_client.send_replace(None);
    }

    pub(super) fn service(&self) -> Arc<dyn Service> {
        let endpoint = self.clone();
        let say = move |call: ServiceCall| {
            let endpoint = endpoint.clone();
            async move { endpoint.say(call).await }
        };
        // A repeated message is recognised by its id.
        let provenance = Value::map([("channel", Value::Bool(true))]);
        Closure::new(say).on_restart(OnRestart::Retry).provenance(provenance).into_service()
    }

    async fn say(&self, call: ServiceCall) -> Result<Value, ServiceError> {
        let mut opened = self.local_client.subscribe();
        let local_client =
            opened.wait_for(Option::is_some).await.ok().and_then(|local_client| local_client.clone());
        let failed = |message: String| ServiceError::new(Category::Failed, message);
        let local_client =
            local_client.ok_or_else(|| failed("this rawko process is shutting down".to_owned()))?;
        let name = ServiceName::of(&call.name).member.to_owned();
        let (person, id) = (call.instance.to_string(), Some(call.idempotency.to_string()));
        let event = ChannelEvent::PersonSpoke { person, id, text: text(&call.input) };
        let serving =
            local_client.serving().await.map_err(|failure| failed(RequestRefusal::from(failure).message))?;
        let said = serving.execute(ChannelRequest::Apply { name, event }).await;
        said.map(|_| Value::Null).map_err(|error| failed(error.to_string()))
    }
}

/// Returns the data if it is text, else its `text` field, else the event's type with the data as JSON.
fn text(sent: &Value) -> String {
    let data = sent.get("data");
    let words = data.as_str().or_else(|| data.get("text").as_str());
    match (words, data) {
        (Some(words), _) => words.to_owned(),
        (None, Value::Null) => sent.get("type").as_str().unwrap_or_default().to_owned(),
        (None, data) => format!("{} {data}", sent.get("type").as_str().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_a_channel() {
        let table = [
            (r#"{"type": "NEWS", "data": "It works."}"#, "It works."),
            (r#"{"type": "NEWS", "data": {"text": "It works.", "run": 7}}"#, "It works."),
            (r#"{"type": "NEWS", "data": {"run": 7}}"#, r#"NEWS {"run":7}"#),
            (r#"{"type": "NEWS", "data": null}"#, "NEWS"),
        ];
        for (sent, expected) in table {
            assert_eq!(text(&serde_json::from_str(sent).unwrap()), expected);
        }
    }
}
