//! Questions of servers to a person while a call runs: elicitation. The call is parked until the answer is there, so that
//! an agent's chart can wait for it, and another process can ask.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

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
pub(super) struct Askers {
    next: AtomicU64,
    open: Mutex<Vec<AskingCall>>,
    /// The server has asked without naming the call. From then on one call runs at a time, so that a question has one.
    is_serial: AtomicBool,
    turn: Arc<Semaphore>,
}

impl Default for Askers {
    fn default() -> Self {
        Self {
            next: AtomicU64::default(),
            open: Mutex::default(),
            is_serial: AtomicBool::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

/// A running call: where its questions go, and its completions.
struct AskingCall {
    id: u64,
    questions: mpsc::Sender<ServerQuestion>,
    sampled: Arc<Sampled>,
    turn: Arc<CallTurn>,
}

/// Whether a call runs, waits for its turn, or waits for a person.
#[derive(Debug, Default)]
pub(super) struct CallTurn {
    has_begun: AtomicBool,
    is_asking: AtomicBool,
    was_disturbed: AtomicBool,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl CallTurn {
    /// Returns true if a question that may have been of this call was cancelled, because several calls ran.
    pub(super) fn was_disturbed(&self) -> bool {
        self.was_disturbed.load(Ordering::Acquire)
    }

    fn may_ask(&self) -> bool {
        self.has_begun.load(Ordering::Acquire) && !self.is_asking.load(Ordering::Acquire)
    }

    fn keep(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

/// Ends the registration of a call.
pub(super) struct CallRegistration {
    askers: Arc<Askers>,
    pub(super) id: u64,
    pub(super) turn: Arc<CallTurn>,
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
        let turn = Arc::<CallTurn>::default();
        let call = AskingCall { id, questions, sampled: Arc::clone(sampled), turn: Arc::clone(&turn) };
        self.open().push(call);
        (CallRegistration { askers: Arc::clone(self), id, turn }, receiver)
    }

    /// Waits until a call may run. A call that waits for a person lets others run.
    pub(super) async fn begin(&self, turn: &CallTurn) {
        if self.is_serial.load(Ordering::Acquire) {
            turn.keep(Arc::clone(&self.turn).acquire_owned().await.ok());
        }
        turn.is_asking.store(false, Ordering::Release);
        turn.has_begun.store(true, Ordering::Release);
    }

    /// Runs the work of a call, so that its questions are known to be its own.
    pub(super) async fn during<T>(id: u64, work: impl Future<Output = T>) -> T {
        CALL.scope(id, work).await
    }

    /// Asks the person of the call that a question belongs to. Older servers do not name the call: then the only
    /// running one is meant, and with several no person is asked.
    pub(super) async fn ask(&self, params: ElicitRequestParams) -> ElicitResult {
        let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
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
        let Some((sender, turn)) = self.asker() else { return cancelled() };
        let question = ServerQuestion { message, schema: schema.clone(), url, answer };
        if sender.send(question).await.is_err() {
            return cancelled();
        }
        let answered = answered.await;
        self.begin(&turn).await;
        match answered {
            Ok(result) if result.action == ElicitationAction::Accept => completed(result, schema.as_ref()),
            Ok(result) => result,
            Err(_) => cancelled(),
        }
    }

    /// Returns where a question goes, and the turn of its call, which lets others run until the answer.
    fn asker(&self) -> Option<(mpsc::Sender<ServerQuestion>, Arc<CallTurn>)> {
        let open = self.open();
        let call = match own(&open) {
            Some(own) => own,
            None => self.inferred(&open)?,
        };
        call.turn.is_asking.store(true, Ordering::Release);
        call.turn.keep(None);
        Some((call.questions.clone(), Arc::clone(&call.turn)))
    }

    /// Returns the call of a question that does not name it.
    fn inferred<'c>(&self, open: &'c [AskingCall]) -> Option<&'c AskingCall> {
        self.is_serial.store(true, Ordering::Release);
        let may_ask: Vec<&AskingCall> = open.iter().filter(|call| call.turn.may_ask()).collect();
        let only = if open.len() == 1 { open.first() } else { None };
        match may_ask.as_slice() {
            [call] => Some(*call),
            [] => only,
            several => {
                several.iter().for_each(|call| call.turn.was_disturbed.store(true, Ordering::Release));
                None
            }
        }
    }

    /// Returns the completions of the call that a request belongs to.
    pub(super) fn sampled(&self) -> Option<Arc<Sampled>> {
        self.of_call(|call| Arc::clone(&call.sampled))
    }

    /// Reads from the call that this task drives, or else from the only one.
    fn of_call<T>(&self, read: impl FnOnce(&AskingCall) -> T) -> Option<T> {
        let open = self.open();
        let only = if open.len() == 1 { open.first() } else { None };
        own(&open).or(only).map(read)
    }

    fn open(&self) -> MutexGuard<'_, Vec<AskingCall>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the call that this task drives.
fn own(open: &[AskingCall]) -> Option<&AskingCall> {
    let own = CALL.try_with(|id| *id).ok()?;
    open.iter().find(|call| call.id == own)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> ElicitRequestParams {
        let form = serde_json::json!({
            "mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}},
        });
        serde_json::from_value(form).unwrap()
    }

    #[tokio::test]
    async fn after_a_question_of_several_calls_one_call_runs_at_a_time() {
        let askers = Arc::<Askers>::default();
        let sampled = Arc::default();
        let ((a, _questions), (b, _others)) = (askers.register(&sampled), askers.register(&sampled));
        askers.begin(&a.turn).await;
        askers.begin(&b.turn).await;
        assert_eq!(askers.ask(question()).await.action, ElicitationAction::Cancel);
        assert!(a.turn.was_disturbed() && b.turn.was_disturbed());
        drop((a, b));

        let ((a, mut questions), (b, mut others)) = (askers.register(&sampled), askers.register(&sampled));
        askers.begin(&a.turn).await;
        let asking = askers.ask(question());
        tokio::pin!(asking);
        // The question is of the call whose turn it is, and the other one runs while the person thinks.
        let asked = tokio::select! {
            question = questions.recv() => question.unwrap(),
            _ = &mut asking => panic!("not answered yet"),
        };
        askers.begin(&b.turn).await;
        let second = askers.ask(question());
        tokio::pin!(second);
        let other = tokio::select! {
            question = others.recv() => question.unwrap(),
            _ = &mut second => panic!("not answered yet"),
        };
        let accepted = || PersonReply::Accepted(serde_json::json!({})).into_result();
        asked.answer.send(accepted()).unwrap();
        assert_eq!(asking.await.action, ElicitationAction::Accept);
        drop(a);
        other.answer.send(accepted()).unwrap();
        assert_eq!(second.await.action, ElicitationAction::Accept);
        assert!(!b.turn.was_disturbed());
    }

    #[tokio::test]
    async fn a_call_that_names_itself_lets_others_run_until_the_answer() {
        let askers = Arc::<Askers>::default();
        askers.is_serial.store(true, Ordering::Release);
        let sampled = Arc::default();
        let ((a, mut questions), (b, _others)) = (askers.register(&sampled), askers.register(&sampled));
        askers.begin(&a.turn).await;
        let asking = Askers::during(a.id, askers.ask(question()));
        tokio::pin!(asking);
        let asked = tokio::select! {
            question = questions.recv() => question.unwrap(),
            _ = &mut asking => panic!("not answered yet"),
        };
        let turn = tokio::time::timeout(std::time::Duration::from_secs(5), askers.begin(&b.turn)).await;
        assert!(turn.is_ok(), "the person thinks");
        drop(b);
        asked.answer.send(PersonReply::Declined.into_result()).unwrap();
        assert_eq!(asking.await.action, ElicitationAction::Decline);
    }
}
