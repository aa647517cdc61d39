//! Type errors in the CLI: findings of `check` about services, and rejected events and answers.

use expect_test::expect;

use crate::support::{directory, played, transcript};

const PAYING: &str = "\
statechart:
  id: paying
  initial: paying
  context: {receipt: null}
  states:
    paying:
      invoke:
        id: pay
        src: pay
        input: {amout: 5}
        onDone: {target: done, actions: [{type: assign, context_updates: {receipt: event.data.reciept}}]}
        onError: {target: done, guard: event.data.categroy == 'limit'}
    done: {type: final, output: {receipt: context.receipt}}
";

/// Calls of a service are checked against the input and output schemas in the settings.
#[test]
fn inputs_and_results_of_services_are_typed() {
    let settings = "\
services:
  pay:
    http: {url: 'http://localhost:1/pay'}
    input: {type: object, required: [amount], properties: {amount: {type: number}}}
    output: {type: object, properties: {receipt: {type: string}}}
governance: {allow: [pay]}
";
    let dir = directory(&[("paying.yaml", PAYING), (".rawko/config.yaml", settings)]);
    expect![[r#"
        $ rawko check paying.yaml
        error[rawko::chart::wrong_data]: the input of `pay` does not match its schema: `amount` is missing
          --> paying.yaml:10:16
           |
        10 |         input: {amout: 5}
           |                ^^^^^^^^^^

        warning[rawko::chart::wrong_data]: the input of `pay` has no key `amout`
          --> paying.yaml:10:17
           |
        10 |         input: {amout: 5}
           |                 ^^^^^
           |
           = help: did you mean `amount`?

        error[rawko::chart::unknown_field]: `event.data` has no key `reciept`
          --> paying.yaml:11:95
           |
        11 |         onDone: {target: done, actions: [{type: assign, context_updates: {receipt: event.data.reciept}}]}
           |                                                                                               ^^^^^^^
           |
           = help: did you mean `receipt`?

        warning[rawko::chart::failure_reports_success]: `error.invoke.pay` in `paying` ends in `done`, like a success
          --> paying.yaml:12:27
           |
        11 |         onDone: {target: done, actions: [{type: assign, context_updates: {receipt: event.data.reciept}}]}
           |                          ---- successful runs end here too
        12 |         onError: {target: done, guard: event.data.categroy == 'limit'}
           |                           ^^^^ indistinguishable from success
           |
           = help: give it its own final state, or an `output` that reports the result

        warning[rawko::chart::unknown_field]: `event.data` has no key `categroy`
          --> paying.yaml:12:51
           |
        12 |         onError: {target: done, guard: event.data.categroy == 'limit'}
           |                                                   ^^^^^^^^
           |
           = help: did you mean `category`?

        1 chart, 2 errors, 3 warnings
        --- exit code 52
    "#]].assert_eq(&transcript(dir.path(), &["check", "paying.yaml"], ""));
}

/// Settings without a `services` section declare that there are none.
#[test]
fn a_project_with_settings_knows_all_its_services() {
    let dir = directory(&[("paying.yaml", PAYING), (".rawko/config.yaml", "governance: {allow: ['*']}\n")]);
    expect![[r#"
        $ rawko check .
        error[rawko::chart::unknown_service]: there is no service `pay` in this project
         --> paying.yaml:9:14
          |
        9 |         src: pay
          |              ^^^
          |
          = help: configure `pay` in `.rawko/config.yaml`, or check the whole project

        warning[rawko::chart::failure_reports_success]: `error.invoke.pay` in `paying` ends in `done`, like a success
          --> paying.yaml:12:27
           |
        11 |         onDone: {target: done, actions: [{type: assign, context_updates: {receipt: event.data.reciept}}]}
           |                          ---- successful runs end here too
        12 |         onError: {target: done, guard: event.data.categroy == 'limit'}
           |                           ^^^^ indistinguishable from success
           |
           = help: give it its own final state, or an `output` that reports the result

        warning[rawko::chart::unknown_field]: `event.data` has no key `categroy`
          --> paying.yaml:12:51
           |
        12 |         onError: {target: done, guard: event.data.categroy == 'limit'}
           |                                                   ^^^^^^^^
           |
           = help: did you mean `category`?

        1 chart, 1 error, 2 warnings
        --- exit code 52
    "#]].assert_eq(&transcript(dir.path(), &["check", "."], ""));
}

const FORM: &str = "\
statechart:
  id: form
  initial: open
  events:
    SUBMIT: {description: The author submits, data: {type: object, required: [title], properties: {title: {type: string}}}}
    TICK: {internal: true}
  states:
    open:
      on: {SUBMIT: asking, TICK: asking}
    asking:
      invoke:
        id: address
        src: human
        input: {title: \"'Where?'\", form: \"{street: {type: 'string', required: true}}\"}
        onDone: closed
        onError: closed
    closed: {type: final}
";

#[test]
fn an_event_or_an_answer_that_does_not_fit_is_refused_with_the_reasons() {
    let dir = directory(&[("form.yaml", FORM), (".rawko/config.yaml", "governance: {allow: ['*']}\n")]);
    let commands = [
        "run form.yaml --id f",
        "send f SUBMTI",
        "send f TICK",
        "send f SUBMIT --data title=5",
        "send f SUBMIT --data title=Notes",
        "approve f --data floor=2",
        "approve f --data street=Elm",
    ];
    expect![[r#"
        $ rawko run form.yaml --id f
        f  form 0.0.0
        start                        [open]
        --- stderr
        waiting: f is parked; continue with `rawko resume f`
          accepts SUBMIT
            rawko send f SUBMIT
        --- exit code 55
        $ rawko send f SUBMTI
        --- stderr
        error: instance `f` refuses the event: the chart declares no event `SUBMTI`; did you mean `SUBMIT`?
        --- exit code 1
        $ rawko send f TICK
        --- stderr
        error: instance `f` refuses the event: the event `TICK` is internal: only the chart itself raises it
        --- exit code 1
        $ rawko send f SUBMIT --data title=5
        --- stderr
        error: instance `f` refuses the event: the data of `SUBMIT` does not match its schema: `title`: expected a string, found a whole number
        --- exit code 1
        $ rawko send f SUBMIT --data title=Notes
        > SUBMIT {"title":"Notes"}   [asking]
            invoked  address human {"title":"Where?","form":{"street":{"type":"string","required":true}}}
        --- stderr
        waiting: f is parked; continue with `rawko resume f`
          pending request: address: Where?
              street: text, required
            rawko approve f --data street=TEXT, or rawko deny f
        $ rawko approve f --data floor=2
        --- stderr
        error: the answer to `address` of instance `f` does not fit its form: `street` is missing
        --- exit code 1
        $ rawko approve f --data street=Elm
        address answered             [closed]
            answer   {"approved":true,"by":"ada","comment":null,"data":{"street":"Elm"}}
            status   done
    "#]].assert_eq(&played(dir.path(), &commands));
}

#[test]
fn a_simulation_refuses_the_same_and_goes_on() {
    let dir = directory(&[("form.yaml", FORM)]);
    let stimuli = "{\"type\": \"SUBMTI\"}\n{\"type\": \"SUBMIT\", \"data\": {\"title\": \"Notes\"}}\n";
    expect![[r#"
        $ rawko simulate form.yaml
        start                        [open]
        > SUBMTI                     [open]
            refused  the chart declares no event `SUBMTI`; did you mean `SUBMIT`?
        > SUBMIT {"title":"Notes"}   [asking]
            invoked  address human {"title":"Where?","form":{"street":{"type":"string","required":true}}}
    "#]]
    .assert_eq(&transcript(dir.path(), &["simulate", "form.yaml"], stimuli));
    expect![[r#"
        $ rawko simulate form.yaml --json
        {"step":0,"stimulus":null,"configuration":["open"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
        {"step":1,"stimulus":{"type":"SUBMTI"},"configuration":["open"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[],"output":null}
        {"step":2,"stimulus":{"type":"SUBMIT","data":{"title":"Notes"}},"configuration":["asking"],"context":{},"status":"active","log":[],"emitted":[],"sent":[],"invoked":[{"id":"address","src":"human","input":{"title":"Where?","form":{"street":{"type":"string","required":true}}}}],"output":null}
        --- stderr
        step 1: refused: the chart declares no event `SUBMTI`; did you mean `SUBMIT`?
    "#]].assert_eq(&transcript(dir.path(), &["simulate", "form.yaml", "--json"], stimuli));
}
