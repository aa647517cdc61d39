//! Evaluates one expression against a resting instance, for queries and edits from outside (`fork --set key=expr`),
//! with the same names as in the chart.

use crate::chart::Chart;
use crate::expr::{self, EvalScope, NameResolver};
use crate::ids::{NodeId, Slot};
use crate::snapshot::Snapshot;
use crate::value::Value;
use crate::world::Now;

impl Chart {
    /// Returns the value of an expression for this snapshot, or its problem.
    pub fn evaluate<'w>(
        &self,
        snapshot: &Snapshot,
        text: &str,
        now: impl Into<Now<'w>>,
    ) -> Result<Value, String> {
        let now = now.into();
        let first = |problems: Vec<expr::ExprProblem>| {
            problems.first().map_or_else(|| "it cannot be read".to_owned(), |problem| problem.message.clone())
        };
        let resolved = expr::parse(text).and_then(|ast| ast.resolve(&CompiledNames(self))).map_err(first)?;
        let scope = EvalScope {
            context: snapshot.context(),
            context_names: self.context_names(),
            locals: &[],
            event: None,
            input: snapshot.input(),
            now_ms: now.ms,
            world: now.world,
            instance: now.instance,
            configuration: self.active(snapshot.configuration()),
            sizes: now.sizes,
        };
        resolved.eval(&scope).map_err(|error| error.message)
    }
}

struct CompiledNames<'a>(&'a Chart);

impl NameResolver for CompiledNames<'_> {
    fn context_key(&self, key: &str) -> Option<Slot> {
        self.0.context_names().iter().position(|name| &**name == key).map(|slot| Slot(slot as u32))
    }

    fn context_keys(&self) -> Vec<String> {
        self.0.context_names().iter().map(|name| name.to_string()).collect()
    }

    fn local(&self, _: &str) -> Option<usize> {
        None
    }

    fn state(&self, path: &str) -> Option<NodeId> {
        self.0.find(path)
    }
}
