//! Search over the text of instances: id, title, input, context and output. Separate from the list, which filters by
//! what the store has in columns.

use std::cmp::Reverse;
use std::collections::HashSet;

use axum::extract::State;
use rawko_store::{Filter, InstanceRow, Outcome, WaitReason};
use rawko_view::list_index::{ListOrder, SortKey, SortValue};
use rawko_view::rows::Row;
use rawko_view::vocabulary::{InstanceStatusWord, OutcomeWord, WaitWord};
use rawko_view::{ViewError, lists};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::listing::{OrderWord, SortWord, StatusFilter, list_order};
use crate::http::app::App;
use crate::http::extract::QueryString;
use crate::http::paging::limit_of;
use crate::http::problem::{ErrorResponse, ProblemCode};

/// Instances that one search reads, newest first.
const ROWS_MAX: usize = 5_000;
const PAGE: usize = 250;
/// Characters around a match.
const AROUND: usize = 60;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Words that all have to occur, ignoring case.
    q: String,
    /// Id of the chart.
    chart: Option<String>,
    /// No instances of these charts.
    #[serde(default)]
    #[param(inline, required = false)]
    except: Vec<String>,
    /// Any of these.
    #[serde(default)]
    #[param(value_type = Vec<InstanceStatusWord>, inline, required = false)]
    status: Vec<StatusFilter>,
    /// Any of these outcomes.
    #[serde(default)]
    #[param(value_type = Vec<OutcomeWord>, inline, required = false)]
    outcome: Vec<Outcome>,
    /// Any of these waits. A filter for `person` includes descendants.
    #[serde(default)]
    #[param(value_type = Vec<WaitWord>, inline, required = false)]
    waits: Vec<WaitReason>,
    /// Include instances invoked by others.
    children: Option<bool>,
    /// Number of results.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
    /// What the results are sorted by; without it, the newest first.
    #[param(inline, required = false)]
    sort: Option<SortWord>,
    /// Direction. By default titles and outcomes ascend, and the highest or latest comes first of others.
    #[param(inline, required = false)]
    order: Option<OrderWord>,
}

/// Instances whose text has the words, newest first unless sorted.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Found {
    results: Vec<Match>,
    /// False if older instances were not searched, or there are more results than `limit`.
    complete: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct Match {
    #[serde(flatten)]
    row: Row,
    /// Text around the first match.
    excerpt: String,
}

/// Search instances
///
/// Over the ids of all instances, and over title, input, context and output of the latest 5,000.
#[utoipa::path(get, path = "/v1/search", tag = "instances", params(SearchQuery),
    responses((status = 200, body = Found)))]
pub(super) async fn search(
    State(app): State<App>,
    QueryString(query): QueryString<SearchQuery>,
) -> Result<axum::Json<Found>, ErrorResponse> {
    let words: Vec<String> = query.q.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return Err(ErrorResponse::new(ProblemCode::InvalidRequest, "`q` is empty"));
    }
    let (limit, order) = (limit_of(query.limit)?, list_order(query.sort, query.order));
    let filter = Filter {
        chart: query.chart,
        except: query.except,
        shown: query.status.iter().flat_map(|status| status.shown()).collect(),
        outcomes: query.outcome,
        roots_only: !query.children.unwrap_or(false) && !query.waits.contains(&WaitReason::Person),
        waits: query.waits,
        limit: PAGE,
        ..Filter::default()
    };
    app.read(move |app| found(app, filter, &words, (limit, order))).await.map(axum::Json)
}

fn found(
    app: &App,
    mut filter: Filter,
    words: &[String],
    (limit, order): (usize, Option<ListOrder>),
) -> Result<Found, ViewError> {
    let (reader, index) = (app.reader(), app.list_index());
    let (mut found, mut read) = (Found::default(), 0);
    // Ids are searched in all instances, by the store.
    if let [word] = words {
        let part = Some(word.clone());
        let filter = Filter { part, limit: limit + 1, ..filter.clone() };
        let page = match order {
            Some(order) => lists::sorted_page(reader, index, &filter, (order, None))?.page,
            None => lists::page(reader, &filter)?,
        };
        let rows = Row::indexed(reader, index, &page.rows)?;
        found.results.extend(rows.into_iter().map(|row| Match { excerpt: row.id.clone(), row }));
    }
    let by_id: HashSet<String> = found.results.iter().map(|found| found.row.id.clone()).collect();
    // The first of an order may be the oldest.
    while order.is_some() || found.results.len() <= limit {
        let page = lists::page(reader, &filter)?;
        let restored = reader.snapshots(&page.rows)?;
        let mut matches: Vec<(InstanceRow, String)> = Vec::new();
        for (row, restored) in page.rows.iter().zip(restored) {
            if by_id.contains(&*row.new.id) {
                continue;
            }
            let mut text = row.new.id.to_string();
            if let Some(restored) = &restored {
                let (snapshot, chart) = (&restored.snapshot, &restored.chart);
                gather(&snapshot.input().to_json(), &mut text);
                gather(&snapshot.context_map(chart).to_json(), &mut text);
                gather(&snapshot.output().to_json(), &mut text);
            }
            if let Some(excerpt) = excerpt(&text, words) {
                matches.push((row.clone(), excerpt));
            }
        }
        let rows: Vec<InstanceRow> = matches.iter().map(|(row, _)| row.clone()).collect();
        let rows = Row::indexed(reader, index, &rows)?.into_iter().zip(matches);
        found.results.extend(rows.map(|(row, (_, excerpt))| Match { row, excerpt }));
        read += page.rows.len();
        filter.before = page.next;
        if filter.before.is_none() || read >= ROWS_MAX {
            found.complete = filter.before.is_none() && found.results.len() <= limit;
            break;
        }
    }
    let order = order.unwrap_or(ListOrder { key: SortKey::Created, is_descending: true });
    let value = |found: &Match| SortValue::of(&found.row, order.key);
    match order.is_descending {
        true => found.results.sort_by_cached_key(|found| Reverse(value(found))),
        false => found.results.sort_by_cached_key(value),
    }
    found.results.truncate(limit);
    Ok(found)
}

/// Appends all strings of a value, one per line.
fn gather(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::String(one) => {
            text.push('\n');
            text.push_str(one);
        }
        serde_json::Value::Array(all) => all.iter().for_each(|one| gather(one, text)),
        serde_json::Value::Object(all) => all.values().for_each(|one| gather(one, text)),
        serde_json::Value::Number(number) => {
            text.push('\n');
            text.push_str(&number.to_string());
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) => {}
    }
}

/// Returns the text around the first word, if all words occur.
fn excerpt(text: &str, words: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    let first = lower.find(words.first()?.as_str())?;
    if !words.iter().all(|word| lower.contains(word.as_str())) {
        return None;
    }
    // Lower case may have other lengths; counted in characters the place is near enough.
    let at = lower[..first].chars().count();
    let cut: String = text.chars().skip(at.saturating_sub(AROUND)).take(2 * AROUND + 20).collect();
    Some(cut.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_have_to_occur() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(excerpt("Pay the\nInvoice", &words("invoice pay")).unwrap(), "Pay the Invoice");
        assert_eq!(excerpt("Pay the invoice", &words("invoice late")), None);
        assert!(excerpt("İstanbul und Größe", &words("größe")).is_some());
    }
}
