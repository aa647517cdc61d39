//! Failures of programs for lack of a network, which they report in words of their own.

/// Parts of what resolvers, curl, Node.js, Go, Rust and Python print without a network, in lower case.
const PHRASES: [&str; 11] = [
    "name resolution",
    "could not resolve host",
    "name or service not known",
    "network is unreachable",
    "no address associated with hostname",
    "nodename nor servname",
    "no such host",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "dns error",
];

/// Returns a hint for a program without hosts, if its output reports that a name or the network was not there.
#[must_use]
pub fn network_hint(output: &str) -> Option<&'static str> {
    let output = output.to_lowercase();
    PHRASES.iter().any(|phrase| output.contains(phrase)).then_some(
        "the program has no network; list the hosts that it needs in `tools.network.hosts` of the settings",
    )
}

#[cfg(test)]
mod tests {
    use super::network_hint;

    #[test]
    fn a_lack_of_network_is_recognized() {
        for text in [
            "curl: (6) Could not resolve host: example.com",
            "gaierror(-3, 'Temporary failure in name resolution')",
            "Error: getaddrinfo EAI_AGAIN packages.example.com",
            "connect: network is unreachable",
        ] {
            assert!(network_hint(text).is_some(), "{text}");
        }
        assert!(network_hint("exit code 1: the card was declined").is_none());
    }
}
