//! Every operator of the guide: ordinary use, a missing value, the wrong type. Completeness is itself a test.

use std::collections::BTreeSet;

use super::guide::operators;
use super::{check, load};

struct Row {
    /// As written in the guide.
    operator: &'static str,
    /// The text by which an expression that uses it is found.
    symbol: &'static str,
    /// Expression and value.
    ordinary: (&'static str, &'static str),
    /// Expression with null beside it and its value.
    missing: (&'static str, &'static str),
    /// Expression and the beginning of the message; `None` if types cannot mismatch.
    mismatch: Option<(&'static str, &'static str)>,
}

const fn row(
    operator: &'static str,
    symbol: &'static str,
    ordinary: (&'static str, &'static str),
    missing: (&'static str, &'static str),
    mismatch: (&'static str, &'static str),
) -> Row {
    Row { operator, symbol, ordinary, missing, mismatch: Some(mismatch) }
}

const fn never_mismatched(
    operator: &'static str,
    ordinary: (&'static str, &'static str),
    missing: (&'static str, &'static str),
) -> Row {
    Row { operator, symbol: operator, ordinary, missing, mismatch: None }
}

const CONDITION: &str = "error: a condition is true, false or null, not";

const ROWS: &[Row] = &[
    row("x.field", ".a", ("{a: 1}.a", "1"), ("null.a", "null"), ("[1].a", "error: a list has no field")),
    row("x['key']", "['a']", ("{a: 1}['a']", "1"), ("null['a']", "null"), ("true['a']", "error: a boolean ")),
    row(
        "x[i]",
        "[0]",
        ("[7][0]", "7"),
        ("null[0]", "null"),
        ("'text'[0]", "error: a string cannot be indexed"),
    ),
    row("**", "**", ("2 ** 3", "8"), ("null ** 2", "error: `**`"), ("'2' ** 2", "error: `**`")),
    row("-x", "-", ("-(3)", "-3"), ("-null", "error: `-`"), ("-'3'", "error: `-`")),
    row("!x", "!", ("!true", "false"), ("!null", "true"), ("!1", CONDITION)),
    row("*", "*", ("2 * 3", "6"), ("2 * null", "error: `*`"), ("2 * [3]", "error: `*`")),
    row("/", "/", ("6 / 4", "1.5"), ("null / 2", "error: `/`"), ("6 / '2'", "error: `/`")),
    row("%", "%", ("7 % 4", "3"), ("7 % null", "error: `%`"), ("true % 2", "error: `%`")),
    row("+", "+", ("1 + 2", "3"), ("null + 1", "error: `+`"), ("'a' + 1", "error: `+`")),
    row("-", "-", ("1 - 2", "-1"), ("1 - null", "error: `-`"), ("[1] - [1]", "error: `-`")),
    row("~", "~", ("'a' ~ 1", "\"a1\""), ("'a' ~ null", "\"anull\""), ("'a' ~ [1]", "error: `~`")),
    never_mismatched("??", ("1 ?? 2", "1"), ("null ?? 2", "2")),
    never_mismatched("==", ("1 == 1.0", "true"), ("null == null", "true")),
    never_mismatched("!=", ("1 != '1'", "true"), ("null != null", "false")),
    row("<", "<", ("1 < 2", "true"), ("null < 1", "error: `<`"), ("1 < '2'", "error: `<`")),
    row("<=", "<=", ("2 <= 2", "true"), ("null <= 1", "error: `<=`"), ("true <= true", "error: `<=`")),
    row(">", ">", ("'b' > 'a'", "true"), ("1 > null", "error: `>`"), ("[1] > [0]", "error: `>`")),
    row(">=", ">=", ("1 >= 2", "false"), ("1 >= null", "error: `>=`"), ("{} >= {}", "error: `>=`")),
    row("in", " in ", ("1 in [1]", "true"), ("1 in null", "false"), ("1 in 2", "error: `in` needs a list")),
    row(
        "not in",
        " not in ",
        ("1 not in [1]", "false"),
        ("1 not in null", "true"),
        ("1 not in 'a'", "error: only a string can be `in` a string"),
    ),
    row("not x", "not ", ("not true", "false"), ("not null", "true"), ("not 'a'", CONDITION)),
    row("and", " and ", ("true and true", "true"), ("true and null", "false"), ("1 and true", CONDITION)),
    row("&&", "&&", ("true && false", "false"), ("null && true", "false"), ("true && 'a'", CONDITION)),
    row("or", " or ", ("false or true", "true"), ("false or null", "false"), ("[] or true", CONDITION)),
    row("||", "||", ("true || 1", "true"), ("null || true", "true"), ("false || {}", CONDITION)),
    row("c ? a : b", " ? ", ("true ? 1 : 2", "1"), ("null ? 1 : 2", "2"), ("0 ? 1 : 2", CONDITION)),
    row(
        "a if c else b",
        " if ",
        ("1 if true else 2", "1"),
        ("1 if null else 2", "2"),
        ("1 if '' else 2", CONDITION),
    ),
];

#[test]
fn every_operator_of_the_guide_has_its_row() {
    let tested: BTreeSet<String> = ROWS.iter().map(|row| row.operator.to_owned()).collect();
    assert_eq!(tested.len(), ROWS.len(), "an operator has two rows");
    assert_eq!(tested, operators());
    for Row { operator, symbol, ordinary, missing, mismatch } in ROWS {
        let expressions = [Some(ordinary), Some(missing), mismatch.as_ref()];
        assert!(expressions.into_iter().flatten().all(|(text, _)| text.contains(symbol)), "{operator}");
        assert!(missing.0.contains("null"), "{operator}");
        assert!(mismatch.is_none_or(|(_, wanted)| wanted.starts_with("error: ")), "{operator}");
    }
}

#[test]
fn every_operator_gives_what_its_row_says() {
    let rows = ROWS.iter().flat_map(|row| [Some(row.ordinary), Some(row.missing), row.mismatch]);
    check(&rows.flatten().collect::<Vec<_>>());
}

/// Symbols that the parser accepts between two values but that the guide lacks. A second symbol may be a prefix of the
/// value.
#[test]
fn no_operator_is_missing_in_the_guide() {
    let documented = operators();
    let signs: Vec<String> =
        (b'!'..=b'~').filter(u8::is_ascii_punctuation).map(|sign| char::from(sign).to_string()).collect();
    let pairs = signs.iter().flat_map(|first| signs.iter().map(move |second| format!("{first}{second}")));
    let unknown: Vec<String> = (signs.iter().cloned().chain(pairs))
        .filter(|sign| load(&format!("1 {sign} 2")).is_ok())
        .filter(|sign| {
            !documented.contains(sign.strip_suffix(['-', '!']).unwrap_or(sign)) && !documented.contains(sign)
        })
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
