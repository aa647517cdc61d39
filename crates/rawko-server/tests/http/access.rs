//! Authentication by token and by cookie; and that no response reveals a secret.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use rawko_server::{Rate, Role};
use serde_json::json;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::support::{DOOR, SECRETS, guarded, open, start, tokens};

#[tokio::test(flavor = "multi_thread")]
async fn on_loopback_without_tokens_everybody_is_admin() {
    let server = open().await;
    let session = server.get("/v1/session").send().await;
    assert_eq!(
        (session.status, session.json()),
        (200, json!({"role": "admin", "required": false, "can_prune": true}))
    );
    assert_eq!(server.get("/v1/charts").send().await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_needed_where_there_are_any() {
    let server = guarded().await;
    let without = server.get("/v1/charts").send().await;
    assert_eq!((without.status, without.problem().as_str()), (401, "unauthorized"));
    assert_eq!(without.header("www-authenticate"), Some("Bearer"));
    let session = server.get("/v1/session").send().await;
    assert_eq!(
        (session.status, session.json()),
        (200, json!({"role": null, "required": true, "can_prune": true}))
    );
    let wrong = ["", "look-1f9", "look-1f9e0", "LOOK-1F9E", "admin", "read"];
    for token in wrong {
        let answer = server.get("/v1/charts").token(token).send().await;
        assert_eq!((answer.status, answer.problem().as_str()), (401, "unauthorized"), "{token}");
    }
    for scheme in ["Basic look-1f9e", "look-1f9e", "Bearer", "Bearerlook-1f9e"] {
        let answer = server.get("/v1/charts").header("authorization", scheme).send().await;
        assert_eq!(answer.status, 401, "{scheme}");
    }
    for scheme in ["Bearer look-1f9e", "bearer look-1f9e", "Bearer  look-1f9e "] {
        let answer = server.get("/v1/charts").header("authorization", scheme).send().await;
        assert_eq!(answer.status, 200, "{scheme}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_logs_in_with_a_cookie() {
    let server = guarded().await;
    let refused = server.post("/v1/session", json!({"token": "nonsense"})).send().await;
    assert_eq!((refused.status, refused.header("set-cookie")), (401, None));

    let secret = SECRETS[1].1;
    let log_in = server.post("/v1/session", json!({"token": secret})).send().await;
    assert_eq!(log_in.json(), json!({"role": "operate", "required": true, "can_prune": true}));
    let set = log_in.header("set-cookie").unwrap().to_owned();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=43200"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains(secret) && !set.contains("Secure"), "{set}");
    let cookie = set.split(';').next().unwrap().to_owned();

    let session = server.get("/v1/session").header("cookie", &format!("theme=dark; {cookie}")).send().await;
    assert_eq!(session.json()["role"], "operate");
    assert_eq!(server.get("/v1/charts").header("cookie", &cookie).send().await.status, 200);
    let spoiled = format!("{}0", &cookie[..cookie.len() - 1]);
    let spoiled = if spoiled == cookie { format!("{}1", &cookie[..cookie.len() - 1]) } else { spoiled };
    assert_eq!(server.get("/v1/charts").header("cookie", &spoiled).send().await.status, 401);

    let log_out = server.ask("DELETE", "/v1/session").header("cookie", &cookie).send().await;
    assert_eq!(log_out.json(), json!({"role": null, "required": true, "can_prune": true}));
    assert!(log_out.header("set-cookie").unwrap().starts_with("rawko_session=; Path=/; Max-Age=0"));

    let by_tls = server
        .post("/v1/session", json!({"token": secret}))
        .header("x-forwarded-proto", "https")
        .send()
        .await;
    assert!(by_tls.header("set-cookie").unwrap().ends_with("; Secure"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_one_time_link_logs_a_browser_in_once() {
    let server = guarded().await;
    let inviter = server.server.inviter("admin");
    let link = inviter.link("c0de");
    assert_eq!(link, format!("http://{}/login/c0de", server.address()));
    let open = |path: &str| server.get(path);
    assert_eq!(open("/login/another").send().await.status, 401);
    // Nothing but opening it uses it up.
    assert_eq!(server.ask("HEAD", "/login/c0de").send().await.status, 405);
    assert_eq!(open("/login/c0de").header("sec-purpose", "prefetch;prerender").send().await.status, 405);
    assert_eq!(open("/login/c0de").header("origin", "http://evil.example").send().await.status, 403);
    assert_eq!(open("/login/c0de").header("host", "evil.example").send().await.status, 403);

    let opened = open("/login/c0de").send().await;
    assert_eq!((opened.status, opened.header("location")), (303, Some("/")));
    assert_eq!(opened.header("referrer-policy"), Some("no-referrer"));
    let set = opened.header("set-cookie").unwrap().to_owned();
    assert!(set.contains("; HttpOnly") && set.contains("; SameSite=Strict"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let session = server.get("/v1/session").header("cookie", cookie).send().await;
    assert_eq!(session.json()["role"], "admin");
    let again = open("/login/c0de").send().await;
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_token_connects_an_agent_and_nothing_else() {
    let server = guarded().await;
    let secret = SECRETS[3].1;
    // Under the name of the token, and no other.
    assert_eq!(registered(server.address(), secret, "agent").await, 200);
    assert_eq!(registered(server.address(), secret, "ada").await, 403);
    let log_in = server.post("/v1/session", json!({"token": secret})).send().await;
    assert_eq!((log_in.status, log_in.header("set-cookie")), (403, None));
    let health = server.get("/v1/health").token(secret).send().await;
    assert_eq!(health.json(), json!({"status": "ok"}));
    assert_eq!(server.get("/v1/openapi.json").token(secret).send().await.status, 403);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_little_to_strangers() {
    let server = guarded().await;
    let stranger = server.get("/v1/health").send().await;
    assert_eq!((stranger.status, stranger.json()), (200, json!({"status": "ok"})));
    let reader = server.get("/v1/health").role(Role::Read).send().await.json();
    assert_eq!((&reader["status"], &reader["instances"]), (&json!("ok"), &json!(0)));
    assert!(reader["version"].is_string() && reader["uptime_ms"].is_number(), "{reader}");
    server.stop().await;
}

/// For every way of presenting a token. A client with a valid token is not affected.
#[tokio::test(flavor = "multi_thread")]
async fn guessing_tokens_is_slow() {
    for way in ["bearer", "session", "register", "link"] {
        let rate = Some(Rate { per_second: 1, burst: 200 });
        let server = start(tokens(), |app| app.settings.rate = rate).await;
        let mut statuses = Vec::new();
        for n in 0..10 {
            let guess = format!("guess-{n}");
            statuses.push(match way {
                "session" => server.post("/v1/session", json!({"token": guess})).send().await.status,
                "link" => server.get(&format!("/login/{guess}")).send().await.status,
                "bearer" => server.get("/v1/charts").token(&guess).send().await.status,
                _ => registered(server.address(), &guess, "ada").await,
            });
        }
        assert_eq!((statuses[0], statuses[9]), (401, 429), "{way}: {statuses:?}");
        assert_eq!(server.get("/v1/charts").role(Role::Read).send().await.status, 200);
        server.stop().await;
    }
}

/// Returns the result of registering with a token, as an HTTP status.
async fn registered(address: SocketAddr, token: &str, agent: &str) -> u16 {
    let mut socket = match tokio_tungstenite::connect_async(format!("ws://{address}/v1/agents")).await {
        Ok((socket, _)) => socket,
        Err(Error::Http(refused)) => return refused.status().as_u16(),
        Err(other) => panic!("{other}"),
    };
    let register = json!({"type": "register", "protocol": 1, "agent": agent, "token": token});
    socket.send(Message::Text(register.to_string().into())).await.unwrap();
    let heard = socket.next().await.unwrap().unwrap().into_text().unwrap();
    match heard.as_str() {
        heard if heard.contains("unauthorized") => 401,
        heard if heard.contains("invalid_name") => 403,
        heard => {
            assert!(heard.contains("registered"), "{heard}");
            200
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_that_is_not_offered_is_started_by_admins_only() {
    let server = guarded().await;
    let start = |role, body| server.post("/v1/instances", body).role(role).send();
    let refused = start(Role::Operate, json!({"text": DOOR})).await;
    assert_eq!((refused.status, refused.problem().as_str()), (403, "forbidden"));
    assert_eq!(start(Role::Operate, json!({"chart": "door"})).await.status, 201);
    assert_eq!(start(Role::Admin, json!({"text": DOOR})).await.status, 201);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_says_who_speaks_whatever_the_request_claims() {
    let server = guarded().await;
    let ask = |path, body| server.post(path, body).role(Role::Operate).send();
    assert_eq!(ask("/v1/channels", json!({"name": "den"})).await.status, 201);
    let said = ask("/v1/channels/den/messages", json!({"text": "Hello", "by": "kim"})).await;
    assert_eq!(said.status, 201);
    let heard = server.get("/v1/channels/den/messages").role(Role::Read).send().await.json();
    assert_eq!(heard["messages"][0]["from"], "operate", "{heard}");
    server.stop().await;
}
