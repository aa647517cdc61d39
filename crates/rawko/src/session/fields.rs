//! Fields of a form that a chart asks a person to fill in: a JSON Schema, a list of fields, or names with their types,
//! as the page reads them.

use rawko_core::{Schema, Value};
use serde_json::Value as Json;

/// One value to enter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormField {
    pub(crate) name: String,
    pub(crate) title: String,
    kind: String,
    pub(crate) is_required: bool,
    pub(crate) choices: Vec<String>,
    /// The schema of the value; null if the form has none.
    schema: Value,
}

impl FormField {
    /// Reads the fields of a form; empty if there are none.
    pub(crate) fn all(form: &Value) -> Vec<FormField> {
        if let Some(list) = form.as_list() {
            let named = |field: &Value| match field.as_str() {
                Some(name) => Some(FormField::new(name, &Value::Null, true)),
                None => {
                    let name = ["name", "key", "id"].iter().find_map(|key| field.get(key).as_str())?;
                    Some(FormField::new(name, field, true))
                }
            };
            return list.iter().filter_map(named).collect();
        }
        let inner = if form.get("schema").is_null() { form } else { form.get("schema") };
        let required: Vec<&str> =
            inner.get("required").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
        let properties = inner.get("properties");
        let (map, is_plain) = match properties.as_map() {
            Some(map) => (Some(map), false),
            None => (inner.as_map(), true),
        };
        let entries = map.into_iter().flatten();
        entries
            .map(|(name, about)| FormField::new(name, about, is_plain || required.contains(&&**name)))
            .collect()
    }

    fn new(name: &str, about: &Value, is_required: bool) -> FormField {
        let kind = about.as_str().or_else(|| about.get("type").as_str()).unwrap_or("string").to_owned();
        let schema = schema_of(about);
        let choices = schema.get("enum").as_list().unwrap_or_default().iter();
        let title = about.get("title").as_str().or_else(|| about.get("description").as_str());
        let is_optional =
            about.get("required").as_bool() == Some(false) || about.get("optional").as_bool() == Some(true);
        FormField {
            name: name.to_owned(),
            title: title.unwrap_or(name).to_owned(),
            kind,
            is_required: is_required && !is_optional,
            choices: choices
                .map(|choice| choice.as_str().map_or_else(|| choice.to_json().to_string(), str::to_owned))
                .collect(),
            schema,
        }
    }

    /// Returns the values that the field takes, in words.
    pub(crate) fn value_words(&self) -> String {
        if let Some((last, others)) = self.choices.split_last() {
            return if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
        }
        let words = match self.kind.as_str() {
            "integer" => "whole number",
            "number" => "number",
            "boolean" => "true or false",
            "array" => "list as JSON",
            "object" => "map as JSON",
            _ => "text",
        };
        words.to_owned()
    }

    /// Returns the word that stands for a value of the field in a command.
    pub(crate) fn placeholder(&self) -> &'static str {
        match self.kind.as_str() {
            _ if !self.choices.is_empty() => "CHOICE",
            "integer" | "number" => "NUMBER",
            "boolean" => "BOOLEAN",
            "array" | "object" => "JSON",
            _ => "TEXT",
        }
    }

    /// Returns how a value is typed, if its text alone does not show it.
    pub(crate) fn notation(&self) -> Option<&'static str> {
        match self.kind.as_str() {
            "array" if self.is_plain_list() => Some("several, with commas between"),
            "array" => Some("a list as JSON, such as [1, 2]"),
            "object" => Some("a map as JSON, such as {\"key\": 1}"),
            "boolean" => Some("yes or no"),
            _ => None,
        }
    }

    /// Returns true for a list of texts or numbers, which needs no JSON.
    fn is_plain_list(&self) -> bool {
        let items = self.schema.get("items").get("type");
        matches!(items.as_str(), Some("string" | "integer" | "number"))
    }

    /// Reads a list without its brackets; JSON is taken, too.
    fn list(&self, text: &str) -> Option<Json> {
        if !self.is_plain_list() || text.starts_with('[') {
            return serde_json::from_str(text).ok();
        }
        let is_text = self.schema.get("items").get("type").as_str() == Some("string");
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let read = |part: &str| match is_text {
            true => Some(Json::from(part)),
            false => serde_json::from_str(part).ok().filter(Json::is_number),
        };
        parts.map(read).collect::<Option<Vec<Json>>>().map(Json::Array)
    }

    /// Returns the value if it fits the schema of the field, as the whole answer has to.
    fn fitting(&self, value: Json) -> Result<Option<Json>, String> {
        if self.schema.is_null() {
            return Ok(Some(value));
        }
        let (schema, _) = Schema::compile(&self.schema);
        match schema.violations(&Value::from_json(value.clone())).first() {
            Some(violation) => Err(format!("{}: {}", self.title, violation.message)),
            None => Ok(Some(value)),
        }
    }

    /// Reads an entered text; `None` leaves the field out.
    pub(crate) fn read(&self, text: &str) -> Result<Option<Json>, String> {
        let text = text.trim();
        if text.is_empty() {
            return if self.is_required { Err(format!("{} is required", self.title)) } else { Ok(None) };
        }
        if !self.choices.is_empty() {
            let number =
                text.parse::<usize>().ok().and_then(|number| self.choices.get(number.checked_sub(1)?));
            let chosen = self.choices.iter().find(|choice| *choice == text).or(number);
            let chosen = chosen.ok_or_else(|| format!("choose one of {}", self.choices.join(", ")))?;
            return self.chosen(chosen);
        }
        let wrong = |what: &str| format!("{} is not {what}", self.title);
        self.fitting(match self.kind.as_str() {
            "integer" => Json::from(text.parse::<i64>().map_err(|_| wrong("a whole number"))?),
            "number" => Json::from(text.parse::<f64>().map_err(|_| wrong("a number"))?),
            "boolean" => match text.to_lowercase().as_str() {
                "y" | "yes" | "true" => Json::Bool(true),
                "n" | "no" | "false" => Json::Bool(false),
                _ => return Err(wrong("yes or no")),
            },
            "array" => self.list(text).ok_or_else(|| wrong("a list of such values, with commas between"))?,
            "object" => serde_json::from_str(text).map_err(|_| wrong("JSON"))?,
            _ => Json::from(text),
        })
    }

    /// Returns a choice as the form has it: a number stays a number.
    fn chosen(&self, text: &str) -> Result<Option<Json>, String> {
        let all = self.schema.get("enum").as_list().unwrap_or_default().iter();
        let own = all.map(Value::to_json).find(|choice| match choice {
            Json::String(choice) => choice == text,
            other => {
                let shown = other.to_string();
                shown == text
            }
        });
        Ok(Some(own.unwrap_or_else(|| Json::from(text))))
    }
}

