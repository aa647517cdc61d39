//! Wire format of events. Each is serialized once for all clients.

use axum::body::Bytes;
use rawko_core::ServiceName;
use rawko_host::CallProgress;
use rawko_view::journal::JournalEntry;
use rawko_view::journal::document::{EntryDocument, EntrySummary};
use serde::Serialize;
use serde_json::json;

/// Keep-alive comment.
pub(super) fn still_here() -> Bytes {
    Bytes::from_static(b": still here\n\n")
}

/// An entry in the stream of its instance.
#[derive(Serialize)]
struct Whole<'a> {
    instance: &'a str,
    chart: &'a str,
    #[serde(flatten)]
    entry: EntryDocument,
}

pub(super) fn hello(seq: u64, version: &str) -> Bytes {
    frame("hello", Some(seq), &json!({"seq": seq, "version": version})).into()
}

pub(super) fn whole(entry: &JournalEntry) -> Vec<u8> {
    let document = EntryDocument::of(entry);
    frame("step", Some(entry.seq), &Whole { instance: &entry.instance, chart: &entry.chart, entry: document })
}

pub(super) fn glimpse(entry: &JournalEntry) -> Vec<u8> {
    frame("step", Some(entry.seq), &EntrySummary::of(entry))
}

pub(super) fn progress(progress: &CallProgress, agent: Option<&str>) -> Vec<u8> {
    let CallProgress { instance, id, name, step, data } = progress;
    let fields = json!({
        "instance": instance,
        "agent": agent,
        "invoke": id,
        "name": name,
        "class": ServiceName::of(name).class.as_str(),
        "step": step,
        "data": data.to_json(),
    });
    frame("progress", None, &fields)
}

pub(super) fn channel(name: &str, version: u64) -> Vec<u8> {
    frame("channel", None, &json!({"name": name, "version": version}))
}

/// JSON contains no raw line breaks, so it fits in one `data` line.
fn frame(event: &str, id: Option<u64>, data: &impl Serialize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(512);
    if let Some(id) = id {
        frame.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    frame.extend_from_slice(format!("event: {event}\ndata: ").as_bytes());
    // Writing to a vector cannot fail, and all keys in our documents are strings.
    let _ = serde_json::to_writer(&mut frame, data);
    frame.extend_from_slice(b"\n\n");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_one_event_whatever_is_in_it() {
        let text =
            String::from_utf8(frame("step", Some(7), &json!({"text": "one\ntwo\r\n: three"}))).unwrap();
        assert_eq!(text, "id: 7\nevent: step\ndata: {\"text\":\"one\\ntwo\\r\\n: three\"}\n\n");
        let text = String::from_utf8(channel("war\u{2028}room", 3)).unwrap();
        assert_eq!(text, "event: channel\ndata: {\"name\":\"war\u{2028}room\",\"version\":3}\n\n");
    }
}
