//! One turn of a coding agent over a connection, until it stops or its process ends.

use std::time::Duration;

use agent_client_protocol::Client;
use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, RequestPermissionRequest, SessionNotification, WriteTextFileRequest,
};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use super::serve::AcpMessage;
use super::session::{AcpSession, StoppedPrompt};
use super::updates::PromptState;
use super::wire::{Closed, LINE_BYTES_MAX, Wire};
use crate::process::AgentProcess;
use crate::program::{ProgramAgent, ProgramHost, TurnError, TurnRequest, TurnResult, in_time};
use rawko_model::provider::ErrorCode;

/// Succeeds: this build has the protocol.
#[expect(clippy::unnecessary_wraps, reason = "a build without the protocol fails")]
pub(crate) fn insist_on_feature(_command: &str) -> Result<(), TurnError> {
    Ok(())
}

pub(crate) async fn converse(
    agent: &ProgramAgent,
    auth_method: Option<&str>,
    (stdin, stdout): (ChildStdin, ChildStdout),
    request: &TurnRequest,
    host: &dyn ProgramHost,
    child: &AgentProcess,
) -> Result<TurnResult, TurnError> {
    let (wire, channel, closed) = Wire::new(stdin, stdout);
    let (tell, from_agent) = mpsc::unbounded_channel();
    let (updates, permissions, reads, writes) = (tell.clone(), tell.clone(), tell.clone(), tell);
    let came_to = Client
        .v1()
        .name("rawko")
        .on_receive_notification(
            async move |update: SessionNotification, _| {
                let _ = updates.send(AcpMessage::Update(update));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let _ = permissions.send(AcpMessage::Permission(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, _| {
                let _ = reads.send(AcpMessage::Read(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WriteTextFileRequest, responder, _| {
                let _ = writes.send(AcpMessage::Write(request, responder));
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(channel, async move |connection| {
            let heard = PromptState::default();
            let session = AcpSession { agent, auth_method, host, connection, from_agent, closed, heard };
            Ok(session.run(request).await)
        })
        .await;
    // Closing the input asks the program to exit.
    drop(wire);
    match came_to {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(stopped)) => Err(in_words(agent.timeout, stopped, child).await),
        Err(_) if child.has_ended() => Err(ended(child).await),
        Err(error) => Err(TurnError::Malformed(in_full(&error))),
    }
}

async fn in_words(timeout: Duration, stopped: StoppedPrompt, child: &AgentProcess) -> TurnError {
    match stopped {
        StoppedPrompt::Closed(Closed::Ended) => ended(child).await,
        StoppedPrompt::Closed(Closed::LineTooLong) => {
            TurnError::TooLong { bytes_max: LINE_BYTES_MAX, what: "in one line" }
        }
        StoppedPrompt::Closed(Closed::DoesNotRead) => {
            TurnError::Malformed("it does not read its input".to_owned())
        }
        StoppedPrompt::Silent => {
            TurnError::Silent { within: in_time(timeout), detail: child.ending_in_words().await }
        }
        StoppedPrompt::Refused(error) if error.code == agent_client_protocol::ErrorCode::AUTH_REQUIRED => {
            TurnError::Unauthenticated(error.message)
        }
        StoppedPrompt::Refused(error) => {
            let message = format!("the agent answered with an error: {}", in_full(&error));
            TurnError::Reported { code: ErrorCode::Unknown, message }
        }
        StoppedPrompt::Unauthenticated(why) => TurnError::Unauthenticated(why),
        StoppedPrompt::NoHandshake(error) => TurnError::Malformed(in_full(&error)),
        StoppedPrompt::Cancelled => TurnError::Cancelled,
    }
}

fn in_full(error: &agent_client_protocol::Error) -> String {
    let details = error.data.as_ref().map(|data| format!(" ({data})")).unwrap_or_default();
    format!("{}{details}", error.message)
}

async fn ended(child: &AgentProcess) -> TurnError {
    // The end of the output arrives before the exit status.
    let _ = tokio::time::timeout(Duration::from_secs(2), child.ended()).await;
    TurnError::Ended(child.ending_in_words().await)
}
