//! Roles, and the role that each request requires. One table for the whole API: an unlisted route requires more, not
//! less.

use axum::http::Method;

use crate::role::Role;

/// Returns the role that a request requires; `None` for public routes.
pub(crate) fn needed(method: &Method, path: &str) -> Option<Role> {
    let looks = [Method::GET, Method::HEAD].contains(method);
    match path {
        // Login, and information available before it.
        "/v1/session" => None,
        "/v1/health" if looks => None,
        // The code in the path is the credential.
        _ if path.starts_with("/v1/requests/") => None,
        // The signature of the request is the credential.
        _ if path.starts_with("/v1/webhooks/") => None,
        "/metrics" => Some(Role::Read),
        // Settings and paths of this machine.
        "/v1/doctor" => Some(Role::Admin),
        // Removes journals for good.
        "/v1/prune" => Some(Role::Admin),
        // A client starts workflows and answers for people.
        "/mcp" => Some(Role::Operate),
        "/v1/charts/check" | "/v1/charts/explain" | "/v1/charts/simulate" | "/v1/charts/suggest" => {
            Some(Role::Read)
        }
        // Takes up to 10 s of a core.
        "/v1/charts/verify" => Some(Role::Operate),
        // Files of the project, which are published and trusted.
        _ if !looks && (path == "/v1/charts" || path.starts_with("/v1/charts/")) => Some(Role::Admin),
        // The page and its assets; they contain no project data.
        _ if !is_api(path) => None,
        _ if looks => Some(Role::Read),
        _ => Some(Role::Operate),
    }
}

pub(crate) fn is_api(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/") || path == "/metrics" || path == "/mcp"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_needs() {
        let table = [
            (Method::GET, "/", None),
            (Method::GET, "/app.js", None),
            (Method::POST, "/v1/session", None),
            (Method::DELETE, "/v1/session", None),
            (Method::GET, "/v1/health", None),
            (Method::GET, "/v1/requests/3f2a", None),
            (Method::POST, "/v1/requests/3f2a", None),
            (Method::GET, "/v1/requests", Some(Role::Read)),
            (Method::POST, "/v1/webhooks/push", None),
            (Method::GET, "/v1/webhooks", Some(Role::Read)),
            (Method::GET, "/v1/triggers", Some(Role::Read)),
            (Method::GET, "/v1/openapi.json", Some(Role::Read)),
            (Method::GET, "/login/3f2a", None),
            (Method::GET, "/metrics", Some(Role::Read)),
            (Method::GET, "/v1/doctor", Some(Role::Admin)),
            (Method::POST, "/v1/prune", Some(Role::Admin)),
            (Method::GET, "/mcp", Some(Role::Operate)),
            (Method::POST, "/mcp", Some(Role::Operate)),
            (Method::GET, "/v1", Some(Role::Read)),
            (Method::GET, "/v1/instances", Some(Role::Read)),
            (Method::HEAD, "/v1/instances", Some(Role::Read)),
            (Method::GET, "/v1/nothing/of/the/kind", Some(Role::Read)),
            (Method::GET, "/v1/charts", Some(Role::Read)),
            (Method::POST, "/v1/charts/check", Some(Role::Read)),
            (Method::POST, "/v1/charts/simulate", Some(Role::Read)),
            (Method::POST, "/v1/charts/suggest", Some(Role::Read)),
            (Method::POST, "/v1/charts/verify", Some(Role::Operate)),
            (Method::POST, "/v1/charts/save", Some(Role::Admin)),
            (Method::POST, "/v1/charts/order/scenarios", Some(Role::Admin)),
            (Method::POST, "/v1/charts", Some(Role::Admin)),
            (Method::DELETE, "/v1/charts", Some(Role::Admin)),
            (Method::POST, "/v1/instances", Some(Role::Operate)),
            (Method::DELETE, "/v1/anything", Some(Role::Operate)),
            (Method::OPTIONS, "/v1/instances", Some(Role::Operate)),
        ];
        for (method, path, expected) in table {
            assert_eq!(needed(&method, path), expected, "{method} {path}");
        }
    }
}
