//! The schemas of types as programs have them, in a table.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::schema_of;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its shape is used")]
struct TestOrder {
    order_id: String,
    amount: u32,
    note: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    state: TestState,
    price: Option<Money>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TestState {
    New,
    InProgress,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
struct Money {
    euros: f64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
struct TestTree {
    name: String,
    children: Vec<TestTree>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
enum Mixed {
    Plain,
    Full { size: u8 },
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its shape is used")]
enum Untagged {
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
struct Flat {
    id: u8,
    #[serde(flatten)]
    rest: BTreeMap<String, Json>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
struct TestChecked {
    port: std::net::IpAddr,
    name: String,
}

#[test]
fn a_record_has_its_fields_and_knows_which_may_be_missing() {
    let money = json!({"type": ["object", "null"], "properties": {"euros": {"type": "number"}}, "required": ["euros"]});
    let expected = json!({
        "type": "object",
        "properties": {
            "orderId": {"type": "string"},
            "amount": {"type": "integer"},
            "note": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["new", "in_progress"]},
            "price": money,
        },
        "required": ["orderId", "amount", "state"],
    });
    assert_eq!(schema_of::<TestOrder>(), expected);
}

#[test]
fn simple_types_and_those_that_stay_open() {
    let table = [
        ("text", schema_of::<String>(), json!({"type": "string"})),
        ("nothing", schema_of::<()>(), json!({"type": "null"})),
        ("any JSON", schema_of::<Json>(), json!({})),
        ("a list", schema_of::<Vec<bool>>(), json!({"type": "array", "items": {"type": "boolean"}})),
        ("a map", schema_of::<BTreeMap<String, u8>>(), json!({"type": "object"})),
        ("a pair", schema_of::<(u8, String)>(), json!({"type": "array"})),
        ("an enum with content", schema_of::<Mixed>(), json!({})),
        ("an untagged enum", schema_of::<Untagged>(), json!({})),
        ("a flattened record", schema_of::<Flat>(), json!({"type": "object"})),
    ];
    for (name, schema, expected) in table {
        assert_eq!(schema, expected, "{name}");
    }
}

#[test]
fn a_type_that_contains_itself_ends() {
    let schema = schema_of::<TestTree>();
    assert_eq!(schema["properties"]["children"]["items"]["properties"]["name"], json!({"type": "string"}));
}

#[test]
fn a_field_that_checks_its_text_leaves_the_rest_open_instead_of_too_strict() {
    let schema = schema_of::<TestChecked>();
    assert_eq!(schema["properties"]["port"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["name"], json!({}));
    assert_eq!(schema["required"], json!([]));
}

#[derive(Deserialize)]
#[serde(tag = "type")]
#[expect(dead_code, reason = "only its shape is used")]
enum Tagged {
    Text { text: String },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its shape is used")]
struct Conversation {
    parts: Vec<Tagged>,
    effort: Option<Untagged>,
    size: u32,
}

#[test]
fn a_list_of_what_cannot_be_generated_leaves_the_other_fields_known() {
    let expected = json!({
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": {}},
            "effort": {},
            "size": {"type": "integer"},
        },
        "required": ["parts", "size"],
    });
    assert_eq!(schema_of::<Conversation>(), expected);
}
