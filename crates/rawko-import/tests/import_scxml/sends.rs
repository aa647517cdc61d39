//! `<send>`: its targets, and blocks in which it fails.

use expect_test::expect;

use super::check;

#[test]
fn a_computed_address_may_be_the_internal_queue() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="to" expr="'#_internal'"/></datamodel>
          <state id="s">
            <onentry>
              <send event="one" targetexpr="to"/>
              <send event="two" targetexpr="to" delay="1s"/>
              <send event="three" targetexpr="'#_internal'"/>
            </onentry>
          </state>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML.
            statechart:
              id: example
              version: 1.0.0
              initial: s
              context:
                to: '#_internal'
              states:
                s:
                  entry:
                    - type: choose
                      branches:
                        - guard: "context.to == '#_internal'"
                          actions:
                            - {type: raise, event: one}
                        - actions:
                            - {type: send, target: {expr: context.to}, event: one}
                    - {type: send, target: {expr: context.to}, event: two, delay: 1s}
                    - {type: raise, event: three}
        "##]],
    );
}

#[test]
fn a_block_that_is_sure_to_fail_does_not_keep_the_next_one_from_running() {
    check(
        r##"<scxml xmlns="http://www.w3.org/2005/07/scxml" datamodel="ecmascript">
          <datamodel><data id="n" expr="0"/></datamodel>
          <state id="s">
            <onentry><send event="e" target="nowhere" id="x"/><assign location="n" expr="1"/></onentry>
            <onentry><assign location="n" expr="n + 2"/><send event="e" target="nowhere" id="y"/></onentry>
          </state>
        </scxml>"##,
        expect![[r##"
            # Imported from SCXML. Review these points (line numbers refer to the original):
            #   line 4: changed: sending fails, as in SCXML: `nowhere` is not an address
            #   line 5: changed: several `<onentry>` blocks became one: when an action fails, the rest of all of them is skipped
            #   line 5: changed: sending fails, as in SCXML: `nowhere` is not an address
            statechart:
              id: example
              version: 1.0.0
              initial: s
              context:
                'n': 0
              states:
                s:
                  entry:
                    - {type: raise, event: error.execution, data: {message: nowhere is not an address}}
                    - {type: assign, context_updates: {'n': context.n + 2}}
                    - {type: send, target: {expr: "-'nowhere is not an address'"}, event: e, id: 'y'}
        "##]],
    );
}
