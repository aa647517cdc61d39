//! Agents that are external programs: a command that speaks the process protocol, or a coding agent over ACP. Their
//! work is one call to the host, but their permissions are decided like those of models.

mod account;
mod attendant;
mod coder;
mod halt;
mod permission;
mod report;
mod request;
mod stopping;
mod transcript;

use std::path::PathBuf;
use std::time::Duration;

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};
use tokio::time::{Instant, timeout_at};

use self::attendant::Attendant;
use self::coder::Coder;
use self::halt::Halt;
use self::report::Report;
use self::stopping::{Next, Rounds, Stopped};
use super::attachments::{Attached, load_all};
use super::{Workshop, open, trees};
use crate::agent::{AgentCommand, AgentFile, Kind};
use rawko_arbiter::loop_control::LoopSettings;
use rawko_model::provider::OutputSchema;
use rawko_model::{Message, Role};
use rawko_process::{Confinement, Egress, HostRules, Profile};
use rawko_programs::acp::AcpAgent;
use rawko_programs::process::{ProcessAgent, TurnError, TurnRequest, TurnResult};

/// Silence timeout, unless less time is left.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// Time limit for ending it; afterwards it is dropped.
const ENDING_MAX: Duration = Duration::from_secs(15);

/// Runs a program, in a worktree of its own if it is to be isolated. The result then has the commit and the diff.
pub(super) async fn isolated(
    workshop: &Workshop,
    project: &Workshop,
    call: Call,
) -> Result<Value, ServiceError> {
    let agent = workshop.agent(call.name.strip_prefix("agent:").unwrap_or(&call.name))?;
    let (owner, name) = (call.idempotency.to_string(), super::apart::name_of_call(&call, &agent.name));
    if workshop.worktree.is_some() || project.isolate(agent, &owner, &name, &call.input).await?.is_none() {
        return turn(workshop, call).await;
    }
    let Some(own) = project.apart_for(&owner) else {
        return Err(ServiceError::new(Category::Failed, "the worktree of this agent is gone"));
    };
    let result = turn(&own, call).await;
    let closed = super::apart::close(project, &owner).await?;
    match result {
        Ok(Value::Map(report)) => {
            let mut report = (*report).clone();
            report.insert("worktree".into(), closed.get("worktree").clone());
            Ok(Value::Map(report.into()))
        }
        result => result,
    }
}

async fn turn(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let started = Instant::now();
    let agent = workshop.agent(call.name.strip_prefix("agent:").unwrap_or(&call.name))?;
    let input = request::input(agent, &call);
    let phase = open::phase(workshop, input.get("phase"))?;
    let grant = workshop.within(&open::grant(workshop, agent, phase, &call)?);
    let time = Duration::from_millis(input.get("time_ms").as_i64().unwrap_or(0).unsigned_abs());
    let program = Program::new(workshop, agent, time, &grant)?;
    let loops = workshop.loops.narrowed(call.policy.get("loop"));
    let loops = loops.map_err(|error| ServiceError::new(Category::Failed, error.to_string()))?;
    let (mut first, messages) = request::first(agent, phase, &input, &call)?;
    // The program gets images as they are, the conversation in the chart a reference to each.
    first.messages = load_all(first.messages, &call.contents).await?;
    // Their data is stored with the input of this call.
    let mut messages = Attached::default().keep_all(messages);
    first.tools = program.told_of(workshop, &grant).await;
    let deadline = started + time;
    let attendant = Attendant::new(workshop, &call, grant, loops.clone(), deadline, &input)?;
    if let Some(last) = messages.pop() {
        attendant.state().transcript.messages = messages;
        attendant.ask(last);
    }
    let own_goal = input.get("goal");
    let goal = match phase {
        Some((_, phase)) if own_goal.is_null() => &phase.goal,
        Some(_) | None => own_goal,
    };
    let schema = open::schema(&input)?;
    let job = Job { agent, program, attendant, loops, goal, schema, started, deadline };
    let label = format!("agent:{}", agent.name);
    let (result, checkpoint) = trees::recorded(workshop, &call, &label, job.run(first)).await;
    match (result, checkpoint.as_map()) {
        (Ok(Value::Map(report)), Some(_)) => {
            let mut report = (*report).clone();
            report.insert("checkpoint".into(), checkpoint);
            Ok(Value::Map(report.into()))
        }
        (result, _) => result,
    }
}

/// One execution of one program.
struct Job<'w> {
    agent: &'w AgentFile,
    program: Program,
    attendant: Attendant<'w>,
    loops: LoopSettings,
    goal: &'w Value,
    schema: Option<OutputSchema>,
    started: Instant,
    deadline: Instant,
}

