//! Functions on agents and states. Each: ordinary use, a missing value, the wrong type.

use super::{Rows, rows};

pub(super) static ROWS: &[Rows] = &[
    rows("stateIn", &[("stateIn('root')", "true"), ("stateIn('review.open')", "false")], &[], &[]),
    rows(
        "agents.select",
        &[
            ("agents.select('reviewer')", r#""ann""#),
            ("agents.select('reviewer', 'code')", r#""ann""#),
            ("agents.select('reviewer', 'docs')", r#""bob""#),
            ("agents.select('cy', 'docs')", r#""cy""#),
            ("agents.select('pilot')", "null"),
        ],
        &[
            ("agents.select(context.missing)", "null"),
            ("agents.select('writer', context.missing)", r#""bob""#),
        ],
        &[("agents.select('writer', 1)", "error: `agents.select` takes a string as task_type, not a number")],
    ),
    rows(
        "agents.get",
        &[
            ("agents.get('ann')", r#"{"id":"ann","roles":["reviewer"],"task_types":["code"],"model":"m1"}"#),
            ("agents.get('zoe')", "null"),
            ("agents.get('zoe').model", "null"),
        ],
        &[("agents.get(context.missing)", "null")],
        &[("agents.get(1)", "error: `agents.get` takes a string as id, not a number")],
    ),
    rows(
        "agents.list",
        &[
            ("agents.list()", r#"["ann","bob","cy"]"#),
            ("agents.list('reviewer')", r#"["ann","bob"]"#),
            ("agents.list('pilot')", "[]"),
        ],
        &[("agents.list(context.missing)", r#"["ann","bob","cy"]"#)],
        &[("agents.list([])", "error: `agents.list` takes a string as role, not a list")],
    ),
];
