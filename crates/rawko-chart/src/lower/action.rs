//! Actions: by name or inline, one or a list. A named action may be a list and may name others, so expansion is bounded
//! and cycles are detected.

use std::sync::Arc;

use rawko_core::{ActionBlueprint, ActionKind, DataTemplate, Foreach, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lowering;
use super::template::TextRule;
use crate::def::{
    AssignKey, BranchKey, CallKey, CancelKey, ChooseKey, EmitKey, ForeachKey, LogKey, RaiseKey, SendKey,
};
use crate::finding::{Finding, Severity};
use crate::lowered::ActionPlaces;
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::NodeView;

const UNKNOWN_ACTION: &str = crate::codes::UNKNOWN_ACTION.name;
const RECURSIVE_ACTION: &str = crate::codes::RECURSIVE_ACTION.name;
const TOO_LARGE: &str = crate::codes::TOO_LARGE.name;
/// Limit of actions of a chart, named ones counted at every use.
const ACTIONS_MAX: usize = 50_000;
/// Length limit of a label.
const ABOUT_CHARS_MAX: usize = 32;

type LoweredActions = (Vec<ActionBlueprint>, Vec<ActionPlaces>);

/// The entries of `actions:`, each lowered once.
#[derive(Default)]
pub(crate) struct ActionTable<'a> {
    written: FxHashMap<&'a str, NodeView<'a>>,
    order: Vec<&'a str>,
    lowered: FxHashMap<&'a str, LoweredActions>,
    used: FxHashSet<&'a str>,
    /// The names being expanded.
    open: Vec<&'a str>,
    count: usize,
}

