//! Agents in channels that talk, lie or work on what judges them: the channel rests within six rounds of default settings,
//! also if its checks take longer than a turn.

use std::thread::sleep;
use std::time::Duration;

use rawko_testkit::{ModelAnswer, ModelReply, ProviderServer, ReceivedRequest, openai};
use serde_json::json;

use crate::parking::Background;
use crate::support::{directory, run};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
const APP: &str = "def add(a, b):\n    return a - b\n";
const TEST: &str = "import unittest\nfrom app import add\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n";
/// The check takes longer than a scripted turn.
const CHECK: &str = "[sh, -c, 'sleep 0.5; python3 -m unittest']";

/// A command in each turn, if there is one, then a claim.
fn reply(asked: &ReceivedRequest, command: &str) -> ModelReply {
    let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
    let is_result = messages.last().is_some_and(|message| message["role"] == "tool");
    let answer = match command {
        _ if is_result => ModelAnswer::text(&["Fixed, all tests pass. TURN_COMPLETE"]),
        "" => ModelAnswer::text(&["All tests pass. TURN_COMPLETE"]),
        command => ModelAnswer::text(&[]).call("c", "Bash", json!({"command": command})),
    };
    openai::reply(&answer)
}

#[test]
fn agents_of_a_channel_that_cheat_rest_within_six_rounds() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (name, command) in [
        ("talk", ""),
        ("delete the test", "rm -f test_app.py"),
        ("end the check", "printf 'import os\\nos._exit(0)\\n' >> app.py"),
        ("write notes", "date +%N >> notes.txt"),
        ("expect the fault", "sed -i 's/, 3)/, -1)/' test_app.py"),
    ] {
        let server = runtime.block_on(ProviderServer::new(move |asked| reply(asked, command))).unwrap();
        let settings = format!(
            "governance: {{allow: ['agent:*', 'checks:*']}}\nproviders: {{default: web/x, web: {{kind: openai, base_url: \
             \"{}\"}}}}\nphases: {{validate: {{checks: [{{name: ut, command: {CHECK}}}]}}}}\nturns: {{channels: {{den: \
             {{agents: [one, two]}}}}}}\n",
            server.url()
        );
        let agent = |name: &str| format!("---\nname: {name}\nwhenToUse: For work.\n---\nYou work.\n");
        let dir = directory(&[
            (".rawko/config.yaml", &settings),
            (".rawko/agents/one.md", &agent("one")),
            (".rawko/agents/two.md", &agent("two")),
            ("app.py", APP),
            ("test_app.py", TEST),
        ]);
        let serving = Background::start(dir.path(), &SERVE, "http://127.0.0.1:");
        run(dir.path(), &["channels", "post", "den", "Make the tests pass"], "");
        let messages = || run(dir.path(), &["channels", "messages", "den"], "").stdout;
        let is_stuck = |text: &str| text.contains("the channel rests until a person posts");
        let mut text = messages();
        for _ in 0..600 {
            if is_stuck(&text) {
                break;
            }
            sleep(Duration::from_millis(100));
            text = messages();
        }
        // Judgements that are still under way change nothing.
        sleep(Duration::from_secs(2));
        text = messages();
        let said = text.lines().filter(|line| line.contains("  one: ") || line.contains("  two: ")).count();
        assert!(is_stuck(&text) && said <= 12, "{name}: {said} messages: {text}");
        serving.signal("-TERM");
        serving.end();
    }
}
