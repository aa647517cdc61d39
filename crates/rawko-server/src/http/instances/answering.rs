//! Answers a request to a person. If only one descendant of the instance has a request, that one is answered: the
//! person need not know which instance it was.

use axum::extract::State;
use rawko_host::PersonAnswer;
use rawko_view::standing::InstanceStanding;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::receipt::ReceiptBody;
use crate::http::access::RequestCaller;
use crate::http::app::App;
use crate::http::extract::{Json, Path};
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::role::Role;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// Invoke to answer, if there are several requests.
    invoke: Option<String>,
    /// Time of the request as shown; a later one is not answered.
    since_ms: Option<i64>,
    approved: bool,
    /// Another name of the author, noted beside that of the token.
    by: Option<String>,
    comment: Option<String>,
    /// Fields of a form.
    #[serde(default)]
    data: Value,
    /// Also allow such calls from now on: adds the rules in `input.always` of the request to the settings of the user that
    /// runs the server. Needs the role `admin`.
    #[serde(default)]
    always: bool,
}

/// Answer a request to a person
#[utoipa::path(post, path = "/v1/instances/{id}/answer", tag = "instances", params(("id" = String, Path)),
    request_body = AnswerBody, responses((status = 200, body = ReceiptBody)))]
pub(super) async fn answer(
    State(app): State<App>,
    caller: RequestCaller,
    Path(id): Path<String>,
    Json(body): Json<AnswerBody>,
) -> Result<axum::Json<ReceiptBody>, ErrorResponse> {
    let AnswerBody { invoke, since_ms, approved, by, comment, data, always } = body;
    let wanted = invoke.clone();
    let id = app.read(move |app| who_asks(app, id, wanted.as_deref())).await?;
    if always {
        may_allow_always(&caller, approved)?;
        let (id, wanted) = (id.clone(), invoke.clone());
        app.compute(move |app| allow_always(app, &id, wanted.as_deref(), since_ms)).await?;
    }
    let answer = {
        let (by, claimed) = caller.author(by);
        PersonAnswer { approved, by, claimed, asked_ms: since_ms, comment, data: data.into() }
    };
    let receipt = app.engine().answer(id, invoke, answer).await?;
    Ok(axum::Json(receipt.into()))
}

fn may_allow_always(caller: &RequestCaller, approved: bool) -> Result<(), ErrorResponse> {
    if !approved {
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, "`always` needs `approved: true`"));
    }
    match caller.role {
        Role::Admin => Ok(()),
        Role::Service | Role::Agent | Role::Read | Role::Operate => Err(ErrorResponse::new(
            ProblemCode::Forbidden,
            "`always` changes settings: it needs the role `admin`",
        )),
    }
}

/// Adds the rules of the request that the caller saw. Nothing is added for a request that was answered meanwhile.
fn allow_always(
    app: &App,
    id: &str,
    invoke: Option<&str>,
    since_ms: Option<i64>,
) -> Result<(), ErrorResponse> {
    let standing = InstanceStanding::of(app.reader(), id, app.world(), app.now_ms())?;
    let mut asks = standing.asks.iter().filter(|ask| {
        *ask.instance == *id
            && invoke.is_none_or(|wanted| wanted == ask.invoke)
            && since_ms.is_none_or(|since_ms| since_ms == ask.since_ms)
    });
    let (Some(ask), None) = (asks.next(), asks.next()) else {
        let detail = format!("instance `{id}` does not have exactly one such pending request");
        return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
    };
    let rules = ask.input.get("always").as_list().unwrap_or_default().iter();
    let rules: Vec<String> = rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect();
    if rules.is_empty() {
        let detail = "no rule can always allow this request; answer it without `always`";
        return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
    }
    app.project().allow_always(&rules)
}

fn who_asks(app: &App, id: String, invoke: Option<&str>) -> Result<String, ErrorResponse> {
    let standing = InstanceStanding::of(app.reader(), &id, app.world(), app.now_ms())?;
    let asks = standing.asks.iter().filter(|ask| invoke.is_none_or(|wanted| wanted == ask.invoke));
    let who: Vec<&str> = asks.map(|ask| &*ask.instance).collect();
    match who.as_slice() {
        // The engine reports that there is no pending request.
        [] => Ok(id),
        _ if who.contains(&id.as_str()) => Ok(id),
        [one] => Ok((*one).to_owned()),
        several => {
            let detail = format!(
                "several instances below `{id}` have pending requests: {}; answer one of them",
                several.join(", ")
            );
            Err(ErrorResponse::new(ProblemCode::SeveralAsked, detail))
        }
    }
}
