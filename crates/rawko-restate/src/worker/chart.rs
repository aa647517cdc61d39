//! The object that keeps a chart's text, by its hash. Put before the first instance of it begins.

use std::sync::Arc;

use restate_sdk::prelude::*;

use super::shop::Shop;
use crate::layout::{ChartText, from_hex, key};

pub(super) struct ChartObject {
    pub(super) shop: Arc<Shop>,
}

#[restate_sdk::object(
    name = "RawkoChart",
    client_visibility = "pub(super)",
    lazy_state,
    journal_retention = "0s",
    idempotency_retention = "10m",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl ChartObject {
    /// Keeps a chart's text. The same chart again changes nothing.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, text: Json<ChartText>) -> HandlerResult<()> {
        if ctx.get::<Json<ChartText>>(key::TEXT).await?.is_none() {
            ctx.set(key::TEXT, text);
        }
        if let Some(hash) = from_hex(ctx.key()) {
            self.shop.charts.note_kept(hash);
        }
        Ok(())
    }

    /// The text, if it was put.
    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<ChartText>>> {
        Ok(Json(ctx.get::<Json<ChartText>>(key::TEXT).await?.map(Json::into_inner)))
    }
}
