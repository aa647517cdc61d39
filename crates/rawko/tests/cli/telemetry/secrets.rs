//! Plants secrets wherever rawko reads them: none leaves in a trace, a log line or a message, even if content is
//! enabled.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::collector::{Collector, serve};
use crate::support::{command, directory};

const KEY: &str = "planted-provider-key-4711";
const TOKEN: &str = "planted-service-token-0815";
const HEADER: &str = "planted-collector-header-42";

const AGENT: &str = "---\nname: helper\nwhenToUse: To help.\nmodel: echo/parrot\n---\nYou help.\n";
const CHART: &str = "\
statechart:
  id: leaky
  initial: asking
  states:
    asking: {invoke: {id: ask, src: 'agent:helper', input: {prompt: \"'Say MARKER-OF-THE-PROMPT.'\"}, onDone: paying, onError: paying}}
    paying: {invoke: {id: pay, src: pay, onDone: done, onError: running}}
    running: {invoke: {id: say, src: say, onDone: done, onError: done}}
    done: {type: final}
";

fn settings(provider: &str, service: &str, collector: &str, content: bool) -> String {
    format!(
        "governance: {{allow: ['agent:*', pay, say]}}
providers:
  echo: {{kind: openai, base_url: '{provider}/v1', api_key: '${{ECHO_KEY}}'}}
  back_off: {{first: 1ms, longest: 2ms}}
services:
  pay: {{http: {{url: '{service}/pay', headers: {{Authorization: 'Bearer ${{PAY_TOKEN}}'}}}}}}
  say: {{command: [sh, -c, 'echo \"$PAY_TOKEN\" >&2; exit 3'], pass_env: [PAY_TOKEN]}}
telemetry:
  endpoint: '{collector}'
  headers: {{X-Collector: '${{COLLECTOR_SECRET}}'}}
  content: {content}
"
    )
}

/// A server that repeats every secret it gets in its error.
fn echoing(status: u16, count: Arc<AtomicUsize>) -> String {
    let address = serve(move |asked| {
        count.fetch_add(1, Ordering::SeqCst);
        let given =
            asked.headers.iter().find(|header| header.to_ascii_lowercase().starts_with("authorization"));
        let given = given.cloned().unwrap_or_default().replace('"', "");
        (status, format!("{{\"error\": {{\"message\": \"refused: {given}\", \"type\": \"x\"}}}}"))
    });
    format!("http://{address}")
}

#[test]
fn planted_secrets_are_found_nowhere() {
    for content in [false, true] {
        let collector = Collector::start();
        let calls: Arc<AtomicUsize> = Arc::default();
        let provider = echoing(401, Arc::clone(&calls));
        let service = echoing(500, Arc::clone(&calls));
        let said = settings(&provider, &service, &collector.url(), content);
        let dir = directory(&[
            ("leaky.yaml", CHART),
            (".rawko/agents/helper.md", AGENT),
            (".rawko/config.yaml", said.as_str()),
        ]);
        let run = command(dir.path(), &["run", "leaky.yaml", "--id", "l-1"])
            .env("ECHO_KEY", KEY)
            .env("PAY_TOKEN", TOKEN)
            .env("COLLECTOR_SECRET", HEADER)
            .env("RAWKO_LOG", "trace")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told =
            format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(calls.load(Ordering::SeqCst) >= 2, "both were called: {told}");
        assert!(told.contains("call failed"), "there was something to tell: {told}");
        let spans = collector.spans();
        let of = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
        assert_eq!(of("chat parrot").has("error.type"), "authentication_failed");
        assert!(of("call pay").is_error && of("call say").is_error);
        for secret in [KEY, TOKEN] {
            assert!(!told.contains(secret), "`{secret}` was told: {told}");
            assert!(!collector.contains(secret), "`{secret}` was sent");
        }
        // The collector's own header reaches only the collector.
        assert!(collector.contains(HEADER));
        assert!(!told.contains(HEADER), "{told}");
        assert!(spans.iter().all(|span| span.attributes.values().all(|value| !value.contains(HEADER))));
        // Content is in spans only if enabled.
        assert_eq!(collector.contains("MARKER-OF-THE-PROMPT"), content);
    }
}
