//! `each` of an invoke: its list, its names, its join and the handlers of its items.

use rawko_core::expr::Type;
use rawko_core::{EachSpec, InvokeSpec, JoinRule, Schema, TransitionTrigger, Value};

use super::transition::Blocks;
use super::{EventData, Lowering};
use crate::codes::{INVALID_ITEM_NAME, JOIN_IMPOSSIBLE, NEEDS_EACH, ON_TIMEOUT_WITH_EACH, TYPE_MISMATCH};
use crate::def::{InvokeDef, JoinKey};
use crate::tree::{Data, NodeView};

const MAX_CONCURRENT_DEFAULT: u32 = 8;
/// Names with a meaning of their own in expressions.
const BINDINGS: &[&str] = &[
    "context", "event", "input", "env", "agents", "instance", "now", "stateIn", "true", "false", "null",
    "and", "or", "not", "in",
];

impl<'a> Lowering<'a> {
    pub(super) fn each(&mut self, invoke: &InvokeDef<'a>) -> Option<Box<EachSpec>> {
        let Some(view) = invoke.each else {
            for (key, span) in &invoke.each_keys {
                let message = format!("`{key}` takes effect only with `each`");
                self.report(NEEDS_EACH.at(*span, message).help(format!("add `each: …`, or remove `{key}`")));
            }
            return None;
        };
        if let Some((span, _)) = invoke.on_timeout {
            let message = "`onTimeout` is never taken beside `each`: a timeout is the failure of one item";
            self.report(
                ON_TIMEOUT_WITH_EACH
                    .at(span, message)
                    .help("handle it in `onItemError`, where `event.data.category` is `timeout`"),
            );
        }
        self.check_names(invoke);
        let list = self.as_expression(view);
        let found = list.infer_with(&self.facts());
        if !matches!(found, Type::Any | Type::List | Type::Null) {
            let message = format!("`each` needs a list, and this is a {}", found.name());
            self.report(TYPE_MISMATCH.at(view.span(), message));
        }
        let each = EachSpec {
            max_concurrent: whole(invoke.max_concurrent).unwrap_or(MAX_CONCURRENT_DEFAULT),
            join: join(invoke.join),
            on_item_error: invoke.on_item_error.is_some(),
            list,
        };
        self.check_join(&each, invoke);
        Some(Box::new(each))
    }

    fn check_names(&mut self, invoke: &InvokeDef<'a>) {
        let (item, index) = names(invoke);
        for (key, name, view) in [("as", item, invoke.item), ("index", index, invoke.index)] {
            let Some(view) = view else { continue };
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_name = name.chars().all(is_word) && name.starts_with(|c: char| !c.is_ascii_digit());
            let message = if name.is_empty() || !is_name {
                format!("`{name}` is not a name that an expression can use")
            } else if BINDINGS.contains(&name) {
                format!("`{key}: {name}` hides the binding `{name}`")
            } else if item == index {
                format!("the item and its index are both called `{name}`")
            } else {
                continue;
            };
            let help = format!("use another name, as in `{key}: {}`", if key == "as" { "file" } else { "i" });
            self.report(INVALID_ITEM_NAME.at(view.span(), message).help(help));
            return;
        }
    }

    /// A list that is written out has a known length.
    fn check_join(&mut self, each: &EachSpec, invoke: &InvokeDef<'a>) {
        let Some(Value::List(list)) = each.list.constant() else { return };
        let wanted = match each.join {
            JoinRule::All | JoinRule::Settled => return,
            JoinRule::Any => 1,
            JoinRule::AtLeast(wanted) => wanted as usize,
        };
        if wanted > list.len() {
            let span = invoke.join.map_or(invoke.body, NodeView::span);
            let plural = |number: usize| if number == 1 { "" } else { "s" };
            let message = format!(
                "the join needs {wanted} result{}, and the list has {} item{}",
                plural(wanted),
                list.len(),
                plural(list.len())
            );
            self.report(JOIN_IMPOSSIBLE.at(span, message).help("lower the number, or use `settled`"));
        }
    }

    /// Binds the item and its index until [`Lowering::leave_each`].
    pub(super) fn enter_each(&mut self, each: Option<&EachSpec>, invoke: &InvokeDef<'a>) {
        let Some(each) = each else { return };
        let item = each.list.items_with(&self.facts());
        let (name, index) = names(invoke);
        self.locals.extend([name, index]);
        self.local_schemas = vec![item, Some(integer())];
    }

    pub(super) fn leave_each(&mut self) {
        self.locals.clear();
        self.local_schemas.clear();
    }

