//! Functions on any value. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows(
        "default",
        &[("default(context.count, 9)", "3"), ("default(false, true)", "false")],
        &[("default(context.missing, 9)", "9"), ("default(context.missing, null)", "null")],
        &[],
    ),
    rows(
        "is_null",
        &[("is_null(0)", "false"), ("is_null('')", "false")],
        &[("is_null(context.missing)", "true")],
        &[],
    ),
    rows(
        "type",
        &[
            ("type(true)", r#""boolean""#),
            ("type(1)", r#""number""#),
            ("type(0.5)", r#""number""#),
            ("type('')", r#""string""#),
            ("type([])", r#""list""#),
            ("type({})", r#""map""#),
        ],
        &[("type(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "string",
        &[("string('a')", r#""a""#), ("string(0.5)", r#""0.5""#), ("string([1, 'a'])", r#""[1,\"a\"]""#)],
        &[("string(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "json",
        &[("json('a')", r#""\"a\"""#), ("json({a: [1, null]})", r#""{\"a\":[1,null]}""#)],
        &[("json(context.missing)", r#""null""#)],
        &[],
    ),
    rows(
        "parse_json",
        &[
            (r#"parse_json('{"a": [1, 2.5]}')"#, r#"{"a":[1,2.5]}"#),
            ("parse_json('no json')", "null"),
            ("parse_json(json(context.map)) == context.map", "true"),
        ],
        &[("parse_json(context.missing)", "null")],
        &[("parse_json(1)", "error: `parse_json` takes a string as text, not a number")],
    ),
];
