//! Doing what a request asks, with a host of this process. Both the command line and the socket come through here.

use std::time::Duration;

use rawko_core::NamedEvent;
use rawko_host::{Edition, Fork, Host, PersonAnswer, Receipt};

use super::desk::{Desk, channel_failure};
use super::protocol::{Answer, ChartText, Request};
use crate::failure::Failure;

pub(crate) async fn obey(desk: &Desk, request: Request) -> Result<Answer, Failure> {
    let host = &desk.host;
    match request {
        Request::Start { charts, input, id, budget } => {
            start(host, charts, input, id, budget).await.map(Answer::Receipt)
        }
        Request::Send { id, event, data, key } => {
            let event = NamedEvent::new(event, data);
            Ok(Answer::Receipt(host.send(&id, event, key.as_deref()).await?))
        }
        Request::Answer { id, ask, approved, by, comment, data } => {
            let answer = PersonAnswer { approved, by, comment, data };
            Ok(Answer::Receipt(host.answer(&id, ask.as_deref(), answer).await?))
        }
        Request::Cancel { id, reason } => Ok(Answer::Receipt(host.cancel(&id, reason).await?)),
        Request::Retry { id } => Ok(Answer::Receipt(host.retry(&id).await?)),
        Request::Fork { id, at, set, new_id, budget } => {
            let fork = Fork { at, set, id: new_id };
            Ok(Answer::Receipt(host.fork_within(&id, fork, &budget).await?))
        }
        Request::Settle { id, patience_ms } => {
            let settled = host.settled(&id, Duration::from_millis(patience_ms)).await?;
            Ok(Answer::Settled(settled.into()))
        }
        Request::Channel { request } => {
            Ok(Answer::Channel(desk.serving().await?.obey(request).await.map_err(channel_failure)?))
        }
        Request::Ping => Ok(Answer::Pong { pid: std::process::id() }),
    }
}

async fn start(
    host: &Host,
    charts: Vec<ChartText>,
    input: rawko_core::Value,
    id: Option<String>,
    budget: rawko_core::Value,
) -> Result<Receipt, Failure> {
    let mut first = None;
    for ChartText { name, text } in charts {
        let edition = Edition::read(&name, &text)?;
        host.library().offer(edition.clone());
        first.get_or_insert(edition);
    }
    let edition = first.ok_or_else(|| Failure::Usage("there is no chart to start".to_owned()))?;
    Ok(host.start_within(edition, input, id, budget).await?)
}
