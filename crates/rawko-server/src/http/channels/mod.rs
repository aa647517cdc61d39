//! Channels over HTTP: reading, creating, posting, controlling.

mod actions;
mod wire;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rawko_turns::{ChannelEffect, ChannelEvent, ChannelMessage as Posted, TurnOptions};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::access::RequestCaller;
use super::app::App;
use super::extract::{IdempotencyKey, Json, Path, QueryString};
use super::paging::limit_of;
use super::problem::{ErrorResponse, ProblemCode};
use crate::asking::{ChannelAnswer, ChannelRequest};
use actions::Action;
use wire::{Channel, Message, Room, Turn};

/// Messages returned with a channel.
const LAST: u64 = 100;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(look))
        .routes(routes!(messages, post))
        .routes(routes!(act))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChannelList {
    channels: Vec<Channel>,
    /// False if this server cannot have channels: they require the local host, and are unavailable on Restate.
    offered: bool,
}

/// List channels
#[utoipa::path(get, path = "/v1/channels", tag = "channels", responses((status = 200, body = ChannelList)))]
async fn list(State(app): State<App>) -> Result<axum::Json<ChannelList>, ErrorResponse> {
    let mut channels = Vec::new();
    let Ok(serving) = app.channels() else {
        return Ok(axum::Json(ChannelList { channels, offered: false }));
    };
    for name in serving.channels().names()? {
        channels.push(Channel::from(&serving.channels().look(&name).await?.channel));
    }
    Ok(axum::Json(ChannelList { channels, offered: true }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewChannel {
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    name: String,
    /// Agents to assign.
    #[serde(default)]
    agents: Vec<String>,
    /// Turn options, in the format of the settings.
    #[serde(default)]
    #[schema(value_type = Object)]
    options: TurnOptions,
}

/// Create a channel
#[utoipa::path(post, path = "/v1/channels", tag = "channels", request_body = NewChannel,
    responses((status = 201, body = Room)))]
async fn create(
    State(app): State<App>,
    caller: RequestCaller,
    Json(new): Json<NewChannel>,
) -> Result<Response, ErrorResponse> {
    let NewChannel { name, agents, options } = new;
    let request = ChannelRequest::Create { name: name.clone(), agents, options, by: caller.name.to_string() };
    app.channels()?.execute(request).await?;
    let place = format!("/v1/channels/{name}");
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], axum::Json(room(&app, &name).await?))
        .into_response())
}

/// Read a channel with its last messages
#[utoipa::path(get, path = "/v1/channels/{name}", tag = "channels", params(("name" = String, Path)),
    responses((status = 200, body = Room)))]
async fn look(State(app): State<App>, Path(name): Path<String>) -> Result<axum::Json<Room>, ErrorResponse> {
    Ok(axum::Json(room(&app, &name).await?))
}

async fn room(app: &App, name: &str) -> Result<Room, ErrorResponse> {
    let channels = app.channels()?.channels();
    let glance = channels.look(name).await?;
    let after = glance.channel.posted.saturating_sub(LAST);
    let messages = channels.messages(name, after, usize::try_from(LAST).unwrap_or(usize::MAX)).await?;
    Ok(Room {
        channel: Channel::from(&glance.channel),
        version: glance.version,
        messages: messages.into_iter().map(Message::from).collect(),
        queue: wire::queue(&glance.channel),
        turn: glance.channel.turn.as_ref().map(Turn::from),
    })
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MessagesQuery {
    /// Only messages with a number above this.
    #[serde(default)]
    after: u64,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Messages {
    messages: Vec<Message>,
    /// `after` of the next page, if there is one.
    next: Option<u64>,
}

/// List messages
#[utoipa::path(get, path = "/v1/channels/{name}/messages", tag = "channels",
    params(("name" = String, Path), MessagesQuery), responses((status = 200, body = Messages)))]
async fn messages(
    State(app): State<App>,
    Path(name): Path<String>,
    QueryString(query): QueryString<MessagesQuery>,
) -> Result<axum::Json<Messages>, ErrorResponse> {
    let limit = limit_of(query.limit)?;
    let channels = app.channels()?.channels();
    let posted = channels.look(&name).await?.channel.posted;
    let messages = channels.messages(&name, query.after, limit).await?;
    let next = messages.last().map(|last| last.number).filter(|last| *last < posted);
    Ok(axum::Json(Messages { messages: messages.into_iter().map(Message::from).collect(), next }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    #[schema(min_length = 1)]
    text: String,
    /// Author, if no token is required; otherwise the token's name is used.
    by: Option<String>,
}

/// Result of posting a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PostedMessage {
    /// Number of the message; `null` while it is held, and for a repeated message.
    number: Option<u64>,
    /// The message is held until the turn ends.
    held: bool,
}

/// Post a message
///
/// With an `Idempotency-Key` it is posted once, even across a restart.
#[utoipa::path(post, path = "/v1/channels/{name}/messages", tag = "channels", params(("name" = String, Path)),
    request_body = NewMessage, responses((status = 201, body = PostedMessage)))]
async fn post(
    State(app): State<App>,
    caller: RequestCaller,
    Path(name): Path<String>,
    IdempotencyKey(id): IdempotencyKey,
    Json(NewMessage { text, by }): Json<NewMessage>,
) -> Result<Response, ErrorResponse> {
    let person = caller.person(by).unwrap_or_else(|| caller.name.to_string());
    let effects = apply(&app, name, ChannelEvent::PersonSpoke { person, id, text }).await?;
    let number = |effect: &ChannelEffect| {
        if let ChannelEffect::Posted(Posted { number, .. }) = effect { Some(*number) } else { None }
    };
    let said = PostedMessage {
        number: effects.iter().find_map(number),
        held: effects.iter().any(|effect| matches!(effect, ChannelEffect::Held { .. })),
    };
    Ok((StatusCode::CREATED, axum::Json(said)).into_response())
}

/// Control a channel
#[utoipa::path(post, path = "/v1/channels/{name}/actions", tag = "channels", params(("name" = String, Path)),
    request_body = Action, responses((status = 200, body = Channel)))]
async fn act(
    State(app): State<App>,
    caller: RequestCaller,
    Path(name): Path<String>,
    Json(action): Json<Action>,
) -> Result<axum::Json<Channel>, ErrorResponse> {
    let before = app.channels()?.channels().look(&name).await?;
    let by = caller.name.to_string();
    match action {
        Action::Assign { agent } => {
            let request = ChannelRequest::Assign { name: name.clone(), agents: vec![agent], by };
            app.channels()?.execute(request).await?;
        }
        Action::Close => {
            app.channels()?.execute(ChannelRequest::Close { name, by }).await?;
            return Ok(axum::Json(Channel::from(&before.channel)));
        }
        action => {
            let unknown = || ErrorResponse::new(ProblemCode::InvalidBody, "unknown action");
            apply(&app, name.clone(), action.event(by).ok_or_else(unknown)?).await?;
        }
    }
    Ok(axum::Json(Channel::from(&app.channels()?.channels().look(&name).await?.channel)))
}

async fn apply(app: &App, name: String, event: ChannelEvent) -> Result<Vec<ChannelEffect>, ErrorResponse> {
    match app.channels()?.execute(ChannelRequest::Apply { name, event }).await? {
        ChannelAnswer::Effects(effects) => Ok(effects),
        ChannelAnswer::Channels(_)
        | ChannelAnswer::Channel(_)
        | ChannelAnswer::Messages(_)
        | ChannelAnswer::Log(_)
        | ChannelAnswer::News { .. }
        | ChannelAnswer::Done => Err(ErrorResponse::internal("unexpected response of a channel")),
    }
}
