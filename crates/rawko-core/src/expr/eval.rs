//! The evaluator. It borrows values from the scope and allocates only for strings, lists and maps that an expression
//! creates.

use std::sync::Arc;

use smallvec::SmallVec;

use super::ast::Arithmetic;
use super::env::{Env, NULL, Outcome, Val};
use super::functions::{Call, Function};
use super::measure::{built, built_text};
use super::node::{EventPart, InstancePart, Kind, Node};
use super::ops;
use crate::event::NamedEvent;
use crate::value::{Map, Value};
use crate::world::InstanceFacts;

impl Node {
    /// Returns a value that can be borrowed from the scope: nothing to compute, no fault, nothing to drop.
    #[inline]
    pub(crate) fn peek<'a>(&'a self, env: &Env<'a>) -> Option<&'a Value> {
        match &self.kind {
            Kind::Constant(value) => Some(value),
            Kind::Slot(slot) => Some(env.scope.context.get(slot.index()).unwrap_or(&NULL)),
            Kind::Local(number) => Some(env.scope.locals.get(*number).unwrap_or(&NULL)),
            Kind::Input => Some(env.scope.input),
            Kind::Env => Some(&env.scope.world.env),
            Kind::Instance(part) => Some(instance_part(env.scope.instance, *part)),
            Kind::Event(EventPart::Data) => Some(env.scope.event.map_or(&NULL, |event| &event.data)),
            Kind::Event(EventPart::Origin) => Some(env.scope.event.map_or(&NULL, |event| &event.origin)),
            Kind::Field(base, key) => base.peek_field(env, key),
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
    pub(crate) fn eval<'a>(&'a self, env: &Env<'a>) -> Outcome<Val<'a>> {
        match (self.peek(env), &self.kind) {
            (Some(value), _) => Ok(Val::Ref(value)),
            (None, Kind::Arithmetic(operator, two)) => self.arithmetic(env, *operator, two),
            (None, _) => self.compute(env),
        }
    }

    #[inline]
    fn arithmetic<'a>(&'a self, env: &Env<'a>, operator: Arithmetic, two: &'a [Node; 2]) -> Outcome<Val<'a>> {
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
        two: &'a [Node; 2],
    ) -> Outcome<Val<'a>> {
        let (left, right) = (two[0].eval(env)?, two[1].eval(env)?);
        self.own(env, ops::arithmetic(env, operator, left.get(), right.get()))
    }

    #[inline(never)]
    fn compute<'a>(&'a self, env: &Env<'a>) -> Outcome<Val<'a>> {
        match &self.kind {
            Kind::Constant(_)
            | Kind::Slot(_)
            | Kind::Local(_)
            | Kind::Input
            | Kind::Env
            | Kind::Instance(_) => Ok(self.peek(env).map_or(Val::Own(Value::Null), Val::Ref)),
            Kind::Context => Ok(Val::Own(whole_context(env)?)),
            Kind::ContextAt(key) => self.located(env, context_at(env, key.eval(env)?.get())),
            Kind::Event(part) => Ok(event_part(env.scope.event, *part)),
            Kind::Field(base, key) => {
                let base = base.eval(env)?;
                self.located(env, base.part(|value| ops::field(value, key)))
            }
            Kind::Index(two) => {
                let (base, index) = (two[0].eval(env)?, two[1].eval(env)?);
                self.located(env, base.part(|value| ops::index(value, index.get())))
            }
            Kind::Negate(operand) => {
                let operand = operand.eval(env)?;
                self.own(env, ops::negate(operand.get()))
            }
            Kind::Coalesce(two) => match two[0].eval(env)? {
                value if value.get().is_null() => two[1].eval(env),
                value => Ok(value),
            },
            Kind::Arithmetic(operator, two) => self.any_arithmetic(env, *operator, two),
            Kind::Concat(_) => self.own(env, self.concatenated(env)),
            Kind::Conditional(three) => if three[0].holds(env)? { &three[1] } else { &three[2] }.eval(env),
            Kind::List(items) => self.own(env, list(env, items)),
            Kind::Map(entries) => self.own(env, map(env, entries)),
            Kind::Call(function, arguments) => self.own(env, call(env, function, arguments)),
            Kind::StateIn(_)
            | Kind::Not(_)
            | Kind::And(_)
            | Kind::Or(_)
            | Kind::Order(..)
            | Kind::Equal(_)
            | Kind::NotEqual(_)
            | Kind::In(_)
            | Kind::NotIn(_) => self.holds(env).map(|truth| Val::Own(Value::Bool(truth))),
        }
    }

    /// Returns the value as a condition, without creating one for a comparison or a connective.
    pub(crate) fn holds<'a>(&'a self, env: &Env<'a>) -> Outcome<bool> {
        match &self.kind {
            Kind::StateIn(node) => Ok(env.scope.configuration.contains(*node)),
            Kind::Not(operand) => Ok(!operand.holds(env)?),
            Kind::And(two) => Ok(two[0].holds(env)? && two[1].holds(env)?),
            Kind::Or(two) => Ok(two[0].holds(env)? || two[1].holds(env)?),
            Kind::Order(operator, two) => {
                self.compare(env, two, |left, right| ops::order(env, *operator, left, right))
            }
            Kind::Equal(two) => self.compare(env, two, |left, right| ops::same(env, left, right)),
            Kind::NotEqual(two) => {
                self.compare(env, two, |left, right| ops::same(env, left, right).map(|same| !same))
            }
            Kind::In(two) => self.compare(env, two, |item, container| ops::contains(env, item, container)),
            Kind::NotIn(two) => self
                .compare(env, two, |item, container| ops::contains(env, item, container).map(|found| !found)),
            Kind::Constant(_)
            | Kind::Slot(_)
            | Kind::Local(_)
            | Kind::Context
            | Kind::ContextAt(_)
            | Kind::Event(_)
            | Kind::Input
            | Kind::Env
            | Kind::Instance(_)
            | Kind::Field(..)
            | Kind::Index(_)
            | Kind::Negate(_)
            | Kind::Coalesce(_)
            | Kind::Arithmetic(..)
            | Kind::Concat(_)
            | Kind::Conditional(_)
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Call(..) => {
                let value = self.eval(env)?;
                self.located(env, ops::truth(value.get()))
            }
        }
    }

    #[inline]
    fn compare<'a>(
        &'a self,
        env: &Env<'a>,
        two: &'a [Node; 2],
        by: impl FnOnce(&Value, &Value) -> Outcome<bool>,
    ) -> Outcome<bool> {
        // Borrowed operands need no clean-up; this covers most guards.
        if let (Some(left), Some(right)) = (two[0].peek(env), two[1].peek(env)) {
            return self.located(env, by(left, right));
        }
        let (left, right) = (two[0].eval(env)?, two[1].eval(env)?);
        self.located(env, by(left.get(), right.get()))
    }

    /// A chain of `~` is written into one string.
    #[inline(never)]
    fn concatenated<'a>(&'a self, env: &Env<'a>) -> Outcome<Value> {
        let mut text = String::new();
        self.write(env, &mut text)?;
        built_text(env, text)
    }

    fn write<'a>(&'a self, env: &Env<'a>, text: &mut String) -> Outcome<()> {
        if let Kind::Concat(two) = &self.kind {
            two[0].write(env, text)?;
            return two[1].write(env, text);
        }
        let value = self.eval(env)?;
        self.located(env, ops::write_text(value.get(), text))
    }

    #[inline]
    fn located<T>(&self, env: &Env<'_>, outcome: Outcome<T>) -> Outcome<T> {
        outcome.map_err(|fault| env.locate(fault, self.span))
    }

    #[inline]
    fn own<'a>(&self, env: &Env<'a>, outcome: Outcome<Value>) -> Outcome<Val<'a>> {
        self.located(env, outcome).map(Val::Own)
    }
}

