//! The limit: a handler without rawko that stores as many bytes for each event as a step of rawko, under the same keys. It
//! runs in a process of its own (`restate bare ADDRESS LIVE ROW RECORD`), as a worker does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rawko_restate::client::{HandlerTarget, Restate};
use restate_sdk::prelude::*;
use serde::Deserialize;

use crate::clients::Measured;

const SERVICE: &str = "BareCounter";

/// Bytes of the values that a step stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredBytes {
    pub(crate) live: usize,
    pub(crate) row: usize,
    pub(crate) record: usize,
}

#[derive(Deserialize)]
struct StoredLength {
    key: String,
    bytes: usize,
}

impl StoredBytes {
    /// Returns the lengths of what the last step of an instance stored.
    pub(crate) async fn of(restate: &Restate, id: &str) -> Result<StoredBytes> {
        let sql = format!(
            "select key, length(value_utf8) as bytes from state where service_name = 'RawkoInstance' and service_key = '{id}'"
        );
        let found: Vec<StoredLength> = restate.admin().query(&sql).await?;
        let of = |name: &str| {
            let values = found.iter().filter(|it| it.key.starts_with(name));
            values
                .max_by_key(|it| it.key.as_str())
                .map(|it| it.bytes)
                .context("the instance stores no such key")
        };
        Ok(StoredBytes { live: of("live")?, row: of("row")?, record: of("record/")? })
    }
}

struct BareCounter {
    bytes: StoredBytes,
}

#[restate_sdk::object(
    name = "BareCounter",
    lazy_state,
    journal_retention = "0s",
    idempotency_retention = "10m"
)]
impl BareCounter {
    /// Counts, without a journaled run.
    #[handler]
    async fn increment(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        let count = counted(ctx.get::<String>("live").await?);
        self.store(&ctx, count);
        Ok(count)
    }

    /// Counts, and decides what to store in a journaled run, as a handler must that asks a clock.
    #[handler]
    async fn decide(&self, ctx: ObjectContext<'_>) -> HandlerResult<u64> {
        let count = counted(ctx.get::<String>("live").await?);
        let StoredBytes { live, row, record } = self.bytes;
        let decided = padded(count, live + row + record);
        ctx.run(move || async move { Ok(decided) }).name("take").await?;
        self.store(&ctx, count);
        Ok(count)
    }
}

impl BareCounter {
    fn store(&self, ctx: &ObjectContext<'_>, count: u64) {
        ctx.set(&format!("record/{count:08}"), padded(count, self.bytes.record));
        ctx.set("live", padded(count, self.bytes.live));
        ctx.set("row", padded(count, self.bytes.row));
    }
}

fn counted(live: Option<String>) -> u64 {
    live.and_then(|text| text.trim_end().parse().ok()).unwrap_or(0) + 1
}

fn padded(count: u64, bytes: usize) -> String {
    format!("{count:<bytes$}")
}

/// Serves the handler, until the process is killed.
pub(crate) async fn serve(arguments: &[String]) -> Result<()> {
    let [address, live, row, record] = arguments else {
        anyhow::bail!("usage: restate bare ADDRESS LIVE ROW RECORD");
    };
    let bytes = StoredBytes { live: live.parse()?, row: row.parse()?, record: record.parse()? };
    let listener = tokio::net::TcpListener::bind(address).await?;
    let endpoint = Endpoint::builder().bind(BareCounter { bytes }).build();
    HttpServer::new(endpoint).serve_with_cancel(listener, std::future::pending::<()>()).await;
    Ok(())
}

/// Runs `clients` for the given time, each with an object of its own.
pub(crate) async fn measure(
    restate: &Arc<Restate>,
    (handler, name): (&str, &str),
    clients: usize,
    time: Duration,
) -> Result<Measured> {
    let targets: Vec<HandlerTarget> = (0..clients)
        .map(|it| HandlerTarget::object(SERVICE, &format!("{handler}-{name}-{it}"), handler))
        .collect();
    for target in &targets {
        restate.ingress().call::<_, u64>(target, &()).await?;
    }
    let begun = Instant::now();
    let tasks: Vec<_> = targets
        .into_iter()
        .map(|target| {
            let restate = Arc::clone(restate);
            tokio::spawn(async move {
                let mut taken = Vec::new();
                while begun.elapsed() < time {
                    let from = Instant::now();
                    let count: u64 = restate.ingress().call(&target, &()).await?;
                    taken.push(from.elapsed());
                    ensure!(count == taken.len() as u64 + 1, "{target:?} has counted {count}");
                }
                anyhow::Ok(taken)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await??);
    }
    Ok(Measured::of(all, begun.elapsed()))
}
