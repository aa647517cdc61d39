//! Text of a model in terminals that joined: it appears as it arrives, also the part from before they joined.

use std::sync::{Arc, Condvar, Mutex};

use rawko_testkit::{ModelReply, ProviderServer, ReplyEnding, openai};
use serde_json::json;

use super::{SIZE, task};
use crate::pty::Pty;
use crate::tasks::project::{SETTINGS, project, worker};

/// Opens once.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// A model that waits at the gate, streams one line and the beginning of another, and then stalls.
fn halting(gate: &Gate) -> ModelReply {
    let (is_open, opened) = &**gate;
    drop(opened.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
    let pieces = [
        openai::delta(json!({"role": "assistant", "content": ""})),
        openai::delta(json!({"content": "I read the file first.\n"})),
        openai::delta(json!({"content": "Then I "})),
        openai::delta(json!({"content": "decide"})),
    ];
    ModelReply::events(pieces).ending(ReplyEnding::Silent)
}

#[test]
fn a_second_terminal_shows_text_as_it_arrives() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let gate = Gate::default();
    let model = Arc::clone(&gate);
    let server = runtime.block_on(ProviderServer::new(move |_| halting(&model))).unwrap();
    let web = format!("web: {{kind: openai, base_url: \"{}\"}}", server.url());
    let settings = SETTINGS.replace("default: demo/x", &format!("default: web/x, {web}"));
    let dir = project(&settings, &worker(""), "[]\n");
    let mut first = task(&dir, &[]);
    first.wait_for("thinking");
    let mut second = Pty::start(dir.path(), &["attach", "t"], SIZE);
    second.wait_for("thinking");

    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for terminal in [&mut first, &mut second] {
        terminal.wait_for("I read the file first.");
        terminal.wait_for("Then I decide");
    }
    // One that joins in the middle of a sentence gets all of it, once.
    let mut late = Pty::start(dir.path(), &["attach", "t"], SIZE);
    late.wait_for("Then I decide");
    assert_eq!(late.text().matches("I read the file first.").count(), 1, "{}", late.text());

    first.press("\u{3}");
    first.wait_for("Enter: continue");
    first.press("\u{3}");
    assert_eq!(first.end().0, Some(130));
}
