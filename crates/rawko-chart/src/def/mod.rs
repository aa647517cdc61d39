//! The chart format as types: its keys and shapes (`records`), which of them go with which kind of state (`kinds`), and
//! charts as their authors wrote them, nothing resolved yet (`chart`).

mod chart;
mod kinds;
mod records;
mod shape;

pub(crate) use chart::{ChartDef, DocsDef, InvokeDef, Part, PolicyDef, StateDef, TransitionDef, TriggerDef};
pub(crate) use kinds::{kind_of_word, misplaced};
pub(crate) use records::*;
pub(crate) use shape::{Record, Shape, Tagged};
