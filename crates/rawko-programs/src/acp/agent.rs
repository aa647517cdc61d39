//! One turn of a coding agent, from the start of its process to its end.

use std::time::Duration;

use agent_client_protocol::Client;
use agent_client_protocol::v1::schema::{
    ReadTextFileRequest, RequestPermissionRequest, SessionNotification, WriteTextFileRequest,
};
use tokio::sync::mpsc;

use super::host::AcpHost;
use super::program::AcpAgent;
use super::serve::FromAgent;
use super::session::{Session, Stopped};
use super::updates::TurnState;
use super::wire::{Closed, LINE_BYTES_MAX, Wire};
use crate::process::{Child, Launch, TurnError, TurnRequest, TurnResult, in_time};
use rawko_model::provider::ErrorCode;

impl AcpAgent {
    /// Runs one turn. The process is ended with everything it started, also when this future is dropped. `tools` and
    /// `messages` of the request are not sent: the agent has its own tools, and its session keeps the messages.
    pub async fn turn(&self, request: TurnRequest, host: &dyn AcpHost) -> Result<TurnResult, TurnError> {
        let launch = Launch {
            program: self.command.clone(),
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            profile: self.profile,
            confinement: self.confinement.clone(),
        };
        let (mut child, stdin, stdout) =
            launch.start(&self.environment).await.map_err(TurnError::NotStarted)?;
        child.guard_authority();
        let (wire, channel, closed) = Wire::new(stdin, stdout);
        let (tell, from_agent) = mpsc::unbounded_channel();
        let (updates, permissions, reads, writes) = (tell.clone(), tell.clone(), tell.clone(), tell);
        let came_to = Client
            .v1()
            .name("rawko")
            .on_receive_notification(
                async move |update: SessionNotification, _| {
                    let _ = updates.send(FromAgent::Update(update));
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    let _ = permissions.send(FromAgent::Permission(request, responder));
                    Ok(())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReadTextFileRequest, responder, _| {
                    let _ = reads.send(FromAgent::Read(request, responder));
                    Ok(())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WriteTextFileRequest, responder, _| {
                    let _ = writes.send(FromAgent::Write(request, responder));
                    Ok(())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(channel, async move |connection| {
                let heard = TurnState::default();
                let session = Session { agent: self, host, connection, from_agent, closed, heard };
                Ok(session.run(&request).await)
            })
            .await;
        // Closing the input asks the program to exit.
        drop(wire);
        let result = match came_to {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(stopped)) => Err(self.in_words(stopped, &child).await),
            Err(_) if child.has_ended() => Err(ended(&child).await),
            Err(error) => Err(TurnError::Malformed(in_full(&error))),
        };
        child.end().await;
        child.restore_authority();
        result
    }

    async fn in_words(&self, stopped: Stopped, child: &Child) -> TurnError {
        match stopped {
            Stopped::Closed(Closed::Ended) => ended(child).await,
            Stopped::Closed(Closed::LineTooLong) => {
                TurnError::TooLong { bytes_max: LINE_BYTES_MAX, what: "in one line" }
            }
            Stopped::Closed(Closed::DoesNotRead) => {
                TurnError::Malformed("it does not read its input".to_owned())
            }
            Stopped::Silent => {
                TurnError::Silent { within: in_time(self.timeout), detail: child.ending_in_words().await }
            }
            Stopped::Refused(error) if error.code == agent_client_protocol::ErrorCode::AUTH_REQUIRED => {
                TurnError::Unauthenticated(error.message)
            }
            Stopped::Refused(error) => {
                let message = format!("the agent answered with an error: {}", in_full(&error));
                TurnError::Reported { code: ErrorCode::Unknown, message }
            }
            Stopped::Unauthenticated(why) => TurnError::Unauthenticated(why),
            Stopped::NoHandshake(error) => TurnError::Malformed(in_full(&error)),
            Stopped::Cancelled => TurnError::Cancelled,
        }
    }
}

fn in_full(error: &agent_client_protocol::Error) -> String {
    let details = error.data.as_ref().map(|data| format!(" ({data})")).unwrap_or_default();
    format!("{}{details}", error.message)
}

async fn ended(child: &Child) -> TurnError {
    // The end of the output arrives before the exit status.
    let _ = tokio::time::timeout(Duration::from_secs(2), child.ended()).await;
    TurnError::Ended(child.ending_in_words().await)
}
