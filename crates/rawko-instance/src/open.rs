//! `OpenEffects`: the effects of an instance without a result. Copies share memory, because a driver keeps the state before
//! every commit; a plain list would make each of ten thousand answers cost as much as all of them.

use std::ops::Index;
use std::sync::Arc;

use crate::records::{EffectKind, OpenEffect};

/// Effects that one write copies.
const PART: usize = 64;

/// Open effects in the order in which they were opened.
#[derive(Clone, Debug, Default)]
pub struct OpenEffects {
    parts: Vec<Arc<EffectPart>>,
    len: usize,
    tally: EffectTally,
}

#[derive(Clone, Debug)]
struct EffectPart {
    effects: Vec<Arc<OpenEffect>>,
    /// Bounds of `(step, index)` and of invocations. They do not shrink, so that a part outside of them is skipped.
    places: ((u64, u32), (u64, u32)),
    invocations: (u64, u64),
}

/// The number of effects that some inputs look for: most instances have none, and need no search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EffectTally {
    pub(crate) people: usize,
    pub(crate) held: usize,
    pub(crate) unknown: usize,
    pub(crate) with_result: usize,
}

impl EffectTally {
    fn count(&mut self, effect: &OpenEffect, one: impl Fn(usize) -> usize) {
        match effect.kind {
            EffectKind::Person => self.people = one(self.people),
            EffectKind::Held => self.held = one(self.held),
            EffectKind::Unknown => self.unknown = one(self.unknown),
            EffectKind::Service
            | EffectKind::Agent
            | EffectKind::Child
            | EffectKind::Call
            | EffectKind::Send => {}
        }
        if !effect.result.is_empty() {
            self.with_result = one(self.with_result);
        }
    }

    fn add(&mut self, effect: &OpenEffect) {
        self.count(effect, |count| count + 1);
    }

    fn subtract(&mut self, effect: &OpenEffect) {
        self.count(effect, |count| count.saturating_sub(1));
    }
}

impl EffectPart {
    fn new() -> Self {
        Self { effects: Vec::new(), places: ((u64::MAX, u32::MAX), (0, 0)), invocations: (u64::MAX, 0) }
    }

    fn push(&mut self, effect: OpenEffect) {
        let place = (effect.step, effect.index);
        self.places = (self.places.0.min(place), self.places.1.max(place));
        if let Some(id) = effect.invocation {
            self.invocations = (self.invocations.0.min(id), self.invocations.1.max(id));
        }
        self.effects.push(Arc::new(effect));
    }
}

impl OpenEffects {
    /// Returns the number of open effects.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if no effect is open.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates in the order of step and index.
    pub fn iter(&self) -> impl Iterator<Item = &OpenEffect> {
        self.parts.iter().flat_map(|part| part.effects.iter().map(|effect| &**effect))
    }

    /// Returns true if a person has to answer one of them.
    pub fn has_requests(&self) -> bool {
        self.tally.people > 0
    }

    pub(crate) fn tally(&self) -> EffectTally {
        self.tally
    }

    pub(crate) fn to_vec(&self) -> Vec<OpenEffect> {
        self.iter().cloned().collect()
    }

    pub(crate) fn push(&mut self, effect: OpenEffect) {
        self.tally.add(&effect);
        self.len += 1;
        match self.parts.last_mut().filter(|part| part.effects.len() < PART) {
            Some(part) => Arc::make_mut(part).push(effect),
            None => {
                let mut part = EffectPart::new();
                part.push(effect);
                self.parts.push(Arc::new(part));
            }
        }
    }

    /// Removes the effect at a position, which must exist.
    pub(crate) fn remove(&mut self, at: usize) -> OpenEffect {
        let (part, place) = self.locate(at);
        let effects = &mut Arc::make_mut(&mut self.parts[part]).effects;
        let effect = Arc::unwrap_or_clone(effects.remove(place));
        if effects.is_empty() {
            self.parts.remove(part);
        }
        self.len -= 1;
        self.tally.subtract(&effect);
        effect
    }

    /// Changes the effect at a position, which must exist, and returns it. Its place and invocation stay.
    pub(crate) fn edit(&mut self, at: usize, change: impl FnOnce(&mut OpenEffect)) -> &OpenEffect {
        let (part, place) = self.locate(at);
        let effect = Arc::make_mut(&mut Arc::make_mut(&mut self.parts[part]).effects[place]);
        self.tally.subtract(effect);
        change(effect);
        self.tally.add(effect);
        effect
    }

    pub(crate) fn position(&self, is: impl Fn(&OpenEffect) -> bool) -> Option<usize> {
        self.iter().position(is)
    }

    /// Returns the position of the awaited effect at this place.
    pub(crate) fn at_place(&self, step: u64, index: u32) -> Option<usize> {
        let place = (step, index);
        self.search(
            |part| part.places.0 <= place && place <= part.places.1,
            |effect| (effect.step, effect.index) == place && effect.kind != EffectKind::Unknown,
        )
    }

