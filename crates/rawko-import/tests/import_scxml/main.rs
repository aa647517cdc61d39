//! Imports of SCXML as goldens: the YAML and the notes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod charts;
mod sends;

use expect_test::{Expect, expect};
use rawko_chart::{Registry, Severity, SourceFile, load};
use rawko_import::{self as import, ImportOptions};

fn check(document: &str, expected: Expect) {
    let options = ImportOptions { id: Some("example"), ..ImportOptions::default() };
    let imported = import::scxml(document, options).unwrap();
    assert_loads(&imported.yaml);
    let mut text = imported.yaml;
    for chart in &imported.charts {
        assert_loads(&chart.yaml);
        text.push_str("---\n");
        text.push_str(&chart.yaml);
    }
    expected.assert_eq(&text);
}

/// The output of an import is a valid chart.
fn assert_loads(yaml: &str) {
    let loaded = load(&SourceFile::new("imported.yaml", yaml), &Registry::default());
    let fatal: Vec<_> =
        loaded.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    assert!(loaded.chart.is_some(), "{yaml}\n{fatal:#?}");
}

#[test]
fn states_transitions_and_targets() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" initial="work" name="order">
          <state id="work" initial="draft">
            <onentry><log label="work" expr="'begins'"/></onentry>
            <history id="back" type="deep"><transition target="draft"/></history>
            <state id="draft">
              <transition event="submit edit.done" target="review"/>
              <transition event="submit" target="draft"/>
            </state>
            <state id="review">
              <transition event="error" target="draft"/>
              <transition event="done.state.checks" target="closed"/>
              <transition event="*" target="review"/>
            </state>
            <transition event="restart" target="draft"/>
            <transition event="peek" type="internal" target="review"/>
            <transition event="pause" target="paused"/>
          </state>
          <state id="paused"><transition event="resume" target="back"/><transition event="check" target="lint test"/></state>
          <parallel id="checks">
            <state id="lint"/><state id="test"/>
            <transition event="abort" target="work"/>
          </parallel>
          <final id="closed"><donedata><param name="result" expr="'ok'"/></donedata></final>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML. Review these points (line numbers refer to the original):
            #   line 7: changed: `submit.*` is never reached: line 6 takes the same events
            statechart:
              id: order
              version: 1.0.0
              initial: work
              states:
                work:
                  initial: draft
                  entry:
                    - {type: log, message: 'work: begins'}
                  on:
                    restart.*: {target: .draft, reenter: true}
                    peek.*: .review
                    pause.*: paused
                  states:
                    back: {type: history, variant: deep, target: draft}
                    draft:
                      on:
                        submit.*: review
                        edit.done.*: review
                    review:
                      on:
                        error.*: draft
                        done.state.checks: closed
                        '*': {target: review, reenter: true}
                paused:
                  on:
                    resume.*: '#back'
                    check.*:
                      target: ['#lint', '#test']
                checks:
                  type: parallel
                  on:
                    abort.*: work
                  states:
                    lint: {}
                    test: {}
                closed:
                  type: final
                  output: {result: "'ok'"}
        "##]],
    );
}

#[test]
fn data_conditions_and_actions() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel>
            <data id="count" expr="0"/>
            <data id="names">["a", "b"]</data>
            <data id="twice" expr="count * 2"/>
            <data id="last"/>
          </datamodel>
          <state id="s">
            <onentry>
              <assign location="count" expr="count + 1"/>
              <if cond="count &gt; 2 &amp;&amp; !In('t')">
                <raise event="enough"/>
                <elseif cond="last"/>
                <send event="remind" delay="1.5s" id="r"><param name="who" expr="last"/></send>
                <else/>
                <cancel sendid="r"/>
              </if>
              <foreach array="names" item="name"><log expr="'at ' + name"/></foreach>
              <script>count += 10; last = names[0];</script>
              <send event="hello" target="#_parent" namelist="count"/>
            </onentry>
            <transition event="go" cond="_event.data.ok === true || typeof last === 'undefined'" target="t"/>
          </state>
          <state id="t"/>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML.
            statechart:
              id: example
              version: 1.0.0
              initial:
                target: s
                actions:
                  - {type: assign, context_updates: {twice: context.count * 2}}
              context:
                count: 0
                names: [a, b]
                twice: null
                last: null
                name: null
              states:
                s:
                  entry:
                    - {type: assign, context_updates: {count: context.count + 1}}
                    - type: choose
                      branches:
                        - guard: "context.count > 2 and not stateIn('t')"
                          actions:
                            - {type: raise, event: enough}
                        - guard: "context.last not in [null, false, 0, '']"
                          actions:
                            - {type: send, target: self, event: remind, data: {who: context.last}, delay: 1500ms, id: r}
                        - actions:
                            - {type: cancel, id: r}
                    - type: foreach
                      array: context.names
                      item: name
                      actions:
                        - {type: log, message: {expr: "'at ' ~ context.name"}}
                    - {type: assign, context_updates: {count: context.count + 10}}
                    - {type: assign, context_updates: {last: 'context.names[0]'}}
                    - {type: send, target: parent, event: hello, data: {count: context.count}}
                  on:
                    go.*: {target: t, guard: 'event.data.ok == true or context.last == null'}
                t: {}
        "##]],
    );
}

