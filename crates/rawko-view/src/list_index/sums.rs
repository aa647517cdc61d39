//! `UsageSum`: usage in whole numbers, so that adding and subtracting again gives exactly the number before.

use rawko_host::Spent;

use super::SortValue;

/// Parts of a US dollar.
const PER_DOLLAR: f64 = 1e9;

/// Usage of one instance or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageSum {
    tokens: i64,
    /// In billionths of a US dollar.
    cost: i64,
    time_ms: i64,
    tool_calls: i64,
}

impl UsageSum {
    #[expect(clippy::cast_possible_truncation, reason = "a cost beyond nine billion dollars is not expected")]
    pub(super) fn of(spent: Spent) -> UsageSum {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        UsageSum {
            tokens: whole(spent.tokens),
            cost: (spent.cost_usd * PER_DOLLAR).round() as i64,
            time_ms: whole(spent.time_ms),
            tool_calls: whole(spent.tool_calls),
        }
    }

    pub(super) fn plus(self, other: UsageSum) -> UsageSum {
        UsageSum {
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
            time_ms: self.time_ms.saturating_add(other.time_ms),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }

    pub(super) fn minus(self, other: UsageSum) -> UsageSum {
        self.plus(UsageSum {
            tokens: -other.tokens,
            cost: -other.cost,
            time_ms: -other.time_ms,
            tool_calls: -other.tool_calls,
        })
    }

    /// Adds the sum to the usage of an instance.
    #[expect(clippy::cast_precision_loss, reason = "costs are far below 2^53 billionths")]
    pub(super) fn added_to(self, own: Spent) -> Spent {
        if self == UsageSum::default() {
            return own;
        }
        let whole = |number: i64| u64::try_from(number).unwrap_or(0);
        let all = self.plus(UsageSum::of(own));
        Spent {
            tokens: whole(all.tokens),
            cost_usd: all.cost as f64 / PER_DOLLAR,
            time_ms: whole(all.time_ms),
            tool_calls: whole(all.tool_calls),
        }
    }

    /// The value to sort by: cost, then tokens.
    pub(super) fn cost(self) -> SortValue {
        SortValue::Cost(self.cost, self.tokens)
    }
}
