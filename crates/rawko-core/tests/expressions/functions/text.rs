//! Functions on strings, and those that strings and lists share. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows(
        "lower",
        &[("lower('ÀbC')", r#""àbc""#)],
        &[("lower(context.missing)", "null")],
        &[(
            "lower(context.count)",
            "error: `lower` takes a string as text, not a number in `lower(context.count)`",
        )],
    ),
    rows(
        "upper",
        &[("upper('aß')", r#""ASS""#)],
        &[("upper(context.missing)", "null")],
        &[("upper(context.list)", "error: `upper` takes a string as text, not a list")],
    ),
    rows(
        "trim",
        &[(r"trim('\n a b\t')", r#""a b""#)],
        &[("trim(context.missing)", "null")],
        &[("trim(true)", "error: `trim` takes a string as text, not a boolean")],
    ),
    rows(
        "replace",
        &[("replace('a-b-c', '-', '+')", r#""a+b+c""#), ("replace('abc', 'x', 'y')", r#""abc""#)],
        &[
            ("replace(context.missing, 'a', 'b')", "null"),
            ("replace('abc', 'a', context.missing)", "error: `replace` takes a string as to, not null"),
        ],
        &[
            ("replace('abc', 1, 'x')", "error: `replace` takes a string as from, not a number"),
            ("replace('abc', '', 'x')", "error: `replace` needs a search string"),
        ],
    ),
    rows(
        "split",
        &[
            ("split('a,b,,c', ',')", r#"["a","b","","c"]"#),
            ("split('', ',')", r#"[""]"#),
            ("split('äb', '')", r#"["ä","b"]"#),
        ],
        &[("split(context.missing, ',')", "null")],
        &[("split('a b', 1)", "error: `split` takes a string as separator, not a number")],
    ),
    rows(
        "lines",
        &[(r"lines('a\nb\r\n')", r#"["a","b"]"#), ("lines('')", "[]")],
        &[("lines(context.missing)", "null")],
        &[("lines(1)", "error: `lines` takes a string as text, not a number")],
    ),
    rows(
        "join",
        &[
            ("join(context.words, ', ')", r#""b, a""#),
            ("join([1, null, true, 'x'])", r#""1nulltruex""#),
            ("join([], '-')", r#""""#),
        ],
        &[("join(context.missing, ',')", r#""""#)],
        &[
            ("join('ab', ',')", "error: `join` takes a list as list, not a string"),
            ("join([[1]], ',')", "error: `join` joins texts, numbers, booleans and nulls, not a list"),
        ],
    ),
    rows(
        "starts_with",
        &[("starts_with('abc', 'ab')", "true"), ("starts_with('abc', 'bc')", "false")],
        &[("starts_with(context.missing, 'a')", "false")],
        &[("starts_with('abc', context.missing)", "error: `starts_with` takes a string as start, not null")],
    ),
    rows(
        "ends_with",
        &[("ends_with('main.rs', '.rs')", "true"), ("ends_with('main.rs', 'main')", "false")],
        &[("ends_with(context.missing, 'a')", "false")],
        &[("ends_with(context.list, 1)", "error: `ends_with` takes a string as text, not a list")],
    ),
    rows(
        "glob",
        &[
            ("glob('src/main.rs', 'src/*.rs')", "true"),
            ("glob('abcbd', 'a*b?')", "true"),
            ("glob('abc', 'a?')", "false"),
            ("glob('', '*')", "true"),
            ("glob('', '?')", "false"),
            ("glob('aaab', '*a*b*')", "true"),
        ],
        &[("glob(context.missing, '*')", "false")],
        &[("glob('a', 1)", "error: `glob` takes a string as pattern, not a number")],
    ),
    rows(
        "length",
        &[("length('añ😀')", "3"), ("length(context.list)", "3"), ("length({a: 1})", "1")],
        &[("length(context.missing)", "0")],
        &[("length(5)", "error: `length` takes a string or a list or a map as x, not a number")],
    ),
    rows(
        "contains",
        &[
            ("contains('abc', 'bc')", "true"),
            ("contains(context.list, 1)", "true"),
            ("contains(context.map, 'b')", "true"),
            ("contains(context.map, 'z')", "false"),
        ],
        &[("contains(context.missing, 1)", "false"), ("contains(context.list, context.missing)", "false")],
        &[
            ("contains(1, 1)", "error: `contains` takes a string or a list or a map as x, not a number"),
            ("contains('abc', 1)", "error: only a string can be `in` a string, not a number"),
        ],
    ),
    rows(
        "index_of",
        &[
            ("index_of('äbc', 'c')", "2"),
            ("index_of(context.list, 2)", "2"),
            ("index_of(context.list, 9)", "null"),
            ("index_of('abc', 'x')", "null"),
        ],
        &[("index_of(context.missing, 1)", "null")],
        &[
            ("index_of({}, 'a')", "error: `index_of` takes a string or a list as x, not a map"),
            ("index_of('abc', 1)", "error: only a string can be `in` a string, not a number"),
        ],
    ),
    rows(
        "slice",
        &[
            ("slice('häuser', 1, 3)", r#""äu""#),
            ("slice(context.list, 1)", "[1,2]"),
            ("slice(context.list, -2)", "[1,2]"),
            ("slice('abc', 0, -1)", r#""ab""#),
            ("slice('abc', 2, 1)", r#""""#),
            ("slice(context.list, 1, 99)", "[1,2]"),
            ("slice(context.list, -99, 1)", "[3]"),
        ],
        &[
            ("slice(context.missing, 1)", "null"),
            ("slice('abc', context.missing)", "error: `slice` takes a number as from, not null"),
        ],
        &[
            ("slice(context.map, 1)", "error: `slice` takes a string or a list as x, not a map"),
            ("slice('abc', 0.5)", "error: expected a whole number, found 0.5"),
        ],
    ),
];
