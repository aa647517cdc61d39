//! One turn over an open connection: performs the handshake, opens the session, sends the prompt and answers the
//! agent's requests until it stops.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthenticateRequest, CancelNotification, ClientCapabilities, ContentBlock,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    NewSessionRequest, SessionId, TextContent,
};
use agent_client_protocol::{Agent, Error, ErrorCode, JsonRpcRequest};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::prompt::{AcpPrompt, PromptResponse};
use super::serve::{self, AcpMessage, ServeFuture};
use super::updates::{PromptState, UpdateResult, stop_reason};
use super::wire::Closed;
use crate::program::{CancelFuture, ProgramAgent, ProgramHost, TurnRequest, TurnResult};
use rawko_model::StopReason;
use rawko_model::provider::StreamEvent;

/// A turn that ended without a result.
pub(super) enum StoppedPrompt {
    Closed(Closed),
    Silent,
    Refused(Error),
    Unauthenticated(String),
    /// For example, the agent uses another protocol version.
    NoHandshake(Error),
    Cancelled,
}

pub(super) struct AcpSession<'h> {
    pub(super) agent: &'h ProgramAgent,
    pub(super) auth_method: Option<&'h str>,
    pub(super) host: &'h dyn ProgramHost,
    pub(super) connection: ConnectionTo<Agent>,
    pub(super) from_agent: mpsc::UnboundedReceiver<AcpMessage>,
    pub(super) closed: oneshot::Receiver<Closed>,
    pub(super) heard: PromptState,
}

/// The next event while the agent works.
enum SessionEvent {
    Said(Box<AcpMessage>),
    Served,
    Stopped(Result<PromptResponse, Error>),
    Cancelled,
    TimeIsUp,
}

impl<'h> AcpSession<'h> {
    pub(super) async fn run(mut self, request: &TurnRequest) -> Result<TurnResult, StoppedPrompt> {
        let capabilities = self.initialize().await?;
        let session = match self.open(request, &capabilities).await {
            Err(StoppedPrompt::Refused(error)) if error.code == ErrorCode::AUTH_REQUIRED => {
                self.authenticate(&capabilities).await?;
                self.open(request, &capabilities).await?
            }
            opened => opened?,
        };
        self.catch_up();
        self.heard.forget();
        let stopped = self.prompt(&session, request).await;
        let usage = self.heard.usage(&request.prompt);
        self.host.spent(usage);
        // Usage is reported for cancelled turns too.
        if let Ok(_) | Err(StoppedPrompt::Cancelled) = stopped {
            let stop_reason = *stopped.as_ref().unwrap_or(&StopReason::Other);
            self.host.heard(StreamEvent::MessageDone { usage, stop_reason });
        }
        let stop_reason = stopped?;
        let text = std::mem::take(&mut self.heard.text);
        Ok(TurnResult {
            text,
            data: Default::default(),
            stop_reason,
            usage,
            session: Some(session.to_string()),
        })
    }

