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
        if let Some(agent) = row.new.agent() {
            let mut player = Player::new(reader.clone(), None::<World>);
            for record in reader.store().records(row.key, 0, usize::MAX)? {
                let entry = player.glance(&record)?;
                let EntryBody::Answered { data, .. } = &entry.what else { continue };
                let Some(model) = data.get("model").as_str().filter(|_| !data.get("usage").is_null()) else {
                    continue;
                };
                let part = self.parts.entry((agent.to_string(), model.to_owned())).or_default();
                *part = part.plus(Spent::of(data.get("usage")));
            }
        }
        for child in reader.store().children(&row.new.id)? {
            self.add_below(reader, &child)?;
        }
        Ok(())
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
