//! `approval_respected` where a denial is easy to lose: effects and questions with `each`, events that are deferred.

use crate::support::report;

fn verdict(text: &str) -> &'static str {
    let report = report(&[text]);
    report.property("approval_respected").unwrap().verdict.as_str()
}

const NAMED: &str = "
id: c
initial: asking
context: {hosts: [a, b]}
states:
  asking:
    invoke:
      id: approve
      src: human
      guards: [deploy]
      onDone: [{target: deploying, guard: event.data.approved}, {target: denied}]
      onError: denied
  denied: {on: {RETRY: deploying, STOP: stopped}}
  deploying: {invoke: {id: deploy, src: deployer, each: context.hosts, onDone: stopped, onError: stopped}}
  stopped: {type: final}
";

#[test]
fn named_effects_with_each_need_the_approval() {
    assert_eq!(verdict(NAMED), "violated");
    assert_eq!(verdict(&NAMED.replace("RETRY: deploying", "RETRY: asking")), "holds");
}

/// A retry that is sent before the denial waits for it.
const DEFERRED: &str = "
id: c
unhandled: defer
initial: asking
states:
  asking:
    invoke:
      id: approve
      src: human
      onDone: [{target: deploying, guard: event.data.approved}, {target: denied}]
      onError: denied
  denied: {on: {RETRY: deploying}}
  deploying: {invoke: {id: deploy, src: deployer, onDone: stopped, onError: stopped}}
  stopped: {type: final}
";

#[test]
fn a_deferred_event_does_not_approve() {
    assert_eq!(verdict(DEFERRED), "violated");
}

/// Two people are asked, and the chart looks at the last answer only.
const TWO_PEOPLE: &str = "
id: c
initial: asking
context: {last: false}
states:
  asking:
    invoke:
      id: approve
      src: human
      each: [1, 2]
      max_concurrent: 1
      guards: [deploy]
      onItemDone: {actions: [{type: assign, context_updates: {last: event.data.approved}}]}
      onDone: [{target: deploying, guard: context.last}, {target: stopped}]
      onError: stopped
  deploying: {invoke: {id: deploy, src: deployer, onDone: stopped, onError: stopped}}
  stopped: {type: final}
";

#[test]
fn an_approval_does_not_undo_the_denial_of_another_person() {
    assert_eq!(verdict(TWO_PEOPLE), "violated");
    assert_eq!(
        verdict(
            &TWO_PEOPLE
                .replace("guard: context.last", "guard: context.all")
                .replace("last: event.data.approved", "all: context.all and event.data.approved",)
                .replace("last: false", "all: true")
        ),
        "holds"
    );
}
