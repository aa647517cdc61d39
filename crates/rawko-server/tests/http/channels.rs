//! Channels over HTTP.

use serde_json::{Value, json};

use crate::support::{TestServer, open};

async fn act(server: &TestServer, action: Value) -> (u16, Value) {
    let answer = server.post("/v1/channels/den/actions", action).send().await;
    (answer.status, answer.json())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_from_its_making_to_its_end() {
    let server = open().await;
    let new = json!({"name": "den", "agents": ["ada", "bob"], "options": {"turnOrder": "priority"}});
    let made = server.post("/v1/channels", new).send().await;
    assert_eq!((made.status, made.header("location")), (201, Some("/v1/channels/den")));
    let room = made.json();
    let names: Vec<&str> = room["channel"]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["agent"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ada", "bob"]);
    assert_eq!(room["channel"]["options"], json!({"turnOrder": "priority"}));
    assert_eq!((&room["turn"], &room["queue"]), (&json!(null), &json!([])), "nobody is connected");

    let said = server.post("/v1/channels/den/messages", json!({"text": "Hello", "by": "kim"})).send().await;
    assert_eq!((said.status, said.json()), (201, json!({"number": 1, "held": false})));
    let said = server.post("/v1/channels/den/messages", json!({"text": "Anybody?"})).send().await;
    assert_eq!(said.json()["number"], 2);
    let messages = server.get("/v1/channels/den/messages?after=0&limit=1").send().await.json();
    assert_eq!(messages["next"], 1);
    let first = &messages["messages"][0];
    assert_eq!(
        (&first["kind"], &first["from"], &first["text"]),
        (&json!("person"), &json!("kim"), &json!("Hello"))
    );
    let rest = server.get("/v1/channels/den/messages?after=1").send().await.json();
    assert_eq!((&rest["messages"][0]["from"], &rest["next"]), (&json!("local"), &json!(null)));

    assert_eq!(act(&server, json!({"action": "pause"})).await.0, 200);
    let (status, again) = act(&server, json!({"action": "pause"})).await;
    assert_eq!(
        (status, &again["code"], &again["reason"]),
        (409, &json!("rawko::api::refused"), &json!("already_paused"))
    );
    let (_, channel) = act(&server, json!({"action": "resume"})).await;
    assert_eq!(channel["paused_ms"], json!(null));
    let (_, channel) = act(&server, json!({"action": "priority", "agent": "bob", "priority": 7})).await;
    assert_eq!(channel["members"][1]["priority"], 7);
    assert_eq!(act(&server, json!({"action": "remove", "agent": "ada"})).await.0, 200);
    assert_eq!(act(&server, json!({"action": "skip"})).await.1["reason"], "nobody_has_the_turn");
    assert_eq!(act(&server, json!({"action": "sing"})).await.1["code"], "rawko::api::invalid_body");
    assert_eq!(
        act(&server, json!({"action": "skip", "agent": "bob"})).await.1["code"],
        "rawko::api::invalid_body"
    );

    let listed = server.get("/v1/channels").send().await.json();
    assert_eq!(
        (&listed["channels"][0]["name"], &listed["channels"][0]["posted"]),
        (&json!("den"), &json!(2))
    );
    assert_eq!(act(&server, json!({"action": "close"})).await.0, 200);
    assert_eq!(server.get("/v1/channels").send().await.json(), json!({"channels": [], "offered": true}));
    server.stop().await;
}

/// A session would allow others to impersonate the agent.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_comes_back_with_is_shown_to_nobody() {
    use futures_util::{SinkExt, StreamExt};
    let server = open().await;
    server.post("/v1/channels", json!({"name": "den", "agents": ["ada"]})).send().await;
    let url = format!("ws://{}/v1/agents", server.address());
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let hello = json!({"type": "register", "protocol": 1, "agent": "ada", "observe": false});
    socket.send(hello.to_string().into()).await.unwrap();
    let registered: Value =
        serde_json::from_str(socket.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
    let session = registered["session"].as_str().unwrap().to_owned();
    for path in ["/v1/channels", "/v1/channels/den", "/v1/agents", "/v1/channels/den/messages"] {
        let answer = server.get(path).send().await;
        assert!(answer.status == 200 && !answer.text.contains(&session), "{path}: {answer:?}");
    }
    let room = server.get("/v1/channels/den").send().await.json();
    assert_eq!((&room["turn"]["agent"], &room["turn"]["state"]), (&json!("ada"), &json!("running")));
    server.stop().await;
}
