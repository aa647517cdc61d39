//! Properties over random texts: parsing never panics, evaluation always ends, literals read back.

use proptest::prelude::*;
use rawko_core::Value;
use rawko_core::expr::{ExprProblemKind, Type, function_names, parse};

use super::{Fixture, load};

/// Tokens of the language in any order: nearly valid nonsense.
fn soup() -> impl Strategy<Value = String> {
    let words = "context . event input env agents now( stateIn( item index count list items map name missing ( ) [ ] \
                 { } , : ? ?? + - * / % ** ~ == != < <= > >= and or not in if else && || ! true false null 0 1 2.5 \
                 9223372036854775807 'a' \"b\" '' context.list context.map.a event.data -1 \u{e9} \\ & ="
        .split_whitespace()
        .map(str::to_owned);
    let calls = function_names().map(|name| format!("{name}("));
    let pieces: Vec<String> = words.chain(calls).collect();
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.join(" "))
}

fn all_functions() -> Vec<&'static str> {
    function_names().filter(|name| *name != "stateIn").collect()
}

/// Expressions that parse: a leaf, or an operation on others, with calls of these functions.
fn sense(functions: Vec<&'static str>) -> impl Strategy<Value = String> {
    let keys =
        ["count", "limit", "ratio", "name", "yes", "no", "missing", "empty", "list", "words", "items", "map"];
    let literals =
        ["0", "-1", "2.5", "9223372036854775807", "'ab'", "''", "true", "null", "[]", "[1, 'a']", "{a: 1}"];
    let leaf = prop_oneof![
        prop::sample::select(keys.to_vec()).prop_map(|key| format!("context.{key}")),
        prop::sample::select(literals.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec!["event", "event.data", "input", "env", "now()", "item", "context"])
            .prop_map(str::to_owned),
    ];
    let operators =
        vec!["+", "-", "*", "/", "%", "**", "~", "==", "!=", "<", ">=", "and", "or", "in", "not in", "??"];
    leaf.prop_recursive(5, 40, 3, move |inner| {
        let many = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (inner.clone(), prop::sample::select(operators.clone()), inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            (prop::sample::select(functions.clone()), many.clone())
                .prop_map(|(name, arguments)| format!("{name}({})", arguments.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(base, index)| format!("({base})[{index}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(c, a, b)| format!("({c} ? {a} : {b})")),
            inner.clone().prop_map(|base| format!("({base}).a")),
            inner.clone().prop_map(|operand| format!("(not {operand})")),
            inner.clone().prop_map(|operand| format!("(-{operand})")),
            many.prop_map(|items| format!("[{}]", items.join(", "))),
        ]
    })
}

/// Loads and evaluates in every way; only termination matters.
fn exercise(text: &str) {
    if let Ok(expr) = load(text) {
        let fixture = Fixture::new();
        let value = expr.eval(&fixture.scope());
        assert_eq!(value, expr.eval(&fixture.scope()), "the same scope gives the same value");
        if let (Some(constant), Ok(value)) = (expr.constant(), value) {
            assert_eq!(constant, value);
        }
        let _ = expr.eval_guard(&fixture.scope());
        expr.type_problems(&|_| Type::Any);
        expr.infer(&|_| Type::Any);
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>()
            .prop_filter("JSON has no such number", |number| number.is_finite())
            .prop_map(Value::Float),
        any::<String>().prop_map(Value::from),
    ]
}

fn literal() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::list),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(Value::map),
        ]
    })
}

proptest! {
    #[test]
    fn reading_any_text_ends(text in any::<String>()) {
        exercise(&text);
    }

    #[test]
    fn reading_almost_sense_ends(text in soup()) {
        exercise(&text);
    }

    #[test]
    fn evaluating_ends(text in sense(all_functions())) {
        prop_assert!(parse(&text).is_ok(), "{text}");
        exercise(&text);
    }

    /// With the context's values written into the text, so that everything is folded at load, the result is the same.
    #[test]
    fn working_out_at_load_changes_nothing(text in sense(all_functions())) {
        let fixture = Fixture::new();
        let mut written = text.clone();
        for (name, value) in fixture.names.iter().zip(&fixture.context) {
            written = written.replace(&format!("context.{name}"), &format!("({})", serde_json::to_string(value).unwrap()));
        }
        if let (Ok(read), Ok(written)) = (load(&text), load(&written)) {
            prop_assert_eq!(read.eval(&fixture.scope()).ok(), written.eval(&fixture.scope()).ok());
        }
    }

    #[test]
    fn formats_of_time_end(format in "(%[-_0^#]{0,2}[0-9]{0,4}:{0,3}[.a-zA-Z%]|.){0,4}", ms in any::<i64>()) {
        let format = serde_json::to_string(&format).unwrap();
        exercise(&format!("format_time({ms}, {format})"));
        exercise(&format!("format_time(now(), {format})"));
        exercise(&format!("parse_time({format})"));
    }

    /// Mismatches predicted by types really occur, where nothing is skipped and no function returns null instead of its
    /// type.
    #[test]
    fn foretold_mismatches_happen(text in sense(vec!["type", "json", "string", "is_null", "append", "length"])) {
        let skips = text.contains(['?']) || text.contains(" and ") || text.contains(" or ");
        if let Ok(expr) = load(&text) && !skips {
            let fixture = Fixture::new();
            let foretold = expr.type_problems(&|slot| Type::of(&fixture.context[slot.index()]));
            let fails = foretold.iter().any(|problem| problem.kind == ExprProblemKind::TypeMismatch);
            prop_assert!(!fails || expr.eval(&fixture.scope()).is_err(), "{text}: {foretold:?}");
        }
    }

    /// JSON is a subset of the literals.
    #[test]
    fn literals_read_back(value in literal()) {
        let text = serde_json::to_string(&value).unwrap();
        let back = load(&text).map(|expr| expr.eval(&Fixture::new().scope()));
        prop_assert_eq!(back, Ok(Ok(value)), "{}", text);
    }

    #[test]
    fn durations_read_back(ms in 0..rawko_core::duration::DURATION_MS_MAX, unit in prop::sample::select(vec![1, 500, 1_000, 60_000, 3_600_000, 86_400_000])) {
        let ms = ms / unit * unit;
        prop_assert_eq!(rawko_core::duration::parse_ms(&rawko_core::duration::format_ms(ms)), Ok(ms));
    }

    #[test]
    fn reading_a_duration_ends(text in "[P0-9.]{0,8}[TwdhmsWDHMS0-9.]{0,12}") {
        let _ = rawko_core::duration::parse_ms(&text);
    }
}