    /// Lowers `onItemDone` and `onItemError` of the invoke that was added last.
    pub(super) fn item_handlers(&mut self, node: u32, def: &InvokeDef<'a>, blocks: &mut Blocks) {
        let Some(invoke) = blocks.invokes.len().checked_sub(1) else { return };
        let Some(each) = blocks.invokes[invoke].each.clone() else { return };
        self.enter_each(Some(&each), def);
        let mut written = [(false, def.on_item_done), (true, def.on_item_error)];
        written.sort_by_key(|(_, part)| part.map(|(span, _)| span));
        for (failed, part) in written {
            if let Some((span, view)) = part {
                self.transitions(node, TransitionTrigger::Item { invoke, failed }, span, view, blocks);
            }
        }
        self.leave_each();
    }

    /// Returns the schema of `event.data` in a handler of an item.
    pub(super) fn item_data(&self, invoke: &InvokeSpec, failed: bool) -> Option<EventData> {
        if failed {
            return Some(self.failure_data(&invoke.src));
        }
        let spec = self.spec_of(&invoke.src)?;
        Some(EventData { schema: spec.output.clone()?, is_open_ended: self.is_open_ended(spec) })
    }

    /// Returns the schema of `event.data` when the whole has ended.
    pub(super) fn each_data(&self, invoke: &InvokeSpec, word: &str) -> Option<EventData> {
        let each = invoke.each.as_deref()?;
        let item =
            each.list.items_with(&self.facts()).map_or_else(anything, |schema| schema.source().clone());
        let error = self.failure_data(&invoke.src).schema.source().clone();
        let index = integer().source().clone();
        if word != "done" {
            let mut parts = vec![("index", index), ("item", item), ("error", error.clone())];
            let own = error.get("properties").as_map().into_iter().flatten();
            parts.extend(own.filter_map(|(key, schema)| Some((known_key(key)?, schema.clone()))));
            let is_open_ended = !self.registry.is_strict();
            return Some(EventData { schema: compiled(object(parts)), is_open_ended });
        }
        let spec = self.spec_of(&invoke.src);
        let is_open_ended = spec.is_some_and(|spec| self.is_open_ended(spec));
        let output = spec.and_then(|spec| spec.output.as_ref());
        let data = output.map_or_else(anything, |schema| schema.source().clone());
        let result = match each.join {
            JoinRule::Any => object(vec![("index", index), ("item", item), ("data", data)]),
            JoinRule::All if each.on_item_error => {
                list_of(Value::map([("anyOf", Value::list(vec![data, type_of("null")]))]))
            }
            JoinRule::All => list_of(data),
            JoinRule::Settled | JoinRule::AtLeast(_) => {
                list_of(object(vec![("status", type_of("string")), ("data", data), ("error", error)]))
            }
        };
        Some(EventData { schema: compiled(result), is_open_ended })
    }
}

fn names<'a>(invoke: &InvokeDef<'a>) -> (&'a str, &'a str) {
    let name = |view: Option<NodeView<'a>>| view.and_then(NodeView::text);
    (name(invoke.item).unwrap_or("item"), name(invoke.index).unwrap_or("index"))
}

fn whole(view: Option<NodeView<'_>>) -> Option<u32> {
    match view?.data() {
        Data::Int(number) if number > 0 => Some(u32::try_from(number).unwrap_or(u32::MAX)),
        _ => None,
    }
}

fn join(view: Option<NodeView<'_>>) -> JoinRule {
    let Some(view) = view else { return JoinRule::All };
    match view.text() {
        Some("any") => return JoinRule::Any,
        Some("settled") => return JoinRule::Settled,
        Some(_) => return JoinRule::All,
        None => {}
    }
    let mut pairs = view.each_pair().filter(|pair| JoinKey::parse(pair.key) == Some(JoinKey::AtLeast));
    pairs.next().map_or(JoinRule::All, |pair| JoinRule::AtLeast(whole(Some(pair.value)).unwrap_or(1)))
}

/// The keys that a failure of the whole shares with the failure of a call.
fn known_key(key: &str) -> Option<&'static str> {
    ["category", "code", "message", "retryable"].into_iter().find(|known| *known == key)
}

fn compiled(source: Value) -> Schema {
    Schema::compile(&source).0
}

fn integer() -> Schema {
    compiled(type_of("integer"))
}

fn anything() -> Value {
    Value::map(std::iter::empty::<(&str, Value)>())
}

fn type_of(name: &str) -> Value {
    Value::map([("type", Value::str(name))])
}

fn list_of(items: Value) -> Value {
    Value::map([("type", Value::str("array")), ("items", items)])
}

fn object(parts: Vec<(&'static str, Value)>) -> Value {
    Value::map([("type", Value::str("object")), ("properties", Value::map(parts))])
}
