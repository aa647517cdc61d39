//! The operator's authority on this machine: the state directory, the credential in it, and the name that it proves.
//! Separate from hosting, because serving and reading need it, too.

mod credential;
mod moving;
mod nested;
mod person;
mod socket;

#[cfg(any(feature = "acp", feature = "server"))]
pub(crate) use credential::random_text;
#[cfg(feature = "server")]
pub(crate) use credential::token_of_environment;
pub(crate) use credential::{Operator, credential_problem, hide_credential};
pub(crate) use moving::{leftover, move_in, refuse_named};
pub(crate) use socket::socket_path;