    async fn initialize(&mut self) -> Result<InitializeResponse, StoppedPrompt> {
        let files = FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(false))
            .client_info(Implementation::new("rawko", env!("CARGO_PKG_VERSION")));
        self.ask(request).await.map_err(|stopped| match stopped {
            StoppedPrompt::Refused(error) => StoppedPrompt::NoHandshake(error),
            other => other,
        })
    }

    /// Loads the requested session if the agent supports it; otherwise opens a new one.
    async fn open(
        &mut self,
        request: &TurnRequest,
        capabilities: &InitializeResponse,
    ) -> Result<SessionId, StoppedPrompt> {
        let cwd = self.agent.cwd.clone();
        if let Some(session) =
            request.session.clone().filter(|_| capabilities.agent_capabilities.load_session)
        {
            let session = SessionId::from(session);
            self.ask(LoadSessionRequest::new(session.clone(), cwd)).await?;
            return Ok(session);
        }
        Ok(self.ask(NewSessionRequest::new(cwd)).await?.session_id)
    }

    async fn authenticate(&mut self, capabilities: &InitializeResponse) -> Result<(), StoppedPrompt> {
        let offered: Vec<String> = capabilities
            .auth_methods
            .iter()
            .filter_map(|method| match method {
                AuthMethod::Agent(method) => Some(method.id.to_string()),
                _ => None,
            })
            .collect();
        let wanted = self.auth_method;
        let method = match wanted {
            Some(wanted) => offered.iter().find(|method| *method == wanted),
            None => offered.first(),
        };
        let Some(method) = method else {
            let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
            return Err(StoppedPrompt::Unauthenticated(match wanted {
                Some(wanted) => format!("it has no method `{wanted}`; its methods: {offered}"),
                None => "it has no method that rawko can use".to_owned(),
            }));
        };
        match self.ask(AuthenticateRequest::new(method.clone())).await {
            Ok(_) => Ok(()),
            Err(StoppedPrompt::Refused(error)) => Err(StoppedPrompt::Unauthenticated(error.message.clone())),
            Err(other) => Err(other),
        }
    }

    /// Sends a request and waits for its response within the silence timeout.
    async fn ask<R: JsonRpcRequest>(&mut self, request: R) -> Result<R::Response, StoppedPrompt> {
        let answer = self.connection.send_request(request).block_task();
        match timeout(self.agent.timeout, answer).await {
            Ok(answer) => answer.map_err(|error| self.refused(error)),
            Err(_) => Err(StoppedPrompt::Silent),
        }
    }

    /// Processes all queued updates.
    fn catch_up(&mut self) {
        while let Ok(said) = self.from_agent.try_recv() {
            if let AcpMessage::Update(update) = said {
                self.hear(update.update);
            }
        }
    }

    fn hear(&mut self, update: agent_client_protocol::v1::schema::SessionUpdate) {
        for heard in self.heard.take(update) {
            match heard {
                UpdateResult::Event(event) => self.host.heard(event),
                UpdateResult::Returned(result) => self.host.returned(result),
            }
        }
    }

    async fn prompt(
        &mut self,
        session: &SessionId,
        request: &TurnRequest,
    ) -> Result<StopReason, StoppedPrompt> {
        let prompt = vec![ContentBlock::Text(TextContent::new(request.prompt.clone()))];
        let sent = self.connection.send_request(AcpPrompt { session_id: session.clone(), prompt });
        let mut answer = Box::pin(sent.block_task());
        let mut work = PromptWork {
            cancelling: self.host.cancelled(),
            is_cancelled: false,
            deadline: Instant::now() + self.agent.timeout,
            waiting: VecDeque::new(),
            serving: None,
        };
        loop {
            match self.next(&mut answer, &mut work).await {
                SessionEvent::Said(said) => {
                    self.take(*said, &mut work);
                    self.host.spent(self.heard.usage(&request.prompt));
                }
                SessionEvent::Served => work.serving = None,
                SessionEvent::Cancelled => {
                    work.cancel(self.agent);
                    let _ = self.connection.send_notification(CancelNotification::new(session.clone()));
                }
                SessionEvent::Stopped(_) | SessionEvent::TimeIsUp if work.is_cancelled => {
                    return Err(StoppedPrompt::Cancelled);
                }
                SessionEvent::Stopped(answer) => return self.stopped(answer),
                SessionEvent::TimeIsUp => return Err(StoppedPrompt::Silent),
            }
            work.go_on(self.agent, self.host);
        }
    }

    fn take(&mut self, said: AcpMessage, work: &mut PromptWork<'h>) {
        match said {
            AcpMessage::Update(update) => self.hear(update.update),
            AcpMessage::Permission(_, responder) if work.is_cancelled => {
                serve::permission_cancelled(responder)
            }
            // Dropping the responder answers with an error.
            AcpMessage::Read(..) | AcpMessage::Write(..) if work.is_cancelled => {}
            AcpMessage::Permission(..) | AcpMessage::Read(..) | AcpMessage::Write(..) => {
                work.waiting.push_back(said);
            }
        }
    }

    fn stopped(&mut self, answer: Result<PromptResponse, Error>) -> Result<StopReason, StoppedPrompt> {
        self.catch_up();
        let answer = answer.map_err(|error| self.refused(error))?;
        self.heard.spent = answer.usage;
        stop_reason(answer.stop_reason).ok_or(StoppedPrompt::Cancelled)
    }

    async fn next<A>(&mut self, answer: &mut Pin<Box<A>>, work: &mut PromptWork<'h>) -> SessionEvent
    where
        A: Future<Output = Result<PromptResponse, Error>>,
    {
        let is_serving = work.serving.is_some();
        let served = async {
            match &mut work.serving {
                Some(serving) => serving.await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = answer => SessionEvent::Stopped(answer),
            Some(said) = self.from_agent.recv() => SessionEvent::Said(Box::new(said)),
            () = served => SessionEvent::Served,
            () = &mut work.cancelling, if !work.is_cancelled => SessionEvent::Cancelled,
            // The silence timeout does not run while we answer the agent.
            () = sleep_until(work.deadline), if !is_serving => SessionEvent::TimeIsUp,
        }
    }

    /// Classifies an error. A closing connection fails all open requests with its own error.
    fn refused(&mut self, error: Error) -> StoppedPrompt {
        self.closed.try_recv().map_or(StoppedPrompt::Refused(error), StoppedPrompt::Closed)
    }
}

/// The state of the agent's work on a prompt.
struct PromptWork<'h> {
    cancelling: CancelFuture<'h>,
    is_cancelled: bool,
    /// Deadline for silence or, after a cancel, for termination.
    deadline: Instant,
    waiting: VecDeque<AcpMessage>,
    serving: Option<ServeFuture<'h>>,
}

impl<'h> PromptWork<'h> {
    fn cancel(&mut self, agent: &ProgramAgent) {
        self.is_cancelled = true;
        self.deadline = Instant::now() + agent.cancel_grace;
        (self.waiting, self.serving) = (VecDeque::new(), None);
    }

    /// Resets the silence timeout and serves the next queued request.
    fn go_on(&mut self, agent: &ProgramAgent, host: &'h dyn ProgramHost) {
        if !self.is_cancelled {
            self.deadline = Instant::now() + agent.timeout;
        }
        if self.serving.is_none() {
            self.serving = self.waiting.pop_front().and_then(|said| serve::answer(host, said));
        }
    }
}
