//! The object that holds the live output of calls while a terminal watches them. Every value is replaced as a whole,
//! and a lost one only delays text until the journal has it.

use std::collections::BTreeMap;

use restate_sdk::prelude::*;

use crate::layout::stream::{CallOutput, KnownOutput, LEASE_MS, WatchAsk};

pub(super) struct StreamObject;

/// State of the directory: the end of the lease of each stream.
const LEASES: &str = "leases";

#[restate_sdk::object(
    name = "RawkoStream",
    client_visibility = "pub(super)",
    lazy_state,
    journal_retention = "0s",
    idempotency_retention = "1s",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl StreamObject {
    /// Renews the lease of a stream, and removes those that expired.
    #[handler]
    async fn watch(&self, ctx: ObjectContext<'_>, ask: Json<WatchAsk>) -> HandlerResult<()> {
        let WatchAsk { stream, now_ms } = ask.into_inner();
        let mut leases = leases(ctx.get::<Json<BTreeMap<String, i64>>>(LEASES).await?);
        leases.retain(|_, until_ms| *until_ms > now_ms);
        leases.insert(stream, now_ms.saturating_add(LEASE_MS));
        ctx.set(LEASES, Json(leases));
        Ok(())
    }

    /// Returns the streams that are watched at this time.
    #[handler]
    async fn watched(
        &self,
        ctx: SharedObjectContext<'_>,
        now_ms: Json<i64>,
    ) -> HandlerResult<Json<Vec<String>>> {
        let now_ms = now_ms.into_inner();
        let leases = leases(ctx.get::<Json<BTreeMap<String, i64>>>(LEASES).await?);
        Ok(Json(leases.into_iter().filter(|(_, until_ms)| *until_ms > now_ms).map(|(key, _)| key).collect()))
    }

    /// Stores the output of calls, or removes it once they are over.
    #[handler]
    async fn write(&self, ctx: ObjectContext<'_>, outputs: Json<Vec<CallOutput>>) -> HandlerResult<()> {
        for output in outputs.into_inner() {
            let key = format!("{}/{}", output.run.instance, output.run.id);
            if output.is_over {
                ctx.clear(&key);
            } else {
                ctx.set(&key, Json(output));
            }
        }
        Ok(())
    }

    /// Returns the output of running calls after the part that the watcher has.
    #[handler]
    async fn read(
        &self,
        ctx: SharedObjectContext<'_>,
        known: Json<Vec<KnownOutput>>,
    ) -> HandlerResult<Json<Vec<CallOutput>>> {
        let known = known.into_inner();
        let mut outputs = Vec::new();
        for key in ctx.get_keys().await? {
            if let Some(output) = ctx.get::<Json<CallOutput>>(&key).await? {
                outputs.push(output.into_inner().after(&known));
            }
        }
        Ok(Json(outputs))
    }
}

fn leases(kept: Option<Json<BTreeMap<String, i64>>>) -> BTreeMap<String, i64> {
    kept.map(Json::into_inner).unwrap_or_default()
}
