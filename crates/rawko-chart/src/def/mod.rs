//! The chart format as types: its keys and shapes (`records`), and charts as their authors wrote them, nothing
//! resolved yet (`chart`).

mod chart;
mod records;
mod shape;

pub(crate) use chart::{ChartDef, DocsDef, InvokeDef, Part, PolicyDef, StateDef, TransitionDef, TriggerDef};
pub(crate) use records::*;
pub(crate) use shape::{Record, Shape, Tagged};
