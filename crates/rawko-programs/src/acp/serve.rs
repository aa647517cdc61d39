//! Responses to requests of a coding agent: permissions from the gate, files from the project.

use std::path::PathBuf;
use std::pin::Pin;

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, ReadTextFileRequest, ReadTextFileResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    SessionNotification, ToolCallContent, ToolKind, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{Error, ErrorCode};
use rawko_core::Value;

use crate::program::{AgentOperation, AskedKind, OperationVerdict, ProgramHost};

/// Messages that the agent sends on its own. Forwarded to the host; the library's callbacks decide nothing.
pub(super) enum AcpMessage {
    Update(SessionNotification),
    Permission(RequestPermissionRequest, Responder<RequestPermissionResponse>),
    Read(ReadTextFileRequest, Responder<ReadTextFileResponse>),
    Write(WriteTextFileRequest, Responder<WriteTextFileResponse>),
}

pub(super) type ServeFuture<'h> = Pin<Box<dyn Future<Output = ()> + Send + 'h>>;

/// Answers a message that requires a response.
pub(super) fn answer(host: &dyn ProgramHost, said: AcpMessage) -> Option<ServeFuture<'_>> {
    match said {
        AcpMessage::Permission(request, responder) => Some(permission(host, request, responder)),
        AcpMessage::Read(request, responder) => Some(read(host, request, responder)),
        AcpMessage::Write(request, responder) => Some(write(host, request, responder)),
        AcpMessage::Update(_) => None,
    }
}

fn permission<'h>(
    host: &'h dyn ProgramHost,
    request: RequestPermissionRequest,
    responder: Responder<RequestPermissionResponse>,
) -> ServeFuture<'h> {
    Box::pin(async move {
        let options = request.options.clone();
        let verdict = host.permit(asked(request)).await;
        // An agent that has exited needs no response.
        let _ = responder.respond(RequestPermissionResponse::new(chosen(&options, &verdict)));
    })
}

/// Answers a permission request that will not be decided any more.
pub(super) fn permission_cancelled(responder: Responder<RequestPermissionResponse>) {
    let _ = responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled));
}

fn read<'h>(
    host: &'h dyn ProgramHost,
    request: ReadTextFileRequest,
    responder: Responder<ReadTextFileResponse>,
) -> ServeFuture<'h> {
    Box::pin(async move {
        let text = host.read_file(request.path, request.line, request.limit).await;
        let _ = responder.respond_with_result(text.map(ReadTextFileResponse::new).map_err(refused));
    })
}

fn write<'h>(
    host: &'h dyn ProgramHost,
    request: WriteTextFileRequest,
    responder: Responder<WriteTextFileResponse>,
) -> ServeFuture<'h> {
    Box::pin(async move {
        let written = host.write_file(request.path, request.content).await;
        let _ =
            responder.respond_with_result(written.map(|()| WriteTextFileResponse::new()).map_err(refused));
    })
}

/// Agents show the message to their model.
fn refused(why: String) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, why)
}

/// Picks the option that grants no more than the verdict: "allow always" is never chosen, because the gate decides each
/// time.
fn chosen(options: &[PermissionOption], verdict: &OperationVerdict) -> RequestPermissionOutcome {
    let wanted: &[PermissionOptionKind] = match verdict {
        OperationVerdict::Allow => &[PermissionOptionKind::AllowOnce],
        OperationVerdict::Deny => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
    };
    let option = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    option.map_or(RequestPermissionOutcome::Cancelled, |option| {
        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
    })
}

fn asked(request: RequestPermissionRequest) -> AgentOperation {
    let fields = request.tool_call.fields;
    let locations = fields.locations.unwrap_or_default().into_iter().map(|location| location.path);
    // Some agents name a file only in the displayed change.
    let shown = fields.content.unwrap_or_default().into_iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff.path),
        _ => None,
    });
    let mut paths: Vec<PathBuf> = locations.chain(shown).collect();
    paths.sort();
    paths.dedup();
    AgentOperation {
        id: request.tool_call.tool_call_id.to_string(),
        kind: fields.kind.map_or(AskedKind::Other, kind),
        tool: fields.name,
        title: fields.title.unwrap_or_default(),
        input: fields.raw_input.map(Value::from_json).unwrap_or_default(),
        paths,
    }
}

fn kind(theirs: ToolKind) -> AskedKind {
    match theirs {
        ToolKind::Read => AskedKind::Read,
        ToolKind::Edit => AskedKind::Edit,
        ToolKind::Delete => AskedKind::Delete,
        ToolKind::Move => AskedKind::Move,
        ToolKind::Search => AskedKind::Search,
        ToolKind::Execute => AskedKind::Execute,
        ToolKind::Think => AskedKind::Think,
        ToolKind::Fetch => AskedKind::Fetch,
        ToolKind::SwitchMode => AskedKind::SwitchMode,
        _ => AskedKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_chosen_says_no_more_than_the_verdict() {
        use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let cases = [
            ("allow", OperationVerdict::Allow, vec![AllowAlways, AllowOnce, RejectOnce], Some("1")),
            ("deny", OperationVerdict::Deny, vec![AllowOnce, RejectAlways, RejectOnce], Some("2")),
            (
                "deny for ever, when that is all there is",
                OperationVerdict::Deny,
                vec![AllowOnce, RejectAlways],
                Some("1"),
            ),
            ("never allow for ever", OperationVerdict::Allow, vec![AllowAlways, RejectOnce], None),
            ("no way to say no", OperationVerdict::Deny, vec![AllowOnce], None),
        ];
        for (case, verdict, kinds, expected) in cases {
            let options: Vec<PermissionOption> = kinds
                .into_iter()
                .enumerate()
                .map(|(number, kind)| PermissionOption::new(number.to_string(), "an option", kind))
                .collect();
            let expected = expected.map_or(RequestPermissionOutcome::Cancelled, |id| {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id.to_owned()))
            });
            assert_eq!(chosen(&options, &verdict), expected, "{case}");
        }
    }
}
