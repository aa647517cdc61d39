//! Expressions of ECMAScript beside their translations.

use super::{EcmaVariables, JsType, parse_expression, translate};

/// `n` is a number, `s` a text, `list` a list, `any` unknown; `on` is a state, `past` a history.
fn variables() -> EcmaVariables {
    let types =
        [("n", JsType::Number), ("s", JsType::Text), ("list", JsType::List), ("any", JsType::Unknown)];
    let states = [("on", Some("top.on")), ("past", None)];
    EcmaVariables {
        types: types.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect(),
        states: states.into_iter().map(|(id, path)| (id.to_owned(), path.map(str::to_owned))).collect(),
        chart: "chart".to_owned(),
    }
}

fn ours(text: &str) -> String {
    match parse_expression(text).and_then(|js| translate(&js, &variables())) {
        Ok(translated) => {
            rawko_core::expr::parse(&translated.text).expect(&translated.text);
            translated.text
        }
        Err(why) => format!("! {why}"),
    }
}

#[test]
fn values() {
    for (ecmascript, expected) in [
        ("n + 1", "context.n + 1"),
        ("(n + 1) * -2", "(context.n + 1) * -2"),
        ("n - (1 - n)", "context.n - (1 - context.n)"),
        ("'a' + n", "'a' ~ context.n"),
        ("'a' + n + 1", "'a' ~ context.n ~ 1"),
        ("n + 1 + 'a'", "(context.n + 1) ~ 'a'"),
        ("'a' + 'b'", "'ab'"),
        ("'x: ' + list", "'x: ' ~ json(context.list)"),
        ("any + 1", "context.any + 1"),
        ("n === 1", "context.n == 1"),
        ("n !== 1 && s == 'x'", "context.n != 1 and context.s == 'x'"),
        ("n == 1 | n == 2", "context.n == 1 or context.n == 2"),
        ("!(n > 1 || s)", "not (context.n > 1 or context.s != '')"),
        ("any || 'none'", "context.any not in [null, false, 0, ''] ? context.any : 'none'"),
        ("any ?? 'none'", "context.any ?? 'none'"),
        ("any ? 1 : 2", "context.any not in [null, false, 0, ''] ? 1 : 2"),
        ("_event.name", "event.type"),
        ("_event.data['a b'].c[0]", "event.data['a b'].c[0]"),
        ("_event.sendid", "event.sendid"),
        ("typeof any === 'undefined'", "context.any == null"),
        ("typeof nothing === 'undefined'", "true"),
        ("typeof any !== 'string'", "type(context.any) != 'string'"),
        ("any instanceof Array", "type(context.any) == 'list'"),
        ("undefined", "null"),
        ("list.length", "length(context.list)"),
        ("[].concat(list, [4], n)", "(context.list + [4] + [context.n])"),
        ("[1, 'b', {c: null}]", "[1, 'b', {'c': null}]"),
        ("{a: n, 'b-c': [n]}", "{'a': context.n, 'b-c': [context.n]}"),
        ("Math.pow(n, 3) + Math.max(n, 2)", "context.n ** 3 + max(context.n, 2)"),
        ("JSON.stringify(_event)", "json(event)"),
        ("s.toUpperCase().indexOf('X') !== -1", "(index_of(upper(context.s), 'X') ?? -1) != -1"),
        ("In('on')", "stateIn('top.on')"),
        ("In('past')", "false"),
        ("_name", "'chart'"),
        ("'#_parent'", "'parent'"),
        ("return n;", "context.n"),
        ("'it\\'s'", "'it\\'s'"),
    ] {
        assert_eq!(ours(ecmascript), expected, "{ecmascript}");
    }
}

#[test]
fn what_has_no_counterpart_is_named() {
    for (ecmascript, expected) in [
        ("return", "! not a legal expression: `return` is not an expression"),
        ("n +", "! not a legal expression: unexpected end"),
        ("nothing", "! `nothing` is not declared"),
        ("nothing.at.all", "! `nothing` is not declared"),
        ("n++", "! an expression that assigns exists only in ECMAScript"),
        ("function() {}", "! `function` exists only in ECMAScript"),
        ("() => 1", "! not a legal expression: unexpected `)`"),
        ("/x/.test(s)", "! a regular expression exists only in ECMAScript"),
        ("`x`", "! a template string exists only in ECMAScript"),
        ("n << 2", "! `<<` exists only in ECMAScript"),
        ("n | 2", "! `|` on bits exists only in ECMAScript"),
        ("Math.random()", "! `Math.random` exists only in ECMAScript"),
        ("s.foo()", "! the method `foo` exists only in ECMAScript"),
        ("_event.raw", "! `_event.raw` exists only in ECMAScript"),
    ] {
        assert_eq!(ours(ecmascript), expected, "{ecmascript}");
    }
}

proptest::proptest! {
    /// Every translation is a valid expression of ours, and no input panics.
    #[test]
    fn a_translation_parses(parts in proptest::collection::vec(0..PARTS.len(), 0..14)) {
        let text: String = parts.into_iter().map(|part| PARTS[part]).collect::<Vec<_>>().join(" ");
        ours(&text);
    }
}

const PARTS: [&str; 34] = [
    "n",
    "s",
    "list",
    "any",
    "1",
    "-2.5",
    "'t'",
    "true",
    "null",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "a:",
    ",",
    ".length",
    "+",
    "-",
    "*",
    "%",
    "===",
    "!=",
    "<",
    "&&",
    "||",
    "??",
    "!",
    "?",
    ":",
    "in",
    "typeof",
    "_event.data",
];
