//! Delivers an input to an instance and follows the result. Shared by `send`, `approve`, `deny`, `cancel` and `fork`.

use rawko_core::Status;
use rawko_host::{Reader, Receipt};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::following::{self, Ended, Ending, Follow, Manner, OutputFormat, Signals};
use crate::hosting::{self, Access, Answer, NoAnswer, ProjectContext, Request, Rest, StoreArgs};
use crate::journal::Player;
use crate::known;
use crate::standing::Standing;
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
    request: Request,
    args: &DeliverArgs,
    console: &mut Console,
) -> Result<Verdict, Failure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    known::instance(&reader, id)?;
    let manner = Manner::brief(args.output_format, args.verbose);
    let is_event = matches!(request, Request::Send { .. });
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let seq = reader.store().last_seq()?;
        let mut access = Access::open(&place, &[], console).await?;
        let receipt = match asked(&mut access, request).await {
            Ok(receipt) => receipt,
            Err(failure) => {
                access.close(console).await;
                return Err(failure);
            }
        };
        if receipt.queued {
            let text = format!("{id} is paused; the event is stored and applied on `rawko resume {id}`");
            console.note(Style::Notice, "queued", &text);
        }
        // The text format reports it anyway.
        if is_event
            && !receipt.handled
            && !receipt.queued
            && (args.no_wait || manner.format == OutputFormat::Json)
        {
            console.note(
                Style::Notice,
                "ignored",
                &format!("no transition of {id} accepts it in this state; see `rawko show {id}`"),
            );
        }
        if args.no_wait {
            warn_of_step(&reader, id, receipt.step, console)?;
            access.close(console).await;
            return Ok(Verdict::Done);
        }
        let follow = Follow::after(seq, &access, id, &place, manner);
        let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
        let standing = Standing::of(&reader, id, &place.world(), times::now_ms())?;
        let ending = Ending { standing: &standing, ended: ended.clone(), other };
        ending.tell(manner.format, console).map(|verdict| delivered(&ended, verdict))
    })
}

/// Prints the faults of the step that handled the delivery.
fn warn_of_step(reader: &Reader, id: &str, step: u64, console: &mut Console) -> Result<(), Failure> {
    let row = reader.find(id)?;
    let mut player = Player::new(reader.clone(), None);
    for record in reader.store().steps(row.key, step..=step, usize::MAX)? {
        following::warn(&player.glance(&record)?, "", console);
    }
    Ok(())
}

/// Returns success if the input was delivered and the instance waits again or ended.
fn delivered(ended: &Ended, verdict: Verdict) -> Verdict {
    match ended {
        Ended::Rest(Rest::Waiting | Rest::Paused | Rest::Over(Status::Done | Status::Cancelled)) => {
            Verdict::Done
        }
        Ended::Rest(_) | Ended::Parked(_) | Ended::Paused(_) => verdict,
    }
}

/// Sends a request that is answered with a receipt.
pub(crate) async fn asked(access: &mut Access, request: Request) -> Result<Receipt, Failure> {
    match access.ask(request).await {
        Ok(Answer::Receipt(receipt)) => Ok(receipt),
        Ok(_) => Err(Failure::Failed("unexpected response from the host".to_owned())),
        Err(NoAnswer::Refused(failure)) => Err(failure),
        Err(NoAnswer::Gone) => Err(Failure::Transient(
            "the process that hosts the store exited before it answered; check with `rawko show`".to_owned(),
        )),
    }
}
