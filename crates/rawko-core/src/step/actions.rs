//! Actions: the effects of a block on context, queue and effects. The first one that fails skips the rest of its block
//! and raises `error.execution`.

use std::sync::Arc;

use smallvec::SmallVec;

use super::faults::ExpressionSite;
use super::run::Macrostep;
use super::trace::TraceEntry;
use crate::blueprint::{ActionBlueprint, ActionKind, DataTemplate, Delay, Foreach, Guard};
use crate::effect::{Effect, Send, SendTarget};
use crate::event::NamedEvent;
use crate::expr::{self, EvalError, Expr};
use crate::fault::FaultKind;
use crate::ids::{LabelId, Slot};
use crate::service::{ServiceClass, ServiceName};
use crate::snapshot::TimerPurpose;
use crate::value::{Map, Value};

type ActionsResult = Result<(), Box<FailedAction>>;

/// The reason of a failed action, and the id of the failed send. Boxed, because it is part of every return type here
/// and rarely present.
struct FailedAction {
    message: String,
    send_id: Option<Arc<str>>,
}

impl From<EvalError> for Box<FailedAction> {
    fn from(error: EvalError) -> Self {
        Box::new(FailedAction { message: error.message, send_id: None })
    }
}

impl Macrostep<'_> {
    /// Runs a block: entry, exit or transition actions.
    #[inline]
    pub(super) fn run_block(&mut self, actions: &[ActionBlueprint], place: ExpressionSite) {
        if actions.is_empty() {
            return;
        }
        let depth = self.locals.len();
        self.place = place;
        if let Err(failed) = self.run_actions(actions) {
            self.locals.truncate(depth);
            self.fail(FaultKind::Action, place, failed.message, failed.send_id);
        }
    }

    fn run_actions(&mut self, actions: &[ActionBlueprint]) -> ActionsResult {
        for action in actions {
            if !matches!(action.kind, ActionKind::Assign(_)) {
                self.trace(|| TraceEntry::Acted { label: action.label_id });
            }
            self.run_action(action).map_err(|mut failed| {
                failed.message = format!("`{}`: {}", action.label, failed.message);
                failed
            })?;
        }
        Ok(())
    }

    fn run_action(&mut self, action: &ActionBlueprint) -> ActionsResult {
        match &action.kind {
            ActionKind::Assign(updates) => self.assign(updates, action.label_id),
            ActionKind::Raise { event, data } => self.raise_event(event, data),
            ActionKind::Emit { event, data } => self.emit(event, data),
            ActionKind::Send { target, event, data, delay, id } => {
                self.send(target, event, data, delay.as_ref(), id.as_ref())
            }
            ActionKind::Cancel { id } => self.cancel_send(id),
            ActionKind::Call { handler, params } => self.call(handler, params),
            ActionKind::Log { message } => self.log(message),
            ActionKind::Choose { branches } => self.choose(branches),
            ActionKind::Foreach(foreach) => self.foreach(foreach),
        }
    }

    /// The keys of one assign are simultaneous: all right-hand sides first, then all writes.
    #[inline]
    fn assign(&mut self, updates: &[(Slot, Expr)], label: LabelId) -> ActionsResult {
        if let [(slot, expr)] = updates {
            let value = self.value_of(expr)?;
            self.refuse_updates(std::iter::once((*slot, &value)))?;
            self.write(*slot, value, Some(label));
            return Ok(());
        }
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for (_, expr) in updates {
            values.push(self.value_of(expr)?);
        }
        self.refuse_updates(updates.iter().map(|(slot, _)| *slot).zip(&values))?;
        let mut action = Some(label);
        for ((slot, _), value) in updates.iter().zip(values) {
            self.write(*slot, value, action.take());
        }
        Ok(())
    }

    /// A value that the context's schema refuses fails the action; nothing of it is written.
    #[inline]
    fn refuse_updates<'v>(&self, updates: impl Iterator<Item = (Slot, &'v Value)> + Clone) -> ActionsResult {
        let Some(rules) = &self.chart.context_rules else { return Ok(()) };
        // Unknown data is assumed to fit.
        let is_partial = self.now.oracle.is_some_and(|oracle| oracle.is_partial());
        if is_partial && updates.clone().any(|(_, value)| expr::has_unknown(value)) {
            return Ok(());
        }
        match rules.refuse(&self.snapshot.context, updates) {
            Some(message) => Err(Box::new(FailedAction { message, send_id: None })),
            None => Ok(()),
        }
    }

    #[inline]
    fn write(&mut self, slot: Slot, value: Value, action: Option<LabelId>) {
        self.trace(|| TraceEntry::Assigned { slot, value: value.clone(), action });
        self.undo.write(self.snapshot, slot, value);
    }

    fn raise_event(&mut self, event: &DataTemplate, data: &DataTemplate) -> ActionsResult {
        let event = NamedEvent::new(self.render_text(event)?, self.render(data)?);
        self.raise(event);
        Ok(())
    }

    fn emit(&mut self, event: &DataTemplate, data: &DataTemplate) -> ActionsResult {
        let effect = Effect::Emit { event: self.render_text(event)?, data: self.render(data)? };
        self.effects.push(effect);
        Ok(())
    }

    fn send(
        &mut self,
        target: &DataTemplate,
        event: &DataTemplate,
        data: &DataTemplate,
        delay: Option<&Delay>,
        id: Option<&DataTemplate>,
    ) -> ActionsResult {
        self.make_send(target, event, data, delay, id).map_err(|error| {
            let send_id = id.and_then(|id| self.render_text(id).ok());
            Box::new(FailedAction { message: error.message, send_id })
        })
    }

    fn make_send(
        &mut self,
        target: &DataTemplate,
        event: &DataTemplate,
        data: &DataTemplate,
        delay: Option<&Delay>,
        id: Option<&DataTemplate>,
    ) -> Result<(), EvalError> {
        let target = self.render_text(target)?;
        let mut event = NamedEvent::new(self.render_text(event)?, self.render(data)?);
        event.send_id = id.map(|id| self.render_text(id)).transpose()?;
        match delay.map(|delay| self.delay_ms(delay)).transpose()? {
            Some(ms) if ms > 0 => {
                self.set_timer(ms, TimerPurpose::Send { target, event });
            }
            Some(_) | None => self.push_send(&target, event),
        }
        Ok(())
    }

    /// Sends an event through the host, with its target resolved.
    pub(super) fn push_send(&mut self, target: &str, event: NamedEvent) {
        let target = match target {
            "self" => SendTarget::Itself,
            "parent" => SendTarget::Parent,
            other => match ServiceName::of(other) {
                ServiceName { class: ServiceClass::Channel, member } => SendTarget::Channel(member.into()),
                ServiceName { class: ServiceClass::Agent, member } => SendTarget::Agent(member.into()),
                _ if self.invocation_by_name(other).is_some() || self.fan_out_by_name(other).is_some() => {
                    SendTarget::Invocation(other.into())
                }
                _ => SendTarget::Other(other.into()),
            },
        };
        self.effects.push(Effect::Send(Send {
            target,
            event: event.name,
            data: event.data,
            send_id: event.send_id,
        }));
    }

    fn cancel_send(&mut self, id: &DataTemplate) -> ActionsResult {
        let id = self.render_text(id)?;
        self.cancel_timers(|purpose| {
            matches!(purpose, TimerPurpose::Send { event, .. } if event.send_id.as_deref() == Some(&*id))
        });
        Ok(())
    }

    fn call(&mut self, handler: &Arc<str>, params: &DataTemplate) -> ActionsResult {
        let params = self.render(params)?;
        self.effects.push(Effect::Call { handler: Arc::clone(handler), params });
        Ok(())
    }

    fn log(&mut self, message: &DataTemplate) -> ActionsResult {
        let message = self.render(message)?.to_string().into();
        self.effects.push(Effect::Log { message });
        Ok(())
    }

    /// Runs the first branch whose guard holds, or that has none. A guard that fails counts as false, as on a
    /// transition.
    fn choose(&mut self, branches: &[(Option<Guard>, Vec<ActionBlueprint>)]) -> ActionsResult {
        for (guard, actions) in branches {
            let holds = match guard.as_ref().map(|guard| self.guard_holds(&guard.expr)) {
                None => true,
                Some(Ok(holds)) => holds,
                Some(Err(error)) => {
                    let text = guard.as_ref().map_or("", |guard| &guard.text);
                    let message = format!("`{text}`: {}", error.message);
                    self.fail(FaultKind::Guard, self.place, message, None);
                    false
                }
            };
            if holds {
                return self.run_actions(actions);
            }
        }
        Ok(())
    }

    fn foreach(&mut self, foreach: &Foreach) -> ActionsResult {
        let array = self.list_of(&foreach.array)?;
        let Value::List(items) = &array else {
            let message = format!("foreach needs a list, not {}", array.type_name());
            return Err(EvalError { message }.into());
        };
        let depth = self.locals.len();
        self.locals.resize(foreach.local.max(depth), Value::Null);
        for (index, item) in items.iter().enumerate() {
            let index = Value::Int(index as i64);
            self.locals.truncate(foreach.local);
            self.locals.push(item.clone());
            self.locals.push(index.clone());
            if let Some(slot) = foreach.item_slot {
                self.refuse_updates(std::iter::once((slot, item)))?;
                self.write(slot, item.clone(), None);
            }
            if let Some(slot) = foreach.index_slot {
                self.refuse_updates(std::iter::once((slot, &index)))?;
                self.write(slot, index, None);
            }
            self.run_actions(&foreach.actions)?;
        }
        self.locals.truncate(depth);
        Ok(())
    }

    /// Renders a template. Data built from data can double at every step, so the result is measured once it is
    /// complete.
    pub(super) fn render(&self, template: &DataTemplate) -> Result<Value, EvalError> {
        let value = self.fill_in(template)?;
        if matches!(template, DataTemplate::List(_) | DataTemplate::Map(_)) {
            expr::check_size_with(&value, self.now.sizes)?;
        }
        Ok(value)
    }

    fn fill_in(&self, template: &DataTemplate) -> Result<Value, EvalError> {
        Ok(match template {
            DataTemplate::Literal(value) => value.clone(),
            DataTemplate::Expr(expr) => self.value_of(expr)?,
            DataTemplate::List(items) => {
                Value::list(items.iter().map(|item| self.fill_in(item)).collect::<Result<_, _>>()?)
            }
            DataTemplate::Map(entries) => {
                let mut map = Map::default();
                for (key, value) in entries {
                    map.insert(Arc::clone(key), self.fill_in(value)?);
                }
                Value::Map(Arc::new(map))
            }
        })
    }

    pub(super) fn render_text(&self, template: &DataTemplate) -> Result<Arc<str>, EvalError> {
        match self.render(template)? {
            Value::Str(text) => Ok(text),
            other => {
                Err(EvalError { message: format!("a name must be a string, not {}", other.type_name()) })
            }
        }
    }
}
