//! The object that counts a family, and how an instance gets slots from it: those that came with the results of ended
//! children come first, so that a list which runs some items at a time reserves only once.

use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use super::outcome::{CommitResult, HandlerOutcome, Todo};
use crate::layout::family::{FAMILY, ReserveAsk, handler};

pub(super) struct FamilyObject;

/// State of a family: slots of its descendants. Absent if there are none.
const HELD: &str = "held";

#[restate_sdk::object(
    name = "RawkoFamily",
    client_visibility = "pub(super)",
    ingress_private,
    lazy_state,
    journal_retention = "0s",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
)]
impl FamilyObject {
    /// Grants as many slots as are left.
    #[handler]
    async fn reserve(&self, ctx: ObjectContext<'_>, ask: Json<ReserveAsk>) -> HandlerResult<Json<u64>> {
        let held = ctx.get::<Json<u64>>(HELD).await?.map_or(0, Json::into_inner);
        let granted = granted(held, ask.into_inner());
        if granted > 0 {
            ctx.set(HELD, Json(held + granted));
        }
        Ok(Json(granted))
    }

    /// Takes slots back.
    #[handler]
    async fn release(&self, ctx: ObjectContext<'_>, count: Json<u64>) -> HandlerResult<()> {
        let held = ctx.get::<Json<u64>>(HELD).await?.map_or(0, Json::into_inner);
        match held.saturating_sub(count.into_inner()) {
            0 => ctx.clear(HELD),
            rest => ctx.set(HELD, Json(rest)),
        }
        Ok(())
    }
}

/// Returns the number of granted slots. The root counts, too.
fn granted(held: u64, ReserveAsk { wanted, most }: ReserveAsk) -> u64 {
    wanted.min(u64::from(most).saturating_sub(1).saturating_sub(held))
}

/// Reserves slots in a family and returns how many it got.
pub(super) async fn reserve(ctx: &ObjectContext<'_>, root: &str, ask: ReserveAsk) -> HandlerResult<u64> {
    let target = RequestTarget::object(FAMILY, root, handler::RESERVE);
    Ok(ctx.request::<_, Json<u64>>(target, Json(ask)).call().await?.into_inner())
}

/// Gives slots back to a family.
pub(super) fn release(ctx: &ObjectContext<'_>, root: &str, count: u64) {
    if count > 0 {
        let target = RequestTarget::object(FAMILY, root, handler::RELEASE);
        drop(ctx.request::<_, ()>(target, Json(count)).send());
    }
}

impl HandlerOutcome {
    /// Returns the number of instances that begin and need a slot, and the limit of their family.
    pub(super) fn newcomers(&self) -> (u64, u32) {
        match (&self.written, self.family_max) {
            (Some(written), Some(most)) => (written.children.len() as u64, most),
            // Outcomes of earlier workers reserve nothing, because their journals are replayed as they are.
            (_, _) => (0, 0),
        }
    }
}

impl CommitResult {
    /// Passes on the slots of all instances that have ended: with their results to the parents, whose next children can
    /// use them.
    pub(super) fn pass_slots_on(&mut self) {
        self.children.iter_mut().for_each(Self::pass_slots_on);
        let new = &self.live.row.new;
        if !self.live.has_slot || !self.live.row.head.status.is_over() {
            return;
        }
        self.live.has_slot = false;
        let result = self.todo.iter_mut().rev().find_map(|todo| match todo {
            Todo::Post { to, post } if new.parent.as_ref().is_some_and(|parent| parent.id == *to) => {
                post.child.as_ref().map(|_| &mut post.slots)
            }
            _ => None,
        });
        match result {
            Some(slots) => *slots += 1,
            None => self.todo.push(Todo::Release { root: new.root().into(), count: 1 }),
        }
    }

    /// Returns the slots that this instance would bring, if it could begin.
    pub(super) fn slots(&self) -> u64 {
        let posted = |todo: &Todo| match todo {
            Todo::Post { post, .. } => post.slots,
            Todo::Release { count, .. } => *count,
            Todo::Run(_) | Todo::Fail(_) | Todo::StopChild { .. } | Todo::Expire { .. } => 0,
        };
        u64::from(self.live.has_slot) + self.todo.iter().map(posted).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_gets_what_is_left() {
        let of = |held, wanted| granted(held, ReserveAsk { wanted, most: 5 });
        assert_eq!([of(0, 1), of(0, 9), of(3, 2), of(4, 1), of(9, 1)], [1, 4, 1, 0, 0]);
        assert_eq!(granted(0, ReserveAsk { wanted: 1, most: 0 }), 0);
    }
}
