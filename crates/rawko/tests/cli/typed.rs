//! Types that a person meets: what `check` says about services, and events and answers that are refused.

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

/// What settings say a service takes and gives is what its callers are held to.
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
    expect![[""]].assert_eq(&transcript(dir.path(), &["check", "paying.yaml"], ""));
}

/// Settings without services say that there are none.
#[test]
fn a_project_with_settings_knows_all_its_services() {
    let dir = directory(&[("paying.yaml", PAYING), (".rawko/config.yaml", "governance: {allow: ['*']}\n")]);
    expect![[""]].assert_eq(&transcript(dir.path(), &["check", "."], ""));
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
    expect![[""]].assert_eq(&played(dir.path(), &commands));
}

#[test]
fn a_simulation_refuses_the_same_and_goes_on() {
    let dir = directory(&[("form.yaml", FORM)]);
    let stimuli = "\"SUBMTI\"\n{\"type\": \"SUBMIT\", \"data\": {\"title\": \"Notes\"}}\n";
    expect![[""]].assert_eq(&transcript(dir.path(), &["simulate", "form.yaml"], stimuli));
    expect![[""]].assert_eq(&transcript(dir.path(), &["simulate", "form.yaml", "--json"], stimuli));
}