    /// Returns the position of the awaited effect of an invocation.
    pub(crate) fn of_invocation(&self, invocation: u64) -> Option<usize> {
        self.search(
            |part| part.invocations.0 <= invocation && invocation <= part.invocations.1,
            |effect| effect.invocation == Some(invocation) && effect.kind != EffectKind::Unknown,
        )
    }

    fn search(
        &self,
        may_have: impl Fn(&EffectPart) -> bool,
        is: impl Fn(&OpenEffect) -> bool,
    ) -> Option<usize> {
        let mut before = 0;
        for part in &self.parts {
            if may_have(part)
                && let Some(at) = part.effects.iter().position(|effect| is(effect))
            {
                return Some(before + at);
            }
            before += part.effects.len();
        }
        None
    }

    fn locate(&self, at: usize) -> (usize, usize) {
        let mut place = at;
        for (number, part) in self.parts.iter().enumerate() {
            if place < part.effects.len() {
                return (number, place);
            }
            place -= part.effects.len();
        }
        (self.parts.len(), place)
    }
}

impl Index<usize> for OpenEffects {
    type Output = OpenEffect;

    fn index(&self, at: usize) -> &OpenEffect {
        let (part, place) = self.locate(at);
        &self.parts[part].effects[place]
    }
}

impl From<Vec<OpenEffect>> for OpenEffects {
    fn from(effects: Vec<OpenEffect>) -> Self {
        let mut all = Self::default();
        effects.into_iter().for_each(|effect| all.push(effect));
        all
    }
}

impl<'a> IntoIterator for &'a OpenEffects {
    type Item = &'a OpenEffect;
    type IntoIter = Box<dyn Iterator<Item = &'a OpenEffect> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::InstanceKey;

    fn effect(step: u64, index: u32, kind: EffectKind, invocation: Option<u64>) -> OpenEffect {
        OpenEffect {
            instance: InstanceKey(1),
            step,
            index,
            kind,
            invocation,
            name: "work".into(),
            body: format!("{step}/{index}"),
            opened_ms: 0,
            due_ms: None,
            idempotency: "k".into(),
            result: String::new(),
            parked: false,
            in_doubt: false,
        }
    }

    /// The same operations on a plain list give the same effects, positions and counts.
    #[test]
    fn it_is_a_list() {
        let kinds = [EffectKind::Service, EffectKind::Person, EffectKind::Unknown, EffectKind::Held];
        let (mut open, mut list) = (OpenEffects::default(), Vec::new());
        let mut seed = 7u64;
        for round in 0..3_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let pick = (seed >> 33) as usize;
            match pick % 5 {
                0..=2 => {
                    let one = effect(round, pick as u32 % 3, kinds[pick / 5 % 4], Some(round % 997));
                    open.push(one.clone());
                    list.push(one);
                }
                3 if !list.is_empty() => {
                    assert_eq!(open.remove(pick % list.len()), list.remove(pick % list.len()))
                }
                _ if !list.is_empty() => {
                    let at = pick % list.len();
                    let change = |one: &mut OpenEffect| {
                        one.result = if pick.is_multiple_of(2) { "r".into() } else { String::new() }
                    };
                    open.edit(at, change);
                    change(&mut list[at]);
                }
                _ => {}
            }
            assert_eq!(open.len(), list.len());
        }
        assert_eq!(open.to_vec(), list);
        for (at, one) in list.iter().enumerate() {
            assert_eq!(&open[at], one);
            let is = |known: &OpenEffect| {
                (known.step, known.index) == (one.step, one.index) && known.kind != EffectKind::Unknown
            };
            assert_eq!(open.at_place(one.step, one.index), list.iter().position(is));
            let of =
                |known: &OpenEffect| known.invocation == one.invocation && known.kind != EffectKind::Unknown;
            assert_eq!(open.of_invocation(one.invocation.unwrap()), list.iter().position(of));
        }
        let count = |kind| list.iter().filter(|one| one.kind == kind).count();
        let tally = open.tally();
        assert_eq!((tally.people, tally.held), (count(EffectKind::Person), count(EffectKind::Held)));
        assert_eq!(tally.unknown, count(EffectKind::Unknown));
        assert_eq!(tally.with_result, list.iter().filter(|one| !one.result.is_empty()).count());
    }

    #[test]
    fn a_copy_shares_everything_but_the_part_that_is_written() {
        let all: Vec<OpenEffect> =
            (0..1_000).map(|index| effect(1, index, EffectKind::Service, None)).collect();
        let old = OpenEffects::from(all);
        let mut new = old.clone();
        new.remove(500);
        let shared = new.parts.iter().zip(&old.parts).filter(|(new, old)| Arc::ptr_eq(new, old)).count();
        assert_eq!((shared, new.parts.len()), (15, 16));
        assert_eq!((old.len(), new.len()), (1_000, 999));
    }
}
