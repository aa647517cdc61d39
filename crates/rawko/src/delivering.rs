//! Delivers an input to an instance and follows the result. Shared by `send`, `approve`, `deny`, `cancel` and `fork`.

use rawko_core::{Status, Value};
use rawko_host::{Edition, Receipt, SnapshotReader};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{self, FollowEnd, Manner, Narrator, OutputFormat, RunEnding, RunFollower, Signals};
use crate::hosting::{self, HostAccess, LoadedChart, ProjectContext, Rest, SocketRequest, StoreArgs};
use crate::journal::Player;
use crate::known;
use crate::repeating::{asked, unused_id};
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
    let chart_id = known::instance(&reader, id)?.new.chart_id;
    let manner = Manner::brief(args.output_format, args.verbose);
    let is_event = matches!(request, SocketRequest::Send { .. });
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let seq = reader.store().last_seq()?;
        let mut access = HostAccess::open(&place, &[], console).await?;
        let receipt = match asked(&mut access, &place, request, console).await {
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
        let mut follow = RunFollower::after(seq, &access, id, &place, manner);
        if following::is_own(&chart_id) {
            let standing = InstanceStanding::of(&reader, id, &place.world(), times::now_ms())?;
            let context = standing.snapshot.context_map(&standing.chart);
            follow = follow.narrated(Narrator::resuming(&chart_id, &context, console));
        }
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

/// Starts an instance. Without an id in the request one is generated, because only by an id the store can be searched.
pub(crate) async fn started(
    access: &mut HostAccess,
    place: &ProjectContext,
    charts: &[Edition],
    (input, id, budget): (Value, Option<String>, Value),
    console: &mut Console,
) -> Result<Receipt, CommandFailure> {
    let id = match access {
        HostAccess::There { reader, .. } if id.is_none() => {
            Some(unused_id(charts.first().map_or("instance", |edition| edition.chart.id()), reader)?)
        }
        _ => id,
    };
    let charts = charts.iter().map(LoadedChart::from).collect();
    asked(access, place, SocketRequest::Start { charts, input, id, budget }, console).await
}
