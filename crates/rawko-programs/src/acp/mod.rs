//! Coding agents driven over the Agent Client Protocol: we are the client, an installed program is the agent. What it
//! wants to do it asks us for, and our gate answers. The protocol is in the feature `acp`.

#[cfg(not(feature = "acp"))]
mod absent;
#[cfg(feature = "acp")]
mod converse;
#[cfg(feature = "acp")]
mod prompt;
#[cfg(feature = "acp")]
mod serve;
#[cfg(feature = "acp")]
mod session;
#[cfg(feature = "acp")]
mod updates;
#[cfg(feature = "acp")]
mod wire;

#[cfg(not(feature = "acp"))]
pub(crate) use absent::{converse, insist_on_feature};
#[cfg(feature = "acp")]
pub(crate) use converse::{converse, insist_on_feature};

#[cfg(feature = "acp")]
pub(crate) use updates::is_update;
