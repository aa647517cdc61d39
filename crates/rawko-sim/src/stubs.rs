//! `Stubs`: how services answer in a simulation. `{"svc": {"after": 50, "done": {…}}}`, or `"error": {…}`; a list of
//! such answers is given one by one, the last one again and again. An answer with `input` is only for calls whose input
//! has these values.

use std::collections::BTreeMap;

use rawko_core::Value;

use crate::stimulus::amount_ms;

/// Answers of all stubbed services, by name or family.
#[derive(Clone, Debug, Default)]
pub struct Stubs {
    answers: BTreeMap<String, Vec<StubAnswer>>,
    given: BTreeMap<String, usize>,
}

/// One stubbed answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StubAnswer {
    /// Delay until the answer arrives, in virtual milliseconds.
    pub after_ms: u64,
    /// Output, or the error that the chart receives.
    pub result: Result<Value, Value>,
    /// The values that the input of the call must have; `None` for any input.
    pub input: Option<Value>,
}

/// Why a description of stubs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stub `{service}`: {message}")]
pub struct StubError {
    /// Service whose entry is invalid.
    pub service: String,
    /// Reason, as a sentence.
    pub message: String,
}

impl Stubs {
    /// Reads `{"name": answer or [answers]}`; the name is an invoke's id or its `src`.
    pub fn from_value(value: &Value) -> Result<Self, StubError> {
        let wrong =
            |service: &str, message: &str| StubError { service: service.into(), message: message.into() };
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Map(map) => map,
            _ => return Err(wrong("", "the stubs are a map from service to answer")),
        };
        let mut stubs = Self::default();
        for (name, answers) in map.iter() {
            let read = |answer: &Value| read_answer(answer).map_err(|message| wrong(name, &message));
            let answers = match answers {
                Value::List(list) if list.is_empty() => {
                    return Err(wrong(name, "the list of answers is empty"));
                }
                Value::List(list) => list.iter().map(read).collect::<Result<Vec<_>, _>>()?,
                one => vec![read(one)?],
            };
            stubs.answers.insert(name.to_string(), answers);
        }
        Ok(stubs)
    }

    /// The next answer for an invoke, looked up by its id (`reviews[1]`, then `reviews` for an item of an `each`) and then
    /// by its `src`. An answer for this input comes before those for any.
    pub(crate) fn answer(&mut self, id: &str, src: &str, input: &Value) -> Option<StubAnswer> {
        let whole = id.split_once('[').map_or(id, |(whole, _)| whole);
        let names = [id, whole, src].into_iter();
        names.filter(|name| self.answers.contains_key(*name)).find_map(|name| {
            let answers = &self.answers[name];
            let is_meant =
                |answer: &&StubAnswer| answer.input.as_ref().is_some_and(|part| includes(input, part));
            if let Some(answer) = answers.iter().find(is_meant) {
                return Some(answer.clone());
            }
            let any: Vec<&StubAnswer> = answers.iter().filter(|answer| answer.input.is_none()).collect();
            let last = any.len().checked_sub(1)?;
            let given = self.given.entry(name.to_owned()).or_default();
            let answer = any[(*given).min(last)].clone();
            *given += 1;
            Some(answer)
        })
    }
}

/// Returns true if every value of `part` is in `input`.
fn includes(input: &Value, part: &Value) -> bool {
    match part.as_map() {
        Some(entries) => entries.iter().all(|(key, value)| includes(input.get(key), value)),
        None => input == part,
    }
}

fn read_answer(answer: &Value) -> Result<StubAnswer, String> {
    let Value::Map(map) = answer else {
        return Err(format!("an answer is {{\"after\": 50, \"done\": …}}, not {}", answer.type_name()));
    };
    if let Some(unknown) = map.keys().find(|key| !["after", "done", "error", "input"].contains(&&***key)) {
        return Err(format!(
            "unknown key `{unknown}`: an answer has `after`, `input`, and `done` or `error`"
        ));
    }
    let after_ms = match map.get("after") {
        Some(amount) => amount_ms(amount).map_err(|error| error.to_string())?,
        None => 0,
    };
    let result = match (map.get("done"), map.get("error")) {
        (Some(_), Some(_)) => return Err("an answer is either `done` or `error`, not both".into()),
        (None, Some(error)) => Err(error.clone()),
        (done, None) => Ok(done.cloned().unwrap_or_default()),
    };
    Ok(StubAnswer { after_ms, result, input: map.get("input").cloned() })
}
