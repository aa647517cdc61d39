//! Agents that are external programs: a command that speaks the process protocol, or a coding agent over ACP. Their
//! work is one call to the host, but their permissions are decided like those of models.

mod account;
mod approvals;
mod attendant;
mod coder;
mod halt;
mod permission;
mod report;
mod request;
mod stopping;
mod transcript;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{ServiceClass, ServiceName, Value};
use rawko_host::{Category, ServiceCall, ServiceError};
use tokio::time::{Instant, timeout_at};

use self::attendant::Attendant;
use self::coder::Coder;
use self::halt::Halt;
use self::report::WorkReport;
use self::stopping::{AfterTurn, RepeatedRequests, StoppedWork};
use super::attachments::{AttachedImages, load_all};
use super::open::Isolation;
use super::own_charts::is_own_program_chart;
use super::types::{AgentInput, AgentResult, AskedCall, CallPolicy, CloseOutput, value};
use super::{AgentServices, open, trees, turn_hooks};
use crate::agent::{AgentCommand, AgentFile, AgentKind};
use rawko_arbiter::loop_control::LoopSettings;
use rawko_model::provider::OutputSchema;
use rawko_model::{Message, Role};
use rawko_process::{Confinement, Egress, Profile};
use rawko_programs::program::{ProgramAgent, TurnError, TurnRequest, TurnResult, WireFormat};

/// Silence timeout, unless less time is left.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// Time limit for ending it; afterwards it is dropped.
const ENDING_MAX: Duration = Duration::from_secs(15);

/// Runs a program, in a worktree of its own if it is to be isolated. The result then has the commit and the diff.
pub(super) async fn isolated(
    agent_services: &AgentServices,
    project: &AgentServices,
    call: ServiceCall,
) -> Result<Value, ServiceError> {
    let agent = agent_services.agent(ServiceName::of(&call.name).member)?;
    let (owner, name) = (call.idempotency.to_string(), super::isolation::name_of_call(&call, &agent.name));
    let asked = request::isolation(&call);
    let asked = Isolation { isolation: &asked.isolation, worktree: &asked.worktree };
    if agent_services.worktree.is_some() || project.isolate(agent, &owner, &name, asked).await?.is_none() {
        return Ok(value(&turn(agent_services, call).await?));
    }
    let Some(own) = project.apart_for(&owner) else {
        return Err(ServiceError::new(Category::Failed, "the worktree of this agent is gone"));
    };
    let result = turn(&own, call).await;
    let CloseOutput { worktree } = super::isolation::close(project, &owner).await?;
    Ok(value(&AgentResult { worktree, ..result? }))
}

async fn turn(agent_services: &AgentServices, call: ServiceCall) -> Result<AgentResult, ServiceError> {
    let started = Instant::now();
    let agent = agent_services.agent(ServiceName::of(&call.name).member)?;
    let input = request::input(agent, &call)?;
    let phase = open::phase(agent_services, input.phase.as_deref())?;
    let grant =
        agent_services.within(&open::grant(agent_services, agent, phase, input.grant.as_ref(), &call));
    let grant = agent_services.with_approved_hosts(grant, &request::hosts(&call), &call);
    let time = Duration::from_millis(input.time_ms.unsigned_abs());
    let program = program(agent_services, agent, time, &grant, &call)?;
    let loops = agent_services.loops.narrowed(&CallPolicy::of(&call).loops);
    let loops = loops.map_err(|error| ServiceError::new(Category::Failed, error.to_string()))?;
    let (mut first, messages) = request::first(agent, phase, &input, &call)?;
    // The program gets images as they are, the conversation in the chart a reference to each.
    first.messages = Arc::unwrap_or_clone(load_all(first.messages.into(), &call.contents).await?);
    // Their data is stored with the input of this call.
    let mut messages = AttachedImages::default().keep_all(messages);
    if request::is_first(&call) {
        let depth = call.input.read::<AgentInput>().map(|input| input.depth).unwrap_or_default();
        let prompt = open::prompt_text(&input.prompt);
        if let Some(text) = turn_hooks::prompted(agent_services, &call, depth, &grant, &prompt).await? {
            first.prompt = format!("{}\n\n{text}", first.prompt);
        }
    }
    if program.wire.takes_tools() {
        first.tools = agent_services.toolbox.specs(&grant).await;
    }
    let deadline = started + time;
    let attendant = Attendant::new(agent_services, &call, grant, loops.clone(), deadline, &input);
    if let Some(last) = messages.pop() {
        attendant.state().transcript.messages = messages;
        attendant.ask(last);
    }
    let goal = match phase {
        Some((_, phase)) if input.goal.is_null() => &phase.goal,
        Some(_) | None => &input.goal,
    };
    let schema = open::schema(&input.schema)?;
    let job = ProgramJob { agent, program, attendant, loops, goal, schema, started, deadline };
    let label = ServiceClass::Agent.named(&agent.name);
    let (result, checkpoint) = trees::recorded(agent_services, &call, &label, job.run(first)).await;
    let mut result = result?;
    // A program writes files without a tool, too.
    let left_changes = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.number.is_some());
    if left_changes && result.changes == Value::Int(0) {
        result.changes = Value::Int(1);
    }
    Ok(AgentResult { checkpoint, ..result })
}

