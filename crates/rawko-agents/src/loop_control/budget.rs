//! Budgets: how much may be spent and how much was. Only arithmetic; sums include children because whoever adds them
//! up adds those too.

use serde::{Deserialize, Serialize};

use super::next::Limit;
use crate::message::Usage;

/// What may be spent; `None`: as much as it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub time_ms: Option<u64>,
    pub tool_calls: Option<u64>,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    pub tokens: u64,
    pub cost_usd: f64,
    pub time_ms: u64,
    pub tool_calls: u64,
    /// Tokens that nobody knows the price of: they are in `tokens` but not in `cost_usd`.
    pub unpriced_tokens: u64,
}

impl Budget {
    /// The narrower of both, each limit for itself.
    #[must_use]
    pub fn narrowed(self, other: Budget) -> Budget {
        Budget {
            tokens: least(self.tokens, other.tokens),
            cost_usd: least_cost(self.cost_usd, other.cost_usd),
            time_ms: least(self.time_ms, other.time_ms),
            tool_calls: least(self.tool_calls, other.tool_calls),
        }
    }

    /// What is left; never less than nothing.
    #[must_use]
    pub fn remaining(self, spent: &Spent) -> Budget {
        let left = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent));
        Budget {
            tokens: left(self.tokens, spent.tokens),
            cost_usd: self.cost_usd.map(|limit| (limit - spent.cost_usd).max(0.0)),
            time_ms: left(self.time_ms, spent.time_ms),
            tool_calls: left(self.tool_calls, spent.tool_calls),
        }
    }

    /// The first limit of which nothing is left.
    pub fn exhausted(&self) -> Option<Limit> {
        let is_zero = |left: Option<u64>| left == Some(0);
        match self {
            _ if is_zero(self.tokens) => Some(Limit::Tokens),
            _ if self.cost_usd.is_some_and(|left| left <= 0.0) => Some(Limit::Cost),
            _ if is_zero(self.time_ms) => Some(Limit::Time),
            _ if is_zero(self.tool_calls) => Some(Limit::ToolCalls),
            _ => None,
        }
    }

    /// The limit that has been reached, if any.
    pub fn exceeded(&self, spent: &Spent) -> Option<Limit> {
        self.remaining(spent).exhausted()
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn least_cost(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

impl Spent {
    pub fn of_usage(usage: &Usage) -> Self {
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        Self {
            tokens,
            cost_usd: usage.cost_usd.unwrap_or_default(),
            unpriced_tokens: if usage.cost_usd.is_some() { 0 } else { tokens },
            ..Self::default()
        }
    }

    /// Both together: completions, tool calls, children.
    #[must_use]
    pub fn plus(self, other: &Spent) -> Spent {
        Spent {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: self.cost_usd + other.cost_usd,
            time_ms: self.time_ms.saturating_add(other.time_ms),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            unpriced_tokens: self.unpriced_tokens.saturating_add(other.unpriced_tokens),
        }
    }
}
