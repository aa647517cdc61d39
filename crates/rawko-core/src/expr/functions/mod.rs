//! The table of functions: parameters, the result for a null first argument, and the implementation. Types are checked
//! here, for all functions alike, so that the implementations get valid arguments only.

mod agents;
mod general;
mod list;
mod map;
mod number;
mod text;
mod time;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Type;
use super::env::{Env, EvalResult, Val, fault};
use super::ops::{self, with_article};
use crate::value::{Map, Value};

static GROUPS: [&[ExprFunction]; 7] = [
    text::FUNCTIONS,
    number::FUNCTIONS,
    time::FUNCTIONS,
    list::FUNCTIONS,
    map::FUNCTIONS,
    general::FUNCTIONS,
    agents::FUNCTIONS,
];

fn all() -> impl Iterator<Item = &'static ExprFunction> {
    GROUPS.iter().flat_map(|group| group.iter())
}

pub(crate) fn named(name: &str) -> Option<&'static ExprFunction> {
    all().find(|function| function.name == name)
}

/// The names of all functions, including `stateIn` and those of `agents`.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    all().map(|function| function.name).chain(["stateIn"])
}

/// The signature of each function, `slice(x, from[, to])`, in the order of the guide: for editors and documentation.
pub fn function_signatures() -> impl Iterator<Item = String> {
    all().map(ExprFunction::signature).chain(["stateIn(path)".to_owned()])
}

/// The set of types that an argument may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentTypes(u8);

impl ArgumentTypes {
    pub(crate) const NULL: ArgumentTypes = ArgumentTypes(1);
    pub(crate) const BOOL: ArgumentTypes = ArgumentTypes(2);
    pub(crate) const NUMBER: ArgumentTypes = ArgumentTypes(4);
    pub(crate) const STRING: ArgumentTypes = ArgumentTypes(8);
    pub(crate) const LIST: ArgumentTypes = ArgumentTypes(16);
    pub(crate) const MAP: ArgumentTypes = ArgumentTypes(32);
    pub(crate) const ANY: ArgumentTypes = ArgumentTypes(63);

    pub(crate) const fn or(self, other: ArgumentTypes) -> ArgumentTypes {
        ArgumentTypes(self.0 | other.0)
    }

    fn of(found: Type) -> ArgumentTypes {
        match found {
            Type::Any => ArgumentTypes::ANY,
            Type::Null => ArgumentTypes::NULL,
            Type::Bool => ArgumentTypes::BOOL,
            Type::Number => ArgumentTypes::NUMBER,
            Type::String => ArgumentTypes::STRING,
            Type::List => ArgumentTypes::LIST,
            Type::Map => ArgumentTypes::MAP,
        }
    }

    fn meets(self, other: ArgumentTypes) -> bool {
        self.0 & other.0 != 0
    }

    /// `a list or a map`
    fn describe(self) -> String {
        let kinds = [Type::Bool, Type::Number, Type::String, Type::List, Type::Map];
        let names = kinds.into_iter().filter(|kind| self.meets(ArgumentTypes::of(*kind)));
        names.map(|kind| with_article(kind.name())).collect::<Vec<_>>().join(" or ")
    }
}

/// The result of a function whose first argument is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullRule {
    Null,
    False,
    True,
    Zero,
    EmptyText,
    EmptyList,
    /// The implementation decides.
    Seen,
}

pub(crate) struct ExprFunction {
    pub(crate) name: &'static str,
    params: &'static [(&'static str, ArgumentTypes)],
    pub(crate) required: usize,
    repeats: bool,
    missing: NullRule,
    pub(crate) gives: Type,
    /// True if a call with constant arguments can be evaluated at load.
    pub(crate) reads_nothing: bool,
    body: FunctionBody,
}

