//! HTTP services: a call is a request, its input is the body or the query, and the response body is its result.

mod answer;
mod fault;
mod request;

use std::sync::Arc;
use std::time::Duration;

use rawko_core::{Value, duration};
use reqwest::Method;
use reqwest::header::HeaderName;

pub(crate) use rawko_http::HttpClients;
use request::PreparedRequest;

use super::secrets::Secrets;
use super::template::TextTemplate;
use super::{Category, OnRestart, Service, ServiceCall, ServiceError, ServiceFuture};
use rawko_settings::Environment;

/// Default timeout of a call.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of a response body.
const RESPONSE_BYTES_MAX: usize = 4 * 1024 * 1024;
const REDIRECTS_MAX: usize = 5;

/// An HTTP request as the settings define it.
#[derive(Clone, Debug)]
pub(crate) struct HttpForm {
    pub(crate) url: TextTemplate,
    pub(crate) method: Method,
    pub(crate) headers: Vec<(HeaderName, TextTemplate)>,
}

impl HttpForm {
    /// Returns the target for the audit, without the values of variables and without the query.
    pub(crate) fn provenance(&self) -> Vec<(&'static str, Value)> {
        let url = self.url.source().split('?').next().unwrap_or_default();
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.variables_shown()));
        vec![
            ("http", Value::str(url)),
            ("method", Value::str(self.method.as_str())),
            ("headers", Value::map(headers.map(|(name, shown)| (name, Value::from(shown))))),
        ]
    }

    fn templates(&self) -> impl Iterator<Item = &TextTemplate> {
        std::iter::once(&self.url).chain(self.headers.iter().map(|(_, value)| value))
    }
}

/// An HTTP service ready to be called.
pub(crate) struct HttpService(Arc<HttpRemote>);

struct HttpRemote {
    form: HttpForm,
    client: Arc<HttpClients>,
    timeout: Duration,
    environment: Environment,
    on_restart: OnRestart,
    provenance: Value,
}

impl HttpService {
    pub(crate) fn new(
        form: HttpForm,
        client: Arc<HttpClients>,
        timeout: Duration,
        environment: Environment,
        (on_restart, provenance): (OnRestart, Value),
    ) -> Self {
        Self(Arc::new(HttpRemote { form, client, timeout, environment, on_restart, provenance }))
    }
}

impl Service for HttpService {
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        let remote = Arc::clone(&self.0);
        Box::pin(async move { remote.run(&call).await })
    }

    fn on_restart(&self) -> OnRestart {
        self.0.on_restart
    }

    fn provenance(&self) -> Value {
        self.0.provenance.clone()
    }
}

impl HttpRemote {
    async fn run(&self, call: &ServiceCall) -> Result<Value, ServiceError> {
        let secrets = Secrets::of_templates(self.form.templates(), &self.environment);
        let result =
            tokio::time::timeout(self.timeout, self.exchange(call, &secrets)).await.unwrap_or_else(|_| {
                let limit = duration::format_ms(self.timeout.as_millis() as u64);
                Err(ServiceError::new(
                    Category::Timeout,
                    format!("the service did not respond within {limit}"),
                ))
            });
        // The response may repeat the request.
        result.map_err(|error| secrets.hide_in(error))
    }

    async fn exchange(&self, call: &ServiceCall, secrets: &Secrets) -> Result<Value, ServiceError> {
        let mut request = self.request(call)?;
        let client =
            self.client.for_url(&request.url).map_err(|error| ServiceError::not_here(error.to_string()))?;
        for _ in 0..=REDIRECTS_MAX {
            match turn(client, &request, secrets).await.map_err(|error| request.judged(error))? {
                RequestTurn::Answer(value) => return Ok(value),
                RequestTurn::Redirect(next) => request = *next,
            }
        }
        let message = format!("the service redirected more than {REDIRECTS_MAX} times in a row");
        let error = ServiceError::new(Category::Failed, message).with_retryable(false);
        Err(request.judged(error))
    }
}

/// The outcome of one request: the result of the call, or the next request.
enum RequestTurn {
    Answer(Value),
    Redirect(Box<PreparedRequest>),
}

async fn turn(
    client: &reqwest::Client,
    request: &PreparedRequest,
    secrets: &Secrets,
) -> Result<RequestTurn, ServiceError> {
    let sent = client.execute(request.build()).await;
    let response = sent.map_err(|error| fault::of_send(&error, &request.url))?;
    match request.redirected(&response)? {
        Some(next) => Ok(RequestTurn::Redirect(Box::new(next))),
        None => answer::read(response, secrets).await.map(RequestTurn::Answer),
    }
}
