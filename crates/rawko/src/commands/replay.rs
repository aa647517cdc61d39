//! `rawko replay`: shows the past of an instance. Runs nothing and changes nothing; with `--model` it asks another
//! model for the arbiter's decisions.

use rawko_agents::work::{AgentServices, AskAgainError, ask_again};
use rawko_core::{Status, Value};
use rawko_model::provider::{ErrorCode, ProviderProblem};
use serde_json::{Value as Json, json};

use super::attach::beginning;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{is_own, tell_result};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::journal::task::{self, bare};
use crate::journal::{Player, lines};
use crate::known;
use crate::session;
use crate::standing::InstanceStanding;
use crate::times;

const EXAMPLES: &str = "\
Prints a task as its session showed it: messages, tool calls, diffs, decisions, the plan, the
result. --decisions prints only the arbiter's decisions; with --verbose also inputs, prompts,
responses and validation errors. --model sends the same prompts to another model and reports where
its decisions differ; this uses tokens but changes nothing. If the model returns no usable
response, the exit code is 41 (credentials), 3 (try again later) or 1.

Examples:
  rawko replay fix-1
  rawko replay fix-1 --decisions
  rawko replay fix-1 --decisions --verbose
  rawko replay fix-1 --decisions --model openai/gpt-5-mini
  rawko replay fix-1 --decisions --json | jq -r .prompt";

/// Replay a task, or compare its decisions with another model's
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Show only the arbiter's decisions
    #[arg(long)]
    decisions: bool,

    /// Compare with this model (`provider/model`)
    #[arg(long, value_name = "MODEL", requires = "decisions")]
    model: Option<String>,

    /// Also print inputs, prompts and responses
    #[arg(long, short, requires = "decisions")]
    verbose: bool,

    /// Print one JSON object per line
    #[arg(long, requires = "decisions")]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// One decision from the journal.
struct RecordedDecision {
    step: u64,
    at_ms: i64,
    title: &'static str,
    words: String,
    decision: Json,
    agent: Option<String>,
    record: Value,
}

/// The response of the other model to a decision.
enum OtherResponse {
    /// A rule decided, so the original model was not asked either.
    NotAsked,
    Same(Json),
    Differs(Json),
    Failed(AskAgainError),
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    if args.model.is_some() {
        // A provider of the project gets the prompts and an API key.
        place.insist_on_settings(console)?;
        place.insist_on_trust(console)?;
    }
    if !args.decisions {
        return tell_task(&place, &args.id, console);
    }
    let all = decisions(&place, &args.id)?;
    if all.is_empty() && !args.json {
        console.note(TextStyle::Dim, "note", &format!("{} has no arbiter decisions", args.id));
    }
    match &args.model {
        None => {
            all.iter().try_for_each(|decided| show(decided, None, args, console))?;
            Ok(CommandVerdict::Done)
        }
        Some(model) => hosting::block_on(async {
            let (agent_services, _) = place.agent_services();
            place.insist_on_same_files()?;
            agent_services.providers.find(model).map_err(not_found)?;
            let mut tally = ReplayTally::default();
            for decided in &all {
                let other = again(&agent_services, model, decided).await;
                tally.count(&other);
                show(decided, Some(&other), args, console)?;
            }
            console.note(TextStyle::Dim, "note", &format!("{model} {}", tally.words()));
            Ok(tally.verdict())
        }),
    }
}

/// Prints a task as its session showed it, and its result.
fn tell_task(
    place: &ProjectContext,
    id: &str,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let reader = known::reader(place)?;
    let row = known::instance(&reader, id)?;
    let standing = InstanceStanding::of(&reader, id, &place.world(), times::now_ms())?;
    let title = rawko_view::rows::title(&standing.chart, &standing.snapshot).unwrap_or_default();
    let shown = console.paint(TextStyle::Bold, id);
    console.line(format!("{shown}  {title}").trim_end())?;
    session::print_past(place, &reader, &row, beginning(&reader, &row)?, console)?;
    if is_own(standing.chart.id()) && standing.snapshot.status() == Status::Done {
        console.line("")?;
        tell_result(&reader, &standing, console)?;
    }
    Ok(CommandVerdict::Done)
}

fn not_found(problem: ProviderProblem) -> CommandFailure {
    match problem.code() {
        ErrorCode::AuthenticationFailed => CommandFailure::Credentials(problem.to_string()),
        _ => CommandFailure::Usage(problem.to_string()),
    }
}

/// The number of decisions given to another model, and their results.
#[derive(Default)]
struct ReplayTally {
    same: usize,
    differ: usize,
    failed: usize,
    /// The first failure.
    why: Option<CommandVerdict>,
}

impl ReplayTally {
    fn count(&mut self, other: &OtherResponse) {
        match other {
            OtherResponse::NotAsked => {}
            OtherResponse::Same(_) => self.same += 1,
            OtherResponse::Differs(_) => self.differ += 1,
            OtherResponse::Failed(error) => {
                self.failed += 1;
                self.why.get_or_insert(failed_by(error));
            }
        }
    }

    fn words(&self) -> String {
        let asked = self.same + self.differ;
        let differs = format!("differs in {} of {asked} decisions", self.differ);
        match (self.failed, asked) {
            (0, _) => differs,
            (failed, 0) => format!("returned no usable response for {failed} decisions"),
            (failed, _) => format!("{differs}; no usable response for {failed}"),
        }
    }

