//! Static analysis: constants, types, reads, and operations that always fail.

use rawko_core::expr::{Expr, Type};
use rawko_core::{Slot, Value};

use super::{Fixture, loaded};

/// Returns the types of the fixture's context, from its initial values; null means any.
fn context_types(slot: Slot) -> Type {
    match Type::of(&Fixture::new().context[slot.index()]) {
        Type::Null => Type::Any,
        known => known,
    }
}

#[test]
fn constants() {
    let constant = |text: &str| loaded(text).constant();
    assert_eq!(constant("1 + 2 * 3"), Some(Value::Int(7)));
    assert_eq!(constant("upper('a') ~ [1, 2][1]"), Some(Value::str("A2")));
    assert_eq!(constant("false and context.yes"), Some(Value::Bool(false)));
    assert_eq!(constant("true or context.yes"), Some(Value::Bool(true)));
    assert_eq!(constant("1 > 2 ? context.count : 'x'"), Some(Value::str("x")));
    for text in [
        "context.count",
        "now()",
        "event.type",
        "agents.list()",
        "stateIn('root')",
        "context.yes and false",
        "1 / 0",
    ] {
        assert_eq!(constant(text), None, "{text}");
    }
    assert_eq!(constant("range(5000)"), None, "too large to keep with every chart");
    assert_eq!(Expr::literal(Value::Int(5)).constant(), Some(Value::Int(5)));
    assert_eq!(Expr::literal(Value::str("a")).text(), "\"a\"");
}

#[test]
fn inferred_types() {
    let rows = [
        ("1 + context.count", Type::Number),
        ("context.name + 'x'", Type::String),
        ("context.missing + 'x'", Type::String),
        ("context.missing + context.missing", Type::Any),
        ("context.count ~ 1", Type::String),
        ("context.count < 1", Type::Bool),
        ("not context.yes", Type::Bool),
        ("context.list", Type::List),
        ("[1]", Type::List),
        ("{a: 1}", Type::Map),
        ("context", Type::Map),
        ("null", Type::Null),
        ("event.data", Type::Any),
        ("event.type", Type::String),
        ("context.map.a", Type::Any),
        ("context.yes ? 1 : 2", Type::Number),
        ("context.yes ? 1 : null", Type::Number),
        ("context.yes ? 1 : 'a'", Type::Any),
        ("context.count ?? 0", Type::Number),
        ("length(context.missing)", Type::Number),
        ("append(context.list, 1)", Type::List),
        ("first(context.list)", Type::Any),
        ("-context.count", Type::Number),
    ];
    for (text, wanted) in rows {
        assert_eq!(loaded(text).infer(&context_types), wanted, "{text}");
    }
}

#[test]
fn operations_that_cannot_work() {
    let rows = [
        (
            "context.count + 'x'",
            "TypeMismatch: `+` takes two numbers, two strings or two lists, not a number and a string; `~`",
        ),
        (
            "context.count < 'x'",
            "TypeMismatch: `<` compares two numbers or two strings, not a number and a string",
        ),
        ("context.yes < true", "TypeMismatch: `<` compares two numbers"),
        ("context.count == '3'", "NeverEqual: a number and a string are never equal"),
        ("context.name and true", "TypeMismatch: a condition is true, false or null, not a string"),
        ("not context.count", "TypeMismatch: a condition"),
        ("context.list ? 1 : 2", "TypeMismatch: a condition"),
        ("context.list ~ ''", "TypeMismatch: `~` joins"),
        ("1 in context.count", "TypeMismatch: `in` needs a list"),
        ("1 in context.name", "TypeMismatch: only a string"),
        ("context.name.length", "TypeMismatch: a string has no field `length`; length() counts"),
        ("context.name[0]", "TypeMismatch: a string cannot be indexed"),
        ("-context.name", "TypeMismatch: `-` takes a number"),
        ("lower(context.count)", "TypeMismatch: `lower` takes a string as text, not a number"),
        ("context.yes and 1 / 0 == 1", "TypeMismatch: division by zero in `1 / 0`"),
        ("context.count < null", "TypeMismatch: `<` compares two numbers"),
    ];
    for (text, wanted) in rows {
        let problems = loaded(text).type_problems(&context_types);
        let found: Vec<_> =
            problems.iter().map(|problem| format!("{:?}: {}", problem.kind, problem.message)).collect();
        assert!(found.len() == 1 && found[0].starts_with(wanted), "{text}: {found:?}");
    }
}

#[test]
fn what_may_work_is_not_a_problem() {
    let texts = [
        "context.missing + 1",
        "context.missing < 3",
        "context.count == null",
        "context.missing == 'a'",
        "event.data.x + event.data.y",
        "lower(null)",
        "length(context.missing)",
        "context.map.a and true",
        "'a' in context.missing",
        "false and 1 / 0 == 1",
        "length(range(5000))",
        "(context.missing ?? 0) + 1",
    ];
    for text in texts {
        assert_eq!(loaded(text).type_problems(&context_types), [], "{text}");
    }
}

#[test]
fn what_is_read() {
    let fixture = Fixture::new();
    let slot = |key: &str| rawko_core::expr::NameResolver::context_key(&fixture, key).unwrap();
    let expr = loaded("context.limit + context.count * context.limit + length(context['name'])");
    assert_eq!(expr.reads(), [slot("count"), slot("limit"), slot("name")]);
    assert!(!expr.reads_whole_context());
    assert!(loaded("keys(context)").reads_whole_context());
    assert!(loaded("context[event.type]").reads_whole_context());
}
