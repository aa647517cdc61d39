//! Packing extracts large values and restores them to the byte, and a growing list is stored once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use rawko_core::Value;
use rawko_store::{Blob, StoreError, content};

#[derive(Default)]
struct Blobs(BTreeMap<[u8; 16], Vec<u8>>);

impl Blobs {
    fn keep(&mut self, blobs: Vec<Blob>) {
        self.0.extend(blobs.into_iter().map(|blob| (blob.hash, blob.body)));
    }

    fn bytes(&self) -> usize {
        self.0.values().map(|body| body.len() + 16).sum()
    }

    fn unpack(&self, text: &str) -> Result<String, StoreError> {
        content::unpack(text, &mut |hash| {
            Ok(self.0.get(hash).map(|body| Blob { hash: *hash, body: body.clone() }))
        })
    }
}

/// Packs, checks the round trip, and returns the packed text and the number of blobs.
fn check(json: &str) -> (String, usize) {
    let packed = content::pack(json);
    let (text, count) = (packed.text.into_owned(), packed.blobs.len());
    let mut blobs = Blobs::default();
    blobs.keep(packed.blobs);
    assert_eq!(blobs.0.len(), count, "each blob is there once");
    assert_eq!(blobs.unpack(&text).unwrap(), json);
    (text, count)
}

fn json(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn what_is_small_stays_as_it_is() {
    for text in ["", "null", "{}", r#"{"a":[1,2.50,1e400,"x"]}"#, r#"{"price":"$5"}"#, "no json, and kept"] {
        assert_eq!(check(text), (text.to_owned(), 0));
    }
    let medium = format!("[{}]", ["12345678901234567890"; 7].join(", "));
    assert_eq!(check(&format!("{medium}{}", " ".repeat(200))).1, 0);
}

#[test]
fn a_long_string_is_a_reference() {
    let text = "line\n".repeat(100);
    let (packed, blobs) = check(&format!(r#"{{"a":{0},"b":{0}}}"#, serde_json::to_string(&text).unwrap()));
    let name = hex(&content::hash(format!("s{text}").as_bytes()));
    assert_eq!(packed, format!(r#"{{"a":{{"$ref":"{name}"}},"b":{{"$ref":"{name}"}}}}"#));
    assert_eq!(blobs, 1);
}

#[test]
fn maps_that_look_like_references_come_back() {
    for text in [
        r#"{"$ref":"00112233445566778899aabbccddeeff"}"#,
        r#"[{"$chunk":"00112233445566778899aabbccddeeff"}]"#,
        r#"{"$map":{"$map":{"a":1}}}"#,
        r#"{"a":1,"$b":[{"$":{}}]}"#,
    ] {
        assert_eq!(check(text).1, 0);
    }
}

#[test]
fn what_is_stored_already_is_not_given_again() {
    let text = format!("[\"{}\",\"{}\"]", "a".repeat(300), "b".repeat(300));
    let known = content::hash(format!("s{}", "a".repeat(300)).as_bytes());
    let packed = content::pack_new(&text, &|hash| *hash == known);
    assert_eq!(packed.blobs.len(), 1);
    assert_eq!(packed.text, content::pack(&text).text);
}

#[test]
fn a_missing_or_changed_blob_is_damage() {
    let text = format!("[\"{}\"]", "a".repeat(300));
    let packed = content::pack(&text);
    assert!(matches!(Blobs::default().unpack(&packed.text), Err(StoreError::Damaged(_))));
    let mut blobs = Blobs::default();
    blobs.keep(packed.blobs);
    blobs.0.values_mut().for_each(|body| body[1] = b'b');
    assert!(matches!(blobs.unpack(&packed.text), Err(StoreError::Damaged(_))));
    for text in
        [r#"{"$what":1}"#, r#"{"$ref":"00"}"#, r#"{"$chunk":"00112233445566778899aabbccddeeff"}"#, r#"["$"#]
    {
        assert!(matches!(blobs.unpack(text), Err(StoreError::Damaged(_))), "{text}");
    }
}

#[test]
fn a_list_that_grows_is_stored_once() {
    const COUNT: usize = 1_000;
    let (mut blobs, mut messages) = (Blobs::default(), Vec::new());
    let (mut content_bytes, mut text_bytes) = (0, 0);
    for number in 0..COUNT {
        let content = format!("{number:04} ").repeat(400);
        content_bytes += content.len();
        messages.push(json(&Value::map([("role", Value::str("user")), ("content", content.into())])));
        let whole = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let packed = content::pack(&whole);
        text_bytes += packed.text.len();
        let text = packed.text.into_owned();
        blobs.keep(packed.blobs);
        if number % 97 == 0 || number + 1 == COUNT {
            assert_eq!(blobs.unpack(&text).unwrap(), whole);
        }
    }
    // The overhead of a message: its entry in a group, its share of the groups above, and names.
    assert!(blobs.bytes() <= content_bytes + 160 * COUNT, "{} of {content_bytes}", blobs.bytes());
    // The text written at each of the thousand appends, besides blobs.
    assert!(text_bytes <= 1_000 * COUNT, "{text_bytes}");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::float),
        "\\PC{0,12}".prop_map(Value::from),
        ("[\\x00-\\x7fé€😀\"\\\\]", 200..400_usize).prop_map(|(part, times)| part.repeat(times).into()),
        Just(Value::str("$ref")),
    ];
    leaf.prop_recursive(4, 64, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::list),
            (inner.clone(), 60..600_usize).prop_map(|(item, times)| Value::list(vec![item; times])),
            prop::collection::vec(("\\$?(ref|chunk|map|[a-z]{0,3})", inner), 0..6).prop_map(Value::map),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_value_comes_back(value in any_value()) {
        check(&json(&value));
    }
}
