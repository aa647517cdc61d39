//! Error messages for authors: every problem with its location underlined and with help.

use expect_test::{Expect, expect};
use rawko_core::expr::parse;

use super::{load, loaded};

/// Returns the text, a line of carets per problem, and the message.
fn told(text: &str) -> String {
    let Err(problems) = load(text) else { return "fine".into() };
    let mut lines = vec![text.to_owned()];
    for problem in problems {
        let before = text[..problem.span.start].chars().count();
        let width = text[problem.span].chars().count().max(1);
        let help = problem.help.map(|help| format!(" — {help}")).unwrap_or_default();
        lines.push(format!(
            "{}{} {:?}: {}{help}",
            " ".repeat(before),
            "^".repeat(width),
            problem.kind,
            problem.message
        ));
    }
    lines.join("\n") + "\n"
}

fn check(texts: &[&str], expected: Expect) {
    expected.assert_eq(&texts.iter().map(|text| told(text)).collect::<Vec<_>>().join("\n"));
}

#[test]
fn habits_from_other_languages() {
    check(
        &[
            "context.count === 3",
            "context.count = 3",
            "context.name?.x",
            "1 < context.count < 5",
            "a <> b & c",
            "${context.count}",
            "context.count AND true",
            "context.list.includes(3)",
            "context.list.0",
            "context.list.map(x => x.id)",
            "5m",
            "context.count is null",
            "[x for x in context.list]",
        ],
        expect![[r#"
            context.count === 3
                          ^^^ Syntax: `===` is not an operator of expressions — write `==`; values of different types are never equal

            context.count = 3
                          ^ Syntax: `=` is not an operator of expressions — write `==` to compare; an expression cannot assign

            context.name?.x
                        ^^ Syntax: `?.` is not an operator of expressions — write `.`; a field of null is null

            1 < context.count < 5
                              ^ Syntax: comparisons do not chain — write `a < b and b < c`

            a <> b & c
              ^^ Syntax: `<>` is not an operator of expressions — write `!=`
                   ^ Syntax: unexpected character `&` — write `and` or `&&`

            ${context.count}
            ^ Syntax: unexpected character `$` — the whole text is an expression; write `context.name` without `$` and braces

            context.count AND true
                          ^^^ Syntax: expected an operator or the end, found `AND` — write `and`

            context.list.includes(3)
                         ^^^^^^^^ UnknownName: values have no methods: `includes` cannot be called — write `contains(context.list, …)`

            context.list.0
                         ^ Syntax: expected the name of a field, found a literal — use brackets for elements and unusual keys: `x[0]`, `x['a-b']`

            context.list.map(x => x.id)
                               ^^ Syntax: `=>` is not an operator of expressions — expressions cannot define functions; use `where`, `count` or `pluck` on lists of maps

            5m
            ^^ Syntax: letters directly after a number — write a duration as a string: `duration('15m')`

            context.count is null
                          ^^ Syntax: expected an operator or the end, found `is` — write `==` or `!=`

            [x for x in context.list]
               ^^^ Syntax: expected `]`, found `for` — expressions have no loops; use `where`, `count` or `pluck` on lists of maps
        "#]],
    );
}

#[test]
fn texts_that_do_not_parse() {
    check(
        &[
            "",
            "1 +",
            "(1",
            "[1, 2",
            "{a: 1",
            "{1: 2}",
            "{a: 1, a: 2}",
            "'open",
            r"'\q'",
            "1 2",
            "context.",
            "f(",
            "1 if true",
            "a ? b",
            "1e999",
            "not",
            ")",
            "+1",
            "and",
            "x[",
            "€",
        ],
        expect![[r#"

            ^ Syntax: expected an expression

            1 +
               ^ Syntax: expected a value, found the end of the expression

            (1
              ^ Syntax: expected `)`, found the end of the expression

            [1, 2
                 ^ Syntax: expected `]`, found the end of the expression

            {a: 1
                 ^ Syntax: expected `}`, found the end of the expression

            {1: 2}
             ^ Syntax: expected a key, found a literal

            {a: 1, a: 2}
                   ^ Syntax: duplicate key `a`

            'open
            ^^^^^ Syntax: this string has no closing '

            '\q'
             ^^ Syntax: unknown escape in a string — known escapes are \n \t \r \0 \\ \' \" and \u{1F600} or \u00e9

            1 2
              ^ Syntax: expected an operator or the end, found a literal

            context.
                    ^ Syntax: expected the name of a field, found the end of the expression

            f(
              ^ Syntax: expected a value, found the end of the expression

            1 if true
                     ^ Syntax: expected `else`, found the end of the expression

            a ? b
                 ^ Syntax: expected `:`, found the end of the expression

            1e999
            ^^^^^ Syntax: this number is too large

            not
               ^ Syntax: expected a value, found the end of the expression

            )
            ^ Syntax: expected a value, found `)`

            +1
            ^ Syntax: expected a value, found `+`

            and
            ^^^ Syntax: expected a value, found `and`

            x[
              ^ Syntax: expected a value, found the end of the expression

            €
            ^ Syntax: unexpected character `€`
        "#]],
    );
}

#[test]
fn unknown_names() {
    check(
        &[
            "context.cuont + context.zzzzzz",
            "count + 1",
            "contxt.count",
            "ctx.count",
            "undefined",
            "approved",
            "event.name == 'X' or event.amount > 3 or event.dat",
            "agents",
            "agents.select",
            "agents.choose('x')",
            "length",
            "len(context.list) + lenght(context.list) + frobnicate(1)",
            "context.name.trim() + context.name.split(',')",
            "context.name.frobnicate()",
            "context.list[0](1)",
            "stateIn('nowhere') and stateIn(context.name) and stateIn()",
            "lower() + lower('a', 'b') + now(1) + min() + slice('a')",
        ],
        expect![[r#"
            context.cuont + context.zzzzzz
                    ^^^^^ UnknownContextKey: the context has no key `cuont` — did you mean `count`?
                                    ^^^^^^ UnknownContextKey: the context has no key `zzzzzz` — declare `zzzzzz` in the chart's `context`

            count + 1
            ^^^^^ UnknownName: unknown name `count` — did you mean `context.count`?

            contxt.count
            ^^^^^^ UnknownName: unknown name `contxt` — did you mean `context`?

            ctx.count
            ^^^ UnknownName: unknown name `ctx` — did you mean `context`?

            undefined
            ^^^^^^^^^ UnknownName: unknown name `undefined` — did you mean `null`?

            approved
            ^^^^^^^^ UnknownName: unknown name `approved` — put a string in quotes: `'approved'`

            event.name == 'X' or event.amount > 3 or event.dat
                  ^^^^ UnknownName: an event has no field `name` — did you mean `event.type`?
                                       ^^^^^^ UnknownName: an event has no field `amount` — the payload of an event is in `event.data`: `event.data.amount`
                                                           ^^^ UnknownName: an event has no field `dat` — did you mean `event.data`?

            agents
            ^^^^^^ UnknownName: `agents` is not a value — write `agents.select(role, task_type)`, `agents.get(id)` or `agents.list()`

            agents.select
            ^^^^^^ UnknownName: `agents` is not a value — write `agents.select(role, task_type)`, `agents.get(id)` or `agents.list()`

            agents.choose('x')
                   ^^^^^^ UnknownName: there is no function `agents.choose` — the functions are `select`, `get` and `list`

            length
            ^^^^^^ UnknownName: `length` is a function — write `length(…)`

            len(context.list) + lenght(context.list) + frobnicate(1)
            ^^^ UnknownName: there is no function `len` — did you mean `length`?
                                ^^^^^^ UnknownName: there is no function `lenght` — did you mean `length`?
                                                       ^^^^^^^^^^ UnknownName: there is no function `frobnicate`

            context.name.trim() + context.name.split(',')
                         ^^^^ UnknownName: values have no methods: `trim` cannot be called — write `trim(context.name)`
                                               ^^^^^ UnknownName: values have no methods: `split` cannot be called — write `split(context.name, …)`

            context.name.frobnicate()
                         ^^^^^^^^^^ UnknownName: values have no methods: `frobnicate` cannot be called

            context.list[0](1)
            ^^^^^^^^^^^^^^^ Syntax: this is not a function

            stateIn('nowhere') and stateIn(context.name) and stateIn()
                    ^^^^^^^^^ UnknownState: there is no state `nowhere`
                                           ^^^^^^^^^^^^ UnknownState: `stateIn` takes the state as a literal string — write `stateIn('a.b')`
                                                             ^^^^^^^^^ Arity: `stateIn` takes one state — usage: `stateIn('a.b')`

            lower() + lower('a', 'b') + now(1) + min() + slice('a')
            ^^^^^^^ Arity: `lower` takes 1 argument, not 0 — usage: `lower(text)`
                      ^^^^^^^^^^^^^^^ Arity: `lower` takes 1 argument, not 2 — usage: `lower(text)`
                                        ^^^^^^ Arity: `now` takes 0 arguments, not 1 — usage: `now()`
                                                 ^^^^^ Arity: `min` takes at least 1 argument, not 0 — usage: `min(x, …)`
                                                         ^^^^^^^^^^ Arity: `slice` takes 2 to 3 arguments, not 1 — usage: `slice(x, from[, to])`
        "#]],
    );
}

#[test]
fn fields_of_locals_are_free() {
    assert_eq!(told("item.anything + index"), "fine");
}

#[test]
fn the_first_token_tells_whether_a_text_is_meant_as_an_expression() {
    let rooted = |text: &str| parse(text).map(|ast| ast.starts_with_binding_root()).unwrap_or(false);
    for text in [
        "context.a",
        "event.data",
        "input",
        "env.X",
        "agents.list()",
        "now()",
        "now ( ) + 1",
        "context.a + 1",
    ] {
        assert!(rooted(text), "{text}");
    }
    for text in [
        "'context'",
        "Low",
        "now",
        "nowadays",
        "(context.a)",
        "-context.a",
        "length(context.a)",
        "contextual",
        "context switch",
    ] {
        assert!(!rooted(text), "{text}");
    }
}

#[test]
fn text_is_kept_as_written() {
    assert_eq!(loaded(" context.count+1 ").text(), " context.count+1 ");
}