#[test]
fn what_has_no_counterpart_is_noted_and_fails_where_it_is_reached() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="x" expr="new Date()"/></datamodel>
          <state id="s">
            <onentry>
              <script>for (;;) {}</script>
              <assign location="nowhere.at.all" expr="1"/>
              <send event="e" type="http://www.w3.org/TR/scxml/#BasicHTTPEventProcessor" target="http://example.com"/>
              <log expr="Math.random()"/>
            </onentry>
            <invoke autoforward="true" src="other.scxml"><finalize><assign location="x" expr="1"/></finalize></invoke>
            <transition cond="(function() { return true; })()" target="t"/>
            <transition event="*" target="t"/>
            <transition event="late" target="s"/>
          </state>
          <state id="t"/>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML. Review these points (line numbers refer to the original):
            #   line 2: not carried over: `new Date()`: `new` exists only in ECMAScript
            #   line 5: not carried over: a script: `for` exists only in ECMAScript
            #   line 6: changed: assigning to `nowhere.at.all` fails, as in SCXML: it is not a variable of the data model
            #   line 7: not carried over: sending by HTTP: configure an endpoint and send to it by name
            #   line 8: not carried over: `Math.random()`: `Math.random` exists only in ECMAScript
            #   line 10: not carried over: `<finalize>`: move its actions into the transitions that take the child's events
            #   line 10: not carried over: `autoforward`: send the child the events that it needs
            #   line 10: not carried over: the chart `other.scxml` could not be read: import it as `other`
            #   line 11: not carried over: `(function() { return true; })()`: `function` exists only in ECMAScript
            #   line 13: changed: `late.*` is never reached: line 12 takes the same events
            statechart:
              id: example
              version: 1.0.0
              initial:
                target: s
                actions:
                  - {type: assign, context_updates: {x: "-'`new` exists only in ECMAScript'"}}
              context:
                x: null
              states:
                s:
                  entry:
                    - {type: log, message: {expr: "-'a script was not carried over: `for` exists only in ECMAScript'"}}
                    - {type: log, message: {expr: "-'`nowhere.at.all` is not a variable of the data model'"}}
                    - type: send
                      target:
                        expr: "-'http://www.w3.org/TR/scxml/#BasicHTTPEventProcessor is not a known event processor'"
                      event: e
                    - {type: log, message: {expr: "-'`Math.random` exists only in ECMAScript'"}}
                  invoke: {id: s.1, src: statechart:other}
                  on:
                    '*': t
                  always:
                    - {target: t, guard: "-'`function` exists only in ECMAScript'"}
                t: {}
        "##]],
    );
}

#[test]
fn a_wider_event_that_stands_first_is_still_tried_first() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="x" expr="0"/></datamodel>
          <state id="s">
            <transition event="*" cond="x == 1" target="a"/>
            <transition event="foo" target="b"/>
            <transition event="foo.bar" target="c"/>
          </state>
          <state id="a"/><state id="b"/><state id="c"/>
        </scxml>"##,
        expect![[r#"
            # Imported from SCXML. Review these points (line numbers refer to the original):
            #   line 6: changed: `foo.bar.*` is never reached: line 5 takes the same events
            statechart:
              id: example
              version: 1.0.0
              initial: s
              context:
                x: 0
              states:
                s:
                  on:
                    '*': {target: a, guard: 'context.x == 1'}
                    foo.*:
                      - {target: a, guard: 'context.x == 1'}
                      - {target: b}
                a: {}
                b: {}
                c: {}
        "#]],
    );
}

