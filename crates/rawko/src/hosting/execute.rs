//! Executes requests, with the host of this process or a remote one. Shared by the command line and the socket.

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Engine, Fork, MigrationOrder, Migrator, PersonAnswer, Receipt};

use super::local_client::{LocalClient, channel_failure};
use super::protocol::{Answer, ChartText, Request};
use super::proven::proven;
use crate::failure::Failure;

/// Executes a request of the operator. `by`: the proven name.
pub(crate) async fn execute(
    local_client: &LocalClient,
    by: &str,
    request: Request,
) -> Result<Answer, Failure> {
    match request {
        Request::Channel { request } => {
            let request = proven(request, by);
            Ok(Answer::Channel(
                local_client.serving().await?.execute(request).await.map_err(channel_failure)?,
            ))
        }
        Request::Link => match local_client.link() {
            Some(url) => Ok(Answer::Link { url: url? }),
            None => {
                Err(Failure::Usage("the host of the store serves no page; start `rawko serve`".to_owned()))
            }
        },
        request => execute_on_engine(&local_client.host, by, request).await,
    }
}

/// Executes a request with any host. Channels need a host in this process.
pub(super) async fn execute_on_engine(
    engine: &dyn Engine,
    person: &str,
    request: Request,
) -> Result<Answer, Failure> {
    match request {
        Request::Start { charts, input, id, budget } => {
            start(engine, charts, input, id, budget).await.map(Answer::Receipt)
        }
        Request::Send { id, event, data, key } => {
            let event = NamedEvent::new(event, data);
            Ok(Answer::Receipt(engine.send(id, event, key).await?))
        }
        Request::Answer { id, ask, asked_ms, approved, by, comment, data } => {
            let claimed = by.filter(|by| by != person);
            let by = Some(person.to_owned());
            let answer = PersonAnswer { approved, by, claimed, asked_ms, comment, data };
            Ok(Answer::Receipt(engine.answer(id, ask, answer).await?))
        }
        Request::Cancel { id, reason } => Ok(Answer::Receipt(engine.cancel(id, reason).await?)),
        Request::Retry { id } => Ok(Answer::Receipt(engine.retry(id).await?)),
        Request::RetryItem { id, item } => Ok(Answer::Receipt(engine.retry_item(id, item).await?)),
        Request::Pause { id } => Ok(Answer::Receipt(engine.pause(id, Value::str(person)).await?)),
        Request::Resume { id } => Ok(Answer::Receipt(engine.resume(id, Value::str(person)).await?)),
        Request::Fork { id, at, set, new_id, budget } => {
            let fork = Fork { at, set, id: new_id };
            Ok(Answer::Receipt(engine.fork_within(id, fork, budget).await?))
        }
        Request::Migrate { ids, to, map } => {
            let order = match to {
                Some(chart) => {
                    let edition = chart.edition()?;
                    let map = map.as_ref().map(|map| (&*map.name, &*map.text));
                    MigrationOrder::To(Arc::new(Migrator::new(edition, map)?))
                }
                None => MigrationOrder::Back,
            };
            Ok(Answer::Migrated(engine.migrate(ids, order, Value::str(person)).await?))
        }
        Request::Settle { id, patience_ms } => {
            let settled = engine.settled(id, Duration::from_millis(patience_ms)).await?;
            Ok(Answer::Settled(settled.into()))
        }
        Request::Channel { .. } => {
            Err(Failure::Usage("channels are not available on Restate; remove `--host restate`".to_owned()))
        }
        Request::Link => Err(Failure::Usage("links are not available on Restate".to_owned())),
        Request::Watch => Err(Failure::Usage("live output needs a connection of its own".to_owned())),
        Request::Ping => Ok(Answer::Pong { pid: std::process::id() }),
    }
}

async fn start(
    engine: &dyn Engine,
    charts: Vec<ChartText>,
    input: rawko_core::Value,
    id: Option<String>,
    budget: rawko_core::Value,
) -> Result<Receipt, Failure> {
    let mut first = None;
    for chart in charts {
        let edition = chart.edition()?;
        engine.library().offer(edition.clone());
        first.get_or_insert(edition);
    }
    let edition = first.ok_or_else(|| Failure::Usage("no chart to start".to_owned()))?;
    Ok(engine.start(edition, input, id, budget).await?)
}