#[inline(never)]
fn call<'a>(env: &Env<'a>, function: &Function, arguments: &'a [Node]) -> Outcome<Value> {
    let mut values = SmallVec::new();
    for argument in arguments {
        values.push(argument.eval(env)?);
    }
    function.run(Call { env, arguments: values })
}

#[inline(never)]
fn list<'a>(env: &Env<'a>, items: &'a [Node]) -> Outcome<Value> {
    let items = items.iter().map(|node| node.eval(env).map(Val::into_value)).collect::<Outcome<Vec<_>>>()?;
    built(env, Value::list(items))
}

#[inline(never)]
fn map<'a>(env: &Env<'a>, entries: &'a [(Arc<str>, Node)]) -> Outcome<Value> {
    let entries = entries.iter().map(|(key, node)| Ok((key.clone(), node.eval(env)?.into_value())));
    built(env, Value::Map(Arc::new(entries.collect::<Outcome<Map>>()?)))
}

#[inline(never)]
pub(super) fn whole_context(env: &Env<'_>) -> Outcome<Value> {
    let scope = env.scope;
    built(env, Value::map(scope.context_names.iter().cloned().zip(scope.context.iter().cloned())))
}

#[inline(never)]
pub(super) fn context_at<'a>(env: &Env<'a>, key: &Value) -> Outcome<Val<'a>> {
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
