//! Actions. Those with a data form are translated; a named one was code and becomes a call of a handler of that name.

use serde_json::{Map, Value as Json};

use super::{JsonPath, XstateImporter, one_or_many};
use crate::ecmascript::literal;
use crate::yaml::Yaml;

impl XstateImporter {
    pub(super) fn action_list(&mut self, json: &Json, place: &JsonPath) -> Vec<Yaml> {
        let many = matches!(json, Json::Array(_));
        let actions = one_or_many(json).into_iter().enumerate().filter_map(|(index, action)| {
            let place = if many { place.at(index) } else { place.clone() };
            self.action(action, &place)
        });
        actions.collect()
    }

    fn action(&mut self, json: &Json, place: &JsonPath) -> Option<Yaml> {
        match json {
            Json::String(name) => Some(self.named_action(name, place)),
            Json::Object(entries) => match entries.get("type").and_then(Json::as_str) {
                Some(kind) => self.typed_action(kind, entries, place),
                None => self.lost_action(place, "an action without a type"),
            },
            // `JSON.stringify` writes null for a function in a list.
            Json::Null => self.unwritten_action(place, "an action that was code"),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) => {
                self.lost_action(place, "an action of an unknown form")
            }
        }
    }

    fn lost_action(&mut self, place: &JsonPath, what: &str) -> Option<Yaml> {
        self.lost(place, what);
        Some(log(format!("not carried over: {what}").into()))
    }

    /// An action that was a function without a name: the author writes it again.
    fn unwritten_action(&mut self, place: &JsonPath, what: &str) -> Option<Yaml> {
        self.unwritten(place, what);
        Some(log(format!("to be written: {what}").into()))
    }

    fn named_action(&mut self, name: &str, place: &JsonPath) -> Yaml {
        if !self.actions.iter().any(|(known, _)| known == name) {
            self.unwritten(
                place,
                format!("the action `{name}` was code: it became a call of the handler `{name}`"),
            );
            self.actions.push((name.to_owned(), call(name, None)));
        }
        Yaml::text(name)
    }

    fn typed_action(&mut self, kind: &str, entries: &Map<String, Json>, place: &JsonPath) -> Option<Yaml> {
        // Visual editors put the action's parameters below `params`.
        let params = entries.get("params").and_then(Json::as_object);
        let field = |key: &str| entries.get(key).or_else(|| params.and_then(|params| params.get(key)));
        match kind {
            "xstate.raise" => self.event_action(None, &field, place),
            "xstate.send" => match field("to").filter(|to| !to.is_null()).map(Json::as_str) {
                None => self.event_action(Some("self"), &field, place),
                Some(Some("#_internal")) => self.event_action(None, &field, place),
                Some(Some("#_parent")) => self.event_action(Some("parent"), &field, place),
                Some(Some(target)) => self.event_action(Some(target), &field, place),
                Some(None) => self.unwritten_action(place, "a `send` whose target was code"),
            },
            "xstate.sendTo" => {
                let target = field("target").or_else(|| field("to")).or_else(|| field("actorRef"));
                let target = target.and_then(Json::as_str).map(str::to_owned);
                match target {
                    Some(target) => self.event_action(Some(&target), &field, place),
                    None => self.unwritten_action(place, "a `sendTo` whose target was code"),
                }
            }
            "xstate.sendParent" => self.event_action(Some("parent"), &field, place),
            "xstate.emit" => {
                let Some((event, data)) = self.payload(field("event"), place) else {
                    return Some(log("to be written: an event that was code".into()));
                };
                Some(with_data(Yaml::map([("type", Yaml::text("emit")), ("event", event)]), data))
            }
            "xstate.log" => {
                Some(log(field("value").or_else(|| field("label")).cloned().unwrap_or("log".into())))
            }
            "xstate.cancel" => match field("sendId").or_else(|| field("id")).and_then(Json::as_str) {
                Some(id) => {
                    Some(Yaml::map([("type", Yaml::text("cancel")), ("id", crate::name_or_literal(id))]))
                }
                None => self.unwritten_action(place, "a `cancel` whose id was code"),
            },
            "xstate.assign" => self.assign(field("assignment"), place),
            builtin if builtin.starts_with("xstate.") => {
                self.lost_action(place, &format!("the action `{builtin}`"))
            }
            name => match entries.get("params").filter(|params| !params.is_null()) {
                None => Some(self.named_action(name, place)),
                Some(params) => {
                    self.unwritten(
                        place,
                        format!("the action `{name}` was code: it became a call of the handler `{name}`"),
                    );
                    Some(call(name, Some(params)))
                }
            },
        }
    }

    /// Translates `raise` and the sends: an event with its data, immediate or delayed.
    fn event_action<'j>(
        &mut self,
        target: Option<&str>,
        field: &dyn Fn(&str) -> Option<&'j Json>,
        place: &JsonPath,
    ) -> Option<Yaml> {
        let Some((event, data)) = self.payload(field("event"), place) else {
            return Some(log("to be written: an event that was code".into()));
        };
        let delay = field("delay").filter(|delay| !delay.is_null());
        // Ours raises immediately; a raise with a delay is a send to `self`.
        let target = target.or(delay.map(|_| "self"));
        let mut action = match target {
            None => Yaml::map([("type", Yaml::text("raise")), ("event", event)]),
            Some(target) => Yaml::map([
                ("type", Yaml::text("send")),
                ("target", crate::name_or_literal(target)),
                ("event", event),
            ]),
        };
        action = with_data(action, data);
        match delay {
            Some(Json::Number(ms)) if ms.is_u64() => action.push("delay", Yaml::Number(ms.clone())),
            Some(Json::Number(ms)) => {
                let delay = self.delay(&ms.to_string(), place);
                action.push("delay", Yaml::Text(delay));
            }
            Some(Json::String(name)) => {
                let delay = self.delay(name, place);
                action.push("delay", Yaml::Text(delay));
            }
            Some(_) => self.unwritten(place, "a delay that was code"),
            None => {}
        }
        if let Some(id) = field("id").and_then(Json::as_str).filter(|_| target.is_some()) {
            action.push("id", crate::name_or_literal(id));
        }
        Some(action)
    }

    /// Returns an event's name and data. XState puts an event's data beside its type, our format below `data`.
    fn payload(&mut self, event: Option<&Json>, place: &JsonPath) -> Option<(Yaml, Option<Yaml>)> {
        match event {
            Some(Json::String(name)) => Some((crate::name_or_literal(&self.sent_name(name)), None)),
            Some(Json::Object(entries)) if entries.get("type").is_some_and(Json::is_string) => {
                let name = entries.get("type").and_then(Json::as_str).unwrap_or_default();
                let data: Vec<_> = entries
                    .iter()
                    .filter(|(key, _)| *key != "type")
                    .map(|(key, value)| (key.clone(), crate::literal_data(value)))
                    .collect();
                Some((
                    crate::name_or_literal(&self.sent_name(name)),
                    (!data.is_empty()).then_some(Yaml::Map(data)),
                ))
            }
            _ => {
                self.unwritten(place, "an event that was code");
                None
            }
        }
    }

    fn assign(&mut self, assignment: Option<&Json>, place: &JsonPath) -> Option<Yaml> {
        let updates: Vec<_> = match assignment {
            Some(Json::Object(entries)) => {
                self.assigned.extend(entries.keys().cloned());
                entries.iter().map(|(key, value)| (key.clone(), expression(value))).collect()
            }
            _ => Vec::new(),
        };
        if updates.is_empty() {
            return self.unwritten_action(place, "an `assign` that was code");
        }
        Some(Yaml::map([("type", Yaml::text("assign")), ("context_updates", Yaml::Map(updates))]))
    }

    /// Writes literal data where our format reads strings as expressions.
    pub(super) fn literal_value(&mut self, json: &Json, place: &JsonPath) -> Yaml {
        if json.is_null() {
            self.unwritten(place, "a value that was code");
        }
        expression(json)
    }
}

fn expression(json: &Json) -> Yaml {
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => Yaml::from_json(json),
        Json::String(_) | Json::Array(_) => Yaml::Text(literal(json)),
        Json::Object(entries) if entries.is_empty() => Yaml::Text("{}".to_owned()),
        Json::Object(entries) => {
            Yaml::Map(entries.iter().map(|(key, value)| (key.clone(), expression(value))).collect())
        }
    }
}

fn call(name: &str, params: Option<&Json>) -> Yaml {
    let mut call = Yaml::map([("type", Yaml::text("invoke")), ("handler", Yaml::text(name))]);
    if let Some(params) = params {
        call.push("params", crate::literal_data(params));
    }
    call
}

fn log(message: Json) -> Yaml {
    Yaml::map([("type", Yaml::text("log")), ("message", crate::literal_data(&message))])
}

fn with_data(mut action: Yaml, data: Option<Yaml>) -> Yaml {
    if let Some(data) = data {
        action.push("data", data);
    }
    action
}
