//! `Stubs`: how services answer in a simulation. `{"svc": {"after": 50, "done": {…}}}`, or `"error": {…}`; a list of
//! such answers is given one by one, the last one again and again.

use std::collections::BTreeMap;

use rawko_core::Value;

use crate::stimulus::amount_ms;

#[derive(Clone, Debug, Default)]
pub struct Stubs {
    answers: BTreeMap<String, Vec<StubAnswer>>,
    given: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StubAnswer {
    pub after_ms: u64,
    pub result: Result<Value, Value>,
}

/// Why a description of stubs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stub `{service}`: {message}")]
pub struct StubError {
    pub service: String,
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

    /// The next answer for an invoke, looked up by its id and then by its `src`.
    pub(crate) fn answer(&mut self, id: &str, src: &str) -> Option<StubAnswer> {
        let name = [id, src].into_iter().find(|name| self.answers.contains_key(*name))?;
        let answers = &self.answers[name];
        let given = self.given.entry(name.to_owned()).or_default();
        let answer = answers[(*given).min(answers.len() - 1)].clone();
        *given += 1;
        Some(answer)
    }
}

fn read_answer(answer: &Value) -> Result<StubAnswer, String> {
    let Value::Map(map) = answer else {
        return Err(format!("an answer is {{\"after\": 50, \"done\": …}}, not {}", answer.type_name()));
    };
    if let Some(unknown) = map.keys().find(|key| !["after", "done", "error"].contains(&&***key)) {
        return Err(format!("unknown key `{unknown}`: an answer has `after`, and `done` or `error`"));
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
    Ok(StubAnswer { after_ms, result })
}
