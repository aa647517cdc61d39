//! Display data of a state or a transition.

use rawko_core::{Docs, Value};

use super::Lowering;
use crate::def::DocsDef;
use crate::tree::{NodeView, to_value};

impl<'a> Lowering<'a> {
    pub(super) fn docs(&mut self, def: &DocsDef<'a>) -> Option<Box<Docs>> {
        if def.description.is_none() && def.tags.is_none() && def.meta.is_none() {
            return None;
        }
        let meta = def.meta.map_or(Value::Null, to_value);
        let text = |key: &str| meta.get(key).as_str().map(str::to_owned);
        let position = meta.get("position");
        let position = position.get("x").as_f64().zip(position.get("y").as_f64());
        Some(Box::new(Docs {
            description: def
                .description
                .and_then(NodeView::text)
                .map(str::to_owned)
                .or_else(|| text("description")),
            tags: def.tags.map_or_else(Vec::new, texts),
            label: text("label"),
            color: text("color"),
            position,
            meta,
        }))
    }
}

/// Reads a text or a list of texts.
pub(super) fn texts(view: NodeView<'_>) -> Vec<String> {
    view.one_or_many().into_iter().filter_map(|item| item.text().map(str::to_owned)).collect()
}
