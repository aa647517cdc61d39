//! Access control: all checks of a request before it reaches its handler.

mod guard;
mod links;
mod origin;
mod roles;
mod visit;

use std::net::SocketAddr;

pub(crate) use guard::{RequestCaller, caller_of, guard, is_upgrade, wrong_token};
pub(crate) use links::Links;
pub(crate) use origin::HostNames;
pub(crate) use roles::{is_api, needed};
pub(crate) use visit::{COOKIE, VISIT_MS, hex, unhex};

use super::settings::ServerSettings;
use crate::tokens::ServerTokens;

/// Configuration of the access checks.
pub(crate) struct AccessRules {
    pub(crate) tokens: ServerTokens,
    pub(crate) names: HostNames,
    pub(crate) links: Links,
}

impl AccessRules {
    pub(crate) fn new(tokens: ServerTokens, settings: &ServerSettings, address: SocketAddr) -> AccessRules {
        AccessRules { tokens, names: HostNames::new(&settings.hosts, address), links: Links::default() }
    }
}
