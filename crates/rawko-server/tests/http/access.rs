//! Who is let in: by token, by cookie, or not at all; and that no answer gives a secret away.

use rawko_server::{Rate, Role};
use serde_json::json;

use crate::support::{SECRETS, guarded, open, start, tokens};

#[tokio::test(flavor = "multi_thread")]
async fn on_loopback_without_tokens_everybody_is_admin() {
    let server = open().await;
    let session = server.get("/v1/session").send().await;
    assert_eq!((session.status, session.json()), (200, json!({"role": "admin", "required": false})));
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
    assert_eq!((session.status, session.json()), (200, json!({"role": null, "required": true})));
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
    assert_eq!(log_in.json(), json!({"role": "operate", "required": true}));
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
    assert_eq!(log_out.json(), json!({"role": null, "required": true}));
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
async fn health_says_little_to_strangers() {
    let server = guarded().await;
    let stranger = server.get("/v1/health").send().await;
    assert_eq!((stranger.status, stranger.json()), (200, json!({"status": "ok"})));
    let reader = server.get("/v1/health").role(Role::Read).send().await.json();
    assert_eq!((&reader["status"], &reader["instances"]), (&json!("ok"), &json!(0)));
    assert!(reader["version"].is_string() && reader["uptime_ms"].is_number(), "{reader}");
    server.stop().await;
}

/// Whichever way they are shown. Whoever has a token is another client, and does not suffer.
#[tokio::test(flavor = "multi_thread")]
async fn guessing_tokens_is_slow() {
    for by_session in [false, true] {
        let rate = Some(Rate { per_second: 1, burst: 200 });
        let server = start(tokens(), |app| app.settings.rate = rate).await;
        let mut statuses = Vec::new();
        for n in 0..10 {
            let guess = format!("guess-{n}");
            let ask = if by_session {
                server.post("/v1/session", json!({"token": guess}))
            } else {
                server.get("/v1/charts").token(&guess)
            };
            statuses.push(ask.send().await.status);
        }
        assert_eq!((statuses[0], statuses[9]), (401, 429), "{statuses:?}");
        assert_eq!(server.get("/v1/charts").role(Role::Read).send().await.status, 200);
        server.stop().await;
    }
}