type FunctionBody = fn(FunctionCall<'_>) -> EvalResult<Value>;

impl ExprFunction {
    const fn new(
        name: &'static str,
        params: &'static [(&'static str, ArgumentTypes)],
        gives: Type,
        missing: NullRule,
        body: FunctionBody,
    ) -> ExprFunction {
        ExprFunction {
            name,
            params,
            required: params.len(),
            repeats: false,
            missing,
            gives,
            reads_nothing: true,
            body,
        }
    }

    /// The last `count` parameters are optional.
    const fn optional(mut self, count: usize) -> ExprFunction {
        self.required -= count;
        self
    }

    /// The last parameter is repeatable.
    const fn repeating(mut self) -> ExprFunction {
        self.repeats = true;
        self
    }

    /// The function reads the time or the environment.
    const fn reading(mut self) -> ExprFunction {
        self.reads_nothing = false;
        self
    }

    pub(crate) fn arguments_max(&self) -> usize {
        if self.repeats { usize::MAX } else { self.params.len() }
    }

    fn param(&self, index: usize) -> Option<&(&'static str, ArgumentTypes)> {
        self.params.get(index).or(self.params.last())
    }

    /// Returns true if an argument of this type can be valid.
    pub(crate) fn accepts(&self, index: usize, found: Type) -> bool {
        let missing_first = index == 0 && found == Type::Null;
        missing_first || self.param(index).is_some_and(|(_, types)| types.meets(ArgumentTypes::of(found)))
    }

    pub(crate) fn mismatch(&self, index: usize, found: &str) -> String {
        let (name, types) = self.param(index).copied().unwrap_or(("x", ArgumentTypes::ANY));
        format!("`{}` takes {} as {name}, not {}", self.name, types.describe(), with_article(found))
    }

    /// `slice(x, from[, to])`
    pub(crate) fn signature(&self) -> String {
        let mut text = format!("{}(", self.name);
        for (index, (name, _)) in self.params.iter().enumerate() {
            let optional = index >= self.required;
            let comma = if index == 0 { "" } else { ", " };
            let (open, close) = if optional { ("[", "]") } else { ("", "") };
            text.push_str(&format!("{open}{comma}{name}{close}"));
        }
        text + if self.repeats { ", …)" } else { ")" }
    }

    pub(crate) fn run(&self, call: FunctionCall<'_>) -> EvalResult<Value> {
        for (index, argument) in call.arguments.iter().enumerate() {
            let found = argument.get();
            if !self.accepts(index, Type::of(found)) {
                return fault(self.mismatch(index, found.type_name()));
            }
        }
        match call.arguments.first() {
            Some(first) if first.get().is_null() && self.missing != NullRule::Seen => Ok(self.when_missing()),
            _ => (self.body)(call),
        }
    }

    fn when_missing(&self) -> Value {
        match self.missing {
            NullRule::Null | NullRule::Seen => Value::Null,
            NullRule::False => Value::Bool(false),
            NullRule::True => Value::Bool(true),
            NullRule::Zero => Value::Int(0),
            NullRule::EmptyText => Value::str(""),
            NullRule::EmptyList => Value::list(Vec::new()),
        }
    }
}

impl fmt::Debug for ExprFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.signature())
    }
}

/// The type-checked arguments of a call, and its evaluation.
pub(crate) struct FunctionCall<'c> {
    pub(crate) env: &'c Env<'c>,
    pub(crate) arguments: SmallVec<[Val<'c>; 3]>,
}

impl FunctionCall<'_> {
    fn value(&self, index: usize) -> &Value {
        self.arguments.get(index).map_or(&Value::NULL, Val::get)
    }

    fn take(&mut self, index: usize) -> Value {
        self.arguments
            .get_mut(index)
            .map_or(Value::Null, |slot| std::mem::replace(slot, Val::Own(Value::Null)).into_value())
    }

    /// Takes the elements of a list for modification, without copying if it is not shared; empty for null.
    fn take_list(&mut self, index: usize) -> EvalResult<Vec<Value>> {
        match self.take(index) {
            Value::List(items) => {
                self.env.charge(items.len())?;
                Ok(Arc::try_unwrap(items).unwrap_or_else(|shared| shared.as_ref().clone()))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Takes the entries of a map for modification, without copying if it is not shared; empty for null.
    fn take_map(&mut self, index: usize) -> EvalResult<Map> {
        match self.take(index) {
            Value::Map(map) => {
                self.env.charge(map.len())?;
                Ok(Arc::try_unwrap(map).unwrap_or_else(|shared| shared.as_ref().clone()))
            }
            _ => Ok(Map::default()),
        }
    }

    /// Returns a string and charges fuel for its length.
    fn text(&self, index: usize) -> EvalResult<&str> {
        let text = self.value(index).as_str().unwrap_or_default();
        self.env.charge_bytes(text.len())?;
        Ok(text)
    }

    /// Returns the elements of a list and charges fuel for them.
    fn list(&self, index: usize) -> EvalResult<&[Value]> {
        let items = self.value(index).as_list().unwrap_or_default();
        self.env.charge(items.len())?;
        Ok(items)
    }

    fn whole(&self, index: usize) -> EvalResult<i64> {
        ops::whole(self.value(index))
    }

    fn number(&self, index: usize) -> f64 {
        self.value(index).as_f64().unwrap_or_default()
    }
}
