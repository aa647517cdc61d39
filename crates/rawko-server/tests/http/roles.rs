//! Every route with every role, from the OpenAPI document itself: a route without a rule fails here.

use expect_test::expect;
use rawko_server::{Role, openapi_document};
use serde_json::{Value, json};

use crate::support::{Ask, TestServer, guarded};

/// Returns the routes of the document, as requests without effect.
fn routes() -> Vec<(String, String)> {
    let document = serde_json::to_value(openapi_document()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in
            item.as_object().unwrap().keys().filter(|key| ["get", "post", "delete"].contains(&key.as_str()))
        {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    routes.sort_by(|one, other| (&one.1, &one.0).cmp(&(&other.1, &other.0)));
    routes
}

fn ask(server: &TestServer, method: &str, path: &str) -> Ask {
    let path = path.replace("{id}", "nobody").replace("{name}", "nobody");
    let ask = server.ask(method, &path);
    // No route accepts this body, so an admitted request fails at its body.
    if method == "POST" { ask.json(&json!([])) } else { ask }
}

/// Returns whether access was granted, regardless of the rest of the response.
fn word(status: u16) -> &'static str {
    match status {
        401 => "token?",
        403 => "role?",
        _ => "in",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_with_every_role() {
    let server = guarded().await;
    let mut table = String::new();
    for (method, path) in routes() {
        let mut words = Vec::new();
        // An invalid parameter, because a valid stream would not end.
        let path_asked = if path == "/v1/stream" { format!("{path}?after=nonsense") } else { path.clone() };
        for role in [
            None,
            Some(Role::Service),
            Some(Role::Agent),
            Some(Role::Read),
            Some(Role::Operate),
            Some(Role::Admin),
        ] {
            let request = ask(&server, &method, &path_asked);
            let request = match role {
                Some(role) => request.role(role),
                None => request,
            };
            words.push(word(request.send().await.status));
        }
        // An invalid login is rejected like any other invalid body.
        table.push_str(&format!("{method:<6} {path:<34} {}\n", words.join(" ")));
    }
    expect![[r#"
        GET    /metrics                           token? role? role? in in in
        GET    /v1/agents                         token? role? role? in in in
        GET    /v1/agents/{name}                  token? role? role? in in in
        GET    /v1/approvals                      token? role? role? in in in
        GET    /v1/audit                          token? role? role? in in in
        GET    /v1/channels                       token? role? role? in in in
        POST   /v1/channels                       token? role? role? role? in in
        GET    /v1/channels/{name}                token? role? role? in in in
        POST   /v1/channels/{name}/actions        token? role? role? role? in in
        GET    /v1/channels/{name}/messages       token? role? role? in in in
        POST   /v1/channels/{name}/messages       token? role? role? role? in in
        GET    /v1/charts                         token? role? role? in in in
        POST   /v1/charts                         token? role? role? role? role? in
        POST   /v1/charts/check                   token? role? role? in in in
        POST   /v1/charts/explain                 token? role? role? in in in
        POST   /v1/charts/save                    token? role? role? role? role? in
        POST   /v1/charts/simulate                token? role? role? in in in
        POST   /v1/charts/suggest                 token? role? role? in in in
        POST   /v1/charts/verify                  token? role? role? role? in in
        GET    /v1/charts/{id}                    token? role? role? in in in
        GET    /v1/charts/{id}/graph              token? role? role? in in in
        POST   /v1/charts/{id}/scenarios          token? role? role? role? role? in
        GET    /v1/charts/{id}/tests              token? role? role? in in in
        GET    /v1/doctor                         token? role? role? role? role? in
        GET    /v1/health                         in in in in in in
        GET    /v1/instances                      token? role? role? in in in
        POST   /v1/instances                      token? role? role? role? in in
        GET    /v1/instances/{id}                 token? role? role? in in in
        POST   /v1/instances/{id}/answer          token? role? role? role? in in
        POST   /v1/instances/{id}/cancel          token? role? role? role? in in
        GET    /v1/instances/{id}/changes         token? role? role? in in in
        GET    /v1/instances/{id}/children        token? role? role? in in in
        GET    /v1/instances/{id}/drawing         token? role? role? in in in
        POST   /v1/instances/{id}/events          token? role? role? role? in in
        POST   /v1/instances/{id}/fork            token? role? role? role? in in
        POST   /v1/instances/{id}/items/{item}/retry token? role? role? role? in in
        GET    /v1/instances/{id}/journal         token? role? role? in in in
        POST   /v1/instances/{id}/migrate         token? role? role? role? in in
        POST   /v1/instances/{id}/pause           token? role? role? role? in in
        POST   /v1/instances/{id}/resume          token? role? role? role? in in
        POST   /v1/instances/{id}/retry           token? role? role? role? in in
        GET    /v1/instances/{id}/transcript      token? role? role? in in in
        POST   /v1/instances/{id}/undo            token? role? role? role? in in
        POST   /v1/prune                          token? role? role? role? role? in
        GET    /v1/requests/{code}                token? token? token? token? token? token?
        POST   /v1/requests/{code}                in in in in in in
        GET    /v1/schema                         token? role? role? in in in
        GET    /v1/search                         token? role? role? in in in
        GET    /v1/services                       token? role? role? in in in
        DELETE /v1/session                        in in in in in in
        GET    /v1/session                        in in in in in in
        POST   /v1/session                        in in in in in in
        GET    /v1/stream                         token? role? role? in in in
        GET    /v1/tasks                          token? role? role? in in in
        POST   /v1/tasks                          token? role? role? role? in in
        POST   /v1/tasks/{id}/continue            token? role? role? role? in in
        POST   /v1/tasks/{id}/raise               token? role? role? role? in in
        GET    /v1/triggers                       token? role? role? in in in
        GET    /v1/usage                          token? role? role? in in in
        POST   /v1/webhooks/{name}                in in in in in in
    "#]]
    .assert_eq(&table);
    server.stop().await;
}

#[test]
fn no_two_operations_have_the_same_name() {
    let document = serde_json::to_value(openapi_document()).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|item| item.as_object().unwrap().values());
    let names: Vec<&str> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!((names.len(), names.len()), (routes().len(), different.len()), "{names:?}");
}

#[test]
fn the_document_says_which_role_each_route_needs() {
    let document = serde_json::to_value(openapi_document()).unwrap();
    let upload: &Value = &document["paths"]["/v1/charts"]["post"];
    assert!(upload["description"].as_str().unwrap().ends_with("Requires the role `admin`."), "{upload:#}");
    assert_eq!(upload["security"], json!([{"bearer": []}, {"cookie": []}]));
    assert_eq!(document["paths"]["/v1/session"]["get"].get("security"), None);
    assert_eq!(document["openapi"], "3.1.0");
}
