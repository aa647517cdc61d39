//! Hosting from the command line: opens a project's store, holds it or connects to its holder, and executes requests
//! either way.

mod access;
mod client;
mod endpoint;
mod exclusive;
mod execute;
mod feed;
#[cfg(feature = "mcp")]
mod holder;
mod loaded;
mod local_client;
mod project_context;
mod protocol;
mod proven;
mod remote;
mod sandbox_consent;
mod server;

pub(crate) use access::{HostAccess, Messenger, Pulse};
pub(crate) use client::NoAnswer;
pub(crate) use local_client::ServePlan;
pub(crate) use project_context::{ProjectContext, StoreArgs};
pub(crate) use protocol::{HostAnswer, LoadedChart, RequestRefusal, Rest, SocketRequest};
#[cfg(feature = "worker")]
pub(crate) use remote::HostArgs;
pub(crate) use remote::WORKER_ANSWERS_WITHIN;

use std::future::Future;

use crate::failure::CommandFailure;

/// Runs async work. Only commands that host pay for the threads.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CommandFailure::Transient(format!("cannot start threads: {error}")))?;
    let outcome = runtime.block_on(work);
    // A service that hangs in a blocking call must not keep the process alive.
    runtime.shutdown_background();
    outcome
}
