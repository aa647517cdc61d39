//! An agent of the benchmark: thinks, posts, ends its turn, and records the times.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::Shared;

/// Connects, registers, and takes turns until all posts are made.
pub(crate) async fn spawn(name: String, address: &str, shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    // Small, because both ends are measured in one process: the default would be a third of its memory.
    let config = WebSocketConfig::default().read_buffer_size(8 * 1024);
    let url = format!("ws://{address}/v1/agents");
    let (socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), false).await?;
    let (mut sink, mut stream) = socket.split();
    let (words, mut spoken) = mpsc::unbounded_channel::<String>();
    let register = json!({"type": "register", "protocol": 1, "agent": name, "observe": false});
    sink.send(Message::Text(register.to_string().into())).await?;
    tokio::spawn(async move {
        while let Some(text) = spoken.recv().await {
            if sink.send(Message::Text(text.into())).await.is_err() {
                return;
            }
        }
    });
    Ok(tokio::spawn(async move {
        while let Some(Ok(message)) = stream.next().await {
            let Message::Text(text) = message else { continue };
            let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
            if value["type"] == "turn_granted" {
                tokio::spawn(take_turn(value, Arc::clone(&shared), words.clone()));
            }
        }
    }))
}

async fn take_turn(granted: Value, shared: Arc<Shared>, words: mpsc::UnboundedSender<String>) {
    let Some(channel) = granted["channel"].as_str().and_then(|name| name.parse::<usize>().ok()) else {
        return;
    };
    let before = shared.ended[channel].lock().ok().and_then(|mut ended| ended.take());
    if let Some(before) = before
        && let Ok(mut all) = shared.handed_over.lock()
    {
        all.push(before.elapsed());
    }
    tokio::time::sleep(shared.think).await;
    let text = match shared.left.try_acquire() {
        Ok(permit) => {
            permit.forget();
            "A remark of ordinary length about the matter at hand. TURN_COMPLETE"
        }
        Err(_) => "TURN_COMPLETE",
    };
    let message =
        json!({"type": "message", "channel": channel.to_string(), "turn": granted["turn"], "text": text});
    if let Ok(mut ended) = shared.ended[channel].lock() {
        *ended = Some(Instant::now());
    }
    let _ = words.send(message.to_string());
}