impl<'a> ActionTable<'a> {
    pub(crate) fn new(block: Option<NodeView<'a>>) -> Self {
        let mut table = Self::default();
        for pair in block.and_then(NodeView::pairs).into_iter().flatten() {
            table.written.insert(pair.key, pair.value);
            table.order.push(pair.key);
        }
        table
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn optional_actions(&mut self, view: Option<NodeView<'a>>) -> LoweredActions {
        view.map_or_else(Default::default, |view| self.actions(view))
    }

    /// One action or a list of them.
    fn actions(&mut self, view: NodeView<'a>) -> LoweredActions {
        let mut out = LoweredActions::default();
        match view.items() {
            Some(items) => items.for_each(|item| self.action(item, &mut out)),
            None => self.action(view, &mut out),
        }
        out
    }

    fn action(&mut self, view: NodeView<'a>, out: &mut LoweredActions) {
        if self.actions.count >= ACTIONS_MAX {
            self.report_too_many(view.span());
            return;
        }
        match view.text() {
            Some(name) => self.named_action(name, view.span(), out),
            None => {
                if let Some((action, nested)) = self.written_action(view) {
                    self.actions.count += 1;
                    out.0.push(action);
                    out.1.push(ActionPlaces { used: view.span(), defined: view.span(), nested });
                }
            }
        }
    }

    fn named_action(&mut self, name: &'a str, span: Span, out: &mut LoweredActions) {
        let Some(written) = self.actions.written.get(name).copied() else {
            self.report_unknown(name, span);
            return;
        };
        if self.actions.open.contains(&name) {
            let message = format!("the action `{name}` contains itself");
            let finding = Finding::new(RECURSIVE_ACTION, Severity::Fatal, span, message);
            self.report(finding.help("an action may name other actions, but must not lead back to itself"));
            return;
        }
        self.actions.used.insert(name);
        let known = self.actions.lowered.get(name).map(|lowered| lowered.0.len());
        if self.actions.count + known.unwrap_or(0) > ACTIONS_MAX {
            self.report_too_many(span);
            return;
        }
        self.actions.count += known.unwrap_or(0);
        let known = self.actions.lowered.get(name).filter(|_| self.event_data.is_none());
        let (mut actions, mut places) = match known {
            Some(lowered) => lowered.clone(),
            None => self.expand(name, written),
        };
        let label: Arc<str> = name.into();
        actions.iter_mut().for_each(|action| action.label = label.clone());
        places.iter_mut().for_each(|place| place.used = span);
        out.0.append(&mut actions);
        out.1.append(&mut places);
    }

    fn expand(&mut self, name: &'a str, written: NodeView<'a>) -> LoweredActions {
        self.actions.open.push(name);
        let lowered = self.actions(written);
        self.actions.open.pop();
        // Inside a `foreach` names may refer to its locals, so the result is not cached.
        if self.locals.is_empty() {
            self.actions.lowered.insert(name, lowered.clone());
        }
        lowered
    }

    /// Lowers an inline action; empty if its type is missing or unknown, which was reported before.
    fn written_action(&mut self, view: NodeView<'a>) -> Option<(ActionBlueprint, Vec<ActionPlaces>)> {
        let word = view.get("type")?.text()?;
        let mut nested = Vec::new();
        let kind = match word {
            "assign" => self.assign(view),
            "emit" => self.emit(view),
            "raise" => self.raise(view),
            "send" => self.send(view),
            "cancel" => self.cancel(view),
            "invoke" => self.call(view),
            "log" => self.log(view),
            "choose" => self.choose(view, &mut nested),
            "foreach" => self.foreach(view, &mut nested),
            _ => return None,
        };
        Some((ActionBlueprint::new(self.label(word, &kind), kind), nested))
    }

    /// Returns the label of an action without a name: its type and its subject.
    fn label(&self, word: &str, kind: &ActionKind) -> Arc<str> {
        let about = match kind {
            ActionKind::Raise { event: DataTemplate::Literal(event), .. }
            | ActionKind::Emit { event: DataTemplate::Literal(event), .. }
            | ActionKind::Send { event: DataTemplate::Literal(event), .. } => event.to_string(),
            ActionKind::Assign(updates) => {
                let names: Vec<Arc<str>> = updates.iter().map(|(slot, _)| self.context.name(*slot)).collect();
                names.join(", ")
            }
            ActionKind::Call { handler, .. } => handler.to_string(),
            ActionKind::Raise { .. }
            | ActionKind::Emit { .. }
            | ActionKind::Send { .. }
            | ActionKind::Cancel { .. }
            | ActionKind::Log { .. }
            | ActionKind::Choose { .. }
            | ActionKind::Foreach(_) => return word.into(),
        };
        if about.is_empty() || about.chars().count() > ABOUT_CHARS_MAX {
            return word.into();
        }
        format!("{word} {about}").into()
    }

    fn assign(&mut self, view: NodeView<'a>) -> ActionKind {
        let mut updates = Vec::new();
        for pair in view.each_pair() {
            match AssignKey::parse(pair.key) {
                Some(AssignKey::ContextUpdates) => {
                    for update in pair.value.each_pair() {
                        let expr = self.as_expression(update.value);
                        let slot = self.context.assign(update.key, update.key_span, &mut self.findings);
                        let (found, span) = (expr.infer_with(&self.facts()), update.value.span());
                        self.context.check_type(slot, found, span, &mut self.findings);
                        if let Some(value) = expr.constant() {
                            self.context.check_constant(slot, &value, span, &mut self.findings);
                        }
                        updates.push((slot, expr));
                    }
                }
                Some(AssignKey::Type | AssignKey::Description) | None => {}
            }
        }
        ActionKind::Assign(updates)
    }

    fn emit(&mut self, view: NodeView<'a>) -> ActionKind {
        let (mut event, mut data) = (nothing(), nothing());
        for pair in view.each_pair() {
            match EmitKey::parse(pair.key) {
                Some(EmitKey::Event) => event = self.template(pair.value, TextRule::Literal),
                Some(EmitKey::Data) => data = self.template(pair.value, TextRule::Data),
                Some(EmitKey::Type | EmitKey::Description) | None => {}
            }
        }
        ActionKind::Emit { event, data }
    }

    fn raise(&mut self, view: NodeView<'a>) -> ActionKind {
        let (mut event, mut data) = (nothing(), nothing());
        for pair in view.each_pair() {
            match RaiseKey::parse(pair.key) {
                Some(RaiseKey::Event) => event = self.template(pair.value, TextRule::Literal),
                Some(RaiseKey::Data) => data = self.template(pair.value, TextRule::Data),
                Some(RaiseKey::Type | RaiseKey::Description) | None => {}
            }
        }
        self.check_own_event((&event, view.get("event")), (&data, view.get("data")));
        ActionKind::Raise { event, data }
    }

    fn send(&mut self, view: NodeView<'a>) -> ActionKind {
        // Without a target it goes to the instance itself, as in SCXML.
        let mut target = DataTemplate::Literal(Value::str("self"));
        let (mut event, mut data, mut delay, mut id) = (nothing(), nothing(), None, None);
        for pair in view.each_pair() {
            match SendKey::parse(pair.key) {
                Some(SendKey::Target) => {
                    target = self.template(pair.value, TextRule::Data);
                }
                Some(SendKey::Event) => event = self.template(pair.value, TextRule::Literal),
                Some(SendKey::Data) => data = self.template(pair.value, TextRule::Data),
                Some(SendKey::Delay) => delay = Some(self.delay(pair.value)),
                Some(SendKey::Id) => id = Some(self.template(pair.value, TextRule::Literal)),
                Some(SendKey::Type | SendKey::Description) | None => {}
            }
        }
        if matches!(&target, DataTemplate::Literal(Value::Str(name)) if &**name == "self") {
            self.check_own_event((&event, view.get("event")), (&data, view.get("data")));
        }
        self.note_recipient(view, &target, &event, &data);
        ActionKind::Send { target, event, data, delay, id }
    }

    fn cancel(&mut self, view: NodeView<'a>) -> ActionKind {
        let mut id = nothing();
        for pair in view.each_pair() {
            match CancelKey::parse(pair.key) {
                Some(CancelKey::Id) => id = self.template(pair.value, TextRule::Literal),
                Some(CancelKey::Type | CancelKey::Description) | None => {}
            }
        }
        ActionKind::Cancel { id }
    }

    fn call(&mut self, view: NodeView<'a>) -> ActionKind {
        let (mut handler, mut params) = (Arc::from(""), nothing());
        for pair in view.each_pair() {
            match CallKey::parse(pair.key) {
                Some(CallKey::Handler) => {
                    let name = pair.value.text().unwrap_or_default();
                    self.check_handler(name, pair.value.span());
                    handler = name.into();
                }
                Some(CallKey::Params) => params = self.template(pair.value, TextRule::Data),
                Some(CallKey::Type | CallKey::Description) | None => {}
            }
        }
        self.check_params(&handler, &params, view);
        ActionKind::Call { handler, params }
    }

    fn log(&mut self, view: NodeView<'a>) -> ActionKind {
        let mut message = nothing();
        for pair in view.each_pair() {
            match LogKey::parse(pair.key) {
                Some(LogKey::Message) => message = self.template(pair.value, TextRule::Data),
                Some(LogKey::Type | LogKey::Description) | None => {}
            }
        }
        ActionKind::Log { message }
    }

    fn choose(&mut self, view: NodeView<'a>, nested: &mut Vec<ActionPlaces>) -> ActionKind {
        let mut branches = Vec::new();
        for pair in view.each_pair() {
            match ChooseKey::parse(pair.key) {
                Some(ChooseKey::Branches) => {
                    for branch in pair.value.each_item() {
                        branches.push(self.branch(branch, nested));
                    }
                }
                Some(ChooseKey::Type | ChooseKey::Description) | None => {}
            }
        }
        ActionKind::Choose { branches }
    }

    fn branch(
        &mut self,
        view: NodeView<'a>,
        nested: &mut Vec<ActionPlaces>,
    ) -> (Option<rawko_core::Guard>, Vec<ActionBlueprint>) {
        let (mut guard, mut actions) = (None, Vec::new());
        for pair in view.each_pair() {
            match BranchKey::parse(pair.key) {
                Some(BranchKey::Guard) => guard = Some(self.guard(pair.value)),
                Some(BranchKey::Actions) => {
                    let (lowered, mut places) = self.actions(pair.value);
                    actions = lowered;
                    nested.append(&mut places);
                }
                Some(BranchKey::Description) | None => {}
            }
        }
        (guard, actions)
    }

    fn foreach(&mut self, view: NodeView<'a>, nested: &mut Vec<ActionPlaces>) -> ActionKind {
        let (mut array, mut item, mut index, mut block) = (None, "item", "index", None);
        for pair in view.each_pair() {
            match ForeachKey::parse(pair.key) {
                Some(ForeachKey::Array) => array = Some(pair.value),
                Some(ForeachKey::Item) => item = pair.value.text().unwrap_or(item),
                Some(ForeachKey::Index) => index = pair.value.text().unwrap_or(index),
                Some(ForeachKey::Actions) => block = Some(pair.value),
                Some(ForeachKey::Type | ForeachKey::Description) | None => {}
            }
        }
        let array = array.map_or_else(super::language::null, |view| self.as_expression(view));
        let local = self.locals.len();
        self.locals.extend([item, index]);
        let (actions, mut places) = self.optional_actions(block);
        self.locals.truncate(local);
        nested.append(&mut places);
        let (item_slot, index_slot) = (self.context.declared_slot(item), self.context.declared_slot(index));
        ActionKind::Foreach(Box::new(Foreach { array, local, item_slot, index_slot, actions }))
    }

    /// Checks unused actions as well.
    pub(super) fn unused_actions(&mut self) {
        for name in self.actions.order.clone() {
            if !self.actions.used.contains(name) {
                let written = self.actions.written[name];
                self.expand(name, written);
            }
        }
    }

    fn report_unknown(&mut self, name: &str, span: Span) {
        let builtin = crate::def::ACTIONS.variants.iter().any(|(word, _)| *word == name);
        let message = format!("there is no action `{name}`");
        let finding = Finding::new(UNKNOWN_ACTION, Severity::Fatal, span, message);
        let help = match nearest(name, self.actions.order.iter().copied()) {
            _ if builtin => format!("`{name}` is a type of action: write `{{type: {name}, …}}`"),
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("define `{name}` under the chart's `actions`"),
        };
        self.report(finding.help(help));
    }

    fn report_too_many(&mut self, span: Span) {
        if !self.findings.iter().any(|finding| finding.code == TOO_LARGE) {
            let message = format!("more than {ACTIONS_MAX} actions, named ones counted at every use");
            self.report(Finding::new(TOO_LARGE, Severity::Fatal, span, message));
        }
    }
}

fn nothing() -> DataTemplate {
    DataTemplate::Literal(Value::Null)
}
