//! Changes of a session's run: its start, and events. Through the same door as every command that acts, so that trust,
//! the operator credential and a process that already holds the store count.

use std::path::Path;
use std::time::Duration;

use super::HookOptions;
use super::message::{HookEvent, HookInput};
use crate::commands::run::texts;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{self, HostAccess, NoAnswer, ProjectContext, SocketRequest};

/// Below the timeouts in `.claude/settings.json`: a hook that Claude Code ends itself counts as no objection.
const PATIENCE: Duration = Duration::from_secs(25);
const STOP_PATIENCE: Duration = Duration::from_secs(570);
/// Another hook may hold the store and exit before it answers.
const ATTEMPTS: usize = 5;

/// Starts the run of a session, unless another hook was faster.
pub(super) fn start(
    root: &Path,
    id: &str,
    options: &HookOptions<'_>,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let place = ProjectContext::in_directory(root, options.store)?;
    let chart = place.named(options.chart)?;
    let request = SocketRequest::Start {
        charts: texts(std::slice::from_ref(&chart)),
        input: rawko_core::Value::Null,
        id: Some(id.to_owned()),
        budget: rawko_core::Value::Null,
    };
    let started = perform(&place, id, request, PATIENCE, console);
    let is_there =
        || place.reader().ok().flatten().is_some_and(|it| matches!(it.store().find(id), Ok(Some(_))));
    match started {
        Err(_) if is_there() => Ok(()),
        outcome => outcome,
    }
}

/// Sends the event of a hook, and waits until nothing runs any more: checks, for example.
pub(super) fn send(
    root: &Path,
    id: &str,
    input: &HookInput,
    options: &HookOptions<'_>,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let place = ProjectContext::in_directory(root, options.store)?;
    let request = SocketRequest::Send {
        id: id.to_owned(),
        event: input.event_name(),
        data: input.event_data(),
        key: input.key(),
    };
    let patience = if input.event() == HookEvent::Stop { STOP_PATIENCE } else { PATIENCE };
    perform(&place, id, request, patience, console)
}

fn perform(
    place: &ProjectContext,
    id: &str,
    request: SocketRequest,
    patience: Duration,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let late =
        || CommandFailure::Transient(format!("`{id}` is still at work after {} s", patience.as_secs()));
    hosting::block_on(async {
        let outcome = tokio::time::timeout(patience, ask(place, id, &request, console)).await;
        outcome.unwrap_or_else(|_| Err(late()))
    })
}

async fn ask(
    place: &ProjectContext,
    id: &str,
    request: &SocketRequest,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for _ in 0..ATTEMPTS {
        let mut access = HostAccess::open(place, &[], console).await?;
        let outcome = match access.ask(request.clone()).await {
            Ok(_) => access.rest(id, Duration::ZERO).await.map(drop),
            Err(none) => Err(none),
        };
        access.close(console).await;
        match outcome {
            Ok(()) => return Ok(()),
            Err(NoAnswer::Gone) => {}
            Err(NoAnswer::Refused(failure)) => return Err(failure),
        }
    }
    Err(CommandFailure::Transient("the process that hosts the store exited before it answered".to_owned()))
}
