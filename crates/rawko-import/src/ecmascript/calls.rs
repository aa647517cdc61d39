//! Translations of ECMAScript's functions and methods that have a counterpart in our language.

use super::Untranslatable;
use super::literals::text_literal;
use super::piece::{Binding, Translation};
use super::syntax::Js;
use super::translate::Translator;
use super::types::{JsType, type_of};

pub(super) fn call(
    translator: Translator<'_>,
    function: &Js,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    match function {
        Js::Name(name) => plain_call(translator, name, arguments),
        Js::Member(object, method) => match &**object {
            Js::Name(root) if root == "Math" => math_call(translator, method, arguments),
            Js::Name(root) if root == "JSON" || root == "Array" || root == "Date" => {
                library_call(translator, root, method, arguments)
            }
            object => method_call(translator, object, method, arguments),
        },
        _ => Err(Untranslatable::foreign("calling a value")),
    }
}

fn plain_call(
    translator: Translator<'_>,
    name: &str,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    match (name, arguments) {
        ("In", [Js::Text(state)]) => match translator.variables.states.get(state) {
            Some(Some(path)) => Ok(Translation::tight(format!("stateIn({})", text_literal(path)))),
            // Neither a history nor an unknown state is ever active.
            Some(None) | None => Ok(Translation::constant(false.into())),
        },
        ("In", _) => Err(Untranslatable::foreign("`In` of a computed name")),
        ("Number" | "parseInt" | "parseFloat", [value, ..]) => {
            apply(translator, "number", std::slice::from_ref(value))
        }
        ("String", [_]) => apply(translator, "string", arguments),
        ("Boolean", [value]) => translator.truth(value),
        _ => Err(Untranslatable::foreign(format!("the function `{name}`"))),
    }
}

fn math_call(
    translator: Translator<'_>,
    method: &str,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    match (method, arguments.len()) {
        ("abs" | "floor" | "ceil" | "round", 1) | ("min" | "max", 1..) => {
            apply(translator, method, arguments)
        }
        ("sqrt", 1) => power(translator, &arguments[0], &Js::Number(0.5)),
        ("pow", 2) => power(translator, &arguments[0], &arguments[1]),
        _ => Err(Untranslatable::foreign(format!("`Math.{method}`"))),
    }
}

fn power(translator: Translator<'_>, base: &Js, exponent: &Js) -> Result<Translation, Untranslatable> {
    let (base, exponent) = (translator.value(base)?, translator.value(exponent)?);
    Ok(Translation::power(&base, &exponent))
}

fn library_call(
    translator: Translator<'_>,
    root: &str,
    method: &str,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    match (root, method, arguments) {
        ("JSON", "stringify", [value, ..]) => apply(translator, "json", std::slice::from_ref(value)),
        ("JSON", "parse", [value]) => apply(translator, "parse_json", std::slice::from_ref(value)),
        ("Array", "isArray", [value]) => translator.value(&Js::Binary(
            "instanceof",
            Box::new(value.clone()),
            Box::new(Js::Name("Array".to_owned())),
        )),
        _ => Err(Untranslatable::foreign(format!("`{root}.{method}`"))),
    }
}

fn method_call(
    translator: Translator<'_>,
    object: &Js,
    method: &str,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    let with_object = || {
        let mut all = vec![object.clone()];
        all.extend_from_slice(arguments);
        all
    };
    match (method, arguments) {
        ("concat", _) => concat(translator, object, arguments),
        ("includes", [needle]) => {
            translator.value(&Js::Binary("in", Box::new(needle.clone()), Box::new(object.clone())))
        }
        ("toUpperCase", []) => apply(translator, "upper", &with_object()),
        ("toLowerCase", []) => apply(translator, "lower", &with_object()),
        ("trim", []) => apply(translator, "trim", &with_object()),
        ("toString", []) => apply(translator, "string", &with_object()),
        ("startsWith", [_]) => apply(translator, "starts_with", &with_object()),
        ("endsWith", [_]) => apply(translator, "ends_with", &with_object()),
        ("indexOf", [_]) => Ok(Translation::coalesce(&apply(translator, "index_of", &with_object())?, "-1")),
        ("slice", [_] | [_, _]) => apply(translator, "slice", &with_object()),
        ("split", [_]) => apply(translator, "split", &with_object()),
        ("join", [_]) => apply(translator, "join", &with_object()),
        _ => {
            // Translated first, because an undeclared object is the more useful error.
            translator.value(object)?;
            Err(Untranslatable::foreign(format!("the method `{method}`")))
        }
    }
}

/// Lists are joined by `concat` in both languages; strings by `~` in ours.
fn concat(translator: Translator<'_>, object: &Js, arguments: &[Js]) -> Result<Translation, Untranslatable> {
    if type_of(object, translator.variables) == JsType::Text {
        let parts = std::iter::once(object).chain(arguments);
        let joined = parts.cloned().reduce(|left, right| Js::Binary("+", Box::new(left), Box::new(right)));
        return joined.map_or_else(|| translator.value(object), |joined| translator.value(&joined));
    }
    // `[].concat(list, more)` is a copy; the empty list adds nothing.
    let empty = matches!(object, Js::List(items) if items.is_empty());
    let parts = std::iter::once(object).filter(|_| !empty).chain(arguments);
    let texts = parts
        .map(|part| {
            let value = translator.value(part)?;
            // A single value is appended as an item.
            let single = !matches!(type_of(part, translator.variables), JsType::List | JsType::Unknown);
            Ok(if single { format!("[{}]", value.text) } else { value.within(Binding::Tight) })
        })
        .collect::<Result<Vec<_>, Untranslatable>>()?;
    Ok(Translation::tight(format!("({})", texts.join(" + "))))
}

fn apply(
    translator: Translator<'_>,
    function: &str,
    arguments: &[Js],
) -> Result<Translation, Untranslatable> {
    let arguments =
        arguments.iter().map(|argument| translator.value(argument)).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<_> = arguments.iter().map(|argument| argument.text.as_str()).collect();
    Ok(Translation::tight(format!("{function}({})", texts.join(", "))))
}
