//! Functions on lists. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows(
        "append",
        &[("append(context.list, 'x')", r#"[3,1,2,"x"]"#), ("append([], [1])", "[[1]]")],
        &[("append(context.missing, 1)", "[1]"), ("append([], context.missing)", "[null]")],
        &[("append('ab', 'c')", "error: `append` takes a list as list, not a string")],
    ),
    rows(
        "concat",
        &[("concat([1], [2], [3, 4])", "[1,2,3,4]"), ("concat([1])", "[1]")],
        &[("concat(context.missing, [1], context.missing)", "[1]"), ("concat(context.missing)", "[]")],
        &[("concat([1], 2)", "error: `concat` takes a list as list, not a number")],
    ),
    rows(
        "first",
        &[("first(context.list)", "3"), ("first([])", "null")],
        &[("first(context.missing)", "null")],
        &[("first('ab')", "error: `first` takes a list as list, not a string")],
    ),
    rows(
        "last",
        &[("last(context.list)", "2"), ("last([])", "null")],
        &[("last(context.missing)", "null")],
        &[("last({})", "error: `last` takes a list as list, not a map")],
    ),
    rows(
        "reverse",
        &[("reverse(context.list)", "[2,1,3]")],
        &[("reverse(context.missing)", "[]")],
        &[("reverse('ab')", "error: `reverse` takes a list as list, not a string")],
    ),
    rows(
        "sort",
        &[
            ("sort(context.list)", "[1,2,3]"),
            ("sort(context.words)", r#"["a","b"]"#),
            ("sort([2, 1.5, -1])", "[-1,1.5,2]"),
            ("pluck(sort([{n: 'b'}, {n: 'a'}], 'n'), 'n')", r#"["a","b"]"#),
            ("pluck(sort(context.items, 'id'), 'id')", "[1,2,3]"),
        ],
        &[("sort(context.missing)", "[]")],
        &[
            ("sort(1)", "error: `sort` takes a list as list, not a number"),
            ("sort([1, 'a'])", "error: `sort` takes numbers or strings, but one element is a string"),
            ("sort([1, null])", "error: `sort` takes numbers or strings, but one element is null"),
            ("sort(context.list, 'id')", "error: a number has no field `id`"),
        ],
    ),
    rows(
        "unique",
        &[
            ("unique([1, 2, 1.0, 'a', 'a', null, null, true, 0.5, 0.5])", r#"[1,2,"a",null,true,0.5]"#),
            ("unique([[1], [1.0], {a: 1}, {a: 1}])", r#"[[1],{"a":1}]"#),
        ],
        &[("unique(context.missing)", "[]")],
        &[("unique('aab')", "error: `unique` takes a list as list, not a string")],
    ),
    rows(
        "flatten",
        &[("flatten([1, [2, [3]], []])", "[1,2,[3]]")],
        &[("flatten(context.missing)", "[]")],
        &[("flatten({})", "error: `flatten` takes a list as list, not a map")],
    ),
    rows(
        "range",
        &[("range(3)", "[0,1,2]"), ("range(2, 5)", "[2,3,4]"), ("range(5, 2)", "[]"), ("range(-1)", "[]")],
        &[
            ("range(context.missing)", "null"),
            ("range(1, context.missing)", "error: `range` takes a number as to, not null"),
        ],
        &[
            ("range('3')", "error: `range` takes a number as n, not a string"),
            ("range(100001)", "error: the list or map has more than 100000 elements"),
            (
                "range(-9223372036854775808, 9223372036854775807)",
                "error: the list or map has more than 100000 elements",
            ),
        ],
    ),
    rows(
        "pluck",
        &[("pluck(context.items, 'id')", "[1,2,3]"), ("pluck([{a: 1}, {}, null], 'a')", "[1,null,null]")],
        &[("pluck(context.missing, 'id')", "[]")],
        &[
            ("pluck(context.map, 'a')", "error: `pluck` takes a list as list, not a map"),
            ("pluck(context.list, 'id')", "error: a number has no field `id`"),
        ],
    ),
    rows(
        "where",
        &[
            ("pluck(where(context.items, 'ok', true), 'id')", "[1,3]"),
            ("where([{a: 1}, {}], 'a', null)", "[{}]"),
        ],
        &[("where(context.missing, 'ok', true)", "[]")],
        &[
            ("where('ab', 'a', 1)", "error: `where` takes a list as list, not a string"),
            ("where(context.words, 'a', 1)", "error: a string has no field `a`"),
        ],
    ),
    rows(
        "count",
        &[("count(context.items, 'ok', true)", "2"), ("count(context.items, 'id', 9)", "0")],
        &[("count(context.missing, 'ok', true)", "0")],
        &[("count(context.items, 1, true)", "error: `count` takes a string as field, not a number")],
    ),
    rows(
        "any",
        &[
            ("any([false, true, null])", "true"),
            ("any([])", "false"),
            ("any(pluck(context.items, 'ok'))", "true"),
        ],
        &[("any(context.missing)", "false")],
        &[
            ("any(true)", "error: `any` takes a list as list, not a boolean"),
            ("any([true, 1])", "error: a condition is true, false or null, not a number"),
        ],
    ),
    rows(
        "all",
        &[("all([true, true])", "true"), ("all([true, null])", "false"), ("all([])", "true")],
        &[("all(context.missing)", "true")],
        &[("all(['x'])", "error: a condition is true, false or null, not a string")],
    ),
];
