//! The evaluator. It borrows values from the scope and allocates only for strings, lists and maps that an expression
//! creates.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ast::Arithmetic;
use super::env::{Env, EvalResult, NULL, Val};
use super::functions::{ExprFunction, FunctionCall};
use super::measure::{built, built_text};
use super::node::{EventPart, ExprKind, ExprNode, InstancePart};
use super::ops;
use crate::event::NamedEvent;
use crate::value::{Map, Value};
use crate::world::InstanceFacts;

impl ExprNode {
    /// Returns a value that can be borrowed from the scope: nothing to compute, no fault, nothing to drop.
    #[inline]
    pub(crate) fn peek<'a>(&'a self, env: &Env<'a>) -> Option<&'a Value> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            ExprKind::Slot(slot) => Some(env.scope.context.get(slot.index()).unwrap_or(&NULL)),
            ExprKind::Local(number) => Some(env.scope.locals.get(*number).unwrap_or(&NULL)),
            ExprKind::Input => Some(env.scope.input),
            ExprKind::Env => Some(&env.scope.world.env),
            ExprKind::Instance(part) => Some(instance_part(env.scope.instance, *part)),
            ExprKind::Event(EventPart::Data) => Some(env.scope.event.map_or(&NULL, |event| &event.data)),
            ExprKind::Event(EventPart::Origin) => Some(env.scope.event.map_or(&NULL, |event| &event.origin)),
            ExprKind::Field(base, key) => base.peek_field(env, key),
            _ => None,
        }
    }

    /// `None` also if the field access is an error; evaluating it reports which.
    #[inline(never)]
    fn peek_field<'a>(&'a self, env: &Env<'a>, key: &str) -> Option<&'a Value> {
        match self.peek(env)? {
            Value::Map(map) => Some(map.get(key).unwrap_or(&NULL)),
            Value::Null => Some(&NULL),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => None,
        }
    }

    #[inline]
    pub(crate) fn eval<'a>(&'a self, env: &Env<'a>) -> EvalResult<Val<'a>> {
        match (self.peek(env), &self.kind) {
            (Some(value), _) => Ok(Val::Ref(value)),
            (None, ExprKind::Arithmetic(operator, two)) => self.arithmetic(env, *operator, two),
            (None, _) => self.compute(env),
        }
    }

    #[inline]
    fn arithmetic<'a>(
        &'a self,
        env: &Env<'a>,
        operator: Arithmetic,
        two: &'a [ExprNode; 2],
    ) -> EvalResult<Val<'a>> {
        // Counting up and down is most of the arithmetic in charts.
        if let (Some(Value::Int(left)), Some(Value::Int(right))) = (two[0].peek(env), two[1].peek(env)) {
            let small = match operator {
                Arithmetic::Add => left.checked_add(*right),
                Arithmetic::Subtract => left.checked_sub(*right),
                Arithmetic::Multiply => left.checked_mul(*right),
                Arithmetic::Divide | Arithmetic::Remainder | Arithmetic::Power => None,
            };
            if let Some(result) = small {
                return Ok(Val::Own(Value::Int(result)));
            }
        }
        self.any_arithmetic(env, operator, two)
    }

    #[inline(never)]
    fn any_arithmetic<'a>(
        &'a self,
        env: &Env<'a>,
        operator: Arithmetic,
        two: &'a [ExprNode; 2],
    ) -> EvalResult<Val<'a>> {
        let (left, right) = (two[0].eval(env)?, two[1].eval(env)?);
        self.own(env, ops::arithmetic(env, operator, left.get(), right.get()))
    }

    #[inline(never)]
    fn compute<'a>(&'a self, env: &Env<'a>) -> EvalResult<Val<'a>> {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Local(_)
            | ExprKind::Input
            | ExprKind::Env
            | ExprKind::Instance(_) => Ok(self.peek(env).map_or(Val::Own(Value::Null), Val::Ref)),
            ExprKind::Context => Ok(Val::Own(whole_context(env)?)),
            ExprKind::ContextAt(key) => self.located(env, context_at(env, key.eval(env)?.get())),
            ExprKind::Event(part) => Ok(event_part(env.scope.event, *part)),
            ExprKind::Field(base, key) => {
                let base = base.eval(env)?;
                self.located(env, base.part(|value| ops::field(value, key)))
            }
            ExprKind::Index(two) => {
                let (base, index) = (two[0].eval(env)?, two[1].eval(env)?);
                self.located(env, base.part(|value| ops::index(value, index.get())))
            }
            ExprKind::Negate(operand) => {
                let operand = operand.eval(env)?;
                self.own(env, ops::negate(operand.get()))
            }
            ExprKind::Coalesce(two) => match two[0].eval(env)? {
                value if value.get().is_null() => two[1].eval(env),
                value => Ok(value),
            },
            ExprKind::Arithmetic(operator, two) => self.any_arithmetic(env, *operator, two),
            ExprKind::Concat(_) => self.own(env, self.concatenated(env)),
            ExprKind::Conditional(three) => {
                if three[0].holds(env)? { &three[1] } else { &three[2] }.eval(env)
            }
            ExprKind::List(items) => self.own(env, list(env, items)),
            ExprKind::Map(entries) => self.own(env, map(env, entries)),
            ExprKind::Call(function, arguments) => self.own(env, call(env, function, arguments)),
            ExprKind::StateIn(_)
            | ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Order(..)
            | ExprKind::Equal(_)
            | ExprKind::NotEqual(_)
            | ExprKind::In(_)
            | ExprKind::NotIn(_) => self.holds(env).map(|truth| Val::Own(Value::Bool(truth))),
        }
    }

    /// Returns the value as a condition, without creating one for a comparison or a connective.
    pub(crate) fn holds<'a>(&'a self, env: &Env<'a>) -> EvalResult<bool> {
        match &self.kind {
            ExprKind::StateIn(node) => Ok(env.scope.configuration.contains(*node)),
            ExprKind::Not(operand) => Ok(!operand.holds(env)?),
            ExprKind::And(two) => Ok(two[0].holds(env)? && two[1].holds(env)?),
            ExprKind::Or(two) => Ok(two[0].holds(env)? || two[1].holds(env)?),
            ExprKind::Order(operator, two) => {
                self.compare(env, two, |left, right| ops::order(env, *operator, left, right))
            }
            ExprKind::Equal(two) => self.compare(env, two, |left, right| ops::same(env, left, right)),
            ExprKind::NotEqual(two) => {
                self.compare(env, two, |left, right| ops::same(env, left, right).map(|same| !same))
            }
            ExprKind::In(two) => {
                self.compare(env, two, |item, container| ops::contains(env, item, container))
            }
            ExprKind::NotIn(two) => self
                .compare(env, two, |item, container| ops::contains(env, item, container).map(|found| !found)),
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Local(_)
            | ExprKind::Context
            | ExprKind::ContextAt(_)
            | ExprKind::Event(_)
            | ExprKind::Input
            | ExprKind::Env
            | ExprKind::Instance(_)
            | ExprKind::Field(..)
            | ExprKind::Index(_)
            | ExprKind::Negate(_)
            | ExprKind::Coalesce(_)
            | ExprKind::Arithmetic(..)
            | ExprKind::Concat(_)
            | ExprKind::Conditional(_)
            | ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Call(..) => {
                let value = self.eval(env)?;
                self.located(env, ops::truth(value.get()))
            }
        }
    }

    #[inline]
    fn compare<'a>(
        &'a self,
        env: &Env<'a>,
        two: &'a [ExprNode; 2],
        by: impl FnOnce(&Value, &Value) -> EvalResult<bool>,
    ) -> EvalResult<bool> {
        // Borrowed operands need no clean-up; this covers most guards.
        if let (Some(left), Some(right)) = (two[0].peek(env), two[1].peek(env)) {
            return self.located(env, by(left, right));
        }
        let (left, right) = (two[0].eval(env)?, two[1].eval(env)?);
        self.located(env, by(left.get(), right.get()))
    }

    /// A chain of `~` is written into one string.
    #[inline(never)]
    fn concatenated<'a>(&'a self, env: &Env<'a>) -> EvalResult<Value> {
        let mut text = String::new();
        self.write(env, &mut text)?;
        built_text(env, text)
    }

    fn write<'a>(&'a self, env: &Env<'a>, text: &mut String) -> EvalResult<()> {
        if let ExprKind::Concat(two) = &self.kind {
            two[0].write(env, text)?;
            return two[1].write(env, text);
        }
        let value = self.eval(env)?;
        self.located(env, ops::write_text(value.get(), text))
    }

    #[inline]
    fn located<T>(&self, env: &Env<'_>, outcome: EvalResult<T>) -> EvalResult<T> {
        outcome.map_err(|fault| env.locate(fault, self.span))
    }

    #[inline]
    fn own<'a>(&self, env: &Env<'a>, outcome: EvalResult<Value>) -> EvalResult<Val<'a>> {
        self.located(env, outcome).map(Val::Own)
    }
}

