//! What a chart knows of the charts that it invokes: keys of input and output, and events.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use rawko_chart::{Registry, Severity, SourceFile, load};

const KID: &str = "\
statechart:
  id: kid
  initial: open
  context: {order: null, mode: fast}
  context_schema: {type: object, properties: {order: {type: number}, mode: {type: string}}}
  events:
    STOP: {data: {type: object, required: [why], properties: {why: {type: string}}}}
    TICK: {internal: true}
  states:
    open:
      entry: {type: raise, event: TICK, data: {note: input.note}}
      on: {STOP: stopped, TICK: closed}
    closed: {type: final, output: {total: context.order}}
    stopped: {type: final, output: {reason: \"'given'\"}}
";

const INPUT: &str = r#"{order: 1, note: "'a'"}"#;
const OUTPUT: &str = "event.data.total";
const SEND: &str = "event: STOP, data: {why: late}";

/// Returns the findings of a chart that invokes `kid` with this input, reads this of its output and sends it this.
fn findings(kid: &str, input: &str, read: &str, send: &str) -> Vec<String> {
    let mut registry = Registry::default();
    registry.add_chart_of("kid", "1.0.0", &SourceFile::new("kid.yaml", kid));
    let text = format!(
        "statechart:
  id: top
  initial: a
  context: {{total: null}}
  states:
    a:
      invoke:
        id: kid
        src: statechart:kid@^1
        input: {input}
        onDone: {{target: b, actions: {{type: assign, context_updates: {{total: {read}}}}}}}
        onError: b
      on:
        GO: {{actions: {{type: send, target: kid, {send}}}}}
    b: {{type: final, output: {{total: context.total}}}}
"
    );
    let word = |severity| if severity == Severity::Warning { "warning" } else { "error" };
    let loaded = load(&SourceFile::new("top.yaml", text.as_str()), &registry);
    let findings = loaded.findings.iter();
    findings.map(|finding| format!("{}: {}", word(finding.severity), finding.message)).collect()
}

#[test]
fn a_chart_is_invoked_with_the_keys_and_events_that_it_has() {
    assert_eq!(findings(KID, INPUT, OUTPUT, SEND), [""; 0]);
    assert_eq!(findings(KID, "{order: null}", OUTPUT, SEND), [""; 0]);
    let table = [
        ("{ordre: 1}", OUTPUT, SEND, "warning: the input of `statechart:kid@^1` has no key `ordre`"),
        (
            "{colour: 1, order: context.total}",
            OUTPUT,
            SEND,
            "warning: the input of `statechart:kid@^1` has no key `colour`",
        ),
        ("{mode: 5}", OUTPUT, SEND, "error: the input of `statechart:kid@^1` does not match its schema"),
        (INPUT, "event.data.totl", SEND, "error: `event.data` has no key `totl`"),
        (INPUT, OUTPUT, "event: SOTP", "error: `events` of `statechart:kid` does not declare `SOTP`"),
        (INPUT, OUTPUT, "event: TICK", "error: `TICK` is internal to `statechart:kid`"),
        (INPUT, OUTPUT, "event: STOP, data: {wyh: late}", "error: the data of `STOP`"),
    ];
    for (input, read, send, expected) in table {
        let found = findings(KID, input, read, send);
        assert!(found.iter().any(|found| found.starts_with(expected)), "{input} {read} {send}: {found:#?}");
    }
}

#[test]
fn a_chart_that_reads_all_of_its_input_and_computes_its_output_takes_any_key() {
    let kid = "{id: kid, initial: a, states: {a: {on: {STOP: b}}, b: {type: final, output: input}}}";
    assert_eq!(findings(kid, "{anything: 1}", "event.data.anything", "event: STOP"), [""; 0]);
    let found = findings(kid, "{anything: 1}", "event.data.anything", "event: SOTP");
    assert_eq!(found, ["warning: no state of `statechart:kid` handles `SOTP`"]);
}