/// One execution of one program.
struct ProgramJob<'w> {
    agent: &'w AgentFile,
    program: ProgramAgent,
    attendant: Attendant<'w>,
    loops: LoopSettings,
    goal: &'w Value,
    schema: Option<OutputSchema>,
    started: Instant,
    deadline: Instant,
}

impl ProgramJob<'_> {
    /// Runs rounds until the program is done or must stop.
    async fn run(&self, first: TurnRequest) -> Result<AgentResult, ServiceError> {
        let (mut request, mut rounds) = (first.clone(), RepeatedRequests::default());
        loop {
            let result = match self.round(request).await {
                Ok(result) => result,
                Err(error) if self.attendant.halted().is_some() => return Err(error),
                // It may have failed for lack of a host that a person can approve.
                Err(error) => {
                    let question = self.attendant.question_of_hosts().ok_or(error)?;
                    return Ok(self.asking(question, Value::Null));
                }
            };
            if let Some(question) = self.attendant.question() {
                return Ok(self.asking(question, result.data));
            }
            let words = match self.next(&result, &mut rounds) {
                AfterTurn::Again { words } => words,
                AfterTurn::Finished { data } => return Ok(self.report(data).finished()),
                AfterTurn::Limit { code, message } => {
                    return Err(self.report(result.data).limit(Some(code), &message));
                }
                AfterTurn::Filtered => {
                    let message = "the provider filtered the answer";
                    return Err(self.unfit(result, Category::Failed, "content_filter", message));
                }
                AfterTurn::Unfit { message } => {
                    return Err(self.unfit(result, Category::InvalidAnswer, "unfit", &message));
                }
                AfterTurn::GoalMissed { message } => {
                    return Err(self.unfit(result, Category::Failed, "goal_missed", &message));
                }
            };
            request = self.again(&first, &words);
        }
    }

    /// The work so far, and what a person decides on before the next turn.
    fn asking(&self, question: AskedCall, data: Value) -> AgentResult {
        let approvals = Some(self.attendant.state().approvals.clone());
        AgentResult { question: Some(question), approvals, ..self.report(data).finished() }
    }

    /// Runs one turn of the program, and ends the work if there is a reason to.
    async fn round(&self, request: TurnRequest) -> Result<TurnResult, ServiceError> {
        let turn = self.turn(request);
        let result = timeout_at(self.deadline + ENDING_MAX, turn).await;
        if let Ok(Ok(result)) = &result {
            self.attendant.take(result);
        }
        let halt = self.attendant.halted();
        let halt = halt.or_else(|| {
            let is_late = !matches!(result, Ok(Ok(_))) && self.attendant.is_out_of_time();
            is_late.then(Halt::out_of_time)
        });
        match (halt, result) {
            (Some(halt), _) => Err(self.report(Value::Null).halted(&halt)),
            (None, Ok(Ok(result))) => Ok(result),
            (None, Ok(Err(error))) => Err(self.report(Value::Null).failed(&error)),
            // Only a timeout ends the turn without a halt.
            (None, Err(_)) => Err(self.report(Value::Null).halted(&Halt::out_of_time())),
        }
    }

    async fn turn(&self, request: TurnRequest) -> Result<TurnResult, TurnError> {
        match self.program.wire.takes_tools() {
            true => self.program.turn(request, &self.attendant).await,
            // It asks for permissions and files instead.
            false => {
                let coder = Coder::new(&self.attendant, &self.program.cwd);
                let result = self.program.turn(request, &coder).await;
                coder.finish();
                result
            }
        }
    }

    fn next(&self, result: &TurnResult, rounds: &mut RepeatedRequests) -> AfterTurn {
        let state = self.attendant.state();
        let stopped = StoppedWork {
            result,
            text: state.transcript.text(),
            plan: &state.plan,
            changes: state.changes,
            goal: self.goal,
            schema: self.schema.as_ref(),
        };
        rounds.next(&stopped, &self.loops)
    }

    fn again(&self, first: &TurnRequest, words: &str) -> TurnRequest {
        let (said, messages, session) = {
            let state = self.attendant.state();
            (state.transcript.text().to_owned(), state.transcript.whole(), state.session.clone())
        };
        self.attendant.ask(Message::text(Role::User, words));
        TurnRequest { session, ..request::again(self.agent, first, &said, words, messages) }
    }

    fn unfit(&self, result: TurnResult, category: Category, code: &str, message: &str) -> ServiceError {
        self.report(result.data).unfit(category, code, message)
    }

    fn report(&self, data: Value) -> WorkReport<'_> {
        WorkReport { agent: &self.agent.name, attendant: &self.attendant, started: self.started, data }
    }
}

