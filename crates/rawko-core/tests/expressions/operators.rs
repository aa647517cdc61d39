//! Literals, bindings and operators: their results, with missing values and with the wrong types.

use super::{Fixture, check, loaded};

#[test]
fn literals() {
    check(&[
        ("null", "null"),
        ("None", "null"),
        ("true", "true"),
        ("False", "false"),
        ("42", "42"),
        ("0.5", "0.5"),
        ("1e3", "1000.0"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9.223372036854776e+18"),
        (r#""double""#, r#""double""#),
        (r"'it\'s\n\u00e9\u{1F600}\ud83d\ude00'", r#""it's\né😀😀""#),
        ("[1, 'a', [null],]", r#"[1,"a",[null]]"#),
        ("[]", "[]"),
        ("{key: 1, 'other key': [2], if: 3,}", r#"{"key":1,"other key":[2],"if":3}"#),
        ("{}", "{}"),
    ]);
}

#[test]
fn bindings() {
    check(&[
        ("context.count", "3"),
        ("context['count']", "3"),
        ("context[context.missing]", "null"),
        ("context['na' ~ 'me']", r#""Ada""#),
        ("context[lower('NAME')]", r#""Ada""#),
        ("context[context.name]", "null"),
        ("context[context.count]", "error: a map key must be a string, not a number"),
        ("length(context)", "15"),
        ("event.type", r#""ORDER.placed""#),
        ("event.data.output", r#""done""#),
        ("event['data']['tags'][0]", r#""x""#),
        ("event.origin", r#""parent""#),
        ("event.sendid", r#""s1""#),
        ("event.invokeid", "null"),
        ("keys(event)", r#"["type","data","origin","sendid","invokeid"]"#),
        ("input.artifact", r#""main.rs""#),
        ("input.other", "null"),
        ("env.REGION", r#""eu""#),
        ("env.SECRET", "null"),
        ("item", r#""first""#),
        ("index + 1", "1"),
        ("stateIn('review')", "true"),
        ("stateIn('review.open')", "false"),
    ]);
}

#[test]
fn without_an_event_every_part_of_it_is_null() {
    let fixture = Fixture::new();
    let scope = rawko_core::expr::EvalScope { event: None, ..fixture.scope() };
    for text in ["event", "event.type", "event.data.output", "event.sendid"] {
        assert!(loaded(text).eval(&scope).unwrap().is_null(), "{text}");
    }
}

#[test]
fn fields_and_elements() {
    check(&[
        ("context.map.a", "1"),
        ("context.map.in", "2"),
        ("context.map['a-b']", "3"),
        ("context.map[context.key]", "1"),
        ("context.map.nothing", "null"),
        ("context.map.nothing.at.all", "null"),
        ("context.missing.field", "null"),
        ("context.missing[0]", "null"),
        ("context.map[context.missing]", "null"),
        ("context.list[0]", "3"),
        ("context.list[-1]", "2"),
        ("context.list[1.0]", "1"),
        ("context.list[3]", "null"),
        ("context.list[-4]", "null"),
        ("context.list[context.missing]", "null"),
        ("context.items[1].id", "2"),
        ("[10, 20][1]", "20"),
        ("{a: [5]}.a[0]", "5"),
        ("context.count.field", "error: a number has no field `field` in `context.count.field`"),
        ("context.name.length", "error: a string has no field `length`; length() counts"),
        ("context.list.length", "error: a list has no field `length`; length() counts"),
        ("context.items.id", "error: a list has no field `id`; pluck() takes a field of each element"),
        ("context.yes.field", "error: a boolean has no field `field`"),
        ("context.list[context.key]", "error: a list index must be a number, not a string"),
        ("context.list[0.5]", "error: expected a whole number, found 0.5"),
        ("context.map[1]", "error: a map key must be a string, not a number"),
        ("context.name[0]", "error: a string cannot be indexed; slice() takes a part of it"),
        ("context.count[0]", "error: a number cannot be indexed"),
    ]);
}

#[test]
fn arithmetic() {
    check(&[
        ("context.count + 1", "4"),
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 - 10", "-3"),
        ("1 - 2 - 3", "-4"),
        ("6 / 3", "2"),
        ("7 / 2", "3.5"),
        ("1.0 / 2", "0.5"),
        ("7 % 3", "1"),
        ("-7 % 3", "-1"),
        ("7 % -3", "1"),
        ("7.5 % 2", "1.5"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("(-2) ** 2", "4"),
        ("-context.count", "-3"),
        ("- -3", "3"),
        ("1 + 1.5", "2.5"),
        ("9223372036854775807 + 1", "9.223372036854776e+18"),
        ("-9223372036854775808 - 1", "-9.223372036854776e+18"),
        ("9223372036854775807 * 2", "1.8446744073709552e+19"),
        ("-9223372036854775808 / -1", "9.223372036854776e+18"),
        ("-9223372036854775808 % -1", "0"),
        ("1 / 0", "error: division by zero in `1 / 0`"),
        ("1.5 / 0", "error: division by zero"),
        ("1 % 0", "error: remainder of a division by zero"),
        ("1.5 % 0.0", "error: remainder of a division by zero"),
        ("1e308 * 10", "error: the result is not a finite number"),
        ("(-8) ** 0.5", "error: the result is not a finite number"),
        (
            "context.missing + 1",
            "error: `+` takes two numbers, two strings or two lists, not null and a number; use `??` to give a default",
        ),
        (
            "context.missing - 1",
            "error: `-` takes two numbers, not null and a number in `context.missing - 1`",
        ),
        ("context.name * 2", "error: `*` takes two numbers, not a string and a number"),
        ("context.name - 'a'", "error: `-` takes two numbers, not a string and a string"),
        ("context.yes / 2", "error: `/` takes two numbers, not a boolean and a number"),
        ("2 % context.list", "error: `%` takes two numbers, not a number and a list"),
        ("2 ** context.map", "error: `**` takes two numbers, not a number and a map"),
        ("-context.name", "error: `-` takes a number, not a string"),
        ("-context.missing", "error: `-` takes a number, not null"),
    ]);
}

#[test]
fn joining_strings_and_lists() {
    check(&[
        ("'a' + 'b'", r#""ab""#),
        ("context.name + '!'", r#""Ada!""#),
        ("[1] + [2, 3]", "[1,2,3]"),
        ("'n=' ~ context.count + 1", r#""n=4""#),
        ("context.count ~ '/' ~ context.limit", r#""3/5""#),
        ("'x' ~ context.missing ~ true ~ 0.5", r#""xnulltrue0.5""#),
        ("1 ~ 2", r#""12""#),
        (
            "'a' + 1",
            "error: `+` takes two numbers, two strings or two lists, not a string and a number; `~` joins",
        ),
        (
            "context.list + 4",
            "error: `+` takes two numbers, two strings or two lists, not a list and a number; append",
        ),
        (
            "context.map + context.map",
            "error: `+` takes two numbers, two strings or two lists, not a map and a map; m",
        ),
        (
            "context.yes + true",
            "error: `+` takes two numbers, two strings or two lists, not a boolean and a boolean",
        ),
        ("'a' ~ context.list", "error: `~` joins strings, numbers, booleans and null, not a list; json()"),
        ("context.map ~ 'a'", "error: `~` joins strings, numbers, booleans and null, not a map; json()"),
    ]);
}

#[test]
fn comparison() {
    check(&[
        ("context.count < context.limit", "true"),
        ("context.count <= 3", "true"),
        ("context.count > 3", "false"),
        ("context.count >= 3.0", "true"),
        ("0.1 < 1", "true"),
        ("-0.0 < 0", "false"),
        ("'apple' < 'pear'", "true"),
        ("'B' < 'a'", "true"),
        ("context.missing < 1", "error: `<` compares two numbers or two strings, not null and a number in"),
        ("1 >= context.missing", "error: `>=` compares two numbers or two strings, not a number and null"),
        ("'1' < 2", "error: `<` compares two numbers or two strings, not a string and a number"),
        (
            "context.list > context.list",
            "error: `>` compares two numbers or two strings, not a list and a list",
        ),
        ("true <= true", "error: `<=` compares two numbers or two strings, not a boolean and a boolean"),
    ]);
}

#[test]
fn equality_never_fails() {
    check(&[
        ("1 == 1.0", "true"),
        ("'1' == 1", "false"),
        ("'1' != 1", "true"),
        ("context.missing == null", "true"),
        ("context.map.nothing == context.missing", "true"),
        ("context.count != null", "true"),
        ("null == false", "false"),
        ("0 == false", "false"),
        ("[1, {a: 2}] == [1.0, {a: 2}]", "true"),
        ("{a: 1, b: 2} == {b: 2, a: 1}", "true"),
        ("{a: 1} == {a: 1, b: null}", "false"),
        ("context.list == [3, 1, 2]", "true"),
        ("context.name == 'Ada'", "true"),
    ]);
}

#[test]
fn conditions() {
    check(&[
        ("context.yes and context.no", "false"),
        ("context.yes && !context.no", "true"),
        ("context.no or context.yes", "true"),
        ("context.no || context.no", "false"),
        ("not context.missing", "true"),
        ("context.missing or true", "true"),
        ("context.missing and true", "false"),
        ("context.missing or context.missing", "false"),
        ("not context.count == 4", "true"),
        ("!context.no == true", "true"),
        ("context.no and context.name", "false"),
        ("context.yes or context.name", "true"),
        ("true or false and false", "true"),
        ("context.risk_level == 'low' and context.score >= 90", "true"),
        (
            "context.name and true",
            "error: a condition is true, false or null, not a string in `context.name`",
        ),
        ("context.yes and context.count", "error: a condition is true, false or null, not a number"),
        ("not context.list", "error: a condition is true, false or null, not a list"),
        ("context.no or context.map", "error: a condition is true, false or null, not a map"),
    ]);
}

#[test]
fn membership() {
    check(&[
        ("3 in context.list", "true"),
        ("3.0 in context.list", "true"),
        ("4 in context.list", "false"),
        ("4 not in context.list", "true"),
        ("context.missing in context.list", "false"),
        ("{id: 1, ok: true} in context.items", "true"),
        ("'a' in context.map", "true"),
        ("'b' in context.map", "true"),
        ("'c' in context.map", "false"),
        ("context.missing in context.map", "false"),
        ("'da' in context.name", "true"),
        ("'x' not in context.name", "true"),
        ("1 in context.missing", "false"),
        ("1 not in context.missing", "true"),
        ("1 in context.map", "error: a map key must be a string, not a number"),
        ("1 in context.name", "error: only a string can be `in` a string, not a number"),
        ("context.missing in context.name", "error: only a string can be `in` a string, not null"),
        ("1 in context.count", "error: `in` needs a list, a map or a string on its right, not a number"),
        ("1 not in context.yes", "error: `in` needs a list, a map or a string on its right, not a boolean"),
    ]);
}

#[test]
fn choices() {
    check(&[
        ("'low' if context.count < 4 else 'high'", r#""low""#),
        ("context.count < 4 ? 'low' : 'high'", r#""low""#),
        ("context.missing ? 1 : 2", "2"),
        ("context.no ? 1 : context.yes ? 2 : 3", "2"),
        ("1 if context.no else 2 if context.no else 3", "3"),
        ("context.yes ? 1 : context.name.x", "1"),
        ("{a: context.yes ? 1 : 2}", r#"{"a":1}"#),
        ("context.missing ?? 'none'", r#""none""#),
        ("context.count ?? 'none'", "3"),
        ("context.no ?? true", "false"),
        ("context.missing ?? context.map.b ?? 7", "7"),
        ("context.missing ?? 0 > 3", "false"),
        ("context.missing ?? 1 + 1", "2"),
        ("context.count ?? context.name.x", "3"),
        (
            "context.count ? 1 : 2",
            "error: a condition is true, false or null, not a number in `context.count`",
        ),
        ("1 if context.name else 2", "error: a condition is true, false or null, not a string"),
    ]);
}

#[test]
fn guards_take_booleans_and_null() {
    let fixture = Fixture::new();
    let guard = |text: &str| loaded(text).eval_guard(&fixture.scope()).map_err(|error| error.message);
    assert_eq!(guard("context.yes"), Ok(true));
    assert_eq!(guard("context.missing"), Ok(false));
    assert_eq!(guard("context.count < 4"), Ok(true));
    assert_eq!(guard("any(pluck(context.items, 'ok'))"), Ok(true));
    let message = "a condition is true, false or null, not a number in `context.count`";
    assert_eq!(guard("context.count"), Err(message.into()));
}
