//! Access control: all checks of a request before it reaches its handler.

mod guard;
mod links;
mod origin;
mod roles;
mod visit;

use std::net::SocketAddr;

#[cfg(feature = "mcp")]
pub(crate) use guard::caller_of;
pub(crate) use guard::{Caller, guard, is_upgrade, wrong_token};
pub(crate) use links::Links;
pub(crate) use origin::Names;
pub(crate) use roles::{is_api, needed};
pub(crate) use visit::{COOKIE, VISIT_MS, hex, unhex};

use super::settings::ServerSettings;
use crate::tokens::Tokens;

/// Configuration of the access checks.
pub(crate) struct Access {
    pub(crate) tokens: Tokens,
    pub(crate) names: Names,
    pub(crate) links: Links,
}

impl Access {
    pub(crate) fn new(tokens: Tokens, settings: &ServerSettings, address: SocketAddr) -> Access {
        Access { tokens, names: Names::new(&settings.hosts, address), links: Links::default() }
    }
}
