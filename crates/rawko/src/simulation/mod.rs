//! Everything around `rawko simulate`: where stimuli come from, and how what happened is shown.

pub(crate) mod choices;
pub(crate) mod command;
pub(crate) mod prompt;
pub(crate) mod show;
pub(crate) mod stimuli;
pub(crate) mod transcript;
