//! Delivers an input to an instance and follows the result. Shared by `send`, `approve`, `deny`, `cancel` and `fork`.

use rawko_core::{Status, Value};
use rawko_host::{Edition, Receipt, SnapshotReader, made_up_id};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{self, FollowEnd, Manner, OutputFormat, RunEnding, RunFollower, Signals};
use crate::hosting::{
    self, HostAccess, HostAnswer, LoadedChart, NoAnswer, ProjectContext, Rest, SocketRequest, StoreArgs,
};
use crate::journal::Player;
use crate::known;
use crate::standing::InstanceStanding;
use crate::times;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeliverArgs {
    /// Return once the input is stored; do not wait for calls it starts
    #[arg(long)]
    no_wait: bool,

    /// Output format: text, json (final result) or stream-json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    output_format: OutputFormat,

    /// Explain which transitions were taken and which were not
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    store: StoreArgs,
}

impl DeliverArgs {
    pub(crate) fn store(&self) -> &StoreArgs {
        &self.store
    }
}

/// Delivers to an existing instance.
pub(crate) fn deliver(
    id: &str,
    request: SocketRequest,
    args: &DeliverArgs,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    known::instance(&reader, id)?;
    let manner = Manner::brief(args.output_format, args.verbose);
    let is_event = matches!(request, SocketRequest::Send { .. });
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let seq = reader.store().last_seq()?;
        let mut access = HostAccess::open(&place, &[], console).await?;
        let receipt = match asked(&mut access, request).await {
            Ok(receipt) => receipt,
            Err(failure) => {
                access.close(console).await;
                return Err(failure);
            }
        };
        if receipt.queued {
            let text = format!("{id} is paused; the event is stored and applied on `rawko resume {id}`");
            console.note(TextStyle::Notice, "queued", &text);
        }
        // The text format reports it anyway.
        if is_event
            && !receipt.handled
            && !receipt.queued
            && (args.no_wait || manner.format == OutputFormat::Json)
        {
            console.note(
                TextStyle::Notice,
                "ignored",
                &format!("no transition of {id} accepts it in this state; see `rawko show {id}`"),
            );
        }
        if args.no_wait {
            warn_of_step(&reader, id, receipt.step, console)?;
            access.close(console).await;
            return Ok(CommandVerdict::Done);
        }
        let follow = RunFollower::after(seq, &access, id, &place, manner);
        let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
        let standing = InstanceStanding::of(&reader, id, &place.world(), times::now_ms())?;
        let ending = RunEnding { standing: &standing, ended: ended.clone(), other };
        ending.tell(manner.format, console).map(|verdict| delivered(&ended, verdict))
    })
}

/// Prints the faults of the step that handled the delivery.
fn warn_of_step(
    reader: &SnapshotReader,
    id: &str,
    step: u64,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let row = reader.find(id)?;
    let mut player = Player::new(reader.clone(), None);
    for record in reader.store().steps(row.key, step..=step, usize::MAX)? {
        following::warn(&player.glance(&record)?, "", console);
    }
    Ok(())
}

/// Returns success if the input was delivered and the instance waits again or ended.
fn delivered(ended: &FollowEnd, verdict: CommandVerdict) -> CommandVerdict {
    match ended {
        FollowEnd::Rest(Rest::Waiting | Rest::Paused | Rest::Over(Status::Done | Status::Cancelled)) => {
            CommandVerdict::Done
        }
        FollowEnd::Rest(_) | FollowEnd::Parked(_) | FollowEnd::Paused(_) => verdict,
    }
}

/// Attempts to start an instance if one host after the other ends.
const START_ATTEMPTS: usize = 20;

/// Starts an instance. If the host ends before it answers, the next one, perhaps this process, starts it, unless the
/// store has it already. Without an id in the request one is generated, because only by an id the store can be searched.
pub(crate) async fn started(
    access: &mut HostAccess,
    place: &ProjectContext,
    charts: &[Edition],
    (input, id, budget): (Value, Option<String>, Value),
    console: &mut Console,
) -> Result<Receipt, CommandFailure> {
    if !matches!(access, HostAccess::There { .. }) {
        // Neither this process nor Restate ends before it answers.
        let charts = charts.iter().map(LoadedChart::from).collect();
        return asked(access, SocketRequest::Start { charts, input, id, budget }).await;
    }
    let chart = charts.first().map_or("instance", |edition| edition.chart.id());
    let is_generated = id.is_none();
    let mut id = id.unwrap_or_else(|| made_up_id(chart));
    while is_generated && stored(access, &id)?.is_some() {
        id = made_up_id(chart);
    }
    if stored(access, &id)?.is_some() {
        // The host refuses it with the reason.
        return asked(access, start_request(charts, &input, &id, &budget)).await;
    }
    for _ in 0..START_ATTEMPTS {
        match access.ask(start_request(charts, &input, &id, &budget)).await {
            Err(NoAnswer::Gone) => *access = HostAccess::open(place, charts, console).await?,
            answer => return receipt_of(answer),
        }
        if let Some(receipt) = stored(access, &id)? {
            return Ok(receipt);
        }
    }
    receipt_of(Err(NoAnswer::Gone))
}

fn start_request(charts: &[Edition], input: &Value, id: &str, budget: &Value) -> SocketRequest {
    let charts = charts.iter().map(LoadedChart::from).collect();
    SocketRequest::Start { charts, input: input.clone(), id: Some(id.to_owned()), budget: budget.clone() }
}

/// Returns the receipt of the start of an instance in the store.
fn stored(access: &HostAccess, id: &str) -> Result<Option<Receipt>, CommandFailure> {
    let row = access.reader().store().find(id)?;
    Ok(row.map(|row| Receipt {
        instance: row.new.id,
        step: row.step,
        handled: true,
        queued: false,
        status: row.head.status,
    }))
}

/// Sends a request that is answered with a receipt.
pub(crate) async fn asked(
    access: &mut HostAccess,
    request: SocketRequest,
) -> Result<Receipt, CommandFailure> {
    receipt_of(access.ask(request).await)
}

fn receipt_of(answer: Result<HostAnswer, NoAnswer>) -> Result<Receipt, CommandFailure> {
    match answer {
        Ok(HostAnswer::Receipt(receipt)) => Ok(receipt),
        Ok(_) => Err(CommandFailure::Failed("unexpected response from the host".to_owned())),
        Err(NoAnswer::Refused(failure)) => Err(failure),
        Err(NoAnswer::Gone) => Err(CommandFailure::Transient(
            "the process that hosts the store exited before it answered; check with `rawko show`".to_owned(),
        )),
    }
}
