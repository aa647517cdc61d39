//! `Messenger`: sends requests to the host of an instance while another request of this process waits there. A session
//! answers and steers while it follows.

use std::sync::Arc;

use rawko_host::Receipt;
use rawko_restate::RestateEngine;

use super::super::client::NoAnswer;
use super::super::desk::Desk;
use super::super::obey::{obey, obey_engine};
use super::super::place::Place;
use super::super::protocol::{Answer, Request};
use super::Access;
use crate::console::Console;
use crate::delivering::asked;
use crate::failure::Failure;

pub(crate) enum Messenger {
    Here {
        desk: Box<Desk>,
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
                desk: Box::new(hosting.desk.clone()),
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
        place: &Place,
        request: Request,
        console: &mut Console,
    ) -> Result<Receipt, Failure> {
        let answer = match self {
            Messenger::Here { desk, operator } => obey(desk, operator, request).await?,
            Messenger::Elsewhere { engine, operator } => obey_engine(&**engine, operator, request).await?,
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
            | Answer::Link { .. } => {
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
