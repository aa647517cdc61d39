//! The chart format as types: its keys and shapes (`records`), their association with kinds of states (`kinds`), and
//! unresolved charts as written (`chart`).

mod chart;
mod kinds;
mod records;
mod shape;

pub(crate) use chart::{
    ChartDef, DocsDef, InvokeDef, PolicyDef, StateDef, TransitionBlock, TransitionDef, TriggerDef,
};
pub(crate) use kinds::{kind_of_word, misplaced};
pub(crate) use records::*;
pub(crate) use shape::{RecordShape, TaggedShape, ValueShape};
