//! Requests to a host that may end before it answers: the next host, perhaps this process, is asked again. A request that
//! the first host carried out is found in the store and not repeated.

use rawko_core::{Event, Status};
use rawko_host::{Receipt, SnapshotReader, made_up_id};

use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{HostAccess, HostAnswer, NoAnswer, ProjectContext, SocketRequest};

/// Attempts if one host after the other ends.
const ATTEMPTS: usize = 20;

/// Sends a request that is answered with a receipt.
pub(crate) async fn asked(
    access: &mut HostAccess,
    place: &ProjectContext,
    mut request: SocketRequest,
    console: &mut Console,
) -> Result<Receipt, CommandFailure> {
    if !matches!(access, HostAccess::There { .. }) {
        // Neither this process nor Restate ends before it answers.
        return receipt_of(access.ask(request).await);
    }
    identify(&mut request, &access.reader())?;
    let seq = access.reader().store().last_seq()?;
    // Otherwise an instance of this id that was there before would pass for the new one.
    let is_new = created(&request, &access.reader())?.is_none()
        && !matches!(request, SocketRequest::Start { id: None, .. });
    let mut answer = access.ask(request.clone()).await;
    for _ in 0..ATTEMPTS {
        if !matches!(answer, Err(NoAnswer::Gone)) || !is_new {
            break;
        }
        *access = HostAccess::open(place, &[], console).await?;
        if let Some(receipt) = outcome(&request, seq, &access.reader())? {
            return Ok(receipt);
        }
        answer = access.ask(request.clone()).await;
    }
    receipt_of(answer)
}

/// Gives a request the name by which its outcome can be found: a key for an event, an id for a new instance.
fn identify(request: &mut SocketRequest, reader: &SnapshotReader) -> Result<(), CommandFailure> {
    match request {
        SocketRequest::Send { key: key @ None, .. } => {
            // Two ids, because one alone has too few letters to be unique among all events of an instance.
            *key = Some(format!("{}{}", made_up_id("sent"), made_up_id("")));
        }
        SocketRequest::Fork { id, new_id: new_id @ None, .. } => {
            let chart = reader.find(id)?.new.chart_id.to_string();
            *new_id = Some(unused_id(&chart, reader)?);
        }
        _ => {}
    }
    Ok(())
}

/// Returns a generated id that the store does not have.
pub(crate) fn unused_id(chart: &str, reader: &SnapshotReader) -> Result<String, CommandFailure> {
    loop {
        let id = made_up_id(chart);
        if reader.store().find(&id)?.is_none() {
            return Ok(id);
        }
    }
}

/// Returns the instance that a request creates, if the store has it.
fn created(request: &SocketRequest, reader: &SnapshotReader) -> Result<Option<Receipt>, CommandFailure> {
    match request {
        SocketRequest::Start { id: Some(id), .. } | SocketRequest::Fork { new_id: Some(id), .. } => {
            stored(id, reader)
        }
        _ => Ok(None),
    }
}

/// Returns the receipt of a request that was carried out after record `seq`; `None` if it has to be sent again, which
/// changes nothing where it was.
fn outcome(
    request: &SocketRequest,
    seq: u64,
    reader: &SnapshotReader,
) -> Result<Option<Receipt>, CommandFailure> {
    match request {
        SocketRequest::Start { .. } | SocketRequest::Fork { .. } => created(request, reader),
        SocketRequest::Cancel { id, .. } => {
            Ok(stored(id, reader)?.filter(|receipt| receipt.status == Status::Cancelled))
        }
        SocketRequest::Answer { id, approved, comment, .. } => recorded(id, seq, reader, |event| {
            let Event::InvokeDone { data, .. } = event else { return false };
            data.get("approved").as_bool() == Some(*approved)
                && data.get("comment").as_str() == comment.as_deref()
        }),
        SocketRequest::Retry { id } => {
            recorded(id, seq, reader, |event| matches!(event, Event::RetryRequested))
        }
        SocketRequest::RetryItem { id, .. } => {
            recorded(id, seq, reader, |event| matches!(event, Event::ItemRetryRequested { .. }))
        }
        _ => Ok(None),
    }
}

/// Returns the receipt of an instance, if a record of it after `seq` has such an event.
fn recorded(
    id: &str,
    mut seq: u64,
    reader: &SnapshotReader,
    is_meant: impl Fn(&Event) -> bool,
) -> Result<Option<Receipt>, CommandFailure> {
    let key = reader.find(id)?.key;
    loop {
        let records = reader.store().tail(seq, 1_000)?;
        let Some(last) = records.last() else { return Ok(None) };
        seq = last.seq;
        for record in records.iter().filter(|record| record.instance == key) {
            let event = serde_json::from_str::<Event>(&reader.unpack(&record.event)?);
            if event.is_ok_and(|event| is_meant(&event)) {
                return Ok(stored(id, reader)?.map(|receipt| Receipt { step: record.step, ..receipt }));
            }
        }
    }
}

/// Returns a receipt of an instance in the store.
pub(crate) fn stored(id: &str, reader: &SnapshotReader) -> Result<Option<Receipt>, CommandFailure> {
    let row = reader.store().find(id)?;
    Ok(row.map(|row| Receipt {
        instance: row.new.id,
        step: row.step,
        handled: true,
        queued: false,
        status: row.head.status,
    }))
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
