//! JSON Schemas inside a chart: compiled once, every problem shown at its place.

use rawko_core::{Schema, SchemaProblemKind};

use super::Lowering;
use crate::codes::INVALID_SCHEMA;
use crate::finding::{Finding, Severity};
use crate::tree::{NodeView, to_value};

impl<'a> Lowering<'a> {
    /// Compiles the schema at a place.
    pub(super) fn schema(&mut self, view: NodeView<'a>) -> Schema {
        let (schema, problems) = Schema::compile(&to_value(view));
        for problem in problems {
            let severity = match problem.kind {
                SchemaProblemKind::Invalid => Severity::Error,
                SchemaProblemKind::Unsupported => Severity::Warning,
            };
            let at = problem.path.iter().fold(view, |at, key| step(at, key).unwrap_or(at));
            let finding = Finding::new(INVALID_SCHEMA.name, severity, at.span(), problem.message);
            self.report(match problem.kind {
                SchemaProblemKind::Invalid => finding,
                SchemaProblemKind::Unsupported => finding.help("remove it, or check it with a guard"),
            });
        }
        schema
    }

    /// `context_schema`, with its parts given to the keys.
    pub(super) fn context_schema(&mut self) -> Option<Schema> {
        let schema = self.chart.context_schema.map(|view| self.schema(view))?;
        self.context.apply_parts(&schema, &mut self.findings);
        Some(schema)
    }
}

pub(super) fn step<'a>(view: NodeView<'a>, key: &str) -> Option<NodeView<'a>> {
    view.get(key).or_else(|| view.each_item().nth(key.parse().ok()?))
}
