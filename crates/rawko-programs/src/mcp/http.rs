//! The HTTP client below the protocol's own transport. It converts two non-standard responses of servers into their
//! standard form; otherwise the affected call would wait until its timeout.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

type HttpError = StreamableHttpError<reqwest::Error>;
type HeaderValues = HashMap<HeaderName, HeaderValue>;

/// Limit of one event or one JSON response.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
const REDIRECTS_MAX: usize = 5;

#[derive(Clone)]
pub(super) struct HttpClient(reqwest::Client);

impl HttpClient {
    /// Connects to these addresses of a host, which were checked.
    pub(super) fn new((host, addresses): &(String, Vec<SocketAddr>)) -> Result<Self, String> {
        // An idle connection may be dead, and then it is unknown if the server received a call on it.
        let client = rawko_http::build(|builder| {
            let builder = builder.pool_max_idle_per_host(0).redirect(Policy::custom(redirect));
            if addresses.is_empty() { builder } else { builder.resolve_to_addrs(host, addresses) }
        });
        client.map(Self).map_err(|error| error.to_string())
    }
}

/// Follows redirects only within the server and only if the message is sent again: headers may contain secrets.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_kept =
        [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
    let is_near = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
    if is_kept && is_near && attempt.previous().len() <= REDIRECTS_MAX {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        headers: HeaderValues,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            headers,
            EVENT_BYTES_MAX,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        headers: HeaderValues,
        event_bytes_max: usize,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let has_session = session_id.is_some();
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let answer = self.0.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            headers,
            event_bytes_max,
        );
        match answer.await? {
            // A restarted server does not know the session. The specification requires 404 in that case.
            StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _)
                if has_session && is_about_the_session(&error.error) =>
            {
                Err(StreamableHttpError::SessionExpired)
            }
            // An error without an id refers to the message just sent.
            StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session)
                if error.id.is_none() =>
            {
                let error = ServerJsonRpcMessage::Error(JsonRpcError::new(request, error.error));
                Ok(StreamableHttpPostResponse::Json(error, session))
            }
            answer => Ok(answer),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        headers: HeaderValues,
    ) -> Result<(), HttpError> {
        self.0.delete_session(uri, session_id, auth_header, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        headers: HeaderValues,
    ) -> Result<BoxedSseResponse, HttpError> {
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            headers,
            EVENT_BYTES_MAX,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        headers: HeaderValues,
        event_bytes_max: usize,
    ) -> Result<BoxedSseResponse, HttpError> {
        let stream = self.0.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            headers,
            event_bytes_max,
        );
        stream.await
    }
}

/// Recognises the session errors that real servers send with status 400.
fn is_about_the_session(error: &ErrorData) -> bool {
    error.message.to_ascii_lowercase().contains("session") && (-32099..=-32000).contains(&error.code.0)
}
