//! The OpenAPI document: the descriptions of the handlers, and the parts that all share.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::sync::LazyLock;

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, ContentBuilder, HttpMethod, InfoBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr,
    Response as Answer, ResponseBuilder,
};
use utoipa::{PartialSchema, ToSchema};

use super::access::{COOKIE, needed};
use super::nouns;
use super::problem::ProblemBody;

static TEXT: LazyLock<String> =
    LazyLock::new(|| serde_json::to_string_pretty(&document()).unwrap_or_default());

/// Returns the header of the document.
pub(super) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("rawko")
        .version("1")
        .description(Some(
            "Read, start and control instances of statecharts, with their journals, tasks, agents and channels.",
        ))
        .build();
    OpenApiBuilder::new().info(info).components(Some(Components::new())).build()
}

/// Returns the complete document.
pub fn document() -> OpenApi {
    let (_, mut document) = nouns().split_for_parts();
    let components = document.components.get_or_insert_default();
    components.schemas.insert("Problem".to_owned(), ProblemBody::schema());
    ProblemBody::schemas(&mut Vec::new());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(COOKIE)));
    components.add_security_scheme("cookie", cookie);
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            finish(path, method, operation);
        }
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (HttpMethod, &mut Operation)> {
    let all = [
        (HttpMethod::Get, item.get.as_mut()),
        (HttpMethod::Post, item.post.as_mut()),
        (HttpMethod::Delete, item.delete.as_mut()),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation?)))
}

/// Returns a unique operation id: `get_channels_name_messages`.
fn name(path: &str, verb: &axum::http::Method) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != "v1");
    let words = parts.map(|part| part.trim_matches(['{', '}']).replace('.', "_"));
    std::iter::once(verb.as_str().to_lowercase()).chain(words).collect::<Vec<_>>().join("_")
}

/// Adds the common responses and the required role of an operation.
fn finish(path: &str, method: HttpMethod, operation: &mut Operation) {
    let verb = match method {
        HttpMethod::Get => axum::http::Method::GET,
        HttpMethod::Delete => axum::http::Method::DELETE,
        _ => axum::http::Method::POST,
    };
    operation.operation_id = Some(name(path, &verb));
    let role = needed(&verb, path);
    let mut statuses = vec![("400", "malformed request"), ("403", "not permitted, or cross-site")];
    // The code in the path of a signed link is a credential, too.
    if role.is_some() || path == "/v1/session" || path.starts_with("/v1/requests/") {
        statuses.push(("401", "a valid token is required"));
    }
    if path.contains('{') || verb == axum::http::Method::POST {
        statuses.push(("404", "not found"));
    }
    if verb == axum::http::Method::POST {
        statuses.extend([
            ("408", "timeout while reading the body"),
            ("409", "conflict with the current state"),
            ("413", "the body is too large"),
            ("415", "the content type must be application/json"),
            ("422", "invalid body"),
        ]);
    } else if path.ends_with("/tests") {
        statuses.push(("422", "not possible in this project"));
    }
    statuses.extend([
        ("429", "too many requests"),
        ("500", "internal error"),
        ("503", "unavailable; retry later"),
    ]);
    // The specification requires one.
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = "success".to_owned();
        }
    }
    for (status, words) in statuses {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(problem(words)));
    }
    if let Some(role) = role {
        let any = [
            SecurityRequirement::new::<_, _, String>("bearer", []),
            SecurityRequirement::new::<_, _, String>("cookie", []),
        ];
        operation.security = Some(any.into());
        let text = operation.description.take().map(|text| format!("{text}\n\n")).unwrap_or_default();
        operation.description = Some(format!("{text}Requires the role `{}`.", role.as_str()));
    }
}

fn problem(words: &str) -> Answer {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(words).content("application/problem+json", content).build()
}

pub(super) async fn serve() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}
