//! The object that stores a chart's text, by its hash, before the first instance of it begins. Any client of the
//! ingress can call `put`, so a text that does not match the hash is refused.

use std::sync::Arc;

use rawko_host::HostError;
use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use super::charts::read;
use super::state::WorkerState;
use crate::layout::{ChartSource, from_hex, key};

pub(super) struct ChartObject {
    pub(super) state: Arc<WorkerState>,
}

/// The decision about a submitted text.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChartVerdict {
    Set,
    /// A text is stored already.
    Keep,
    Refuse(String),
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
    /// Stores a chart's text. The same chart again changes nothing.
    #[handler]
    async fn put(&self, ctx: ObjectContext<'_>, text: Json<ChartSource>) -> HandlerResult<()> {
        let text = text.into_inner();
        let kept = ctx.get::<Json<ChartSource>>(key::TEXT).await?.map(Json::into_inner);
        let (hash, put) = (ctx.key().to_owned(), text.clone());
        // Journaled, since another version of rawko may read charts differently.
        let judged = ctx.run(move || async move { Ok(Json(judge(&hash, &put, kept.as_ref()))) });
        match judged.name("judge").await?.into_inner() {
            ChartVerdict::Set => ctx.set(key::TEXT, Json(text)),
            ChartVerdict::Keep => {}
            ChartVerdict::Refuse(why) => return Err(TerminalError::new(why).into()),
        }
        if let Some(hash) = from_hex(ctx.key()) {
            self.state.charts.note_kept(hash);
        }
        Ok(())
    }

    /// Returns the text, if it was stored.
    #[handler]
    async fn get(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<ChartSource>>> {
        Ok(Json(ctx.get::<Json<ChartSource>>(key::TEXT).await?.map(Json::into_inner)))
    }
}

fn judge(hash: &str, put: &ChartSource, kept: Option<&ChartSource>) -> ChartVerdict {
    let Some(name) = from_hex(hash) else {
        return ChartVerdict::Refuse(format!("`{hash}` is not a chart hash"));
    };
    match read(&name, put) {
        // A chart that this worker cannot read may be readable by another version; starting it reports the error.
        Err(HostError::InvalidChart(_)) if kept.is_none() => ChartVerdict::Set,
        Err(HostError::InvalidChart(_)) => ChartVerdict::Keep,
        Err(error) => ChartVerdict::Refuse(error.to_string()),
        // An unreadable stored text is replaced by the right one.
        Ok(_) if kept.is_none_or(|kept| read(&name, kept).is_err()) => ChartVerdict::Set,
        Ok(_) => ChartVerdict::Keep,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use rawko_host::Edition;

    use super::*;
    use crate::layout::hex;

    fn text(text: &str) -> ChartSource {
        let (id, version) = ("light".to_owned(), "1.0.0".to_owned());
        ChartSource { id, version, name: "light.yaml".into(), text: text.into(), added_ms: 0 }
    }

    #[test]
    fn a_text_is_kept_under_its_own_hash_only() {
        let light = text("statechart: {id: light, initial: on, states: {on: {}}}");
        let other = text("statechart: {id: light, initial: off, states: {off: {}}}");
        let broken = text("statechart: {id: light}");
        let hash = |text: &ChartSource| hex(&Edition::read(&text.name, &text.text).unwrap().chart.hash());
        let own = hash(&light);
        assert_eq!(judge(&own, &light, None), ChartVerdict::Set);
        assert_eq!(judge(&own, &light, Some(&light)), ChartVerdict::Keep);
        assert_eq!(judge(&own, &light, Some(&broken)), ChartVerdict::Set);
        assert_eq!(judge(&own, &light, Some(&other)), ChartVerdict::Set);
        let why = format!("the text stored for chart {own} belongs to chart {}", hash(&other));
        assert_eq!(judge(&own, &other, None), ChartVerdict::Refuse(why.clone()));
        assert_eq!(read(&from_hex(&own).unwrap(), &other).unwrap_err().to_string(), why);
        assert_eq!(judge(&own, &broken, None), ChartVerdict::Set);
        assert_eq!(judge(&own, &broken, Some(&light)), ChartVerdict::Keep);
        assert_eq!(
            judge("nonsense", &light, None),
            ChartVerdict::Refuse("`nonsense` is not a chart hash".into())
        );
    }
}
