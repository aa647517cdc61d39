//! The outcomes of pending calls, as inputs: results of services within their schema, every kind of failure, answers of
//! people within the form, and the results of child charts.

use std::sync::Arc;

use rawko_core::{Invocation, Schema, ServiceClass, ServiceName, Value};

use crate::children::ChildOutcomes;
use crate::graph::{InputCause, ModelInput};
use crate::inputs::{ChartInputs, InputChoice, Pick};
use crate::machine::UNDELIVERED;
use crate::state::ModelState;

/// Failures of a call that a chart can tell apart.
const CATEGORIES: [&str; 9] =
    ["failed", "network", "timeout", "invalid_answer", "refused", "unknown", "interrupted", "limit", "host"];

/// Failures of questions, and the text that stands for any other.
const OTHERS: [&str; 2] = ["expired", "another"];

impl ChartInputs<'_> {
    pub(crate) fn answers(
        &mut self,
        invocation: &Invocation,
        child: Option<Arc<ChildOutcomes>>,
        picks: &mut Vec<Pick>,
    ) {
        let class = ServiceName::of(&invocation.src).class;
        // Questions to a person and answers of a child depend on the input.
        let is_fixed = class != ServiceClass::Human && child.is_none();
        let call = (invocation.invoke.0, invocation.item, Arc::clone(&invocation.src));
        let known = self.calls.get(&call).filter(|_| is_fixed).cloned();
        let numbers = known.unwrap_or_else(|| self.new_answers(invocation, class, child));
        picks.extend(numbers.iter().map(|choice| Pick { choice: *choice, group: 0 }));
        if is_fixed {
            self.calls.insert(call, numbers);
        }
    }

    fn new_answers(
        &mut self,
        invocation: &Invocation,
        class: ServiceClass,
        child: Option<Arc<ChildOutcomes>>,
    ) -> Arc<[u32]> {
        let name = self.model.chart.invocation_name(invocation);
        let question: Arc<str> = self.model.chart.invoke_name(invocation.invoke).into();
        let cause = if class == ServiceClass::Human { InputCause::Person } else { InputCause::Service };
        let outcomes = match &child {
            Some(child) => child.events(&name),
            None => self.outcomes_of(&name, &question, class, &invocation.input),
        };
        let numbers = outcomes.into_iter().map(|(name, data)| {
            let is_same = |input: &ModelInput| matches!(input, ModelInput::Event { name: of, data: with } if *of == name && with.is_identical(&data));
            let known = self.answered.iter().find(|known| is_same(&self.choices[**known as usize].input));
            if let Some(known) = known {
                return *known;
            }
            let denies = name.starts_with("error.") || data.get("approved").as_bool() == Some(false);
            let answer = (class == ServiceClass::Human).then(|| (Arc::clone(&question), denies));
            let input = ModelInput::Event { name, data };
            let number = self.add(InputChoice { answer, ..InputChoice::new(input, cause) });
            self.answered.push(number);
            number
        });
        // Where data is unknown, many outcomes are the same.
        let mut distinct: Vec<u32> = Vec::new();
        for number in numbers {
            if !distinct.contains(&number) {
                distinct.push(number);
            }
        }
        distinct.into()
    }

    /// Returns the failures of deliveries.
    pub(crate) fn undelivered(&mut self) -> Arc<[u32]> {
        if let Some(known) = &self.undelivered {
            return Arc::clone(known);
        }
        let base = Value::map([("message", Value::str("it could not be sent"))]);
        let values = self.data(UNDELIVERED, &base, None).into_iter();
        let numbers = values.map(|data| {
            let input = ModelInput::Event { name: UNDELIVERED.into(), data };
            self.add(InputChoice::new(input, InputCause::Undelivered))
        });
        let numbers: Arc<[u32]> = numbers.collect();
        self.undelivered = Some(Arc::clone(&numbers));
        numbers
    }

    /// Adds the refusal of each fan-out without an ended item: a budget around it may not pay for all items.
    pub(crate) fn refused_fan_outs(&mut self, state: &ModelState, picks: &mut Vec<Pick>) {
        for fan_out in state.snapshot.fan_outs() {
            let counts = fan_out.counts();
            let id: Arc<str> = self.model.chart.invoke_name(fan_out.invoke).into();
            let error: Arc<str> = format!("error.invoke.{id}").into();
            let mut nodes = self.model.invokes().filter(|(_, invoke)| invoke.id == id).map(|(node, _)| node);
            let has_budget = nodes.any(|node| crate::ceiling::has_budget(self.model, node));
            if counts.done + counts.failed > 0 || !has_budget || !self.model.chart.handles(&error) {
                continue;
            }
            let call = (fan_out.invoke.0, None, Arc::clone(&error));
            let known = self.calls.get(&call).cloned();
            let numbers = known.unwrap_or_else(|| {
                let refusal = [("category", "limit"), ("message", "the budget does not pay for all items")];
                let base = Value::map(refusal.map(|(name, text)| (name, Value::str(text))));
                let values = self.data(&error, &base, None).into_iter();
                let numbers = values.map(|data| {
                    let input = ModelInput::Event { name: Arc::clone(&error), data };
                    self.add(InputChoice::new(input, InputCause::Service))
                });
                numbers.collect()
            });
            picks.extend(numbers.iter().map(|choice| Pick { choice: *choice, group: 0 }));
            self.calls.insert(call, numbers);
        }
    }

    /// Returns the results of a call that is not a known chart, as events.
    fn outcomes_of(
        &mut self,
        id: &Arc<str>,
        invoke: &str,
        class: ServiceClass,
        input: &Value,
    ) -> Vec<(Arc<str>, Value)> {
        let form = (class == ServiceClass::Human).then(|| rawko_instance::form_schema(input)).flatten();
        let shown = form.as_ref().map(ToString::to_string).unwrap_or_default();
        let key: Arc<str> = format!("{}.{id}.{shown}", class.as_str()).into();
        if let Some(known) = self.outcomes.get(&key) {
            return known.clone();
        }
        let (done, error): (Arc<str>, Arc<str>) =
            (format!("done.invoke.{id}").into(), format!("error.invoke.{id}").into());
        let failure = |category: &str| {
            Value::map([("category", Value::str(category)), ("message", Value::str("it failed"))])
        };
        let mut outcomes = Vec::new();
        let mut add = |name: &Arc<str>, values: Vec<Value>| {
            outcomes.extend(values.into_iter().map(|data| (Arc::clone(name), data)));
        };
        if class == ServiceClass::Human {
            let whole = form.map(|form| Value::map([("properties", Value::map([("data", form)]))]));
            let whole = whole.map(|whole| Schema::compile(&whole).0);
            let approved = Value::map([("approved", Value::Bool(true))]);
            add(&done, self.data(&done, &with_form(approved, whole.as_ref()), whole.as_ref()));
            add(&done, self.data(&done, &Value::map([("approved", Value::Bool(false))]), None));
            // A question fails only by expiring or by a refusal of the host; tried where the chart handles it.
            if self.model.chart.handles(&error) {
                add(&error, self.data(&error, &failure("refused"), None));
            }
        } else {
            let spec = self.model.specs.get(invoke);
            let output = spec.and_then(|spec| spec.output.clone());
            add(&done, self.data(&done, &Value::Null, output.as_ref()));
            let all = self.analysis.classes.is_distinguished("category");
            let known =
                CATEGORIES.iter().take(if all { CATEGORIES.len() } else { 1 }).map(|it| (*it).to_owned());
            let mut categories: Vec<String> = known.collect();
            if all {
                let named = self.analysis.classes.values("category");
                let named = named.iter().filter_map(Value::as_str).filter(|name| !OTHERS.contains(name));
                let new: Vec<&str> = named.filter(|name| !CATEGORIES.contains(name)).collect();
                categories.extend(new.into_iter().map(str::to_owned));
            }
            for category in &categories {
                add(&error, self.data(&error, &failure(category), None));
            }
            // A failure that the service calls final is not retried.
            let mut invokes = self.model.invokes();
            if invokes.any(|(_, spec)| *spec.id == *invoke && spec.retry.is_some()) {
                let mut last = failure(&categories[0]);
                crate::shape::put(&mut last, &["retryable".into()], Value::Bool(false));
                add(&error, self.data(&error, &last, None));
            }
        }
        self.outcomes.insert(key, outcomes.clone());
        outcomes
    }
}

/// Adds data that the form accepts to an answer.
fn with_form(mut answer: Value, schema: Option<&Schema>) -> Value {
    let form = schema.map(|schema| schema.source().get("properties").get("data").clone());
    let sample = form.map(|form| crate::data::sample(&form)).filter(|sample| sample.as_map().is_some());
    if let Some(sample) = sample {
        crate::shape::put(&mut answer, &["data".into()], sample);
    }
    answer
}