/// Returns the schema in the description of a field. Its own `required` is not a list of keys, and `options` are choices.
fn schema_of(about: &Value) -> Value {
    let Some(map) = about.as_map() else { return Value::Null };
    let mut schema = map.clone();
    if about.get("required").as_bool().is_some() {
        schema.shift_remove("required");
    }
    if let Some(options) = schema.get("options").cloned() {
        schema.insert("enum".into(), options);
    }
    Value::Map(schema.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_in_every_notation() {
        let table = [
            (json!(["street", {"name": "zip", "type": "integer"}]), "street! zip!"),
            (json!({"street": "string", "zip": "integer"}), "street! zip!"),
            (
                json!({"type": "object", "required": ["zip"], "properties": {"street": {}, "zip": {"type": "integer"}}}),
                "street zip!",
            ),
            (json!({"schema": {"properties": {"a": {"enum": ["x", "y"]}}}}), "a"),
            (json!(null), ""),
        ];
        for (form, expected) in table {
            let fields = FormField::all(&Value::from_json(form));
            let shown = fields
                .iter()
                .map(|field| format!("{}{}", field.name, if field.is_required { "!" } else { "" }));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn values_are_read_by_their_type() {
        let field = |about: Json| FormField::new("f", &Value::from_json(about), true);
        assert_eq!(field(json!({"type": "integer"})).read("7"), Ok(Some(json!(7))));
        assert!(field(json!({"type": "integer"})).read("x").is_err());
        assert_eq!(field(json!({"type": "boolean"})).read("yes"), Ok(Some(json!(true))));
        assert_eq!(field(json!({"enum": ["red", "blue"]})).read("2"), Ok(Some(json!("blue"))));
        assert!(field(json!({"enum": ["red", "blue"]})).read("green").is_err());
        assert!(field(json!({})).read(" ").is_err());
        assert_eq!(field(json!({"enum": ["1", "2"]})).read("2"), Ok(Some(json!("2"))));
        assert_eq!(field(json!({"options": [10, 20]})).read("2"), Ok(Some(json!(20))), "by its place");
        let table = [
            (
                json!({"type": "integer", "minimum": 10000, "maximum": 99999}),
                "7",
                "f: expected at least 10000, found 7",
            ),
            (json!({"type": "number", "maximum": 1}), "1.5", "f: expected at most 1, found 1.5"),
            (
                json!({"type": "array", "items": {"type": "integer"}}),
                "1, x",
                "f is not a list of such values, with commas between",
            ),
        ];
        for (about, text, expected) in table {
            assert_eq!(field(about).read(text), Err(expected.to_owned()), "{text}");
        }
        assert!(field(json!({"type": "string", "maxLength": 1})).read("7x").is_err());
        assert!(
            field(json!({"type": "array", "items": {"type": "string"}, "minItems": 2})).read("a").is_err()
        );
        let list = field(json!({"type": "array", "items": {"type": "string"}, "required": true}));
        assert_eq!(list.read("a, b c"), Ok(Some(json!(["a", "b c"]))));
        assert_eq!(list.read(r#"["a, b"]"#), Ok(Some(json!(["a, b"]))));
        let map = field(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
        assert!(map.read(r#"{"a": "x"}"#).is_err() && map.notation().is_some());
    }
}