#[inline(never)]
fn call<'a>(env: &Env<'a>, function: &ExprFunction, arguments: &'a [ExprNode]) -> EvalResult<Value> {
    let mut values = SmallVec::new();
    for argument in arguments {
        values.push(argument.eval(env)?);
    }
    function.run(FunctionCall { env, arguments: values })
}

#[inline(never)]
fn list<'a>(env: &Env<'a>, items: &'a [ExprNode]) -> EvalResult<Value> {
    let items =
        items.iter().map(|node| node.eval(env).map(Val::into_value)).collect::<EvalResult<Vec<_>>>()?;
    built(env, Value::list(items))
}

#[inline(never)]
fn map<'a>(env: &Env<'a>, entries: &'a [(Arc<str>, ExprNode)]) -> EvalResult<Value> {
    let entries = entries.iter().map(|(key, node)| Ok((key.clone(), node.eval(env)?.into_value())));
    built(env, Value::Map(Arc::new(entries.collect::<EvalResult<Map>>()?)))
}

#[inline(never)]
pub(super) fn whole_context(env: &Env<'_>) -> EvalResult<Value> {
    let scope = env.scope;
    built(env, Value::map(scope.context_names.iter().cloned().zip(scope.context.iter().cloned())))
}

#[inline(never)]
pub(super) fn context_at<'a>(env: &Env<'a>, key: &Value) -> EvalResult<Val<'a>> {
    let scope = env.scope;
    match key {
        Value::Null => Ok(Val::Ref(&NULL)),
        Value::Str(key) => {
            env.charge(scope.context_names.len())?;
            let slot = scope.context_names.iter().position(|name| name == key);
            Ok(Val::Ref(slot.and_then(|slot| scope.context.get(slot)).unwrap_or(&NULL)))
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            super::env::fault(ops::index_message("map", key.type_name()))
        }
    }
}

