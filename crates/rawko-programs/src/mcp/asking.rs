//! Questions of servers to a person while a call runs: elicitation. The call is parked until the answer is there, so that
//! an agent's chart can wait for it, and another process can ask.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::sampling::Sampled;

tokio::task_local! {
    /// The call that this task drives.
    static CALL: u64;
}

/// A question of a server, and the way back.
pub(super) struct ServerQuestion {
    pub(super) message: String,
    /// The form to fill in; `None` for a page that the person visits.
    pub(super) schema: Option<Value>,
    pub(super) url: Option<String>,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// The answer of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PersonReply {
    Accepted(Value),
    Declined,
}

impl PersonReply {
    pub(super) fn into_result(self) -> ElicitResult {
        match self {
            PersonReply::Accepted(content) if content.is_object() => {
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            PersonReply::Accepted(_) => ElicitResult::new(ElicitationAction::Accept),
            PersonReply::Declined => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

/// The running calls of one connection that a question can belong to.
#[derive(Default)]
pub(super) struct Askers {
    next: AtomicU64,
    open: Mutex<Vec<AskingCall>>,
}

/// A running call: where its questions go, and its completions.
struct AskingCall {
    id: u64,
    questions: mpsc::Sender<ServerQuestion>,
    sampled: Arc<Sampled>,
}

/// Ends the registration of a call.
pub(super) struct CallRegistration {
    askers: Arc<Askers>,
    pub(super) id: u64,
}

impl Drop for CallRegistration {
    fn drop(&mut self) {
        self.askers.open().retain(|call| call.id != self.id);
    }
}

impl Askers {
    /// Registers a call; its questions arrive at the receiver.
    pub(super) fn register(
        self: &Arc<Self>,
        sampled: &Arc<Sampled>,
    ) -> (CallRegistration, mpsc::Receiver<ServerQuestion>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (questions, receiver) = mpsc::channel(1);
        self.open().push(AskingCall { id, questions, sampled: Arc::clone(sampled) });
        (CallRegistration { askers: Arc::clone(self), id }, receiver)
    }

    /// Runs the work of a call, so that its questions are known to be its own.
    pub(super) async fn during<T>(id: u64, work: impl Future<Output = T>) -> T {
        CALL.scope(id, work).await
    }

    /// Asks the person of the call that a question belongs to. Older servers do not name the call: then the only
    /// running one is meant, and with several no person is asked.
    pub(super) async fn ask(&self, params: ElicitRequestParams) -> ElicitResult {
        let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
        let Some(sender) = self.of_call(|call| call.questions.clone()) else { return cancelled() };
        let (answer, answered) = oneshot::channel();
        let (message, schema, url) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                (message, serde_json::to_value(requested_schema).ok(), None)
            }
            // A person is sent to pages of the web only: no file, no script, no program that handles a scheme.
            ElicitRequestParams::UrlElicitationParams { message, url, .. } if is_web(&url) => {
                (message, None, Some(url))
            }
            ElicitRequestParams::UrlElicitationParams { .. } => {
                return ElicitResult::new(ElicitationAction::Decline);
            }
            _ => return cancelled(),
        };
        let question = ServerQuestion { message, schema: schema.clone(), url, answer };
        if sender.send(question).await.is_err() {
            return cancelled();
        }
        match answered.await {
            Ok(result) if result.action == ElicitationAction::Accept => completed(result, schema.as_ref()),
            Ok(result) => result,
            Err(_) => cancelled(),
        }
    }

    /// Returns the completions of the call that a request belongs to.
    pub(super) fn sampled(&self) -> Option<Arc<Sampled>> {
        self.of_call(|call| Arc::clone(&call.sampled))
    }

    /// Reads from the call that this task drives, or else from the only one.
    fn of_call<T>(&self, read: impl FnOnce(&AskingCall) -> T) -> Option<T> {
        let open = self.open();
        let own = CALL.try_with(|id| *id).ok();
        let own = own.and_then(|own| open.iter().find(|call| call.id == own));
        let only = if open.len() == 1 { open.first() } else { None };
        own.or(only).map(read)
    }

    fn open(&self) -> MutexGuard<'_, Vec<AskingCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true for an address that a browser opens as a page.
fn is_web(url: &str) -> bool {
    let address = reqwest::Url::parse(url);
    address.is_ok_and(|address| {
        matches!(address.scheme(), "http" | "https")
            && address.username().is_empty()
            && address.password().is_none()
    })
}

/// Adds the defaults of the form for what the person left out. A page has no content.
fn completed(result: ElicitResult, schema: Option<&Value>) -> ElicitResult {
    let accepted = ElicitResult::new(ElicitationAction::Accept);
    let Some(schema) = schema else { return accepted };
    let mut content = result.content.and_then(|content| content.as_object().cloned()).unwrap_or_default();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|_| !content.contains_key(name)) {
            content.insert(name.clone(), default.clone());
        }
    }
    accepted.with_content(Value::Object(content))
}
