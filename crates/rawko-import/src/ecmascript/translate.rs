//! Translates an ECMAScript tree to the text of one of our expressions. Where the languages disagree about a value
//! (truth, joining, missing values) the translation uses our strict form.

use serde_json::{Value as Json, json};

use super::Untranslatable;
use super::calls::call;
use super::literals::{context_key, is_identifier, is_true, number_json, plain, text_literal};
use super::piece::{Binding, Translation};
use super::syntax::Js;
use super::types::{EcmaVariables, JsType, type_of};

/// The address of a chart's own internal queue in SCXML.
pub(crate) const INTERNAL: &str = "#_internal";
const SCXML_PROCESSOR: &str = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor";

/// The fields of `_event` in SCXML.
const EVENT_FIELDS: [&str; 7] = ["name", "type", "sendid", "origin", "origintype", "invokeid", "data"];

pub(crate) fn translate(js: &Js, variables: &EcmaVariables) -> Result<Translation, Untranslatable> {
    Translator { variables }.value(js)
}

#[derive(Clone, Copy)]
pub(super) struct Translator<'a> {
    pub(super) variables: &'a EcmaVariables,
}

impl Translator<'_> {
    pub(super) fn value(self, js: &Js) -> Result<Translation, Untranslatable> {
        match js {
            Js::Number(number) => Ok(Translation::constant(number_json(*number))),
            Js::Text(text) => Ok(Translation::constant(address(text).into())),
            Js::Bool(value) => Ok(Translation::constant((*value).into())),
            Js::Null => Ok(Translation::constant(Json::Null)),
            Js::Name(name) => self.name(name),
            Js::Member(object, name) => self.member(object, name),
            Js::Index(object, index) => self.index(object, index),
            Js::Call(function, arguments) => call(self, function, arguments),
            Js::Unary(operator, operand) => self.unary(operator, operand),
            Js::Binary(operator, left, right) => self.binary(operator, left, right),
            Js::Conditional(condition, yes, no) => self.conditional(condition, yes, no),
            Js::List(items) => self.list(items),
            Js::Object(entries) => self.object(entries),
        }
    }

    /// Translates the expression as a guard: true or false, by ECMAScript's truthiness.
    pub(super) fn truth(self, js: &Js) -> Result<Translation, Untranslatable> {
        match js {
            Js::Binary("&&", left, right) => self.both(" and ", Binding::And, left, right),
            Js::Binary("||", left, right) => self.both(" or ", Binding::Or, left, right),
            Js::Unary("!", operand) => self.negation(operand),
            Js::Name(name) if name == "_event" => {
                Ok(Translation::loose("event != null".to_owned(), Binding::Compare))
            }
            _ => {
                let value = self.value(js)?;
                Ok(match (&value.constant, type_of(js, self.variables)) {
                    (Some(constant), _) => Translation::constant(is_true(constant).into()),
                    (None, JsType::Bool) => value,
                    (None, JsType::Number) => compare(&value, "!=", "0"),
                    (None, JsType::Text) => compare(&value, "!=", "''"),
                    (None, JsType::List | JsType::Map) => compare(&value, "!=", "null"),
                    (None, JsType::Null | JsType::Unknown) => {
                        compare(&value, "not in", "[null, false, 0, '']")
                    }
                })
            }
        }
    }

    fn both(
        self,
        word: &str,
        binding: Binding,
        left: &Js,
        right: &Js,
    ) -> Result<Translation, Untranslatable> {
        let (left, right) = (self.truth(left)?, self.truth(right)?);
        Ok(Translation::loose(format!("{}{word}{}", left.within(binding), right.within(binding)), binding))
    }

    fn negation(self, operand: &Js) -> Result<Translation, Untranslatable> {
        let truth = self.truth(operand)?;
        Ok(match &truth.constant {
            Some(constant) => Translation::constant((!is_true(constant)).into()),
            None => Translation::loose(format!("not {}", truth.within(Binding::Unary)), Binding::Not),
        })
    }

    fn name(self, name: &str) -> Result<Translation, Untranslatable> {
        match name {
            "_event" => Ok(Translation::tight("event")),
            "_name" => Ok(Translation::constant(self.variables.chart.clone().into())),
            // `send` uses this word for an instance's own address; other uses of a session id are not imported.
            "_sessionid" => Ok(Translation::constant("self".into())),
            "_ioprocessors" => Ok(Translation::constant(
                json!({"scxml": {"location": "self"}, SCXML_PROCESSOR: {"location": "self"}}),
            )),
            _ if self.variables.types.contains_key(name) => Ok(Translation::tight(context_key(name))),
            "Math" | "JSON" | "Date" | "Object" | "Array" | "String" | "Number" | "NaN" | "Infinity"
            | "console" => Err(Untranslatable::foreign(format!("`{name}`"))),
            _ => Err(Untranslatable::Undeclared(name.to_owned())),
        }
    }

    fn member(self, object: &Js, name: &str) -> Result<Translation, Untranslatable> {
        match object {
            Js::Name(root) if root == "_event" => return event_field(name),
            Js::Name(root) if root == "Math" && name == "PI" => {
                return Ok(Translation::constant(std::f64::consts::PI.into()));
            }
            _ => {}
        }
        let value = self.value(object)?;
        if let Some(Json::Object(entries)) = &value.constant {
            return Ok(Translation::constant(entries.get(name).cloned().unwrap_or(Json::Null)));
        }
        if name == "length" {
            return Ok(Translation::tight(format!("length({})", value.text)));
        }
        Ok(Translation::tight(if is_identifier(name) {
            format!("{}.{name}", value.within(Binding::Tight))
        } else {
            format!("{}[{}]", value.within(Binding::Tight), text_literal(name))
        }))
    }

    fn index(self, object: &Js, index: &Js) -> Result<Translation, Untranslatable> {
        let (object, index) = (self.value(object)?, self.value(index)?);
        Ok(Translation::tight(format!("{}[{}]", object.within(Binding::Tight), index.text)))
    }

    fn unary(self, operator: &str, operand: &Js) -> Result<Translation, Untranslatable> {
        match operator {
            "!" => self.negation(operand),
            "-" => Ok(Translation::loose(
                format!("-{}", self.value(operand)?.within(Binding::Tight)),
                Binding::Unary,
            )),
            "+" => Ok(Translation::tight(format!("number({})", self.value(operand)?.text))),
            _ => Err(Untranslatable::foreign("`typeof` outside a comparison with a type's name")),
        }
    }

    fn binary(self, operator: &str, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        match operator {
            "==" | "===" | "!=" | "!==" => self.equality(operator, left, right),
            "<" | ">" | "<=" | ">=" => self.infix(operator, Binding::Compare, left, right),
            "+" => self.plus(left, right),
            "-" => self.infix(operator, Binding::Add, left, right),
            "*" | "/" | "%" => self.infix(operator, Binding::Multiply, left, right),
            "&&" | "||" | "??" => self.either(operator, left, right),
            "in" => self.contained(left, right),
            "instanceof" => self.instance(left, right),
            "|" | "&" => self.bits(operator, left, right),
            _ => Err(Untranslatable::foreign(format!("`{operator}`"))),
        }
    }

    fn equality(self, operator: &str, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        let operator = if operator.starts_with('!') { "!=" } else { "==" };
        for (typed, word) in [(left, right), (right, left)] {
            if let (Js::Unary("typeof", operand), Js::Text(word)) = (typed, word) {
                return self.type_test(operator, operand, word);
            }
        }
        self.infix(operator, Binding::Compare, left, right)
    }

    /// Translates `typeof x == 'string'`. For an undeclared name it is `'undefined'`, not an error.
    fn type_test(self, operator: &str, operand: &Js, word: &str) -> Result<Translation, Untranslatable> {
        let value = match self.value(operand) {
            Err(Untranslatable::Undeclared(_)) => Translation::constant(Json::Null),
            other => other?,
        };
        let negate = if operator == "!=" { "not in" } else { "in" };
        Ok(match word {
            "undefined" if value.constant.is_some() => {
                let undefined = value.constant == Some(Json::Null);
                Translation::constant((undefined == (operator == "==")).into())
            }
            "undefined" => compare(&value, operator, "null"),
            "object" => compare(
                &Translation::tight(format!("type({})", value.text)),
                negate,
                "['map', 'list', 'null']",
            ),
            "string" | "number" | "boolean" => {
                compare(&Translation::tight(format!("type({})", value.text)), operator, &text_literal(word))
            }
            _ => return Err(Untranslatable::foreign(format!("the type `{word}`"))),
        })
    }

    fn infix(
        self,
        operator: &str,
        binding: Binding,
        left: &Js,
        right: &Js,
    ) -> Result<Translation, Untranslatable> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        // The right operand is one step tighter, because everything is left-associative; comparisons do not chain at
        // all.
        let tighter = match binding {
            Binding::Add => Binding::Multiply,
            Binding::Multiply => Binding::Unary,
            _ => Binding::Add,
        };
        let loosest = if binding == Binding::Compare { Binding::Add } else { binding };
        Ok(Translation::loose(
            format!("{} {operator} {}", left.within(loosest), right.within(tighter)),
            binding,
        ))
    }

    fn plus(self, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        let joined = [left, right].iter().any(|side| type_of(side, self.variables) == JsType::Text);
        if !joined {
            return self.infix("+", Binding::Add, left, right);
        }
        let (left, right) = (self.joinable(left)?, self.joinable(right)?);
        if let (Some(a), Some(b)) = (&left.constant, &right.constant) {
            return Ok(Translation::constant(format!("{}{}", plain(a), plain(b)).into()));
        }
        let head = if left.is_join() { left.text } else { left.within(Binding::Unary) };
        Ok(Translation::loose(format!("{head} ~ {}", right.within(Binding::Unary)), Binding::Join))
    }

    /// Translates one side of a joined text: `~` does not accept lists or maps.
    fn joinable(self, js: &Js) -> Result<Translation, Untranslatable> {
        let value = self.value(js)?;
        Ok(match type_of(js, self.variables) {
            JsType::List | JsType::Map => Translation::tight(format!("json({})", value.text)),
            JsType::Unknown | JsType::Null | JsType::Bool | JsType::Number | JsType::Text => value,
        })
    }

    /// Translates `a || b` as a value: one of the two, not true or false.
    fn either(self, operator: &str, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        let both_bool = [left, right].iter().all(|side| type_of(side, self.variables) == JsType::Bool);
        if both_bool && operator != "??" {
            return self.truth(&Js::Binary(
                if operator == "&&" { "&&" } else { "||" },
                Box::new(left.clone()),
                Box::new(right.clone()),
            ));
        }
        let (kept, other) = (self.value(left)?, self.value(right)?);
        if operator == "??" {
            return Ok(Translation::coalesce(&kept, &other.within(Binding::Join)));
        }
        let test = self.truth(left)?;
        let (yes, no) = if operator == "&&" { (other, kept) } else { (kept, other) };
        Ok(choose(&test, &yes, &no))
    }

    fn contained(self, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        if let (Js::Text(field), Js::Name(root)) = (left, right)
            && root == "_event"
        {
            return Ok(if EVENT_FIELDS.contains(&field.as_str()) {
                Translation::loose("event != null".to_owned(), Binding::Compare)
            } else {
                Translation::constant(false.into())
            });
        }
        self.infix("in", Binding::Compare, left, right)
    }

    fn instance(self, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        let value = self.value(left)?;
        let word = match right {
            Js::Name(class) if class == "Array" => "list",
            Js::Name(class) if class == "Object" => "map",
            _ => return Err(Untranslatable::foreign("`instanceof`")),
        };
        Ok(compare(&Translation::tight(format!("type({})", value.text)), "==", &text_literal(word)))
    }

    /// `|` and `&` between booleans are meant as `||` and `&&`.
    fn bits(self, operator: &str, left: &Js, right: &Js) -> Result<Translation, Untranslatable> {
        let both_bool = [left, right].iter().all(|side| type_of(side, self.variables) == JsType::Bool);
        match operator {
            "|" if both_bool => self.both(" or ", Binding::Or, left, right),
            "&" if both_bool => self.both(" and ", Binding::And, left, right),
            _ => Err(Untranslatable::foreign(format!("`{operator}` on bits"))),
        }
    }

    fn conditional(self, condition: &Js, yes: &Js, no: &Js) -> Result<Translation, Untranslatable> {
        Ok(choose(&self.truth(condition)?, &self.value(yes)?, &self.value(no)?))
    }

    fn list(self, items: &[Js]) -> Result<Translation, Untranslatable> {
        let items = items.iter().map(|item| self.value(item)).collect::<Result<Vec<_>, _>>()?;
        if let Some(constants) = items.iter().map(|item| item.constant.clone()).collect::<Option<Vec<_>>>() {
            return Ok(Translation::constant(Json::Array(constants)));
        }
        let texts: Vec<_> = items.iter().map(|item| item.text.as_str()).collect();
        Ok(Translation::tight(format!("[{}]", texts.join(", "))))
    }

    fn object(self, entries: &[(String, Js)]) -> Result<Translation, Untranslatable> {
        let entries = entries
            .iter()
            .map(|(key, value)| Ok((key.clone(), self.value(value)?)))
            .collect::<Result<Vec<_>, Untranslatable>>()?;
        let constants = entries.iter().map(|(key, value)| Some((key.clone(), value.constant.clone()?)));
        if let Some(constants) = constants.collect::<Option<serde_json::Map<_, _>>>() {
            return Ok(Translation::constant(Json::Object(constants)));
        }
        let texts: Vec<_> =
            entries.iter().map(|(key, value)| format!("{}: {}", text_literal(key), value.text)).collect();
        Ok(Translation::tight(format!("{{{}}}", texts.join(", "))))
    }
}

