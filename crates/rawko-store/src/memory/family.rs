//! An instance of a memory store with its descendants, for transfer to another store. Separate from the state, which
//! only answers the store's own questions.

use rustc_hash::FxHashSet;

use super::state::MemoryState;
use crate::transfer::{FamilyMember, InstanceFamily};
use crate::{Blob, InstanceKey, KeyedDelivery, references};

impl MemoryState {
    /// Returns an instance with all of its data and its descendants, parents before their children.
    pub(super) fn family(&self, id: &str) -> Option<InstanceFamily> {
        let root = *self.ids.get(id)?;
        let mut family = InstanceFamily::default();
        let (mut open, mut names, mut charts) = (vec![root], FxHashSet::default(), FxHashSet::default());
        while let Some(key) = open.pop() {
            let Some(member) = self.member(key) else { continue };
            open.extend(self.children(&member.new.id).into_iter().rev().map(|child| child.key));
            for hash in std::iter::once(member.new.chart).chain(member.earlier_charts()) {
                if charts.insert(hash) {
                    family.charts.extend(self.charts.iter().find(|chart| chart.hash == hash).cloned());
                }
            }
            member.collect_names(&mut names);
            family.members.push(member);
        }
        family.blobs = self.blobs_of(names);
        Some(family)
    }

    fn member(&self, key: InstanceKey) -> Option<FamilyMember> {
        let kept = self.instances.get(&key)?;
        let deliveries =
            kept.deliveries.iter().map(|(key, step)| KeyedDelivery { key: key.clone(), step: *step });
        let mut deliveries: Vec<KeyedDelivery> = deliveries.collect();
        deliveries.sort_by(|one, other| one.key.cmp(&other.key));
        Some(FamilyMember {
            new: kept.new.clone(),
            head: kept.head.clone(),
            records: self.records(key, 0, usize::MAX),
            snapshots: kept.snapshots.values().cloned().collect(),
            effects: self.effects.values().filter(|effect| effect.instance == key).cloned().collect(),
            inbound: self.inbound.values().filter(|it| it.to == key).map(|it| it.event.clone()).collect(),
            deliveries,
            audit: self.audit(Some(&kept.new.id), usize::MAX),
        })
    }

    /// Returns these blobs and those that they name, by name.
    fn blobs_of(&self, mut names: FxHashSet<[u8; 16]>) -> Vec<Blob> {
        let mut open: Vec<[u8; 16]> = names.iter().copied().collect();
        let mut found = Vec::new();
        while let Some(hash) = open.pop() {
            // A text that only looks like a reference names none.
            let Some(body) = self.blobs.get(&hash) else { continue };
            let mut nested = FxHashSet::default();
            references::collect_nested(body, &mut nested);
            open.extend(nested.into_iter().filter(|name| names.insert(*name)));
            found.push(Blob { hash, body: body.clone() });
        }
        found.sort_by_key(|blob| blob.hash);
        found
    }
}
