//! Executes requests, with the host of this process or a remote one. Shared by the command line and the socket.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Engine, Fork, MigrationOrder, Migrator, PersonAnswer, Receipt};

use super::local_client::{LocalClient, channel_failure};
use super::protocol::{HostAnswer, LoadedChart, SocketRequest};
use super::proven::proven;
use crate::failure::CommandFailure;

/// Executes a request of the operator. `by`: the proven name.
pub(crate) async fn execute(
    local_client: &LocalClient,
    by: &str,
    request: SocketRequest,
) -> Result<HostAnswer, CommandFailure> {
    match request {
        SocketRequest::Channel { request } => {
            let request = proven(request, by);
            Ok(HostAnswer::Channel(
                local_client.serving().await?.execute(request).await.map_err(channel_failure)?,
            ))
        }
        SocketRequest::Link => match local_client.link() {
            Some(url) => Ok(HostAnswer::Link { url: url? }),
            None => Err(CommandFailure::Usage(
                "the host of the store serves no page; start `rawko serve`".to_owned(),
            )),
        },
        request => execute_on_engine(&local_client.host, by, request).await,
    }
}

/// Executes a request with any host. Channels need a host in this process.
pub(super) async fn execute_on_engine(
    engine: &dyn Engine,
    person: &str,
    request: SocketRequest,
) -> Result<HostAnswer, CommandFailure> {
    match request {
        SocketRequest::Start { charts, input, id, budget } => {
            start(engine, charts, input, id, budget).await.map(HostAnswer::Receipt)
        }
        SocketRequest::Send { id, event, data, key } => {
            let event = NamedEvent::new(event, data);
            Ok(HostAnswer::Receipt(engine.send(id, event, key).await?))
        }
        SocketRequest::Answer { id, ask, asked_ms, approved, by, comment, data } => {
            let claimed = by.filter(|by| by != person);
            let by = Some(person.to_owned());
            let answer = PersonAnswer { approved, by, claimed, asked_ms, comment, data };
            Ok(HostAnswer::Receipt(engine.answer(id, ask, answer).await?))
        }
        SocketRequest::Cancel { id, reason } => Ok(HostAnswer::Receipt(engine.cancel(id, reason).await?)),
        SocketRequest::Retry { id } => Ok(HostAnswer::Receipt(engine.retry(id).await?)),
        SocketRequest::RetryItem { id, item } => Ok(HostAnswer::Receipt(engine.retry_item(id, item).await?)),
        SocketRequest::Pause { id } => Ok(HostAnswer::Receipt(engine.pause(id, Value::str(person)).await?)),
        SocketRequest::Resume { id } => Ok(HostAnswer::Receipt(engine.resume(id, Value::str(person)).await?)),
        SocketRequest::Fork { id, at, set, new_id, budget } => {
            let fork = Fork { at, set, id: new_id };
            Ok(HostAnswer::Receipt(engine.fork_within(id, fork, budget).await?))
        }
        SocketRequest::Migrate { ids, to, map } => {
            let order = match to {
                Some(chart) => {
                    let edition = chart.edition()?;
                    let map = map.as_ref().map(|map| (&*map.name, &*map.text));
                    MigrationOrder::To(Arc::new(Migrator::new(edition, map)?))
                }
                None => MigrationOrder::Back,
            };
            Ok(HostAnswer::Migrated(engine.migrate(ids, order, Value::str(person)).await?))
        }
        SocketRequest::Settle { id, patience_ms } => {
            let settled = engine.settled(id, Duration::from_millis(patience_ms)).await?;
            Ok(HostAnswer::Settled(settled.into()))
        }
        SocketRequest::Channel { .. } => Err(CommandFailure::Usage(
            "channels are not available on Restate; remove `--host restate`".to_owned(),
        )),
        SocketRequest::Link => Err(CommandFailure::Usage("links are not available on Restate".to_owned())),
        SocketRequest::Watch => {
            Err(CommandFailure::Usage("live output needs a connection of its own".to_owned()))
        }
        SocketRequest::Ping => Ok(HostAnswer::Pong { pid: std::process::id() }),
    }
}

async fn start(
    engine: &dyn Engine,
    charts: Vec<LoadedChart>,
    input: rawko_core::Value,
    id: Option<String>,
    budget: rawko_core::Value,
) -> Result<Receipt, CommandFailure> {
    let mut first = None;
    for chart in charts {
        let edition = chart.edition()?;
        engine.library().offer(edition.clone());
        engine.keep(&edition)?;
        first.get_or_insert(edition);
    }
    let edition = first.ok_or_else(|| CommandFailure::Usage("no chart to start".to_owned()))?;
    Ok(engine.start(edition, input, id, budget).await?)
}
