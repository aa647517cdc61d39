//! Asks whether a worker responds, with a call that changes nothing. Apart from the client, because a call that no worker
//! takes stays with the server, and has to be withdrawn.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::client::{HandlerTarget, Restate, RestateError};
use crate::layout::{INSTANCE, handler};

/// An invocation that waits for a worker.
#[derive(Deserialize)]
struct WaitingInvocation {
    id: String,
}

/// Returns true if a worker responds within this time, and false if none is registered or none takes the call.
pub async fn worker_responds(restate: &Restate, within: Duration) -> Result<bool, RestateError> {
    // A key of its own for each process: withdrawing the call affects no other.
    let key = format!("rawko-probe-{}", std::process::id());
    let target = HandlerTarget::object(INSTANCE, &key, handler::LOOK);
    let ingress = restate.ingress().clone().with_patience(within, Duration::ZERO);
    match ingress.look::<_, Value>(&target, &()).await {
        Ok(_) => Ok(true),
        Err(RestateError::Missing(_)) => Ok(false),
        Err(RestateError::Slow { .. }) => {
            withdraw(restate, &key).await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn withdraw(restate: &Restate, key: &str) -> Result<(), RestateError> {
    let sql = format!(
        "select id from sys_invocation where target_service_name = '{INSTANCE}' and target_service_key = '{key}'"
    );
    for WaitingInvocation { id } in restate.admin().query(&sql).await? {
        // It may have ended meanwhile.
        let _ = restate.admin().kill(&id).await;
    }
    Ok(())
}
