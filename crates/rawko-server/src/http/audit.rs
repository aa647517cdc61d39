//! Audit log: the decision on every call before it was made. Read backwards from the end, in pages.

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rawko_store::{AuditLine, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::extract::QueryString;
use super::paging::limit_of;
use super::problem::{ErrorResponse, ProblemCode};

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(audit))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    /// Only lines of this instance.
    instance: Option<String>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
    /// `next` of the page with later lines.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Audit {
    v: u32,
    /// The last lines, or those before the cursor, oldest first.
    lines: Vec<Line>,
    /// `cursor` of the page with earlier lines; null at the beginning.
    next: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Line {
    at_ms: i64,
    instance: String,
    /// Idempotency key of the effect.
    effect: String,
    service: String,
    /// `allowed`, `refused`, `answered`, `failed`, `interrupted`, …
    decision: String,
    /// Rule that decided, or the error.
    reason: String,
    /// Source of the service, the request and its author; `null` if not recorded.
    #[schema(value_type = Option<Object>)]
    provenance: Option<Map<String, Json>>,
}

/// Read the audit log
///
/// The last lines; `next` leads to earlier ones.
#[utoipa::path(get, path = "/v1/audit", tag = "server", params(AuditQuery), responses((status = 200, body = Audit)))]
async fn audit(
    State(app): State<App>,
    QueryString(query): QueryString<AuditQuery>,
) -> Result<axum::Json<Audit>, ErrorResponse> {
    let limit = limit_of(query.limit)?;
    let place = query.cursor.as_deref().map(LogPlace::read).transpose()?;
    app.read(move |app| page(&**app.reader().store(), query.instance.as_deref(), place, limit))
        .await
        .map(axum::Json)
}

fn page(
    store: &dyn Store,
    instance: Option<&str>,
    place: Option<LogPlace>,
    limit: usize,
) -> Result<Audit, ErrorResponse> {
    let later = place.as_ref().map_or(0, |place| place.later);
    // One line more than wanted shows whether there are earlier ones.
    let mut wanted = later.saturating_add(limit).saturating_add(1);
    loop {
        let mut lines = store.audit(instance, wanted)?;
        let is_whole = lines.len() < wanted;
        let end = match &place {
            None => Some(lines.len()),
            // Lines were written since the cursor was issued, so its line is further back.
            Some(place) => place.find(&lines).filter(|end| is_whole || *end > limit),
        };
        let Some(end) = end else {
            if is_whole {
                return Err(ErrorResponse::new(ProblemCode::InvalidCursor, "the line of `cursor` is gone"));
            }
            wanted = wanted.saturating_mul(2);
            continue;
        };
        let from = end.saturating_sub(limit);
        let next = (from > 0).then(|| LogPlace::of(&lines[from], lines.len() - from).cursor());
        lines.truncate(end);
        return Ok(Audit { v: 1, lines: lines.drain(from..).map(line).collect(), next });
    }
}

/// A line of the log, and the number of lines from it to the end. Stores have no numbers for lines.
#[derive(Debug, Serialize, Deserialize)]
struct LogPlace {
    later: usize,
    at_ms: i64,
    effect: String,
    decision: String,
}

impl LogPlace {
    fn of(line: &AuditLine, later: usize) -> LogPlace {
        let (effect, decision) = (line.effect.to_string(), line.decision.to_string());
        LogPlace { later, at_ms: line.at_ms, effect, decision }
    }

    fn cursor(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn read(text: &str) -> Result<LogPlace, ErrorResponse> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(|| {
            let message = "invalid `cursor`; pass the `next` of the previous page";
            ErrorResponse::new(ProblemCode::InvalidCursor, message)
        })
    }

    /// Returns the index of the line. Lines are added at the end, so it is not among the last ones, unless later ones were
    /// pruned.
    fn find(&self, lines: &[AuditLine]) -> Option<usize> {
        let from = (lines.len() + 1).saturating_sub(self.later);
        let is_it = |line: &AuditLine| {
            line.at_ms == self.at_ms && *line.effect == *self.effect && *line.decision == *self.decision
        };
        lines[..from.min(lines.len())].iter().rposition(is_it).or_else(|| lines.iter().rposition(is_it))
    }
}

fn line(line: AuditLine) -> Line {
    Line {
        at_ms: line.at_ms,
        instance: line.instance.to_string(),
        effect: line.effect.to_string(),
        service: line.service.to_string(),
        decision: line.decision.to_string(),
        reason: line.reason,
        provenance: serde_json::from_str(&line.provenance).ok(),
    }
}

#[cfg(test)]
mod tests {
    use rawko_store::{Commit, Head, InstanceKey, MemoryStore, NewInstance};

    use super::*;

    fn write(store: &MemoryStore, numbers: std::ops::Range<i64>) {
        let line = |number: i64| AuditLine {
            // Several lines have the same time.
            at_ms: number / 3,
            instance: if number % 2 == 0 { "even" } else { "odd" }.into(),
            effect: format!("e/{number}").into(),
            service: "pay".into(),
            decision: "allowed".into(),
            reason: String::new(),
            provenance: "{}".into(),
        };
        let new = || NewInstance {
            id: "even".into(),
            chart: [7; 16],
            chart_id: "any".into(),
            version: "1.0.0".into(),
            parent: None,
            origin: None,
            created_ms: 0,
            policy: "".into(),
        };
        let is_first = numbers.start == 0;
        let commit = Commit {
            instance: InstanceKey(1),
            create: is_first.then(|| Box::new(new())),
            head: is_first.then(|| Box::new(Head::default())),
            audit: numbers.map(line).collect(),
            ..Commit::default()
        };
        store.commit(&[commit]).unwrap();
    }

    #[test]
    fn earlier_lines_are_read_page_by_page_while_others_are_written() {
        for (instance, count, grows) in [
            (None, 25, 0),
            (None, 25, 40),
            (Some("even"), 13, 0),
            (Some("even"), 13, 7),
            (Some("none"), 0, 0),
        ] {
            let store = MemoryStore::new();
            write(&store, 0..25);
            let (mut pages, mut place, mut written) = (Vec::new(), None, 25);
            loop {
                let page = page(&store, instance, place.take(), 4).unwrap();
                pages.push(page.lines.iter().map(|line| line.effect.clone()).collect::<Vec<_>>());
                let Some(next) = page.next else { break };
                assert!(pages.len() < 20, "{instance:?} {grows}");
                place = Some(LogPlace::read(&next).unwrap());
                write(&store, written..written + grows);
                written += grows;
            }
            let read: Vec<String> = pages.into_iter().rev().flatten().collect();
            let all = (0..25).filter(|number| instance.is_none() || number % 2 == 0);
            let expected: Vec<String> = all.map(|number| format!("e/{number}")).take(count).collect();
            assert_eq!(read, expected, "{instance:?} {grows}");
        }
        assert_eq!(LogPlace::read("77").unwrap_err().code(), ProblemCode::InvalidCursor);
    }
}
