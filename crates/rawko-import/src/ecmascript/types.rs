//! The static type of an ECMAScript expression. It decides between adding and joining, and the conversion to a boolean:
//! our language is strict where ECMAScript converts.

use std::collections::BTreeMap;

use super::syntax::Js;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsType {
    /// No known type.
    Unknown,
    Null,
    Bool,
    Number,
    Text,
    List,
    Map,
}

impl JsType {
    /// Returns the type of a variable that holds either type.
    pub(crate) fn join(self, other: JsType) -> JsType {
        if self == other { self } else { JsType::Unknown }
    }
}

/// The names an expression can refer to.
#[derive(Clone, Debug, Default)]
pub(crate) struct EcmaVariables {
    /// The variables of the data model.
    pub(crate) types: BTreeMap<String, JsType>,
    /// State ids and their names in `stateIn`; `None` if never active (history).
    pub(crate) states: BTreeMap<String, Option<String>>,
    /// `_name`.
    pub(crate) chart: String,
}

pub(crate) fn type_of(js: &Js, variables: &EcmaVariables) -> JsType {
    match js {
        Js::Number(_) => JsType::Number,
        Js::Text(_) => JsType::Text,
        Js::Bool(_) => JsType::Bool,
        Js::Null => JsType::Null,
        Js::List(_) => JsType::List,
        Js::Object(_) => JsType::Map,
        Js::Name(name) => type_of_name(name, variables),
        Js::Member(object, name) => type_of_member(object, name),
        Js::Index(..) => JsType::Unknown,
        Js::Call(function, arguments) => type_of_call(function, arguments, variables),
        Js::Unary(operator, _) => match *operator {
            "!" => JsType::Bool,
            "typeof" => JsType::Text,
            _ => JsType::Number,
        },
        Js::Binary(operator, left, right) => {
            type_of_binary(operator, type_of(left, variables), type_of(right, variables))
        }
        Js::Conditional(_, yes, no) => type_of(yes, variables).join(type_of(no, variables)),
    }
}

fn type_of_name(name: &str, variables: &EcmaVariables) -> JsType {
    match name {
        "_name" | "_sessionid" => JsType::Text,
        "_ioprocessors" => JsType::Map,
        _ => variables.types.get(name).copied().unwrap_or(JsType::Unknown),
    }
}

fn type_of_member(object: &Js, name: &str) -> JsType {
    let of_event = matches!(object, Js::Name(root) if root == "_event");
    match name {
        "name" if of_event => JsType::Text,
        "length" => JsType::Number,
        "location" => JsType::Text,
        _ => JsType::Unknown,
    }
}

fn type_of_call(function: &Js, arguments: &[Js], variables: &EcmaVariables) -> JsType {
    match function {
        Js::Name(name) => match name.as_str() {
            "In" | "Boolean" | "isNaN" => JsType::Bool,
            "String" => JsType::Text,
            "Number" | "parseInt" | "parseFloat" => JsType::Number,
            _ => JsType::Unknown,
        },
        Js::Member(object, method) => match (&**object, method.as_str()) {
            (Js::Name(root), _) if root == "Math" => JsType::Number,
            (Js::Name(root), "stringify") if root == "JSON" => JsType::Text,
            (Js::Name(root), "isArray") if root == "Array" => JsType::Bool,
            (Js::Name(root), "now") if root == "Date" => JsType::Number,
            (object, "concat") => match type_of(object, variables) {
                JsType::Text => JsType::Text,
                JsType::List => JsType::List,
                _ => arguments.first().map_or(JsType::Unknown, |first| type_of(first, variables)),
            },
            (_, "toUpperCase" | "toLowerCase" | "trim" | "toString" | "join") => JsType::Text,
            (_, "includes" | "startsWith" | "endsWith") => JsType::Bool,
            (_, "split") => JsType::List,
            _ => JsType::Unknown,
        },
        _ => JsType::Unknown,
    }
}

fn type_of_binary(operator: &str, left: JsType, right: JsType) -> JsType {
    match operator {
        "==" | "===" | "!=" | "!==" | "<" | ">" | "<=" | ">=" | "in" | "instanceof" => JsType::Bool,
        "-" | "*" | "/" | "%" => JsType::Number,
        "+" if left == JsType::Text || right == JsType::Text => JsType::Text,
        "+" if left == JsType::Number && right == JsType::Number => JsType::Number,
        "+" => JsType::Unknown,
        "|" | "&" if left == JsType::Bool && right == JsType::Bool => JsType::Bool,
        _ => left.join(right),
    }
}
