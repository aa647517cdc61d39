//! `Messenger`: sends requests to the host of an instance while another request of this process waits there. A session
//! answers and steers while it follows.

use std::sync::Arc;

use rawko_host::Receipt;
use rawko_restate::RestateEngine;

use super::super::client::NoAnswer;
use super::super::execute::{execute, execute_on_engine};
use super::super::local_client::LocalClient;
use super::super::project_context::ProjectContext;
use super::super::protocol::{Answer, Request};
use super::Access;
use crate::console::Console;
use crate::delivering::asked;
use crate::failure::Failure;

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

impl Access {
    /// Returns a sender of requests that works while this access waits.
    pub(crate) fn messenger(&self) -> Messenger {
        match self {
            Access::Here(hosting) => Messenger::Here {
                local_client: Box::new(hosting.local_client.clone()),
                operator: hosting.operator.name().to_owned(),
            },
            Access::There { .. } => Messenger::There,
            Access::Elsewhere { engine, operator, .. } => {
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
        request: Request,
        console: &mut Console,
    ) -> Result<Receipt, Failure> {
        let answer = match self {
            Messenger::Here { local_client, operator } => execute(local_client, operator, request).await?,
            Messenger::Elsewhere { engine, operator } => {
                execute_on_engine(&**engine, operator, request).await?
            }
            Messenger::There => {
                let mut access = Access::open(place, &[], console).await?;
                let receipt = asked(&mut access, request).await;
                access.close(console).await;
                return receipt;
            }
        };
        match answer {
            Answer::Receipt(receipt) => Ok(receipt),
            Answer::Settled(_)
            | Answer::Migrated(_)
            | Answer::Channel(_)
            | Answer::Pong { .. }
            | Answer::Link { .. }
            | Answer::Progress(_) => {
                Err(NoAnswer::Refused(Failure::Failed("unexpected response from the host".to_owned())).into())
            }
        }
    }
}

impl From<NoAnswer> for Failure {
    fn from(none: NoAnswer) -> Failure {
        match none {
            NoAnswer::Refused(failure) => failure,
            NoAnswer::Gone => Failure::Transient("the process that hosts the store exited".to_owned()),
        }
    }
}