#[test]
fn events_can_be_taken_to_be_exact() {
    let document = r#"<scxml><state id="a"><transition event="foo bar.*" target="a"/></state></scxml>"#;
    let options = ImportOptions { exact_events: true, ..ImportOptions::default() };
    let yaml = import::scxml(document, options).unwrap().yaml;
    assert!(yaml.contains("foo: {") && yaml.contains("bar.*: {"), "{yaml}");
}

#[test]
fn files_a_document_refers_to_come_from_the_caller() {
    let files = |path: &str| match path {
        "steps.js" => Some("x = x + 1; y = 'new'".to_owned()),
        "start.json" => Some("[1, 2]".to_owned()),
        "part.scxml" => Some("<scxml><final id='end'/></scxml>".to_owned()),
        _ => None,
    };
    let document = r#"<scxml datamodel="ecmascript">
      <datamodel><data id="x" expr="0"/><data id="y"/><data id="z" src="file:start.json"/></datamodel>
      <state id="a"><onentry><script src="steps.js"/></onentry><invoke id="part" src="file:part.scxml"/></state>
    </scxml>"#;
    let imported =
        import::scxml(document, ImportOptions { file: Some(&files), ..ImportOptions::default() }).unwrap();
    assert_eq!(imported.notes, []);
    expect![[r##"
        # Imported from SCXML.
        statechart:
          id: imported
          version: 1.0.0
          initial: a
          context:
            x: 0
            'y': null
            z: [1, 2]
          states:
            a:
              entry:
                - {type: assign, context_updates: {x: context.x + 1}}
                - {type: assign, context_updates: {'y': "'new'"}}
              invoke: {id: part, src: statechart:part}
    "##]]
    .assert_eq(&imported.yaml);
    assert_eq!(imported.charts.iter().map(|chart| &chart.id).collect::<Vec<_>>(), ["part"]);
}

#[test]
fn malformed_documents_say_where() {
    let deep = format!("{}{}", "<state>".repeat(100_000), "</state>".repeat(100_000));
    for (document, expected) in [
        ("<scxml><state></scxml>", expect!["line 1: expected 'state' tag, not 'scxml' at 1:15"]),
        ("<html/>", expect!["line 1: the outermost element is not `<scxml>`"]),
        (&format!("<scxml>{deep}</scxml>"), expect!["line 1: states are nested more than 100 deep"]),
    ] {
        let error = import::scxml(document, ImportOptions::default()).unwrap_err();
        expected.assert_eq(&error.to_string());
    }
}

/// Hostile documents take little time and never crash.
#[test]
fn long_chains_and_many_states() {
    let chain = "x + ".repeat(20_000) + "1";
    let nested = "(".repeat(20_000);
    let states: String = (0..5_000)
        .map(|n| format!("<state id='s{n}'><transition event='e{n}' target='s0'/></state>"))
        .collect();
    let events: String = (0..5_000).map(|n| format!("<transition event='e{n}' cond='x'/>")).collect();
    let data: String = (1..5_000).map(|n| format!("<data id='d{n}' expr='d{}'/>", n - 1)).collect();
    for body in [
        format!("<state id='a'><transition cond='{chain}'/><transition cond='{nested}'/></state>"),
        states,
        format!("<state id='a'>{events}</state>"),
        format!("<datamodel><data id='d0' expr='1'/>{data}</datamodel><state id='a'/>"),
    ] {
        let imported = import::scxml(&format!("<scxml>{body}</scxml>"), ImportOptions::default()).unwrap();
        assert!(imported.yaml.contains("statechart:"));
    }
}

#[test]
fn the_language_is_recognised() {
    use import::SourceLanguage::{Scxml, Xstate};
    for (text, expected) in [
        ("<?xml version='1.0'?>\n<scxml/>", Some(Scxml)),
        ("<s:scxml xmlns:s='http://www.w3.org/2005/07/scxml'/>", Some(Scxml)),
        ("\u{feff} {\"states\": {}}", Some(Xstate)),
        ("{\"a\": 1}", None),
        ("statechart:\n  id: x", None),
        ("<html/>", None),
    ] {
        assert_eq!(import::detect(text), expected, "{text}");
    }
}
