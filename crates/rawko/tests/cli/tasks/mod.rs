//! Tasks from the command line: agents are selected, run and judged. Only the models are scripted.

mod charts;
mod ending;
mod hearing;
mod images;
mod killing;
mod power;
pub(crate) mod project;
mod raising;
mod replaying;
mod retrying;
mod streaming;
mod truth;
mod whole;
