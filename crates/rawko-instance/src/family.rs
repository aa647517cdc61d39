//! `FamilyCounts`: counts the instances of a root and its descendants, for drivers. Limits of one instance do not bound a
//! chart that starts two of itself: each generation has twice as many instances as the one before.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::limits::InstanceLimits;

/// Families whose counts are kept. One that is forgotten is counted in the store at its next instance.
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

/// A family as its store knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilySize {
    /// Instances that have not ended, with the root.
    pub living: u64,
    /// Descendants that began since a given time and still exist.
    pub begun: u64,
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
    /// Counts a new instance. Returns the limit that refuses it. `size` counts the family in the store, with those that
    /// began since a time; `None` if the driver cannot. It is called for the first instance of a family, because another
    /// driver may have begun others, and near the limit, once per second.
    pub fn refuse(
        &mut self,
        newcomer: Newcomer<'_>,
        now_ms: i64,
        limits: &InstanceLimits,
        size: impl Fn(i64) -> Option<FamilySize>,
    ) -> Option<FamilyLimit> {
        let second = now_ms.div_euclid(1_000);
        if self.counts.len() >= FAMILIES_MAX {
            let kept = |count: &Count| count.second == second || count.in_hour > 1_000;
            self.counts.retain(|_, count| kept(count));
        }
        if self.counts.len() >= FAMILIES_MAX && !self.counts.contains_key(newcomer.root) {
            self.counts.clear();
        }
        let hour = second.div_euclid(3_600);
        if !self.counts.contains_key(newcomer.root) {
            let known = size(hour * 3_600_000).unwrap_or_default();
            let in_hour = u32::try_from(known.begun).unwrap_or(u32::MAX);
            let at_most = known.living + newcomer.uncommitted as u64;
            let count = Count { hour, in_hour, at_most, ..Count::default() };
            self.counts.insert(newcomer.root.into(), count);
        }
        let count = self.counts.get_mut(newcomer.root)?;
        if count.second != second {
            (count.second, count.in_second) = (second, 0);
        }
        if count.hour != hour {
            (count.hour, count.in_hour) = (hour, 0);
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
            let known = size(hour * 3_600_000);
            count.at_most = known.map_or(0, |known| known.living + newcomer.uncommitted as u64);
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
            families.refuse(newcomer, at_ms, &limits, |_| Some(FamilySize { living, begun: 0 }))
        };
        assert_eq!([(0, 0), (1, 9), (2, 9)].map(|(at_ms, living)| begin(at_ms, living)), [None; 3]);
        // Two of the three have ended.
        assert_eq!(begin(3, 1), None);
        assert_eq!(begin(4, 1), Some(FamilyLimit::PerSecond(4)));
        assert_eq!(begin(1_000, 2), None);
        assert_eq!(begin(1_001, 3), Some(FamilyLimit::Instances(3)));
        assert_eq!(begin(2_000, 3), Some(FamilyLimit::Instances(3)));
        assert_eq!(begin(3_000, 0), None);
    }

    /// A driver that starts knows nothing of the families that the last one began.
    #[test]
    fn a_restarted_driver_counts_what_is_there() {
        let limits =
            InstanceLimits { family_instances_max: 5, family_per_hour_max: 7, ..InstanceLimits::default() };
        let begin = |living: u64, begun: u64| {
            let newcomer = Newcomer { root: "r", uncommitted: 0, is_later_item: false };
            let size = |since_ms: i64| {
                assert_eq!(since_ms, 3_600_000);
                Some(FamilySize { living, begun })
            };
            FamilyCounts::default().refuse(newcomer, 3_700_000, &limits, size)
        };
        assert_eq!(begin(4, 6), None);
        assert_eq!(begin(5, 6), Some(FamilyLimit::Instances(5)));
        assert_eq!(begin(4, 7), Some(FamilyLimit::PerHour(7)));
    }
}
