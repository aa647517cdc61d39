//! `Messenger`: sends requests to the host of an instance while another request of this process waits there. A session
//! answers and steers while it follows.

use std::sync::Arc;

use rawko_host::Receipt;
use rawko_restate::RestateEngine;

use super::super::client::NoAnswer;
use super::super::execute::{execute, execute_on_engine};
use super::super::local_client::LocalClient;
use super::super::project_context::ProjectContext;
use super::super::protocol::{HostAnswer, SocketRequest};
use super::HostAccess;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::repeating::asked;

pub(crate) enum Messenger {
    Here {
        local_client: Box<LocalClient>,
        operator: String,
    },
    /// The connection of the access is busy, so each request has its own.
    There,
    Elsewhere {
        engine: Arc<RestateEngine>,
        operator: String,
    },
}

impl HostAccess {
    /// Returns a sender of requests that works while this access waits.
    pub(crate) fn messenger(&self) -> Messenger {
        match self {
            HostAccess::Here(hosting) => Messenger::Here {
                local_client: Box::new(hosting.local_client.clone()),
                operator: hosting.operator.name().to_owned(),
            },
            HostAccess::There { .. } => Messenger::There,
            HostAccess::Elsewhere { engine, operator, .. } => {
                Messenger::Elsewhere { engine: Arc::clone(engine), operator: operator.name().to_owned() }
            }
        }
    }
}

impl Messenger {
    /// Sends a request that is answered with a receipt.
    pub(crate) async fn ask(
        &self,
        place: &ProjectContext,
        request: SocketRequest,
        console: &mut Console,
    ) -> Result<Receipt, CommandFailure> {
        let answer = match self {
            Messenger::Here { local_client, operator } => execute(local_client, operator, request).await?,
            Messenger::Elsewhere { engine, operator } => {
                execute_on_engine(&**engine, operator, request).await?
            }
            Messenger::There => {
                let mut access = HostAccess::open(place, &[], console).await?;
                let receipt = asked(&mut access, place, request, console).await;
                access.close(console).await;
                return receipt;
            }
        };
        match answer {
            HostAnswer::Receipt(receipt) => Ok(receipt),
            HostAnswer::Settled(_)
            | HostAnswer::Migrated(_)
            | HostAnswer::Channel(_)
            | HostAnswer::Pong { .. }
            | HostAnswer::Link { .. }
            | HostAnswer::Progress(_) => {
                Err(NoAnswer::Refused(CommandFailure::Failed("unexpected response from the host".to_owned()))
                    .into())
            }
        }
    }
}

impl From<NoAnswer> for CommandFailure {
    fn from(none: NoAnswer) -> CommandFailure {
        match none {
            NoAnswer::Refused(failure) => failure,
            NoAnswer::Gone => CommandFailure::Transient("the process that hosts the store exited".to_owned()),
        }
    }
}
