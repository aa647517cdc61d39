//! JSON Schema in charts: matching values, violations and their messages, and lookups without a value.

#![allow(clippy::unwrap_used, reason = "tests")]

use rawko_core::expr::Type;
use rawko_core::{FieldLookup, Schema, SchemaProblemKind, Value};
use serde_json::{Value as Json, json};

fn schema(json: Json) -> Schema {
    let (schema, problems) = Schema::compile(&Value::from_json(json));
    assert_eq!(problems, []);
    schema
}

fn violations(schema: &Schema, value: Json) -> Vec<String> {
    schema.violations(&Value::from_json(value)).iter().map(ToString::to_string).collect()
}

#[test]
fn values_against_schemas() {
    let order = json!({
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "minLength": 2},
            "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
            "state": {"enum": ["new", "paid"]}
        },
        "additionalProperties": false,
        "$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"count": {"type": "integer", "minimum": 1}}}}
    });
    let table: &[(&Json, Json, &[&str])] = &[
        (&json!(true), json!({"a": 1}), &[]),
        (&json!(false), json!(1), &["no value is allowed here"]),
        (&json!({"type": "number"}), json!(1), &[]),
        (&json!({"type": "integer"}), json!(2.0), &[]),
        (&json!({"type": "integer"}), json!(2.5), &["expected a whole number, found a number"]),
        (&json!({"type": ["string", "null"]}), json!(null), &[]),
        (&json!({"type": ["string", "null"]}), json!([]), &["expected a string or null, found a list"]),
        (&json!({"const": 3}), json!(4), &["expected `3`, found `4`"]),
        (&json!({"exclusiveMinimum": 0, "maximum": 9}), json!(0), &["expected more than 0, found 0"]),
        (&json!({"multipleOf": 0.1}), json!(0.3), &[]),
        (&json!({"uniqueItems": true}), json!([1, 2, 1]), &["expected unique items"]),
        (&json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!(null), &[]),
        (
            &json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
            json!(3),
            &["more than one of the alternatives matches"],
        ),
        (&json!({"not": {"type": "null"}}), json!(null), &["the value is not allowed here"]),
        (&order, json!({"id": "o1", "lines": [{"sku": "a", "count": 1}], "state": "new"}), &[]),
        (
            &order,
            json!({"id": "o", "lines": [{"count": 0}], "state": "payed", "totl": 1}),
            &[
                "`id`: expected at least 2 characters, found 1",
                "`lines[0]`: `sku` is missing",
                "`lines[0].count`: expected at least 1, found 0",
                "`state`: `payed` is not one of `new`, `paid`",
                "unknown key `totl`",
            ],
        ),
        (&order, json!({}), &["`id` is missing"]),
    ];
    for (rules, value, expected) in table {
        assert_eq!(violations(&schema((*rules).clone()), value.clone()), *expected, "{rules} with {value}");
    }
}

#[test]
fn what_cannot_be_enforced_is_reported_with_its_place() {
    let source =
        json!({"properties": {"a": {"type": "int"}, "b": {"pattern": "x"}, "c": {"$ref": "#/$defs/no"}}});
    let (schema, problems) = Schema::compile(&Value::from_json(source));
    let told: Vec<_> = problems.iter().map(|p| (p.path.join("/"), p.kind, p.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                "properties/a/type".to_owned(),
                SchemaProblemKind::Invalid,
                "`int` is not a type; the types are null, boolean, integer, number, string, array, object"
            ),
            (
                "properties/b/pattern".to_owned(),
                SchemaProblemKind::Unsupported,
                "`pattern` is not enforced here"
            ),
            (
                "properties/c/$ref".to_owned(),
                SchemaProblemKind::Invalid,
                "`#/$defs/no` does not resolve in this schema"
            ),
        ]
    );
    assert_eq!(violations(&schema, json!({"a": 1, "b": 2, "c": 3})), [""; 0]);
}

/// A tree of alternatives that refer to themselves could take for ever.
#[test]
fn the_cost_of_a_check_is_bounded() {
    let own = json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}, "required": ["y"]}], "required": ["y"]});
    let mut value = json!({});
    for _ in 0..200 {
        value = json!({"x": value});
    }
    let found = violations(&schema(own), value);
    assert!(!found.is_empty());
    let endless = schema(json!({"$ref": "#"}));
    assert_eq!(violations(&endless, json!(1)), ["the value is too large to be checked against its schema"]);
}

#[test]
fn what_is_known_without_a_value() {
    let types = [
        (json!({"type": "integer"}), Type::Number),
        (json!({"type": ["string", "null"]}), Type::String),
        (json!({"type": ["string", "number"]}), Type::Any),
        (json!({"enum": ["a", "b", null]}), Type::String),
        (json!({"anyOf": [{"type": "object"}, {"type": "null"}]}), Type::Map),
        (json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "array"}}}), Type::List),
        (json!({"allOf": [{}, {"type": "boolean"}]}), Type::Bool),
        (json!({}), Type::Any),
    ];
    for (rules, expected) in types {
        assert_eq!(schema(rules.clone()).value_type(), expected, "{rules}");
    }
    let receipt = json!({"properties": {"receipt": {"type": "string"}}});
    let fields: [(Json, &str); 6] = [
        (receipt.clone(), "absent, not closed"),
        (json!({"properties": {"receipt": {}}, "additionalProperties": false}), "absent, closed"),
        (json!({"properties": {"receipt": {}}, "additionalProperties": true}), "open"),
        (json!({"type": "object"}), "open"),
        (json!({"anyOf": [receipt.clone(), {"properties": {"reciept": {}}}]}), "found"),
        (json!({"allOf": [receipt, {"properties": {"id": {}}}]}), "absent, not closed"),
    ];
    for (rules, expected) in fields {
        let told = match schema(rules.clone()).field("reciept") {
            FieldLookup::Found(_) => "found",
            FieldLookup::Open => "open",
            FieldLookup::Absent { closed: true, .. } => "absent, closed",
            FieldLookup::Absent { closed: false, .. } => "absent, not closed",
        };
        assert_eq!(told, expected, "{rules}");
    }
}