#[inline(never)]
pub(super) fn event_part<'a>(event: Option<&'a NamedEvent>, part: EventPart) -> Val<'a> {
    let Some(event) = event else { return Val::Ref(&NULL) };
    match part {
        EventPart::Whole => Val::Own(whole_event(event)),
        EventPart::Type => Val::Own(Value::Str(event.name.clone())),
        EventPart::Data => Val::Ref(&event.data),
        EventPart::Origin => Val::Ref(&event.origin),
        EventPart::SendId => Val::Own(id(&event.send_id)),
        EventPart::InvokeId => Val::Own(id(&event.invoke_id)),
        EventPart::Item => event.item.as_ref().map_or(Val::Own(Value::Null), |item| Val::Ref(&item.value)),
        EventPart::Index => {
            let index = event.item.as_ref().map(|item| Value::Int(i64::from(item.index)));
            Val::Own(index.unwrap_or_default())
        }
    }
}

fn id(id: &Option<Arc<str>>) -> Value {
    id.clone().map_or(Value::Null, Value::Str)
}

fn whole_event(event: &NamedEvent) -> Value {
    let fields = EventPart::FIELDS.iter().filter(|(_, part)| event.item.is_some() || !part.is_of_item());
    Value::map(fields.map(|(name, part)| (*name, event_part(Some(event), *part).into_value())))
}

fn instance_part(facts: &InstanceFacts, part: InstancePart) -> &Value {
    match part {
        InstancePart::Id => &facts.id,
        InstancePart::Parent => &facts.parent,
        InstancePart::Started => &facts.started,
    }
}
