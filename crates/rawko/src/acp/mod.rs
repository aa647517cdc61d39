//! rawko as an agent of the Agent Client Protocol: an editor sends prompts over standard input, tasks run them, and what
//! happens goes back as session updates. Everything a session knows is in the store, so that an editor can load it
//! after any restart.

mod follow;
mod permission;
mod protocol;
mod session;
mod start;
mod updates;

use std::collections::HashMap;
use std::io::BufRead;
use std::rc::Rc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, Implementation, InitializeResponse, LoadSessionResponse, NewSessionResponse,
    PromptCapabilities, PromptResponse,
};
use agent_client_protocol::{Channel, Client, Error, ErrorCode, RawJsonRpcMessage, TransportFrame};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, LocalSet};

use crate::authority::random_text;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{RequestRefusal, StoreArgs};
use protocol::FromClient;
use session::EditorSession;

/// Digits of a session id.
const ID_LEN: usize = 12;

/// Serves one client until it closes standard input.
pub(crate) async fn serve(store: &StoreArgs, console: &mut Console) -> Result<(), CommandFailure> {
    LocalSet::new().run_until(connected(store, console)).await
}

async fn connected(store: &StoreArgs, console: &mut Console) -> Result<(), CommandFailure> {
    let mut lines = lines();
    let (mut ours, theirs) = Channel::duplex();
    let (tell, mut from_client) = mpsc::unbounded_channel();
    let (give, connection) = oneshot::channel();
    let serving = tokio::task::spawn_local(protocol::serve(theirs, tell, give));
    let closed = || CommandFailure::Failed("the connection could not be set up".to_owned());
    let mut server = AcpServer {
        connection: connection.await.map_err(|_| closed())?,
        store: store.clone(),
        sessions: HashMap::new(),
        running: JoinSet::new(),
    };
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                // Lines that are not messages are ignored.
                Some(text) => if let Ok(message) = serde_json::from_str::<RawJsonRpcMessage>(&text) {
                    let _ = ours.tx.unbounded_send(TransportFrame::Single(message));
                },
                None => break,
            },
            Ok(frame) = ours.rx.recv() => write(&frame, console)?,
            Some(message) = from_client.recv() => server.handle(message),
            Some(_) = server.running.join_next() => {}
        }
    }
    // The editor is gone: its tasks pause, and continue when a prompt of the same session comes.
    server.sessions.values().for_each(|session| session.cancel());
    while server.running.join_next().await.is_some() {}
    serving.abort();
    Ok(())
}

fn write(frame: &TransportFrame, console: &mut Console) -> Result<(), CommandFailure> {
    let TransportFrame::Single(message) = frame else { return Ok(()) };
    let text = serde_json::to_string(message)
        .map_err(|error| CommandFailure::Failed(format!("cannot write a message: {error}")))?;
    console.line(&text)?;
    console.flush()
}

/// Reads standard input on a thread of its own, line by line.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (send, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

struct AcpServer {
    connection: ConnectionTo<Client>,
    store: StoreArgs,
    sessions: HashMap<String, Rc<EditorSession>>,
    /// Prompts and loads at work.
    running: JoinSet<()>,
}

impl AcpServer {
    fn handle(&mut self, message: FromClient) {
        match message {
            FromClient::Initialize(responder) => {
                let prompts = PromptCapabilities::new().image(true).embedded_context(true);
                let capabilities = AgentCapabilities::new().load_session(true).prompt_capabilities(prompts);
                let about = Implementation::new("rawko", env!("CARGO_PKG_VERSION"));
                let response = InitializeResponse::new(ProtocolVersion::V1);
                // A client that is gone needs no response, here and below.
                let _ = responder.respond(response.agent_capabilities(capabilities).agent_info(about));
            }
            FromClient::NewSession(request, responder) => {
                let made = new_id().and_then(|id| self.session(&id, request.cwd));
                let made = made.map(|session| NewSessionResponse::new(session.id.clone()));
                let _ = responder.respond_with_result(made);
            }
            FromClient::LoadSession(request, responder) => {
                let connection = self.connection.clone();
                match self.session(&request.session_id.to_string(), request.cwd) {
                    Err(error) => drop(responder.respond_with_error(error)),
                    Ok(session) => drop(self.running.spawn_local(async move {
                        let loaded = session.load(&connection).map(|()| LoadSessionResponse::new());
                        let _ = responder.respond_with_result(loaded.map_err(told));
                    })),
                }
            }
            FromClient::Prompt(request, responder) => {
                let Some(session) = self.sessions.get(&request.session_id.to_string()).cloned() else {
                    let why = format!("there is no session `{}`", request.session_id);
                    drop(responder.respond_with_error(Error::new(ErrorCode::RESOURCE_NOT_FOUND, why)));
                    return;
                };
                if !session.begin() {
                    let why = "a prompt of this session is still running; cancel it first";
                    drop(responder.respond_with_error(Error::new(ErrorCode::INVALID_REQUEST, why)));
                    return;
                }
                let connection = self.connection.clone();
                self.running.spawn_local(async move {
                    let done = session.prompt(&request.prompt, &connection).await;
                    session.end();
                    let _ = responder.respond_with_result(done.map(PromptResponse::new).map_err(told));
                });
            }
            FromClient::Cancel(notification) => {
                if let Some(session) = self.sessions.get(&notification.session_id.to_string()) {
                    session.cancel();
                }
            }
        }
    }

    /// Opens a session in a directory, which must be a project that the person trusts.
    fn session(&mut self, id: &str, cwd: std::path::PathBuf) -> Result<Rc<EditorSession>, Error> {
        if let Some(known) = self.sessions.get(id).filter(|known| known.cwd == cwd) {
            return Ok(Rc::clone(known));
        }
        let session = Rc::new(EditorSession::open(id, cwd, &self.store).map_err(told)?);
        self.sessions.insert(id.to_owned(), Rc::clone(&session));
        Ok(session)
    }
}

fn new_id() -> Result<String, Error> {
    let text = random_text().map_err(|error| Error::internal_error().data(error.to_string()))?;
    Ok(format!("acp-{}", &text[..ID_LEN]))
}

/// Returns a failure as the client shows it.
fn told(failure: CommandFailure) -> Error {
    let code = match &failure {
        CommandFailure::Credentials(_) => ErrorCode::AUTH_REQUIRED,
        CommandFailure::Usage(_) | CommandFailure::Invalid(_) | CommandFailure::Findings { .. } => {
            ErrorCode::INVALID_PARAMS
        }
        CommandFailure::Failed(_)
        | CommandFailure::Transient(_)
        | CommandFailure::Interrupted
        | CommandFailure::Output(_) => ErrorCode::INTERNAL_ERROR,
    };
    Error::new(code, RequestRefusal::from(failure).message)
}
