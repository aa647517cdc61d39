//! Remote services: code in other programs, which connect to the server and take calls. Separate from HTTP services
//! because the program calls us, so a call may wait for one, follow a connection that is resumed, or be given up.

mod pool;
mod process;
mod schemas;
mod ticket;

use std::time::Duration;

use rawko_core::{Value, duration};

pub use pool::RemoteServices;
pub use process::{ProcessHandle, ProcessOffer, ProgramRegistration, RegisterRefusal, RemoteMessage};
pub(crate) use schemas::Schemas;
use ticket::TicketStage;

use super::{AttemptOutcome, Category, OnRestart, Service, ServiceCall, ServiceError, ServiceFuture};

/// Default time that a call waits for a program.
pub(crate) const WAIT: Duration = Duration::from_secs(5 * 60);
/// Default time that a program has to come back with its calls.
pub(crate) const RECONNECT: Duration = Duration::from_secs(30);

/// A remote service as the settings define it.
#[derive(Clone, Debug)]
pub(crate) struct RemoteForm {
    /// How long a call waits for a program that provides the service.
    pub(crate) wait: Duration,
    /// How long a call waits for its program to connect again.
    pub(crate) reconnect: Duration,
}

impl RemoteForm {
    pub(crate) fn provenance(&self) -> Vec<(&'static str, Value)> {
        let shown = |time: Duration| Value::from(duration::format_ms(time.as_millis() as u64));
        vec![("remote", Value::map([("wait", shown(self.wait)), ("reconnect", shown(self.reconnect))]))]
    }
}

/// A remote service ready to be called.
pub(crate) struct RemoteService {
    form: RemoteForm,
    pool: RemoteServices,
    timeout: Option<Duration>,
    on_restart: OnRestart,
    provenance: Value,
}

impl RemoteService {
    pub(crate) fn new(
        form: RemoteForm,
        pool: RemoteServices,
        timeout: Option<Duration>,
        (on_restart, provenance): (OnRestart, Value),
    ) -> Self {
        Self { form, pool, timeout, on_restart, provenance }
    }
}

impl Service for RemoteService {
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        let (pool, form) = (self.pool.clone(), self.form.clone());
        let (timeout, on_restart) = (self.timeout, self.on_restart);
        Box::pin(async move { run(&pool, &form, timeout, on_restart, call).await })
    }

    fn on_restart(&self) -> OnRestart {
        self.on_restart
    }

    fn provenance(&self) -> Value {
        self.provenance.clone()
    }
}

async fn run(
    pool: &RemoteServices,
    form: &RemoteForm,
    timeout: Option<Duration>,
    on_restart: OnRestart,
    call: ServiceCall,
) -> Result<Value, ServiceError> {
    let name = call.name.clone();
    let mut ticket = pool.enqueue(call)?;
    let answer = async {
        loop {
            let stage = ticket.stage();
            let limit = match stage {
                TicketStage::Waiting { .. } => Some(form.wait),
                TicketStage::Running => None,
                TicketStage::Lost => Some(form.reconnect),
            };
            let next = match limit {
                Some(limit) => tokio::time::timeout(limit, ticket.next(stage)).await,
                None => Ok(ticket.next(stage).await),
            };
            match (next, stage) {
                (Ok(Some(result)), _) => return result,
                // The stage changed.
                (Ok(None), _) => {}
                (Err(_), TicketStage::Lost) if on_restart == OnRestart::Retry => ticket.requeue(),
                (Err(_), TicketStage::Lost) => return Err(gone(&name)),
                (Err(_), TicketStage::Waiting { was_sent }) => {
                    return Err(none_free(&name, form.wait, was_sent));
                }
                (Err(_), TicketStage::Running) => {}
            }
        }
    };
    let Some(limit) = timeout else { return answer.await };
    let result = tokio::time::timeout(limit, answer).await;
    result.unwrap_or_else(|_| Err(late(limit, ticket.was_sent())))
}

fn none_free(name: &str, wait: Duration, was_sent: bool) -> ServiceError {
    let wait = duration::format_ms(wait.as_millis() as u64);
    let message = format!("no program that provides `{name}` was free within {wait}");
    ServiceError::new(Category::Network, message).with_outcome(outcome(was_sent))
}

fn gone(name: &str) -> ServiceError {
    let message = format!("the program that ran the call of `{name}` disconnected and did not return");
    ServiceError::new(Category::Network, message)
}

fn late(limit: Duration, was_sent: bool) -> ServiceError {
    let limit = duration::format_ms(limit.as_millis() as u64);
    let message = format!("the service did not respond within {limit}");
    ServiceError::new(Category::Timeout, message).with_outcome(outcome(was_sent))
}

/// A call that no program received has had no effect.
fn outcome(was_sent: bool) -> AttemptOutcome {
    if was_sent { AttemptOutcome::Unknown } else { AttemptOutcome::Definite }
}

#[cfg(test)]
mod tests;
