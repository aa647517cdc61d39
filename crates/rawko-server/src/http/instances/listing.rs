//! The list of instances: filters, pages, and counts.

use axum::extract::State;
use rawko_core::Status;
use rawko_store::{DrivenInstances, Filter, InstanceKey, InstanceStatus, InstanceTally, Outcome, WaitReason};
use rawko_view::ViewError;
use rawko_view::list_index::{ListOrder, SortKey, SortPosition, SortedPage};
use rawko_view::lists::{self, AskingAncestor};
use rawko_view::rows::Row;
use rawko_view::vocabulary::{InstanceStatusWord, OutcomeWord, WaitWord};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::app::App;
use crate::http::extract::QueryString;
use crate::http::paging::{cursor, limit_of, position_cursor, read_cursor, read_position};
use crate::http::problem::ErrorResponse;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Any of these. The words `active`, `done`, `error` and `cancelled` of earlier releases are accepted, too.
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
    /// Id of the chart.
    chart: Option<String>,
    /// No instances of these charts.
    #[serde(default)]
    #[param(inline, required = false)]
    except: Vec<String>,
    /// Part of the id.
    q: Option<String>,
    /// Include instances invoked by others.
    children: Option<bool>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
    /// `next` of the previous page, which has the same `sort` and `order`.
    cursor: Option<String>,
    /// What all pages are sorted by; without it, the newest first.
    #[param(inline, required = false)]
    sort: Option<SortWord>,
    /// Direction. By default titles and outcomes ascend, and the highest or latest comes first of others.
    #[param(inline, required = false)]
    order: Option<OrderWord>,
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SortWord {
    Created,
    Updated,
    Title,
    Outcome,
    Cost,
    Steps,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderWord {
    Asc,
    Desc,
}

/// The order of a list that the store does not have, and the end of the previous page.
pub(super) type SortedFrom = (ListOrder, Option<SortPosition>);

/// A status in a query.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum StatusFilter {
    Shown(InstanceStatus),
    /// A word of earlier releases.
    Engine(Status),
}

impl StatusFilter {
    /// Returns the statuses that people see, and the outcomes, for a word.
    pub(super) fn shown(self) -> Vec<InstanceStatus> {
        match self {
            StatusFilter::Shown(status) => vec![status],
            StatusFilter::Engine(Status::Active) => {
                vec![InstanceStatus::Running, InstanceStatus::Waiting, InstanceStatus::Paused]
            }
            StatusFilter::Engine(Status::Error) => vec![InstanceStatus::Stalled],
            StatusFilter::Engine(Status::Done | Status::Cancelled) => vec![InstanceStatus::Ended],
        }
    }
}

/// A page of instances, newest first unless sorted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstanceList {
    v: u32,
    instances: Vec<Row>,
    /// Number on all pages.
    total: u64,
    /// `cursor` of the next page; null on the last.
    next: Option<String>,
    counts: Counts,
}

/// Totals by status, independent of `status`, `outcome` and `waits`. `active`, `done`, `error` and `cancelled` are the
/// words of earlier releases.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
struct Counts {
    running: u64,
    waiting: u64,
    paused: u64,
    stalled: u64,
    ended: u64,
    active: u64,
    done: u64,
    error: u64,
    cancelled: u64,
    /// Instances with a request to a person, including descendants.
    person: u64,
}

/// List instances
///
/// Newest first, or by `sort`. A page of a sorted list begins after the position of the last row, wherever that row is now.
#[utoipa::path(get, path = "/v1/instances", tag = "instances", params(ListQuery),
    responses((status = 200, body = InstanceList)))]
pub(super) async fn list(
    State(app): State<App>,
    QueryString(query): QueryString<ListQuery>,
) -> Result<axum::Json<InstanceList>, ErrorResponse> {
    let with_children = query.children.unwrap_or(false);
    let sorted = query.sorted()?;
    let filter = query.filter(sorted.is_some())?;
    app.read(move |app| page(app, &filter, sorted.as_ref(), with_children)).await.map(axum::Json)
}

impl ListQuery {
    fn sorted(&self) -> Result<Option<SortedFrom>, ErrorResponse> {
        let Some(order) = list_order(self.sort, self.order) else { return Ok(None) };
        let position = self.cursor.as_deref().map(|cursor| read_position(cursor, order)).transpose()?;
        Ok(Some((order, position)))
    }

