//! Guards: an inline expression, or the name of an entry in `guards:`.

use rawko_core::{Guard, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::expression::ExpressionUse;
use super::template::{ExplicitValue, said};
use super::{Lowering, language};
use crate::tree::{Data, NodeView, to_value};

/// The entries of `guards:`, each lowered once.
#[derive(Default)]
pub(crate) struct GuardTable<'a> {
    written: FxHashMap<&'a str, NodeView<'a>>,
    order: Vec<&'a str>,
    lowered: FxHashMap<&'a str, Guard>,
    used: FxHashSet<&'a str>,
}

impl<'a> GuardTable<'a> {
    pub(crate) fn new(block: Option<NodeView<'a>>) -> Self {
        let mut table = Self::default();
        for pair in block.and_then(NodeView::pairs).into_iter().flatten() {
            table.written.insert(pair.key, pair.value);
            table.order.push(pair.key);
        }
        table
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.order.iter().copied()
    }
}

impl<'a> Lowering<'a> {
    pub(crate) fn guard(&mut self, view: NodeView<'a>) -> Guard {
        if let Some((name, written)) = view.text().and_then(|text| self.guards.written.get_key_value(text)) {
            return self.named_guard(name, *written);
        }
        self.written_guard(view)
    }

    fn named_guard(&mut self, name: &'a str, written: NodeView<'a>) -> Guard {
        self.guards.used.insert(name);
        // If the schema of the event's data is known, the guard is checked against it each time.
        if let Some(guard) = self.guards.lowered.get(name).filter(|_| self.event_data.is_none()) {
            return guard.clone();
        }
        let guard = Guard { text: name.into(), ..self.written_guard(written) };
        if self.locals.is_empty() {
            self.guards.lowered.insert(name, guard.clone());
        }
        guard
    }

    fn written_guard(&mut self, view: NodeView<'a>) -> Guard {
        match view.data() {
            Data::Str(text) => {
                let expr = self.expression(text, view.span(), ExpressionUse::Guard);
                Guard { expr, text: text.into() }
            }
            Data::Map { .. } => match said(view) {
                Some(ExplicitValue::Expr(expr)) => self.written_guard(expr),
                Some(ExplicitValue::Literal(literal)) => fixed(to_value(literal)),
                None => fixed(Value::Null),
            },
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::List { .. } => {
                fixed(to_value(view))
            }
        }
    }

    /// Checks unused guards as well.
    pub(super) fn unused_guards(&mut self) {
        for name in self.guards.order.clone() {
            if !self.guards.used.contains(name) {
                let written = self.guards.written[name];
                self.written_guard(written);
            }
        }
    }
}

fn fixed(value: Value) -> Guard {
    Guard { text: value.to_string().into(), expr: language::literal(value) }
}