impl Job<'_> {
    /// Runs rounds until the program is done or must stop.
    async fn run(&self, first: TurnRequest) -> Result<Value, ServiceError> {
        let (mut request, mut rounds) = (first.clone(), Rounds::default());
        loop {
            let result = self.round(request).await?;
            let words = match self.next(&result, &mut rounds) {
                Next::Again { words } => words,
                Next::Finished { data } => return Ok(self.report(data).finished()),
                Next::Limit { code, message } => {
                    return Err(self.report(result.data).limit(Some(code), &message));
                }
                Next::Filtered => {
                    let message = "the provider filtered the answer";
                    return Err(self.unfit(result, Category::Failed, "content_filter", message));
                }
                Next::Unfit { message } => {
                    return Err(self.unfit(result, Category::InvalidAnswer, "unfit", &message));
                }
                Next::GoalMissed { message } => {
                    return Err(self.unfit(result, Category::Failed, "goal_missed", &message));
                }
            };
            request = self.again(&first, &words);
        }
    }

    /// Runs one turn of the program, and ends the work if there is a reason to.
    async fn round(&self, request: TurnRequest) -> Result<TurnResult, ServiceError> {
        let turn = self.program.turn(request, &self.attendant);
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

    fn next(&self, result: &TurnResult, rounds: &mut Rounds) -> Next {
        let state = self.attendant.state();
        let stopped = Stopped {
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

    fn report(&self, data: Value) -> Report<'_> {
        Report { agent: &self.agent.name, attendant: &self.attendant, started: self.started, data }
    }
}

enum Program {
    Process(ProcessAgent),
    Acp(AcpAgent),
}

/// Returns true if the person approved a host in the settings.
fn has_approved(egress: &Egress) -> bool {
    !egress.rules.approved.is_empty()
}

impl Program {
    fn new(
        workshop: &Workshop,
        agent: &AgentFile,
        time: Duration,
        grant: &rawko_tools::Grant,
    ) -> Result<Self, ServiceError> {
        let wrong =
            |why: &str| ServiceError::new(Category::Failed, format!("the agent `{}` {why}", agent.name));
        let command = agent.command.as_ref().ok_or_else(|| wrong("is not a program"))?;
        let cwd = place(workshop, command).ok_or_else(|| wrong("has a `cwd` that is outside the project"))?;
        let env = command.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let environment = workshop.environment.clone();
        // Slightly longer than the remaining time, so that it is cancelled rather than timed out for silence.
        let timeout = SILENCE_MAX.min(time + Duration::from_secs(1));
        let (args, program) = (command.args.clone(), command.program.clone());
        let egress = workshop.confinement.egress.clone();
        // The program waits for its connection, so a person cannot be asked first.
        let egress = egress.or_else(|| workshop.toolbox.program_egress(grant).filter(has_approved));
        let egress = egress.map(|egress| Egress {
            rules: HostRules { asks_unlisted: false, ..grant.host_rules() },
            ..egress
        });
        let confinement = Confinement { egress, ..workshop.confinement.clone() };
        let profile = confinement.profile_of("agent", &agent.name, Profile::Program(grant.access()));
        match agent.kind {
            Kind::Process => {
                let own = ProcessAgent::new(program, cwd, environment);
                Ok(Program::Process(ProcessAgent { args, env, timeout, profile, confinement, ..own }))
            }
            Kind::Acp => {
                let own = AcpAgent::new(program, cwd, environment);
                Ok(Program::Acp(AcpAgent { args, env, timeout, profile, confinement, ..own }))
            }
            Kind::Llm | Kind::Human | Kind::Scripted | Kind::Chart => Err(wrong("is not a program")),
        }
    }

    /// A coding agent has its own tools.
    async fn told_of(&self, workshop: &Workshop, grant: &rawko_tools::Grant) -> Vec<rawko_model::ToolSpec> {
        match self {
            Program::Process(_) => workshop.toolbox.specs(grant).await,
            Program::Acp(_) => Vec::new(),
        }
    }

    async fn turn(&self, request: TurnRequest, attendant: &Attendant<'_>) -> Result<TurnResult, TurnError> {
        match self {
            Program::Process(agent) => agent.turn(request, attendant).await,
            Program::Acp(agent) => agent.turn(request, &Coder::new(attendant, &agent.cwd)).await,
        }
    }
}

/// Returns the working directory: within the project, also after resolving links.
fn place(workshop: &Workshop, command: &AgentCommand) -> Option<PathBuf> {
    let root = workshop.root.canonicalize().ok()?;
    let cwd = root.join(&command.cwd);
    // A missing directory is reported when the program is started.
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
    real.starts_with(&root).then_some(real)
}