    fn filter(self, is_sorted: bool) -> Result<Filter, ErrorResponse> {
        let before = self.cursor.as_deref().filter(|_| !is_sorted).map(read_cursor).transpose()?;
        let roots_only = !self.children.unwrap_or(false) && !self.waits.contains(&WaitReason::Person);
        let over = self.status.iter().filter_map(|status| match status {
            StatusFilter::Engine(status) if status.is_over() => Some(*status),
            StatusFilter::Engine(_) | StatusFilter::Shown(_) => None,
        });
        let over: Vec<Status> = over.collect();
        // `done` and `cancelled` are both `ended`; only both words together with others need no more than that.
        let is_exact = over.len() == self.status.len() && !over.is_empty();
        Ok(Filter {
            limit: limit_of(self.limit)?,
            statuses: if is_exact { over } else { Vec::new() },
            shown: self.status.iter().flat_map(|status| status.shown()).collect(),
            driven: DrivenInstances::All,
            outcomes: self.outcome,
            waits: self.waits,
            chart: self.chart,
            except: self.except,
            part: self.q.filter(|part| !part.is_empty()),
            roots_only,
            before: before.map(InstanceKey),
        })
    }
}

/// Returns the order that a query asks for; `None` for that of the store.
pub(super) fn list_order(sort: Option<SortWord>, order: Option<OrderWord>) -> Option<ListOrder> {
    let key = match sort {
        None | Some(SortWord::Created) => SortKey::Created,
        Some(SortWord::Updated) => SortKey::Updated,
        Some(SortWord::Title) => SortKey::Title,
        Some(SortWord::Outcome) => SortKey::Outcome,
        Some(SortWord::Cost) => SortKey::Cost,
        Some(SortWord::Steps) => SortKey::Steps,
    };
    let is_descending = match order {
        Some(OrderWord::Asc) => false,
        Some(OrderWord::Desc) => true,
        None => !matches!(key, SortKey::Title | SortKey::Outcome),
    };
    (key != SortKey::Created || !is_descending).then_some(ListOrder { key, is_descending })
}

fn page(
    app: &App,
    filter: &Filter,
    sorted: Option<&SortedFrom>,
    with_children: bool,
) -> Result<InstanceList, ViewError> {
    let (reader, index) = (app.reader(), app.list_index());
    let (page, next) = match sorted {
        Some((order, after)) => {
            let SortedPage { page, next } =
                lists::sorted_page(reader, index, filter, (*order, after.as_ref()))?;
            (page, next.map(|next| position_cursor(&next)))
        }
        None => {
            let page = lists::page(reader, filter)?;
            let next = page.next.map(|key| cursor(key.0));
            (page, next)
        }
    };
    let tallies = reader.store().tally(&Filter { roots_only: false, ..filter.clone() })?;
    let mut counts = Counts::of(&tallies, with_children);
    // Requests of other charts are not in the tallies of one chart.
    if counts.running > 0 && (counts.person > 0 || filter.chart.is_some()) {
        let any = Filter { roots_only: !with_children, outcomes: Vec::new(), ..filter.clone() };
        counts.add_asking(&lists::ancestors(reader, &any)?, filter.chart.is_some());
    }
    Ok(InstanceList {
        v: 1,
        instances: Row::indexed(reader, index, &page.rows)?,
        total: page.total,
        next,
        counts,
    })
}

impl Counts {
    fn of(tallies: &[InstanceTally], with_children: bool) -> Counts {
        let mut counts = Counts::default();
        for tally in tallies {
            if tally.wait == WaitReason::Person {
                counts.person += tally.count;
            }
            if !with_children && !tally.is_root {
                continue;
            }
            let InstanceTally { status, wait, is_faulty, count, .. } = *tally;
            *match InstanceStatus::of_parts(status, wait, is_faulty, true) {
                InstanceStatus::Running => &mut counts.running,
                InstanceStatus::Waiting => &mut counts.waiting,
                InstanceStatus::Paused => &mut counts.paused,
                InstanceStatus::Stalled => &mut counts.stalled,
                InstanceStatus::Ended => &mut counts.ended,
            } += count;
            let count = match tally.status {
                Status::Active => &mut counts.active,
                Status::Done => &mut counts.done,
                Status::Error => &mut counts.error,
                Status::Cancelled => &mut counts.cancelled,
            };
            *count += tally.count;
        }
        counts
    }

    /// Counts instances that work only through children that wait for a person as waiting. `of_chart`: the requests of
    /// other charts are not counted, so those below instances of this one are added.
    fn add_asking(&mut self, ancestors: &[AskingAncestor], of_chart: bool) {
        let waiting = ancestors.iter().filter(|it| it.is_waiting).count() as u64;
        self.running = self.running.saturating_sub(waiting);
        self.waiting = self.waiting.saturating_add(waiting);
        if of_chart {
            self.person = self.person.saturating_add(ancestors.len() as u64);
        }
    }
}
