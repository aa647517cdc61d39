//! Starts timers and invokes of states that are active already, without a transition: the work that a migration adds.

use super::run::Macrostep;
use super::{Step, Tracing};
use crate::chart::Chart;
use crate::ids::{InvokeId, NodeId};
use crate::snapshot::Snapshot;
use crate::world::Now;

/// Starts these timers and invokes of active states. No transition is taken; work that cannot start is an error.
pub fn start_work<'w>(
    chart: &Chart,
    snapshot: &mut Snapshot,
    timers: &[(NodeId, u32)],
    invokes: &[(NodeId, InvokeId)],
    now: impl Into<Now<'w>>,
) -> Result<Step, String> {
    let before = snapshot.clone();
    let mut run = Macrostep::new(chart, snapshot, now.into(), Tracing::Off);
    for (node, index) in timers {
        run.start_timer(*node, *index);
    }
    for (node, invoke) in invokes {
        run.start_invoke(*node, *invoke);
    }
    while let Some((fan_out, ended)) = run.to_advance.pop_front() {
        run.advance(fan_out, ended);
    }
    let unstarted = run.queue.pop_front().map(|raised| {
        let why = raised.event.data.get("message").as_str().map(str::to_owned);
        why.unwrap_or_else(|| format!("`{}` is due at once", raised.event.name))
    });
    let step = run.finish(Ok(()));
    match (unstarted, step) {
        (None, Ok(step)) => Ok(Step { handled: true, ..step }),
        (Some(why), _) => {
            *snapshot = before;
            Err(why)
        }
        (None, Err(error)) => Err(error.to_string()),
    }
}
