//! Agents that are a command: one JSON object a line, both ways. Child processes of other kinds are started and ended
//! here too, so that none of them outlives us by a way of its own.

mod child;
mod stderr;

pub(crate) use child::{Child, Launch};