/// Translates a guard.
pub(crate) fn translate_guard(js: &Js, variables: &EcmaVariables) -> Result<Translation, Untranslatable> {
    Translator { variables }.truth(js)
}

fn event_field(name: &str) -> Result<Translation, Untranslatable> {
    match name {
        "name" => Ok(Translation::tight("event.type")),
        "data" | "origin" | "sendid" | "invokeid" => Ok(Translation::tight(format!("event.{name}"))),
        "origintype" => {
            let text = format!("event.origin == null ? null : '{SCXML_PROCESSOR}'");
            Ok(Translation::loose(text, Binding::Conditional))
        }
        _ => Err(Untranslatable::foreign(format!("`_event.{name}`"))),
    }
}

fn compare(left: &Translation, operator: &str, right: &str) -> Translation {
    Translation::loose(format!("{} {operator} {right}", left.within(Binding::Add)), Binding::Compare)
}

fn choose(test: &Translation, yes: &Translation, no: &Translation) -> Translation {
    let text =
        format!("{} ? {} : {}", test.within(Binding::Or), yes.within(Binding::Or), no.within(Binding::Or));
    Translation::loose(text, Binding::Conditional)
}

/// Translates an address inside a string: sessions are addressed by their id alone, the parent by a word. `#_internal`
/// is kept: an event sent there is raised, and a send to a computed address checks for it.
fn address(text: &str) -> &str {
    match text {
        "#_parent" => "parent",
        INTERNAL => text,
        _ => text.strip_prefix("#_scxml_").or_else(|| text.strip_prefix("#_")).unwrap_or(text),
    }
}
