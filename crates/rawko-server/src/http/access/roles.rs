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
        "/metrics" => Some(Role::Read),
        "/v1/charts/check" => Some(Role::Read),
        "/v1/charts" if !looks => Some(Role::Admin),
        // The page and its assets; they contain no project data.
        _ if !is_api(path) => None,
        _ if looks => Some(Role::Read),
        _ => Some(Role::Operate),
    }
}

pub(crate) fn is_api(path: &str) -> bool {
    path == "/v1" || path.starts_with("/v1/") || path == "/metrics"
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
            (Method::GET, "/v1/openapi.json", Some(Role::Read)),
            (Method::GET, "/login/3f2a", None),
            (Method::GET, "/metrics", Some(Role::Read)),
            (Method::GET, "/v1", Some(Role::Read)),
            (Method::GET, "/v1/instances", Some(Role::Read)),
            (Method::HEAD, "/v1/instances", Some(Role::Read)),
            (Method::GET, "/v1/nothing/of/the/kind", Some(Role::Read)),
            (Method::GET, "/v1/charts", Some(Role::Read)),
            (Method::POST, "/v1/charts/check", Some(Role::Read)),
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