    /// Fails only if errors prevented every comparison.
    fn verdict(&self) -> CommandVerdict {
        match self.why {
            Some(why) if self.same + self.differ == 0 => why,
            Some(_) | None => CommandVerdict::Done,
        }
    }
}

fn failed_by(error: &AskAgainError) -> CommandVerdict {
    let (code, is_transient) = match error {
        AskAgainError::Provider(error) => (error.code, error.is_transient()),
        AskAgainError::Model(problem) => (problem.code(), false),
        _ => (ErrorCode::Unknown, false),
    };
    match code {
        ErrorCode::AuthenticationFailed => CommandVerdict::Credentials,
        _ if is_transient => CommandVerdict::Transient,
        _ => CommandVerdict::Failed,
    }
}

fn decisions(place: &ProjectContext, id: &str) -> Result<Vec<RecordedDecision>, CommandFailure> {
    let reader = known::reader(place)?;
    let row = known::instance(&reader, id)?;
    let records = reader.store().records(row.key, 0, usize::MAX)?;
    let mut player = Player::new(reader, None);
    let mut all = Vec::new();
    for record in &records {
        let entry = player.entry(record)?;
        let Some(found) = task::decision(&entry) else { continue };
        let (title, words) = found.words();
        all.push(RecordedDecision {
            step: entry.step,
            at_ms: entry.at_ms,
            title,
            words,
            decision: bare(found.decision),
            agent: found.agent.map(str::to_owned),
            record: found.record.clone(),
        });
    }
    Ok(all)
}

async fn again(agent_services: &AgentServices, model: &str, decided: &RecordedDecision) -> OtherResponse {
    if decided.decision["by"] == "rule" {
        return OtherResponse::NotAsked;
    }
    match ask_again(agent_services, model, &decided.record).await {
        Ok(again) => {
            let said = bare(&again.decision);
            let kind = |decision: &Json| (decision["type"].clone(), decision["mode"].clone());
            if kind(&said) == kind(&decided.decision) {
                OtherResponse::Same(said)
            } else {
                OtherResponse::Differs(said)
            }
        }
        Err(error) => OtherResponse::Failed(error),
    }
}

fn show(
    decided: &RecordedDecision,
    other: Option<&OtherResponse>,
    args: &Args,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    if args.json {
        return console.line(&line(decided, other).to_string());
    }
    let moment = decided.record.get("moment").as_str().unwrap_or_default();
    let head = format!("{:>4}  {}  ", decided.step, times::moment(decided.at_ms));
    let head = console.paint(TextStyle::Dim, &head);
    let title = console.paint(TextStyle::Accent, &format!("{moment:<9} {:<8}", decided.title));
    console.paragraph(&format!("{head}{title} {}", decided.words), 6)?;
    if let Some(other) = other {
        let (style, text) = other_words(other);
        let text = console.paint(style, &text);
        console.line(&format!("      {text}"))?;
    }
    if args.verbose {
        let input = serde_json::to_string_pretty(&decided.record.get("input").to_json()).unwrap_or_default();
        block("input", &input, console)?;
        block("prompt", decided.record.get("prompt").as_str().unwrap_or_default(), console)?;
        for attempt in decided.record.get("attempts").as_list().unwrap_or_default() {
            block("answer", attempt.get("answer").as_str().unwrap_or_default(), console)?;
            if let Some(problem) = attempt.get("problem").as_str() {
                block("problem", problem, console)?;
            }
        }
    }
    Ok(())
}

fn block(title: &str, text: &str, console: &mut Console) -> Result<(), CommandFailure> {
    let title = console.paint(TextStyle::Dim, &format!("      {title}"));
    console.line(&title)?;
    text.trim_end().lines().try_for_each(|line| console.line(format!("        {line}").trim_end()))
}

fn other_words(other: &OtherResponse) -> (TextStyle, String) {
    let said = |decision: &Json| {
        let text = |key: &str| decision[key].as_str().unwrap_or_default().to_owned();
        let mode = decision["mode"].as_str().map(|mode| format!(" {mode}")).unwrap_or_default();
        format!("{}{mode}: {}", text("type"), text("reason"))
    };
    match other {
        OtherResponse::NotAsked => (TextStyle::Dim, "decided by a rule; model not asked".to_owned()),
        OtherResponse::Same(decision) => (TextStyle::Good, format!("same: {}", said(decision))),
        OtherResponse::Differs(decision) => (TextStyle::Notice, format!("differs: {}", said(decision))),
        OtherResponse::Failed(error) => (TextStyle::Bad, format!("no response: {error}")),
    }
}

fn line(decided: &RecordedDecision, other: Option<&OtherResponse>) -> Json {
    let record = &decided.record;
    let mut line = json!({
        "v": lines::VERSION,
        "type": "decision",
        "step": decided.step,
        "at_ms": decided.at_ms,
        "moment": record.get("moment").to_json(),
        "decision": decided.decision,
        "agent": decided.agent,
        "input": record.get("input").to_json(),
        "prompt": record.get("prompt").to_json(),
        "schema": record.get("schema").to_json(),
        "attempts": record.get("attempts").to_json(),
        "model": record.get("model").to_json(),
    });
    match other {
        Some(OtherResponse::Same(decision)) => line["again"] = json!({"same": true, "decision": decision}),
        Some(OtherResponse::Differs(decision)) => {
            line["again"] = json!({"same": false, "decision": decision})
        }
        Some(OtherResponse::Failed(error)) => line["again"] = json!({"error": error.to_string()}),
        Some(OtherResponse::NotAsked) | None => {}
    }
    line
}
