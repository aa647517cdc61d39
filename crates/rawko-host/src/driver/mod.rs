//! The driver of instances on one machine: mailboxes, commits, deadlines, calls. It decides nothing about charts;
//! `rawko_instance` defines the meaning of each input.

pub(crate) mod calls;
pub(crate) mod deadlines;
pub(crate) mod dispatch;
pub(crate) mod drain;
pub(crate) mod drive;
mod endings;
mod environment;
pub(crate) mod instances;
pub(crate) mod load;
mod perform;
mod recovery;
mod remove;
pub(crate) mod scope;
pub(crate) mod slot;

pub use calls::PreparedCall;
pub use drain::DrainWait;
