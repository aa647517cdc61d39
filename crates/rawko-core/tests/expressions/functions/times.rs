//! Functions on timestamps and durations. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows("now", &[("now()", "1767323045678"), ("now() - 678", "1767323045000")], &[], &[]),
    rows(
        "iso",
        &[("iso(0)", r#""1970-01-01T00:00:00Z""#), ("iso(now())", r#""2026-01-02T03:04:05.678Z""#)],
        &[("iso(context.missing)", "null")],
        &[
            ("iso('today')", "error: `iso` takes a number as ms, not a string"),
            ("iso(1e300)", "error: the time is outside the years -9999 to 9999"),
        ],
    ),
    rows(
        "parse_time",
        &[
            ("parse_time('2026-01-02T03:04:05.678Z')", "1767323045678"),
            ("parse_time('2026-01-02T04:04:05+01:00')", "1767323045000"),
            ("parse_time('2026-01-02T03:04:05')", "1767323045000"),
            ("parse_time('1970-01-02')", "86400000"),
            ("parse_time('tomorrow')", "null"),
        ],
        &[("parse_time(context.missing)", "null")],
        &[("parse_time(0)", "error: `parse_time` takes a string as text, not a number")],
    ),
    rows(
        "format_time",
        &[
            ("format_time(0, '%Y-%m-%d %H:%M')", r#""1970-01-01 00:00""#),
            ("format_time(now(), '%A')", r#""Friday""#),
        ],
        &[("format_time(context.missing, '%Y')", "null")],
        &[
            ("format_time('x', '%Y')", "error: `format_time` takes a number as ms, not a string"),
            ("format_time(0, '%!')", "error: `%!` is not a valid time format"),
        ],
    ),
    rows(
        "duration",
        &[
            ("duration('15m')", "900000"),
            ("duration('PT1H')", "3600000"),
            ("duration(250)", "250"),
            ("duration('soon')", "null"),
            ("now() + duration('1s') - now()", "1000"),
        ],
        &[("duration(context.missing)", "null")],
        &[("duration(true)", "error: `duration` takes a number or a string as x, not a boolean")],
    ),
];
