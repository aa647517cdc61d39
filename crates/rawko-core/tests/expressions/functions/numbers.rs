//! Functions on numbers. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows(
        "number",
        &[
            ("number(' 42 ')", "42"),
            ("number('-1.5e2')", "-150.0"),
            ("number(7)", "7"),
            ("number('7 apples')", "null"),
            ("number('inf')", "null"),
            ("number('NaN')", "null"),
            ("number('1e999')", "null"),
            ("number('')", "null"),
        ],
        &[("number(context.missing)", "null")],
        &[("number(true)", "error: `number` takes a number or a string as x, not a boolean")],
    ),
    rows(
        "int",
        &[
            ("int(2.9)", "2"),
            ("int(-2.9)", "-2"),
            ("int('3.7')", "3"),
            ("int('x')", "null"),
            ("int(1e300)", "1e+300"),
        ],
        &[("int(context.missing)", "null")],
        &[("int([])", "error: `int` takes a number or a string as x, not a list")],
    ),
    rows(
        "abs",
        &[("abs(-3)", "3"), ("abs(2.5)", "2.5"), ("abs(-9223372036854775808)", "9.223372036854776e+18")],
        &[("abs(context.missing)", "null")],
        &[("abs('1')", "error: `abs` takes a number as x, not a string")],
    ),
    rows(
        "floor",
        &[("floor(2.7)", "2"), ("floor(-2.1)", "-3"), ("floor(5)", "5")],
        &[("floor(context.missing)", "null")],
        &[("floor('2')", "error: `floor` takes a number as x, not a string")],
    ),
    rows(
        "ceil",
        &[("ceil(2.1)", "3"), ("ceil(-2.7)", "-2")],
        &[("ceil(context.missing)", "null")],
        &[("ceil({})", "error: `ceil` takes a number as x, not a map")],
    ),
    rows(
        "round",
        &[("round(2.5)", "3"), ("round(-2.5)", "-3"), ("round(2.345, 1)", "2.3"), ("round(7, 2)", "7")],
        &[("round(context.missing)", "null"), ("round(context.missing, 2)", "null")],
        &[
            ("round('2.5')", "error: `round` takes a number as x, not a string"),
            ("round(2.5, 99)", "error: `round` takes 0 to 15 digits"),
        ],
    ),
    rows(
        "min",
        &[("min(3, 1.5, 2)", "1.5"), ("min(context.list)", "1"), ("min([])", "null"), ("min([4], 5)", "4")],
        &[
            ("min(context.missing)", "null"),
            ("min(1, context.missing)", "error: `min` takes a number or a list as x, not null"),
        ],
        &[
            ("min('a', 'b')", "error: `min` takes a number or a list as x, not a string"),
            ("min(context.words)", "error: expected a list of numbers, but one element is a string"),
        ],
    ),
    rows(
        "max",
        &[("max(3, 1.5, 2)", "3"), ("max(context.list)", "3"), ("max([])", "null")],
        &[("max(context.missing)", "null")],
        &[("max([1, null])", "error: expected a list of numbers, but one element is null")],
    ),
    rows(
        "sum",
        &[("sum(context.list)", "6"), ("sum([0.5, 1])", "1.5"), ("sum([])", "0")],
        &[("sum(context.missing)", "0")],
        &[
            ("sum(3)", "error: `sum` takes a list as list, not a number"),
            ("sum(context.words)", "error: expected a list of numbers, but one element is a string"),
        ],
    ),
    rows(
        "avg",
        &[("avg(context.list)", "2"), ("avg([1, 2])", "1.5"), ("avg([])", "null")],
        &[("avg(context.missing)", "null")],
        &[("avg('ab')", "error: `avg` takes a list as list, not a string")],
    ),
    rows(
        "clamp",
        &[("clamp(7, 0, 5)", "5"), ("clamp(-1, 0, 5)", "0"), ("clamp(2.5, 0, 5)", "2.5")],
        &[("clamp(context.missing, 0, 5)", "null")],
        &[
            ("clamp(1, '0', 5)", "error: `clamp` takes a number as low, not a string"),
            ("clamp(1, 5, 0)", "error: `clamp` needs a minimum that is not above the maximum"),
        ],
    ),
];
