//! Whether the host of a remote server may be reached, and at which addresses.

use std::net::SocketAddr;

use rawko_process::{Egress, EgressRefusal};

/// Checks the host of a URL against the hosts that may be reached. A private address is allowed for the host that the
/// person configured; connections go to the checked addresses.
pub(super) async fn reachable(
    url: &str,
    configured: &str,
    egress: &Egress,
) -> Result<(String, Vec<SocketAddr>), String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}"))?;
    let (Some(host), Some(port)) = (parsed.host_str(), parsed.port_or_known_default()) else {
        return Err(format!("`{url}` names no host"));
    };
    let listed = egress.hosts.is_none().then(|| configured.trim_matches(['[', ']']).to_owned());
    let egress = Egress { private: egress.private.iter().cloned().chain(listed).collect(), ..egress.clone() };
    let addresses = match egress.resolve(host, port).await {
        Ok(addresses) => addresses,
        // A proxy of the system may know it.
        Err(EgressRefusal::Unknown { .. }) => Vec::new(),
        Err(refusal) => return Err(format!("{refusal} (`tools.web` in .rawko/config.yaml)")),
    };
    Ok((host.to_owned(), addresses))
}

/// Checks the host of a configured server.
pub(super) async fn reachable_server(
    url: &str,
    egress: &Egress,
) -> Result<(String, Vec<SocketAddr>), String> {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    reachable(url, &host.unwrap_or_default(), egress).await
}
