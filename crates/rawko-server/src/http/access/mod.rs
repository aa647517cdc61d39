//! Who may do what: everything that is decided about a request before anybody looks at what it wants.

mod guard;
mod origin;
mod roles;
mod visit;

use std::net::SocketAddr;

pub(crate) use guard::{Caller, guard, is_upgrade, wrong_token};
pub(crate) use origin::Names;
pub(crate) use roles::{is_api, needed};
pub(crate) use visit::{COOKIE, VISIT_MS};

use super::settings::ServerSettings;
use crate::tokens::Tokens;

/// What decides about requests.
pub(crate) struct Access {
    pub(crate) tokens: Tokens,
    pub(crate) names: Names,
}

impl Access {
    pub(crate) fn new(tokens: Tokens, settings: &ServerSettings, address: SocketAddr) -> Access {
        Access { tokens, names: Names::new(&settings.hosts, address) }
    }
}
