//! Usage of a program, and the rest of its caller's budget. Like a model, it is not interrupted in the middle of a
//! response: tokens and cost are checked before its next tool call.

use rawko_model::Usage;

use crate::work::types::{BudgetLeft, UsageRecord};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Account {
    tokens_left: Option<u64>,
    cost_left_usd: Option<f64>,
    tool_calls_left: Option<u64>,
    tool_calls: u64,
    /// Usage of earlier rounds.
    before: Usage,
    now: Usage,
}

impl Account {
    pub(super) fn new(left: &BudgetLeft) -> Self {
        let whole = |left: Option<i64>| left.and_then(|left| u64::try_from(left).ok());
        Self {
            tokens_left: whole(left.tokens),
            cost_left_usd: left.cost_usd,
            tool_calls_left: whole(left.tool_calls),
            ..Self::default()
        }
    }

    pub(super) fn spent(&mut self, so_far: Usage) {
        self.now = so_far;
    }

    /// Starts another round; the program counts from zero again.
    pub(super) fn next_round(&mut self) {
        (self.before, self.now) = (self.usage(), Usage::default());
    }

    /// Counts a tool call, or returns the exhausted part of the budget.
    pub(super) fn count_call(&mut self) -> Result<(), &'static str> {
        let usage = self.usage();
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        if self.tool_calls_left.is_some_and(|left| self.tool_calls >= left) {
            return Err("tool_calls");
        }
        // An estimate never interrupts; it counts at the end of the execution.
        if !usage.is_estimate && self.tokens_left.is_some_and(|left| tokens >= left) {
            return Err("tokens");
        }
        if self.cost_left_usd.is_some_and(|left| usage.cost_usd.unwrap_or(0.0) >= left) {
            return Err("cost_usd");
        }
        self.tool_calls += 1;
        Ok(())
    }

    fn usage(&self) -> Usage {
        self.before.plus(self.now)
    }

    /// Returns the `usage` of a result.
    pub(super) fn record(&self, time_ms: u64) -> UsageRecord {
        let usage = self.usage();
        UsageRecord {
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            is_estimate: usage.is_estimate,
            cost_usd: usage.cost_usd,
            tool_calls: self.tool_calls,
            time_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(budget: &str) -> Account {
        let budget: Option<BudgetLeft> = serde_json::from_str(budget).unwrap();
        Account::new(&budget.unwrap_or_default())
    }

    #[test]
    fn the_first_part_that_is_used_up_is_named() {
        let spent = Usage { input_tokens: 60, output_tokens: 40, cost_usd: Some(0.5), ..Usage::default() };
        let table = [
            ("no budget", "null", Ok(())),
            ("enough", r#"{"tokens": 101, "cost_usd": 0.6, "tool_calls": 2}"#, Ok(())),
            ("tokens", r#"{"tokens": 100}"#, Err("tokens")),
            ("cost", r#"{"cost_usd": 0.5}"#, Err("cost_usd")),
            ("a guess at tokens", r#"{"tokens": 100, "tool_calls": 1}"#, Ok(())),
            ("no calls at all", r#"{"tool_calls": 0}"#, Err("tool_calls")),
        ];
        for (case, budget, expected) in table {
            let mut account = account(budget);
            account.spent(Usage { is_estimate: case == "a guess at tokens", ..spent });
            assert_eq!(account.count_call(), expected, "{case}");
        }
    }

    #[test]
    fn calls_are_counted_and_rounds_add_up() {
        let mut account = account(r#"{"tool_calls": 2}"#);
        account.spent(Usage { input_tokens: 5, output_tokens: 1, ..Usage::default() });
        account.next_round();
        account.spent(Usage { input_tokens: 7, output_tokens: 2, cost_usd: Some(0.25), ..Usage::default() });
        assert_eq!(
            [account.count_call(), account.count_call(), account.count_call()],
            [Ok(()), Ok(()), Err("tool_calls")]
        );
        let usage = account.record(9);
        assert_eq!((usage.tokens, usage.tool_calls, usage.time_ms), (15, 2, 9));
        // The cost of the first round is unknown.
        assert_eq!(usage.cost_usd, None);
    }
}
