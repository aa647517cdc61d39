//! Functions on maps. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows(
        "keys",
        &[("keys(context.map)", r#"["a","b","in","a-b"]"#)],
        &[("keys(context.missing)", "[]")],
        &[("keys(context.list)", "error: `keys` takes a map as map, not a list")],
    ),
    rows(
        "values",
        &[("values({b: 1, a: [2]})", "[1,[2]]")],
        &[("values(context.missing)", "[]")],
        &[("values('a')", "error: `values` takes a map as map, not a string")],
    ),
    rows(
        "has",
        &[
            ("has(context.map, 'b')", "true"),
            ("has(context.map, 'z')", "false"),
            ("has(context, 'count')", "true"),
        ],
        &[
            ("has(context.missing, 'a')", "false"),
            ("has({}, context.missing)", "error: `has` takes a string as key, not null"),
        ],
        &[("has(context.list, 'a')", "error: `has` takes a map as map, not a list")],
    ),
    rows(
        "get",
        &[
            ("get(context.map, 'a', 9)", "1"),
            ("get(context.map, 'z')", "null"),
            ("get(context.map, 'z', 9)", "9"),
            ("get(context.map, 'b', 9)", "9"),
            ("get(context.list, -1)", "2"),
            ("get(context.list, 7, 'none')", r#""none""#),
        ],
        &[("get(context.missing, 'a', 9)", "9"), ("get(context.missing, 'a')", "null")],
        &[
            ("get('abc', 0)", "error: `get` takes a list or a map as x, not a string"),
            ("get(context.map, 0)", "error: a map key must be a string, not a number"),
        ],
    ),
    rows(
        "set",
        &[
            ("set({a: 1}, 'b', 2)", r#"{"a":1,"b":2}"#),
            ("set({a: 1, b: 2}, 'a', 3)", r#"{"a":3,"b":2}"#),
            ("set(context.list, -1, 9)", "[3,1,9]"),
        ],
        &[("set(context.missing, 'a', 1)", r#"{"a":1}"#)],
        &[
            ("set(context.list, 3, 9)", "error: `set` replaces an existing element; append() adds one"),
            ("set(context.map, 1, 2)", "error: a map key must be a string, not a number"),
            ("set(context.missing, 1, 2)", "error: a map key must be a string, not a number"),
            ("set(5, 'a', 1)", "error: `set` takes a list or a map as x, not a number"),
        ],
    ),
    rows(
        "remove",
        &[
            ("remove({a: 1, b: 2}, 'a')", r#"{"b":2}"#),
            ("remove({a: 1}, 'z')", r#"{"a":1}"#),
            ("remove(context.list, 0)", "[1,2]"),
            ("remove(context.list, 9)", "[3,1,2]"),
        ],
        &[("remove(context.missing, 'a')", "null")],
        &[
            ("remove('abc', 0)", "error: `remove` takes a list or a map as x, not a string"),
            ("remove(context.list, 'a')", "error: a list index must be a number, not a string"),
        ],
    ),
    rows(
        "merge",
        &[("merge({a: 1, b: {c: 1}}, {b: {d: 2}}, {e: 3})", r#"{"a":1,"b":{"d":2},"e":3}"#)],
        &[("merge(context.missing, {a: 1}, context.missing)", r#"{"a":1}"#)],
        &[("merge({}, [1])", "error: `merge` takes a map as map, not a list")],
    ),
];
