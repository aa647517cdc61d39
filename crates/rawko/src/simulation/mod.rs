//! The parts of `rawko simulate`: the sources of stimuli, and the output of reports.

pub(crate) mod choices;
pub(crate) mod command;
pub(crate) mod gate;
pub(crate) mod prompt;
pub(crate) mod show;
pub(crate) mod stimuli;
pub(crate) mod transcript;
