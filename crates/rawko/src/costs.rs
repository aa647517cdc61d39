//! `Costs`: tokens and cost of a task by agent and model, from the completions in its journal.

use std::collections::BTreeMap;

use rawko_core::World;
use rawko_host::{SnapshotReader, Spent};
use rawko_store::InstanceRow;

use crate::failure::CommandFailure;
use crate::following::grouped;
use crate::journal::{EntryBody, Player};
use rawko_view::spending::spent_until_now;

/// The arbiter and everything else that is no agent.
const OTHERS: &str = "arbiter";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Costs {
    /// Agent and model.
    parts: BTreeMap<(String, String), Spent>,
}

/// Returns true if one of the instances runs an agent.
fn has_instance(rows: &[InstanceRow], agent: &str) -> bool {
    rows.iter().any(|row| row.new.agent().is_some_and(|own| *own == *agent))
}

impl Costs {
    pub(crate) fn read(reader: &SnapshotReader, id: &str) -> Result<Costs, CommandFailure> {
        let root = reader.find(id)?;
        let mut costs = Costs::default();
        costs.add_below(reader, &root)?;
        let known = costs.parts.values().fold(Spent::default(), |sum, part| sum.plus(*part));
        let total = spent_until_now(reader, &root)?;
        let rest = Spent {
            tokens: total.tokens.saturating_sub(known.tokens),
            cost_usd: (total.cost_usd - known.cost_usd).max(0.0),
            ..Spent::default()
        };
        if rest.tokens > 0 {
            costs.parts.insert((OTHERS.to_owned(), String::new()), rest);
        }
        Ok(costs)
    }

    fn add_below(&mut self, reader: &SnapshotReader, row: &InstanceRow) -> Result<(), CommandFailure> {
        let children = reader.store().children(&row.new.id)?;
        let own = row.new.agent();
        let mut player = Player::new(reader.clone(), None::<World>);
        for record in reader.store().records(row.key, 0, usize::MAX)? {
            let entry = player.glance(&record)?;
            let (EntryBody::Answered { data, .. } | EntryBody::CallFailed { error: data, .. }) = &entry.what
            else {
                continue;
            };
            if data.get("usage").is_null() {
                continue;
            }
            let model = data.get("model").as_str();
            let agent = match (model, &own) {
                (Some(_), Some(agent)) => agent.to_string(),
                // The arbiter is the rest.
                (Some(_), None) => continue,
                // A program names no model. An agent that is a chart has an instance, and its completions there.
                (None, _) => match data.get("agent").as_str() {
                    Some(agent) if !has_instance(&children, agent) => agent.to_owned(),
                    _ => continue,
                },
            };
            let part = self.parts.entry((agent, model.unwrap_or_default().to_owned())).or_default();
            *part = part.plus(Spent::of(data.get("usage")));
        }
        children.iter().try_for_each(|child| self.add_below(reader, child))
    }

    /// Returns a line for each agent and model: `developer  demo/x  1,204 tokens  $0.0123`
    pub(crate) fn lines(&self) -> Vec<String> {
        let wide = |part: fn(&(String, String)) -> usize| self.parts.keys().map(part).max().unwrap_or(0);
        let (first, second) = (wide(|(agent, _)| agent.len()), wide(|(_, model)| model.len()));
        let line = |((agent, model), spent): (&(String, String), &Spent)| {
            let cost = if spent.cost_usd > 0.0 { format!("  ${:.4}", spent.cost_usd) } else { String::new() };
            format!("{agent:<first$}  {model:<second$}  {} tokens{cost}", grouped(spent.tokens))
        };
        self.parts.iter().map(line).collect()
    }
}
