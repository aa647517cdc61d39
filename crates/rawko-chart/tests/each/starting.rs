//! Starting: the list, the names bound, the concurrency, and lists that cannot be used.

use expect_test::expect;
use rawko_core::{Event, Value};

use crate::Walk;

#[test]
fn items_start_in_order_up_to_max_concurrent() {
    let mut walk = Walk::new(
        "src: svc, each: context.list, max_concurrent: 2, input: {file: item, at: index}",
        "",
        "null",
    );
    expect![[r#"
        +job[0] svc {"file":"a","at":0}
        +job[1] svc {"file":"b","at":1}"#]]
    .assert_eq(&walk.effects());
    walk.done("job[1]", "2");
    expect![[r#"+job[2] svc {"file":"c","at":2}"#]].assert_eq(&walk.effects());
    walk.done("job[2]", "3");
    assert_eq!(walk.effects(), "");
    walk.done("job[0]", "1");
    expect!["finished [1,2,3]"].assert_eq(&walk.end());
    assert!(walk.snapshot.fan_outs().is_empty());
}

#[test]
fn eight_items_run_unless_the_chart_says_otherwise() {
    let walk = Walk::new("src: svc, each: '[1,2,3,4,5,6,7,8,9,10]'", "", "null");
    assert_eq!(walk.effects().lines().count(), 8);
}

#[test]
fn src_input_and_timeout_of_an_item_are_evaluated_when_it_starts() {
    let mut walk = Walk::new(
        "src: {expr: \"'agent:' ~ file.agent\"}, each: '[{agent: \"x\", ms: 5}, {agent: \"y\", ms: 7}]', as: file, index: n,
         max_concurrent: 1, timeout: file.ms, input: {flag: context.flag, n: n},
         onItemDone: {actions: [{type: assign, context_updates: {flag: 'true'}}]}",
        "",
        "null",
    );
    expect![[r#"+job[0] agent:x {"flag":false,"n":0}"#]].assert_eq(&walk.effects());
    assert_eq!(walk.snapshot.next_timer().unwrap().due_ms, 5);
    walk.now_ms = 3;
    walk.done("job[0]", "1");
    expect![[r#"+job[1] agent:y {"flag":true,"n":1}"#]].assert_eq(&walk.effects());
    assert_eq!(walk.snapshot.next_timer().unwrap().due_ms, 10);
}

#[test]
fn the_list_is_evaluated_on_entry_with_the_event_of_the_entry_actions() {
    let more = "      entry: [{type: raise, event: OTHER, data: {files: [wrong]}}]
      on: {OTHER: {actions: []}}";
    let mut walk = Walk::new("src: svc, each: event.data.files, input: {f: item}", more, "null");
    expect!["finished []"].assert_eq(&walk.end());
    let data: Value = serde_json::from_str(r#"{"files": ["x"]}"#).unwrap();
    walk.deliver(Event::named("BACK", data));
    expect![[r#"+job[0] svc {"f":"x"}"#]].assert_eq(&walk.effects());
}

#[test]
fn empty_lists_and_null_are_complete_at_once() {
    for (list, join, end) in [
        ("[]", "all", "finished []"),
        ("[]", "settled", "finished []"),
        ("null", "all", "finished []"),
        ("null", "settled", "finished []"),
    ] {
        let walk = Walk::new(
            &format!("src: svc, each: context.list, join: {join}"),
            "",
            &format!("{{\"list\": {list}}}"),
        );
        assert_eq!((walk.end().as_str(), walk.effects().as_str()), (end, ""), "{list} {join}");
    }
}

#[test]
fn a_join_that_cannot_be_met_and_a_value_that_is_no_list_fail_before_anything_starts() {
    let report =
        [("[]", "any"), ("null", "any"), ("[1, 2]", "{at_least: 3}"), ("{}", "all"), ("\"a\"", "settled")]
            .map(|(list, join)| {
                let invoke = format!("src: svc, each: context.list, join: {join}");
                let walk = Walk::new(&invoke, "", &format!("{{\"list\": {list}}}"));
                format!("{list} {join}: {} {}", walk.end(), walk.effects())
            });
    expect![[r#"
        [] any: failed {"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 1 result, and the list has 0 items","retryable":false,"error":{"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 1 result, and the list has 0 items"}} 
        null any: failed {"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 1 result, and the list has 0 items","retryable":false,"error":{"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 1 result, and the list has 0 items"}} 
        [1, 2] {at_least: 3}: failed {"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 3 results, and the list has 2 items","retryable":false,"error":{"category":"execution","code":"join_impossible","message":"invoke `job`: the join needs 3 results, and the list has 2 items"}} 
        {} all: failed {"category":"execution","code":"not_a_list","message":"invoke `job`: `each` needs a list, not a map","retryable":false,"error":{"category":"execution","code":"not_a_list","message":"invoke `job`: `each` needs a list, not a map"}} !`each` needs a list, not a map
        "a" settled: failed {"category":"execution","code":"not_a_list","message":"invoke `job`: `each` needs a list, not a string","retryable":false,"error":{"category":"execution","code":"not_a_list","message":"invoke `job`: `each` needs a list, not a string"}} !`each` needs a list, not a string"#]]
    .assert_eq(&report.join("\n"));
}

#[test]
fn an_item_that_cannot_start_is_a_failed_item() {
    let invoke =
        "src: svc, each: '[1, \"x\", 3]', input: {n: item * 2}, join: settled, onItemError: {actions: note}";
    let mut walk = Walk::new(invoke, "", "null");
    expect![[r#"
        +job[0] svc {"n":2}
        !`input`: `*` takes two numbers, not a string and a number in `item * 2`
        +job[2] svc {"n":6}"#]]
    .assert_eq(&walk.effects());
    walk.done("job[2]", "6").done("job[0]", "2");
    expect![[r#"finished [{"status":"done","data":2},{"status":"error","error":{"category":"execution","message":"invoke `job[1]`: `input`: `*` takes two numbers, not a string and a number in `item * 2`","retryable":false}},{"status":"done","data":6}]"#]].assert_eq(&walk.end());
    assert!(walk.context("seen").starts_with(r#"[[1,"x",{"#));
}

#[test]
fn results_by_name_end_an_item_or_the_whole() {
    let mut walk = Walk::new("src: svc, each: context.list", "", "null");
    walk.deliver(Event::named("done.invoke.job[1]", Value::Int(7)));
    assert_eq!(walk.snapshot.fan_outs()[0].counts().done, 1);
    walk.deliver(Event::named("done.invoke.job", Value::str("enough")));
    expect!["finished enough"].assert_eq(&walk.end());
    expect![[r#"
        -job[0]
        -job[2]"#]]
    .assert_eq(&walk.effects());
}

/// `isolation` of an invoke or of the nearest state, for agents only. An input that is no map is the prompt.
#[test]
fn agents_of_an_isolated_state_work_in_worktrees() {
    let src = "src: {expr: \"item == 'b' ? 'svc' : 'agent:' ~ item\"}, each: context.list";
    let inputs = [
        ("input: {file: item}", "{\"file\":\"ITEM\"", ","),
        ("input: \"{file: item}\"", "{\"file\":\"ITEM\"", ","),
        ("input: item", "\"ITEM\"", ""),
        ("max_concurrent: 3", "null", ""),
    ];
    for (input, expected, comma) in inputs {
        for (own, state, is_isolated) in [
            (", isolation: worktree", "", true),
            ("", "      isolation: worktree", true),
            (", isolation: none", "      isolation: worktree", false),
            (", isolation: worktree", "      isolation: none", true),
            ("", "", false),
        ] {
            let walk = Walk::new(&format!("{src}, {input}{own}"), state, "{}");
            let plain = |item: &str| {
                let text = expected.replace("ITEM", item);
                // A text alone is shown as it is.
                if comma.is_empty() { text.replace('"', "") } else { text + "}" }
            };
            let agent = |item: &str| {
                let text = expected.replace("ITEM", item);
                match (is_isolated, &*text) {
                    (false, _) => plain(item),
                    (true, "null") => "{\"isolation\":\"worktree\"}".to_owned(),
                    (true, _) if comma.is_empty() => {
                        format!("{{\"prompt\":{text},\"isolation\":\"worktree\"}}")
                    }
                    (true, _) => format!("{text},\"isolation\":\"worktree\"}}"),
                }
            };
            let all = [
                format!("+job[0] agent:a {}", agent("a")),
                format!("+job[1] svc {}", plain("b")),
                format!("+job[2] agent:c {}", agent("c")),
            ];
            assert_eq!(walk.effects(), all.join("\n"), "{input}{own} / {state}");
            assert_eq!(walk.chart.is_isolated(walk.chart.find("work").unwrap(), 0), is_isolated);
        }
    }
}
