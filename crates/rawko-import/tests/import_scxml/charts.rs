//! Charts inside charts: nested in an invoke, or as the value of a variable.

use expect_test::expect;

use rawko_import::{self as import, ImportOptions};

use super::check;

#[test]
fn a_chart_inside_an_invoke_becomes_a_chart_of_its_own() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="amount" expr="3"/></datamodel>
          <state id="paying">
            <invoke id="payment" type="scxml">
              <param name="sum" expr="amount"/>
              <content>
                <scxml initial="ask">
                  <datamodel><data id="sum" expr="0"/></datamodel>
                  <state id="ask">
                    <onentry><send event="asked" target="#_parent"/></onentry>
                    <transition cond="sum == 3" target="paid"/>
                  </state>
                  <final id="paid"/>
                </scxml>
              </content>
            </invoke>
            <transition event="asked"><send event="more" target="#_payment"/></transition>
            <transition event="done.invoke.payment" target="done"/>
          </state>
          <final id="done"/>
        </scxml>"##,
        expect![[r#"
            # Imported from SCXML.
            statechart:
              id: example
              version: 1.0.0
              initial: paying
              context:
                amount: 3
              states:
                paying:
                  invoke: {id: payment, src: statechart:example_payment, input: {sum: context.amount}}
                  on:
                    asked.*:
                      actions:
                        - {type: send, target: payment, event: more}
                    done.invoke.payment: done
                done: {type: final}
            ---
            statechart:
              id: example_payment
              version: 1.0.0
              initial: ask
              context:
                sum: 0
              states:
                ask:
                  entry:
                    - {type: send, target: parent, event: asked}
                  always:
                    - {target: paid, guard: 'context.sum == 3'}
                paid: {type: final}
        "#]],
    );
}

#[test]
fn a_chart_that_is_the_value_of_a_variable_is_stored_by_its_name() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="first"><scxml><final id="a"/></scxml></data><data id="second"/></datamodel>
          <state id="s">
            <onentry><assign location="second"><scxml><final id="b"/></scxml></assign></onentry>
            <invoke id="one"><content expr="first"/></invoke>
            <invoke id="two"><content expr="second"/></invoke>
          </state>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML. Review these points (line numbers refer to the original):
            #   line 5: changed: `first` must give `statechart:<id>`; charts, and file names in strings, became that
            #   line 6: changed: `second` must give `statechart:<id>`; charts, and file names in strings, became that
            statechart:
              id: example
              version: 1.0.0
              initial: s
              context:
                first: statechart:example_first
                second: null
              states:
                s:
                  entry:
                    - {type: assign, context_updates: {second: "'statechart:example_second'"}}
                  invoke:
                    - {id: one, src: {expr: context.first}}
                    - {id: two, src: {expr: context.second}}
            ---
            statechart:
              id: example_first
              version: 1.0.0
              initial: a
              states:
                a: {type: final}
            ---
            statechart:
              id: example_second
              version: 1.0.0
              initial: b
              states:
                b: {type: final}
        "##]],
    );
}

/// A file whose name is the chart's own is another chart, and the same file twice is one.
#[test]
fn an_invoked_file_with_the_name_of_the_chart_is_a_chart_of_its_own() {
    let files = |path: &str| (path == "part.scxml").then(|| "<scxml><final id='end'/></scxml>".to_owned());
    let document = r#"<scxml name="part"><state id="a"><invoke id="one" src="part.scxml"/><invoke id="two" src="file:part.scxml"/></state></scxml>"#;
    let options = ImportOptions { file: Some(&files), ..ImportOptions::default() };
    let imported = import::scxml(document, options).unwrap();
    assert_eq!((imported.id.as_str(), imported.charts.len()), ("part", 1));
    assert_eq!(imported.charts[0].id, "part_2");
    assert_eq!(imported.yaml.matches("src: statechart:part_2").count(), 2, "{}", imported.yaml);
}
