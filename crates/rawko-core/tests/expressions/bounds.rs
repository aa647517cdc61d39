//! Hostile expressions and data end quickly with an error, and never exhaust stack or memory.

use rawko_core::Value;
use rawko_core::expr::limits::*;
use rawko_core::expr::{EvalScope, check_size, parse};

use super::{Fixture, check, evaluated, load, loaded};

#[track_caller]
fn refused(text: &str, wanted: &str) {
    let problems = load(text).unwrap_err();
    assert!(problems[0].message.contains(wanted), "{problems:?}");
}

#[test]
fn texts() {
    refused(&"x".repeat(SOURCE_BYTES_MAX + 1), "longer than 16384 bytes");
    assert!(parse(&"(".repeat(100_000)).is_err());
    let deep = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{a:", "1", "}"),
        ("length(", "[]", ")"),
        ("not ", "true", ""),
        ("-", "1", ""),
        ("!", "true", ""),
    ];
    for (open, middle, close) in deep {
        let nested = |times: usize| format!("{}{middle}{}", open.repeat(times), close.repeat(times));
        assert!(parse(&nested(NESTING_MAX - 1)).is_ok(), "{open}");
        refused(&nested(2_000), "nests deeper than 64 levels");
    }
    refused(&format!("2{}", "**2".repeat(2_000)), "nests deeper");
    refused(&format!("true{}1", "?1:true".repeat(1_000)), "nests deeper");
    refused(&format!("1{}", " if true else 1".repeat(1_000)), "nests deeper");
    for (first, more) in [
        ("1", "+1"),
        ("context.map", ".a"),
        ("context.list", "[0]"),
        ("true", " and true"),
        ("1", "~1"),
        ("null", "??null"),
    ] {
        let chain = |times: usize| format!("{first}{}", more.repeat(times));
        assert!(load(&chain(200)).is_ok(), "{more}");
        refused(&chain(1_500), "chains more than 256 operations");
    }
}

/// Evaluates with `context.missing` set to a value.
fn with(value: Value, text: &str) -> Result<Value, String> {
    let mut fixture = Fixture::new();
    let slot = rawko_core::expr::NameResolver::context_key(&fixture, "missing").unwrap();
    fixture.context[slot.index()] = value;
    loaded(text).eval(&fixture.scope()).map_err(|error| error.message)
}

#[test]
fn work() {
    let many = Value::list((0..90_000).map(Value::Int).collect());
    for text in [
        "unique(context.missing) == reverse(context.missing) and unique(context.missing) == []",
        "sort(sort(context.missing))",
    ] {
        let error = with(many.clone(), text).unwrap_err();
        assert!(
            error.contains("exceeds its work limit") || error.contains("too large for one expression"),
            "{text}: {error}"
        );
    }
    let lists = Value::list((0..2_000).map(|number| Value::list(vec![Value::Int(number)])).collect());
    assert!(
        with(lists, "unique(context.missing)")
            .unwrap_err()
            .starts_with("the expression exceeds its work limit")
    );
    let text = Value::from("ab".repeat(500_000));
    let work = format!("[{}]", vec!["context.missing == context.missing ~ ''"; 20].join(","));
    assert!(with(text.clone(), &work).unwrap_err().starts_with("the expression exceeds its work limit"));
    assert!(
        with(text, "glob(context.missing, '*a*a*a*a*a*a*a*a*a*a*c')")
            .unwrap_err()
            .starts_with("the expression exceeds")
    );
}

#[test]
fn sizes() {
    let text = Value::from("x".repeat(TEXT_BYTES_MAX));
    for growing in [
        "context.missing + '!'",
        "context.missing ~ 1",
        "join([context.missing, 1])",
        "replace(context.missing, 'x', 'yy')",
    ] {
        assert!(
            with(text.clone(), growing).unwrap_err().starts_with("the string is longer than 1048576 bytes"),
            "{growing}"
        );
    }
    let list = Value::list(vec![Value::Null; ELEMENTS_MAX]);
    for growing in [
        "append(context.missing, 1)",
        "concat(context.missing, [1])",
        "context.missing + [1]",
        "flatten([context.missing, [1]])",
    ] {
        assert!(
            with(list.clone(), growing)
                .unwrap_err()
                .starts_with("the list or map has more than 100000 elements"),
            "{growing}"
        );
    }
    assert_eq!(evaluated("length(range(100000))"), "100000");
    check(&[("split(join(range(30000), ','), ',')[29999]", r#""29999""#)]);
}

/// `[x, x]` once a step: 2^n elements that share all their memory.
#[test]
fn values_that_double() {
    for text in [
        "[context.missing, context.missing]",
        "{a: context.missing, b: context.missing}",
        "append(context.list, context.missing) + [context.missing]",
    ] {
        let mut value = Value::Int(1);
        let error = loop {
            match with(value, text) {
                Ok(next) => value = next,
                Err(error) => break error,
            }
        };
        assert!(error.starts_with("the value is too large for one expression"), "{text}: {error}");
    }
}

#[test]
fn values_that_nest() {
    let (mut value, mut steps) = (Value::Null, 0);
    let error = loop {
        match with(value, "[context.missing]") {
            Ok(next) => value = next,
            Err(error) => break error,
        }
        steps += 1;
    };
    assert_eq!(steps, VALUE_DEPTH_MAX);
    assert!(error.starts_with("lists and maps are nested deeper than 100 levels"), "{error}");
    let nested = |times: usize| Value::from(format!("{}{}", "[".repeat(times), "]".repeat(times)));
    assert!(with(nested(100), "parse_json(context.missing)").is_ok());
    assert!(
        with(nested(101), "parse_json(context.missing)")
            .unwrap_err()
            .starts_with("lists and maps are nested deeper")
    );
    assert_eq!(with(nested(100_000), "parse_json(context.missing)"), Ok(Value::Null));
}

#[test]
fn data_put_together_elsewhere_can_be_checked() {
    let mut value = Value::list(Vec::new());
    assert!(check_size(&value).is_ok());
    for _ in 0..40 {
        value = Value::list(vec![value.clone(), value]);
    }
    assert!(check_size(&value).is_err());
}

#[test]
fn a_context_that_is_too_short_reads_as_null() {
    let fixture = Fixture::new();
    let scope = EvalScope { context: &[], context_names: &[], locals: &[], ..fixture.scope() };
    assert_eq!(loaded("context.count ?? item ?? 'none'").eval(&scope), Ok("none".into()));
}
