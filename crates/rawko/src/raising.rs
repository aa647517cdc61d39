//! `LimitOverride`: higher limits for a task that ended at one. Validates them and converts them to input of its chart;
//! separate from `resume`, which continues the task.

use rawko_core::Value;

use crate::durations;
use crate::failure::CommandFailure;
use crate::standing::InstanceStanding;
use crate::times;

/// The raised limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LimitOverride {
    /// Total, including earlier ones.
    pub(crate) iterations: Option<u32>,
    /// Total, including earlier spending.
    pub(crate) budget_usd: Option<f64>,
    /// Additional time from now.
    pub(crate) more_ms: Option<i64>,
}

impl LimitOverride {
    pub(crate) fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Fails unless the task ended at a limit and its chart supports continuing. Every limit that was reached has to be
    /// raised, or the task would end again at once.
    pub(crate) fn insist(&self, standing: &InstanceStanding) -> Result<(), CommandFailure> {
        let (id, output) = (standing.id(), standing.snapshot.output());
        let knows = standing.chart.context_names().iter().any(|name| &**name == "raised");
        if !knows || output.get("outcome").as_str() != Some("limit_reached") {
            let message = format!("{id} did not stop at a limit, so there is none to raise");
            return Err(CommandFailure::Usage(format!("{message}; continue with `rawko resume {id}`")));
        }
        self.insist_on_iterations(standing)?;
        self.insist_on_budget(standing)?;
        self.insist_on_time(standing)
    }

    fn insist_on_iterations(&self, standing: &InstanceStanding) -> Result<(), CommandFailure> {
        let context = standing.snapshot.context_map(&standing.chart);
        let begun = standing.snapshot.output().get("iterations").as_i64().unwrap_or(0);
        let most = self.iterations.map_or_else(|| context.get("maxIterations").as_i64(), |n| Some(n.into()));
        if most.is_some_and(|most| most <= begun) {
            let message = format!("has used {begun} iterations; pass a larger --max-iterations");
            return Err(CommandFailure::Usage(format!("{} {message}", standing.id())));
        }
        Ok(())
    }

    fn insist_on_budget(&self, standing: &InstanceStanding) -> Result<(), CommandFailure> {
        let spent = standing.spent().cost_usd;
        let most = self.budget_usd.or_else(|| budget_usd(standing));
        if most.is_some_and(|most| most <= spent) {
            let message = format!("has spent ${spent:.4}; pass a larger --max-budget-usd");
            return Err(CommandFailure::Usage(format!("{} {message}", standing.id())));
        }
        Ok(())
    }

    fn insist_on_time(&self, standing: &InstanceStanding) -> Result<(), CommandFailure> {
        let is_out_of_time = is_out_of_time(standing.snapshot.output());
        match (is_out_of_time, self.more_ms) {
            (true, Some(_)) | (false, None) => Ok(()),
            (true, None) => {
                let message = "has timed out; pass --timeout with the additional time";
                Err(CommandFailure::Usage(format!("{} {message}", standing.id())))
            }
            (false, Some(_)) => {
                let message = "has not timed out; remove --timeout";
                Err(CommandFailure::Usage(format!("{} {message}", standing.id())))
            }
        }
    }

    /// Returns the changes of the context: keys and expressions.
    pub(crate) fn edits(&self) -> Vec<(String, String)> {
        let iterations = self.iterations.map(|most| ("maxIterations", most.to_string()));
        let elapsed = "now() - parse_time(context.startedAt)";
        let time = self.more_ms.map(|more| ("timeoutMs", format!("{elapsed} + {more}")));
        let edits = [Some(("raised", "true".to_owned())), iterations, time];
        edits.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    pub(crate) fn budget(&self) -> Value {
        self.budget_usd.map_or(Value::Null, |most| Value::map([("cost_usd", Value::float(most))]))
    }

    /// Formats the limits: `up to 20 iterations, up to $5`
    pub(crate) fn words(&self) -> String {
        let iterations = self.iterations.map(|most| format!("up to {most} iterations"));
        let budget = self.budget_usd.map(|most| format!("up to ${most}"));
        let time = self.more_ms.map(|more| format!("for {} more", times::span(more)));
        [iterations, budget, time].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Returns the option that continues a task that ended at a limit: twice the reached value, or 30 minutes more.
pub(crate) fn advice(standing: &InstanceStanding) -> Option<String> {
    let (output, spent) = (standing.snapshot.output(), standing.spent().cost_usd);
    if is_out_of_time(output) {
        return Some("--timeout 30m".to_owned());
    }
    if output.get("problem").get("code").as_str() == Some("max_iterations") {
        let reached = output.get("iterations").as_i64().unwrap_or(0);
        return Some(format!("--max-iterations {}", reached.max(1) * 2));
    }
    let is_used_up = budget_usd(standing).is_some_and(|most| most <= spent);
    is_used_up.then(|| format!("--max-budget-usd {}", (spent * 200.0).ceil() / 100.0))
}

fn is_out_of_time(output: &Value) -> bool {
    output.get("problem").get("code").as_str() == Some("timeout")
}

/// Returns the budget of the task, if it has one.
fn budget_usd(standing: &InstanceStanding) -> Option<f64> {
    let policy: Value = serde_json::from_str(&standing.row.new.policy).ok()?;
    policy.get("budget").get("cost_usd").as_f64()
}

pub(crate) fn read_ms(text: &str) -> Result<i64, String> {
    let ms = durations::read_ms(text)?;
    i64::try_from(ms).ok().filter(|ms| *ms > 0).ok_or_else(|| "use a duration such as 30m".to_owned())
}

pub(crate) fn read_dollars(text: &str) -> Result<f64, String> {
    let dollars: f64 =
        text.trim_start_matches('$').parse().map_err(|_| "use an amount such as 2.50".to_owned())?;
    if dollars.is_finite() && dollars > 0.0 {
        Ok(dollars)
    } else {
        Err("must be greater than zero".to_owned())
    }
}
