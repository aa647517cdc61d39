//! Addresses that may be fetched, by the rule for everything that leaves this machine.

use std::net::SocketAddr;

use rawko_process::{Egress, EgressRefusal};
use reqwest::Url;

use crate::outcome::{RefusedCall, ToolFailure};
use crate::settings::WebSettings;

const SOURCE: &str = "the project's settings (`tools.web` in .rawko/config.yaml)";

/// Resolves a URL to addresses and checks all of them.
pub(super) async fn checked(egress: &Egress, url: &Url) -> Result<Vec<SocketAddr>, ToolFailure> {
    if !["http", "https"].contains(&url.scheme()) {
        let why = format!("`{}` is neither http nor https", url.scheme());
        return Err(RefusedCall::new("address_blocked", "WebFetch", why).into());
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(format!("`{url}` names no host").into());
    };
    egress.resolve(host, port).await.map_err(|refusal| {
        let code = match &refusal {
            EgressRefusal::NotListed { .. } => "host_not_allowed",
            EgressRefusal::OutsideAgent { source, .. } => {
                return RefusedCall::new("host_not_allowed", source, refusal.to_string()).into();
            }
            EgressRefusal::Denied { .. } => "permission_denied",
            EgressRefusal::Unapproved { .. } => "approval_required",
            EgressRefusal::Private { .. } => "address_private",
            EgressRefusal::Unknown { .. } => return refusal.to_string().into(),
        };
        RefusedCall::new(code, SOURCE, refusal.to_string()).into()
    })
}

impl WebSettings {
    /// The hosts that may be reached on behalf of agents.
    pub fn egress(&self) -> Egress {
        Egress { hosts: self.hosts.clone(), private: self.private.clone(), ..Egress::default() }
    }
}
