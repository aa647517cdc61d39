//! The part of an OpenAPI document that types need, in one form for all languages.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value as Json};

/// A type as JSON values have it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Any,
    Null,
    Text,
    Number,
    Integer,
    Bool,
    Words(Vec<String>),
    List(Box<Type>),
    /// A map with values of one type.
    Entries(Box<Type>),
    Object(Vec<Field>),
    Named(String),
    OneOf(Vec<Type>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) is_required: bool,
    pub(super) value: Type,
    pub(super) description: String,
}

pub(super) struct Named {
    pub(super) name: String,
    pub(super) value: Type,
    pub(super) description: String,
}

pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) in_path: Vec<Field>,
    pub(super) in_query: Vec<Field>,
    pub(super) body: Option<Type>,
    pub(super) result: Type,
    /// The result is JSON; drawings, metrics and streams are not.
    pub(super) is_json: bool,
}

pub(super) struct Api {
    pub(super) types: Vec<Named>,
    pub(super) operations: Vec<Operation>,
}

/// Reads the schemas and operations of a document, sorted by name.
pub(super) fn read(document: &Json) -> Result<Api> {
    let schemas = document["components"]["schemas"].as_object().context("no schemas")?;
    let sorted: BTreeMap<&String, &Json> = schemas.iter().collect();
    let mut types = Vec::new();
    for (name, schema) in sorted {
        let value = flat(schema, schemas).with_context(|| format!("schema {name}"))?;
        types.push(Named { name: name.clone(), value, description: text(schema, "description") });
    }
    let paths: BTreeMap<&String, &Json> = document["paths"].as_object().context("no paths")?.iter().collect();
    let mut operations = Vec::new();
    for (path, methods) in paths {
        let methods: BTreeMap<&String, &Json> = methods.as_object().into_iter().flatten().collect();
        for (method, operation) in methods {
            operations
                .push(operation_of(path, method, operation).with_context(|| format!("{method} {path}"))?);
        }
    }
    Ok(Api { types, operations })
}

fn operation_of(path: &str, method: &str, at: &Json) -> Result<Operation> {
    let parameters = at["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let place = |wanted: &str| -> Result<Vec<Field>> {
        let fits = parameters.iter().filter(|parameter| parameter["in"] == wanted);
        fits.map(|parameter| {
            Ok(Field {
                name: text(parameter, "name"),
                is_required: parameter["required"] == true,
                value: type_of(&parameter["schema"])?,
                description: text(parameter, "description"),
            })
        })
        .collect()
    };
    let body = at["requestBody"]["content"]["application/json"].get("schema");
    let responses = at["responses"].as_object().context("no responses")?;
    let success = responses.iter().find(|(status, _)| status.starts_with('2')).context("no success")?.1;
    let content = success["content"].as_object();
    let json = content.and_then(|content| content.get("application/json"));
    Ok(Operation {
        id: text(at, "operationId"),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(at, "summary"),
        in_path: place("path")?,
        in_query: place("query")?,
        body: body.map(type_of).transpose()?,
        result: json.map_or(Ok(Type::Text), |json| type_of(&json["schema"]))?,
        is_json: json.is_some(),
    })
}

/// Returns the type of a named schema, with the fields of all parts of an `allOf` in one object.
fn flat(schema: &Json, all: &Map<String, Json>) -> Result<Type> {
    let Some(parts) = schema["allOf"].as_array() else { return type_of(schema) };
    let mut fields: Vec<Field> = Vec::new();
    for part in parts {
        // A part that may be null: its fields are there or not.
        let choices = part["oneOf"].as_array();
        let is_null = |choice: &&Json| choice["type"] == "null";
        let optional = choices.filter(|choices| choices.len() == 2 && choices.iter().any(|it| is_null(&it)));
        let only = optional.and_then(|choices| choices.iter().find(|choice| !is_null(choice)));
        match flat(resolved(only.unwrap_or(part), all)?, all)? {
            Type::Object(more) => fields.extend(more.into_iter().map(|field| {
                let is_required = field.is_required && only.is_none();
                Field { is_required, ..field }
            })),
            other => bail!("`allOf` of something else than objects: {other:?}"),
        }
    }
    Ok(Type::Object(fields))
}

/// Follows a reference.
fn resolved<'d>(schema: &'d Json, all: &'d Map<String, Json>) -> Result<&'d Json> {
    let Some(reference) = schema["$ref"].as_str() else { return Ok(schema) };
    let name = reference.rsplit('/').next().unwrap_or_default();
    all.get(name).with_context(|| format!("no schema {name}"))
}

fn type_of(schema: &Json) -> Result<Type> {
    if let Some(reference) = schema["$ref"].as_str() {
        return Ok(Type::Named(reference.rsplit('/').next().unwrap_or_default().to_owned()));
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(parts) = schema[key].as_array() {
            return parts.iter().map(type_of).collect::<Result<_>>().map(Type::OneOf);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().map(|word| word.as_str().map(str::to_owned));
        return words.collect::<Option<_>>().map(Type::Words).context("an enum of other values than text");
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts: Vec<Type> = parts.iter().map(type_of).collect::<Result<_>>()?;
        return match <[Type; 1]>::try_from(parts) {
            Ok([one]) => Ok(one),
            Err(parts) => bail!("`allOf` of {} parts inside of a schema", parts.len()),
        };
    }
    match &schema["type"] {
        Json::Null => Ok(Type::Any),
        Json::String(word) => plain(word, schema),
        Json::Array(words) => {
            let words = words.iter().filter_map(Json::as_str);
            words.map(|word| plain(word, schema)).collect::<Result<_>>().map(Type::OneOf)
        }
        other => bail!("`type` is {other}"),
    }
}

fn plain(word: &str, schema: &Json) -> Result<Type> {
    Ok(match word {
        "null" => Type::Null,
        "string" => Type::Text,
        "number" => Type::Number,
        "integer" => Type::Integer,
        "boolean" => Type::Bool,
        "array" => Type::List(Box::new(type_of(&schema["items"])?)),
        "object" => match (schema["properties"].as_object(), &schema["additionalProperties"]) {
            (Some(properties), _) => Type::Object(fields(properties, &schema["required"])?),
            (None, Json::Object(_)) => Type::Entries(Box::new(type_of(&schema["additionalProperties"])?)),
            (None, _) => Type::Entries(Box::new(Type::Any)),
        },
        other => bail!("`type` is {other}"),
    })
}

fn fields(properties: &Map<String, Json>, required: &Json) -> Result<Vec<Field>> {
    let required = required.as_array().map(Vec::as_slice).unwrap_or_default();
    let sorted: BTreeMap<&String, &Json> = properties.iter().collect();
    let field = |(name, schema): (&String, &Json)| {
        Ok(Field {
            name: name.clone(),
            is_required: required.iter().any(|known| known == name),
            value: type_of(schema)?,
            description: text(schema, "description"),
        })
    };
    sorted.into_iter().map(field).collect()
}

fn text(at: &Json, key: &str) -> String {
    at[key].as_str().unwrap_or_default().to_owned()
}
