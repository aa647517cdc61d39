//! Fields of a form that a chart asks a person to fill in: a JSON Schema, a list of fields, or names with their types,
//! as the page reads them.

use rawko_core::Value;
use serde_json::Value as Json;

/// One value to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormField {
    pub(crate) name: String,
    pub(crate) title: String,
    kind: String,
    pub(crate) is_required: bool,
    pub(crate) choices: Vec<String>,
}

impl FormField {
    /// Reads the fields of a form; empty if there are none.
    pub(crate) fn all(form: &Value) -> Vec<FormField> {
        if let Some(list) = form.as_list() {
            let named = |field: &Value| match field.as_str() {
                Some(name) => Some(FormField::new(name, &Value::Null, true)),
                None => Some(FormField::new(field.get("name").as_str()?, field, true)),
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
        let choices = about.get("enum").as_list().unwrap_or_default().iter();
        let title = about.get("title").as_str().or_else(|| about.get("description").as_str());
        let is_optional =
            about.get("required").as_bool() == Some(false) || about.get("optional").as_bool() == Some(true);
        FormField {
            name: name.to_owned(),
            title: title.unwrap_or(name).to_owned(),
            kind,
            is_required: is_required && !is_optional,
            choices: choices
                .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
                .collect(),
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
            return Ok(Some(serde_json::from_str(chosen).unwrap_or_else(|_| Json::from(chosen.as_str()))));
        }
        let wrong = |what: &str| format!("{} is not {what}", self.title);
        Ok(Some(match self.kind.as_str() {
            "integer" => Json::from(text.parse::<i64>().map_err(|_| wrong("a whole number"))?),
            "number" => Json::from(text.parse::<f64>().map_err(|_| wrong("a number"))?),
            "boolean" => match text.to_lowercase().as_str() {
                "y" | "yes" | "true" => Json::Bool(true),
                "n" | "no" | "false" => Json::Bool(false),
                _ => return Err(wrong("yes or no")),
            },
            "object" | "array" => serde_json::from_str(text).map_err(|_| wrong("JSON"))?,
            _ => Json::from(text),
        }))
    }
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
    }
}
