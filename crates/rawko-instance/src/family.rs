//! `FamilyCounts`: counts the instances of a root and its descendants, for drivers. Limits of one instance do not bound a
//! chart that starts two of itself: each generation has twice as many instances as the one before.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::limits::InstanceLimits;

/// FamilyCounts whose counts are kept. One that is forgotten begins again at its next instance.
const FAMILIES_MAX: usize = 4_096;

/// An instance that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// Id of the root of its family.
    pub root: &'a str,
    /// Instances of the same commit, which the store does not have yet.
    pub uncommitted: usize,
    /// True for the second and later items of an `each`: its list bounds them, so they do not count as a rate.
    pub is_later_item: bool,
}

/// The limit that refuses an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyLimit {
    /// [`InstanceLimits::family_instances_max`].
    Instances(u32),
    /// [`InstanceLimits::family_per_second_max`].
    PerSecond(u32),
    /// [`InstanceLimits::family_per_hour_max`].
    PerHour(u32),
}

impl FamilyLimit {
    /// Returns the `code` of the error in the chart.
    pub fn code(self) -> &'static str {
        match self {
            FamilyLimit::Instances(_) => "family_instances",
            FamilyLimit::PerSecond(_) => "family_per_second",
            FamilyLimit::PerHour(_) => "family_per_hour",
        }
    }
}

impl fmt::Display for FamilyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FamilyLimit::Instances(most) => write!(f, "more than {most} instances below one root"),
            FamilyLimit::PerSecond(most) => {
                write!(f, "more than {most} instances below one root within one second")
            }
            FamilyLimit::PerHour(most) => {
                write!(f, "more than {most} instances below one root within one hour")
            }
        }
    }
}

/// Counts per family, of one driver.
#[derive(Debug, Default)]
pub struct FamilyCounts {
    counts: FxHashMap<Arc<str>, Count>,
}

#[derive(Debug, Default)]
struct Count {
    second: i64,
    in_second: u32,
    hour: i64,
    in_hour: u32,
    /// Instances that began since the last exact count, and that count: never fewer than exist.
    at_most: u64,
    /// The second of the last exact count.
    counted: Option<i64>,
}

impl FamilyCounts {
    /// Counts a new instance. Returns the limit that refuses it. `living` counts the instances of the family in the
    /// store that have not ended; `None` if the driver cannot. It is called only near the limit, once per second.
    pub fn refuse(
        &mut self,
        newcomer: Newcomer<'_>,
        now_ms: i64,
        limits: &InstanceLimits,
        living: impl FnOnce() -> Option<u64>,
    ) -> Option<FamilyLimit> {
        let second = now_ms.div_euclid(1_000);
        if self.counts.len() >= FAMILIES_MAX {
            let kept = |count: &Count| count.second == second || count.in_hour > 1_000;
            self.counts.retain(|_, count| kept(count));
        }
        if self.counts.len() >= FAMILIES_MAX && !self.counts.contains_key(newcomer.root) {
            self.counts.clear();
        }
        if !self.counts.contains_key(newcomer.root) {
            self.counts.insert(newcomer.root.into(), Count::default());
        }
        let count = self.counts.get_mut(newcomer.root)?;
        if count.second != second {
            (count.second, count.in_second) = (second, 0);
        }
        if count.hour != second.div_euclid(3_600) {
            (count.hour, count.in_hour) = (second.div_euclid(3_600), 0);
        }
        if !newcomer.is_later_item {
            count.in_second += 1;
        }
        if count.in_second > limits.family_per_second_max {
            return Some(FamilyLimit::PerSecond(limits.family_per_second_max));
        }
        if count.in_hour >= limits.family_per_hour_max {
            return Some(FamilyLimit::PerHour(limits.family_per_hour_max));
        }
        let most = u64::from(limits.family_instances_max);
        if count.at_most >= most && count.counted != Some(second) {
            count.counted = Some(second);
            count.at_most = living().map_or(0, |living| living + newcomer.uncommitted as u64);
        }
        if count.at_most >= most {
            return Some(FamilyLimit::Instances(limits.family_instances_max));
        }
        count.at_most += 1;
        count.in_hour += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_counted_again_before_it_is_refused() {
        let limits =
            InstanceLimits { family_instances_max: 3, family_per_second_max: 4, ..InstanceLimits::default() };
        let mut families = FamilyCounts::default();
        let mut begin = |at_ms: i64, living: u64| {
            let newcomer = Newcomer { root: "r", uncommitted: 0, is_later_item: false };
            families.refuse(newcomer, at_ms, &limits, || Some(living))
        };
        assert_eq!([0, 1, 2].map(|at_ms| begin(at_ms, 9)), [None; 3]);
        // Two of the three have ended.
        assert_eq!(begin(3, 1), None);
        assert_eq!(begin(4, 1), Some(FamilyLimit::PerSecond(4)));
        assert_eq!(begin(1_000, 2), None);
        assert_eq!(begin(1_001, 3), Some(FamilyLimit::Instances(3)));
        assert_eq!(begin(2_000, 3), Some(FamilyLimit::Instances(3)));
        assert_eq!(begin(3_000, 0), None);
    }
}