/// Returns true if the person approved a host in the settings.
fn has_approved(egress: &Egress) -> bool {
    !egress.rules.approved.is_empty()
}

/// Returns the program of an agent.
fn program(
    agent_services: &AgentServices,
    agent: &AgentFile,
    time: Duration,
    grant: &rawko_tools::Grant,
    call: &ServiceCall,
) -> Result<ProgramAgent, ServiceError> {
    let wrong = |why: &str| ServiceError::new(Category::Failed, format!("the agent `{}` {why}", agent.name));
    let wire = match agent.kind {
        AgentKind::Process => WireFormat::lines(),
        AgentKind::Acp => WireFormat::acp(),
        AgentKind::Llm | AgentKind::Human | AgentKind::Scripted | AgentKind::Chart => {
            return Err(wrong("is not a program"));
        }
    };
    let command = agent.command.as_ref().ok_or_else(|| wrong("is not a program"))?;
    let cwd =
        place(agent_services, command).ok_or_else(|| wrong("has a `cwd` that is outside the project"))?;
    let egress = agent_services.confinement.egress.clone();
    // Only the chart of its turns can wait for a person.
    let can_ask = is_own_program_chart(&call.policy);
    let is_open = |egress: &Egress| can_ask || has_approved(egress);
    let egress = egress.or_else(|| agent_services.toolbox.program_egress(grant).filter(is_open));
    let rules = if can_ask { grant.host_rules() } else { grant.host_rules().for_program() };
    let egress = egress.map(|egress| Egress { rules, ..egress });
    let confinement = Confinement { egress, ..agent_services.confinement.clone() };
    Ok(ProgramAgent {
        args: command.args.clone(),
        env: command.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        // Slightly longer than the remaining time, so that it is cancelled rather than timed out for silence.
        timeout: SILENCE_MAX.min(time + Duration::from_secs(1)),
        profile: confinement.profile_of("agent", &agent.name, Profile::Program(grant.access())),
        confinement,
        ..ProgramAgent::new(wire, command.program.clone(), cwd, agent_services.environment.clone())
    })
}

/// Returns the working directory: within the project, also after resolving links.
fn place(agent_services: &AgentServices, command: &AgentCommand) -> Option<PathBuf> {
    let root = agent_services.root.canonicalize().ok()?;
    let cwd = root.join(&command.cwd);
    // A missing directory is reported when the program is started.
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
    real.starts_with(&root).then_some(real)
}
