//! Performs the command of a rule. Repeating one changes nothing: a start has its instance id, an event its key. So a
//! command is performed first and recorded afterwards, and a kill in between costs nothing.

use rawko_core::{NamedEvent, Value};
use rawko_triggers::{
    CHART, CommandKind, Trigger, TriggerCommand, TriggerOutcome, TriggerRun, TriggerState, instance_of,
};
use rawko_view::triggers::StoredTrigger;

use crate::http::app::App;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::project::NewTask;

/// What came of a command.
pub(super) struct CommandResult {
    pub(super) outcome: TriggerOutcome,
    pub(super) detail: Option<String>,
}

/// Performs a command. An error is transient: the same command may succeed later.
pub(super) async fn perform(app: &App, command: &TriggerCommand) -> Result<CommandResult, ErrorResponse> {
    let done = |outcome| Ok(CommandResult { outcome, detail: None });
    match attempt(app, command).await {
        Ok(outcome) => done(outcome),
        // The run of an earlier attempt, which was not recorded.
        Err(problem) if problem.code() == ProblemCode::Exists && command.is_own_id => {
            done(match &command.kind {
                CommandKind::Start { .. } => TriggerOutcome::Started,
                CommandKind::Task { queue, .. } if *queue => TriggerOutcome::Queued,
                CommandKind::Task { .. } => TriggerOutcome::Started,
                CommandKind::Send { .. } => TriggerOutcome::Sent,
            })
        }
        Err(problem) if problem.code() == ProblemCode::Exists => done(TriggerOutcome::Exists),
        Err(problem) if problem.code().status().as_u16() >= 503 => Err(problem),
        Err(problem) => {
            Ok(CommandResult { outcome: TriggerOutcome::Failed, detail: Some(problem.detail().to_owned()) })
        }
    }
}

async fn attempt(app: &App, command: &TriggerCommand) -> Result<TriggerOutcome, ErrorResponse> {
    let id = command.instance.clone();
    match &command.kind {
        CommandKind::Start { chart, input } => {
            let chart = chart.clone();
            let edition = app.read(move |app| app.engine().library().resolve(&chart)).await?;
            app.engine().start(edition, input.clone(), Some(id), Value::Null).await?;
            Ok(TriggerOutcome::Started)
        }
        CommandKind::Send { event, data } => {
            let event = NamedEvent::new(event.as_str(), data.clone());
            app.engine().send(id, event, Some(command.key.clone())).await?;
            Ok(TriggerOutcome::Sent)
        }
        CommandKind::Task { text, agent, queue } => {
            let task = NewTask {
                task: text.clone(),
                agent: agent.clone(),
                id: Some(id),
                queue: *queue,
                ..NewTask::default()
            };
            app.project().start_task(task).await?;
            Ok(if *queue { TriggerOutcome::Queued } else { TriggerOutcome::Started })
        }
    }
}

/// Returns the stored state of a trigger; creates it, or begins anew if the definition changed.
pub(super) async fn armed(app: &App, trigger: &Trigger) -> Result<StoredTrigger, ErrorResponse> {
    let (definition, now_ms) = (trigger.definition(), app.now_ms());
    let Some(stored) = stored(app, &trigger.name).await? else {
        let edition = app.read(|app| app.engine().library().resolve(CHART)).await?;
        let input = TriggerState::input(&trigger.name, &definition, now_ms);
        let id = instance_of(&trigger.name);
        match app.engine().start(edition, input, Some(id), Value::Null).await.map_err(ErrorResponse::from) {
            Ok(_) => {}
            // Another server was faster.
            Err(problem) if problem.code() == ProblemCode::Exists => {}
            Err(problem) => return Err(problem),
        }
        return stored_now(app, &trigger.name).await;
    };
    if stored.state.definition == definition || is_at_rest(&stored) {
        return Ok(stored);
    }
    let key = format!("armed {definition} after {}", stored.state.since_ms);
    app.engine()
        .send(instance_of(&trigger.name), TriggerState::armed(&definition, now_ms), Some(key))
        .await?;
    stored_now(app, &trigger.name).await
}

/// Returns true if a person paused or ended the trigger.
pub(super) fn is_at_rest(stored: &StoredTrigger) -> bool {
    use rawko_store::InstanceStatus::{Ended, Paused};
    matches!(stored.status, Ended | Paused)
}

/// Records a run or a delivery, once for each key.
pub(super) async fn record(
    app: &App,
    name: &str,
    entry: &TriggerRun,
    key: String,
) -> Result<(), ErrorResponse> {
    app.engine().send(instance_of(name), entry.event(), Some(key)).await?;
    Ok(())
}

async fn stored(app: &App, name: &str) -> Result<Option<StoredTrigger>, ErrorResponse> {
    let name = name.to_owned();
    app.read(move |app| StoredTrigger::read(app.reader(), &name)).await
}

async fn stored_now(app: &App, name: &str) -> Result<StoredTrigger, ErrorResponse> {
    let missing = || ErrorResponse::new(ProblemCode::Unavailable, "the trigger is not ready; retry");
    stored(app, name).await?.ok_or_else(missing)
}
