//! The published schema matches the types.

use rawko_server::{FromAgent, ToAgent, WireMessage, json_schema};
use serde_json::{Value, json};

const FILE: &str = "../../docs/formats/agent-protocol.schema.json";

#[test]
fn the_schema_on_disk_is_the_one_of_the_types() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    expect_test::expect_file![path].assert_eq(&format!("{:#}\n", json_schema()));
}

fn validator(direction: &str) -> jsonschema::Validator {
    let mut schema = json_schema();
    schema["anyOf"] = json!([{"$ref": format!("#/$defs/{direction}")}]);
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn what_agents_may_say_validates_and_reads() {
    let schema = validator("from_agent");
    let messages = [
        json!({"type": "register", "protocol": 1, "agent": "ada", "token": "t", "session": "s", "observe": false}),
        json!({"type": "heartbeat"}),
        json!({"type": "message", "channel": "standup", "text": "Hello"}),
        json!({"type": "message", "channel": "standup", "text": "Hello", "turn": 1, "id": "m"}),
        json!({"type": "turn_complete", "channel": "standup"}),
        json!({"type": "wait", "channel": "standup", "reason": "r", "until": "person", "timeout_seconds": 1.5}),
        json!({"type": "wait", "channel": "standup", "until": {"time": 5}}),
        json!({"type": "resumed", "channel": "standup"}),
        json!({"type": "history", "channel": "standup", "after": 3, "limit": 10}),
        json!({"type": "goodbye"}),
    ];
    for message in messages {
        assert!(schema.is_valid(&message), "{message}");
        let read: FromAgent = serde_json::from_value(message.clone()).unwrap();
        assert!(schema.is_valid(&serde_json::to_value(&read).unwrap()), "{read:?}");
    }
    for wrong in [json!({"type": "message", "channel": "standup"}), json!({"type": "sing"}), json!("hello")] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
        assert!(serde_json::from_value::<FromAgent>(wrong).is_err());
    }
}

#[test]
fn what_the_server_says_validates() {
    let schema = validator("to_agent");
    let message = WireMessage {
        number: 1,
        at: "2026-02-04T21:00:00Z".into(),
        kind: "agent".into(),
        from: "ada".into(),
        text: "Hi".into(),
        late: false,
    };
    let channel = || "standup".to_owned();
    let messages = vec![message.clone()];
    let all = [
        ToAgent::Heartbeat {},
        ToAgent::Assigned { channel: channel(), members: vec!["ada".into()] },
        ToAgent::TurnGranted {
            channel: channel(),
            turn: 1,
            deadline: None,
            messages: messages.clone(),
            earlier: 3,
            again: true,
        },
        ToAgent::Message { channel: channel(), message, observing: true },
        ToAgent::TurnSuspended { channel: channel(), turn: 1, why: "channel_paused".into() },
        ToAgent::Waiting { channel: channel(), turn: 1, until: "2026-02-04T21:00:00Z".into() },
        ToAgent::Resumed {
            channel: channel(),
            turn: 1,
            deadline: "2026-02-04T21:00:00Z".into(),
            messages: messages.clone(),
        },
        ToAgent::TurnEnded { channel: channel(), turn: 1, why: "completed".into() },
        ToAgent::Removed { channel: channel(), by: "kim".into() },
        ToAgent::Accepted { id: "m".into(), channel: channel(), number: Some(1), duplicate: false },
        ToAgent::History { channel: channel(), messages, more: false, id: None },
        ToAgent::Error {
            code: "malformed".into(),
            message: "no".into(),
            id: None,
            channel: None,
            fatal: false,
        },
    ];
    for message in all {
        let value: Value = serde_json::to_value(&message).unwrap();
        assert!(schema.is_valid(&value), "{value}");
    }
}

#[test]
fn the_schema_of_services_on_disk_is_the_one_of_the_types() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../docs/formats/service-protocol.schema.json");
    expect_test::expect_file![path].assert_eq(&format!("{:#}\n", rawko_server::service_json_schema()));
}

/// Every row of the tables in the document is a message of the schema, with all of its fields.
#[test]
fn the_document_of_services_lists_every_message_and_field() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/service-protocol.md");
    let text = std::fs::read_to_string(path).unwrap();
    let schema = rawko_server::service_json_schema();
    for direction in ["from_process", "to_process"] {
        for message in schema["$defs"][direction]["oneOf"].as_array().unwrap() {
            let fields = message["properties"].as_object().unwrap();
            let kind = fields["type"]["const"].as_str().unwrap();
            let row = text.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
            let row = row.unwrap_or_else(|| panic!("no row for `{kind}`"));
            for field in fields.keys().filter(|field| *field != "type") {
                assert!(row.contains(&format!("`{field}`")), "`{field}` of `{kind}`: {row}");
            }
        }
    }
}
