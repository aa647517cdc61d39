//! Builds the request of a call (URL, headers, body) and the next one after a redirect.

use rawko_core::Value;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};

use super::HttpRemote;
use crate::services::{AttemptOutcome, Category, ServiceCall, ServiceError};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) struct PreparedRequest {
    method: Method,
    pub(super) url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// This request only fetches the result of one that the service accepted (303 See Other).
    reads_result: bool,
}

impl HttpRemote {
    pub(super) fn request(&self, call: &ServiceCall) -> Result<PreparedRequest, ServiceError> {
        let method = self.form.method.clone();
        let mut url = self.url()?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, JSON)]);
        let has_body = method != Method::GET && method != Method::DELETE;
        let body = if has_body {
            headers.insert(CONTENT_TYPE, JSON);
            Some(call.input.to_json().to_string().into_bytes())
        } else {
            add_query(&mut url, &call.input)?;
            None
        };
        for (name, template) in &self.form.headers {
            headers.insert(name, header(name, &template.fill(&self.environment).map_err(unset)?)?);
        }
        let attempt = call.attempt.to_string();
        for (name, value) in [
            ("idempotency-key", &*call.idempotency),
            ("rawko-instance", &*call.instance),
            ("rawko-attempt", &attempt),
        ] {
            let name = HeaderName::from_static(name);
            headers.insert(name.clone(), header(&name, value)?);
        }
        Ok(PreparedRequest { method, url, headers, body, reads_result: false })
    }

    fn url(&self) -> Result<Url, ServiceError> {
        let text = self.form.url.fill(&self.environment).map_err(unset)?;
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let shown = self.form.url.source();
        url.ok_or_else(|| ServiceError::not_here(format!("`{shown}` is not an HTTP URL after substitution")))
    }
}

fn unset(name: &str) -> ServiceError {
    ServiceError::not_here(format!("the environment variable `{name}` is not set"))
}

fn header(name: &HeaderName, value: &str) -> Result<HeaderValue, ServiceError> {
    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        ServiceError::not_here(format!("the value of the header `{name}` contains invalid characters"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Adds a map as query parameters: a list repeats its name, null is omitted, a nested map is JSON.
fn add_query(url: &mut Url, input: &Value) -> Result<(), ServiceError> {
    let entries = match input {
        Value::Null => return Ok(()),
        Value::Map(entries) => entries,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::List(_) => {
            let message = format!(
                "the input must be a map, because it becomes query parameters; it is a {}",
                input.type_name()
            );
            return Err(ServiceError::not_here(message));
        }
    };
    if entries.is_empty() {
        return Ok(());
    }
    let mut query = url.query_pairs_mut();
    for (name, value) in entries.iter() {
        let values = value.as_list().unwrap_or(std::slice::from_ref(value));
        for value in values.iter().filter(|value| !value.is_null()) {
            query.append_pair(name, &value.to_string());
        }
    }
    Ok(())
}

impl PreparedRequest {
    pub(super) fn build(&self) -> reqwest::Request {
        let mut request = reqwest::Request::new(self.method.clone(), self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = self.body.clone().map(Into::into);
        request
    }

    /// Returns the next request if the response is a redirect. Never to another host, because headers hold secrets.
    /// Never a GET in place of a POST except for 303 See Other, because the lost POST would go unnoticed.
    pub(super) fn redirected(&self, response: &Response) -> Result<Option<PreparedRequest>, ServiceError> {
        let status = response.status();
        let Some(next) = self.location(response) else { return Ok(None) };
        if next.origin() != self.url.origin() {
            let origin = next.origin().ascii_serialization();
            return Err(not_followed(status, &format!("redirected to another host ({origin})")));
        }
        match status {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => Ok(Some(self.again(next))),
            StatusCode::SEE_OTHER => Ok(Some(self.read_instead(next))),
            _ if self.method == Method::GET => Ok(Some(self.again(next))),
            _ => Err(not_followed(status, &format!("redirected a {} request", self.method))),
        }
    }

    /// Converts an error of this request to an error of the whole call: failing to read a result does not mean that the
    /// original request failed.
    pub(super) fn judged(&self, error: ServiceError) -> ServiceError {
        if self.reads_result { error.with_outcome(AttemptOutcome::Unknown) } else { error }
    }

    fn location(&self, response: &Response) -> Option<Url> {
        let redirects = [301, 302, 303, 307, 308];
        let location =
            response.headers().get(LOCATION).filter(|_| redirects.contains(&response.status().as_u16()))?;
        self.url.join(location.to_str().ok()?).ok()
    }

    fn again(&self, url: Url) -> PreparedRequest {
        PreparedRequest {
            method: self.method.clone(),
            url,
            headers: self.headers.clone(),
            body: self.body.clone(),
            reads_result: self.reads_result,
        }
    }

    fn read_instead(&self, url: Url) -> PreparedRequest {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        PreparedRequest { method: Method::GET, url, headers, body: None, reads_result: true }
    }
}

fn not_followed(status: StatusCode, why: &str) -> ServiceError {
    let error =
        ServiceError::new(Category::Failed, format!("the service returned {status} and {why}; not followed"));
    let details = Value::map([("status", Value::Int(status.as_u16().into()))]);
    let outcome = match status {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => AttemptOutcome::Definite,
        // 303 follows an accepted request, and so do 301 and 302 in practice.
        _ => AttemptOutcome::Unknown,
    };
    error.with_retryable(false).with_outcome(outcome).with_details(details)
}
