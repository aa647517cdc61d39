//! Whole screens of a session at a moment without change, and requests other than permissions for commands.

use expect_test::expect;

use super::{SIZE, one_worker, task};
use crate::pty::Pty;
use crate::support::{operator, run};

const EDIT: &str = r###"
- agent: worker
  steps:
    - text: I use **one** name.
      tool_calls:
        - {name: Edit, input: {path: stock.py, old_string: "    return name, int(count)", new_string: "    return name.strip(), int(count)"}}
    - text: "## Done\n\nNames are `stripped`."
"###;

/// Returns the lines of a screen without what differs in each run: times, tokens, the person and empty lines.
fn timeless(screen: &str) -> String {
    let masked = |word: &str, next: Option<&&str>| {
        let is_number = |text: &str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit() || ".,".contains(letter))
        };
        match word.strip_suffix("ms").or_else(|| word.strip_suffix('s')) {
            Some(digits) if is_number(digits) => "0s".to_owned(),
            None if is_number(word) && next == Some(&"tokens") => "N".to_owned(),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        let words = words.iter().enumerate().map(|(at, word)| {
            masked(
                word,
                words.get(at + 1).map(|next| if next.starts_with("tokens") { &"tokens" } else { next }),
            )
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    };
    let lines = screen.lines().filter(|line| !line.trim().is_empty());
    let text: String = lines.map(line).collect();
    text.replace(&format!("by {}", operator()), "by ada")
}

#[test]
fn the_screen_of_a_permission_and_of_the_end() {
    let dir = one_worker("permissions: {ask: [Edit]}\n", EDIT);
    let mut pty = task(&dir, &[]);
    pty.wait_until_ready();
    expect![[r#"
        t  Do it
        ● worker
          I use one name.
        ────────────────────────────────────────────────────────────────────────────────
        ? Edit stock.py
          The agent worker asks for permission, by `Edit` in `permissions.ask` of
          .rawko/config.yaml.
            @@ line 5 @@
                 """`nails, 12` becomes `("nails", 12)`."""
                 name, count = line.split(",")
            -    return name, int(count)
            +    return name.strip(), int(count)
          y  allow once
          a  always allow Edit(/DIR/stock.py)
          n  deny
          r  deny with a reason
          choose with a letter or ↑↓, then Enter; other text is a message
        ? worker · demo/x · waiting for you
          0s · N tokens · context 1 %
        ›
    "#]]
    .assert_eq(&timeless(&pty.screen()).replace(&*dir.path().display().to_string(), "DIR"));
    pty.choose("y");
    pty.wait_for_end();
    pty.wait_for("tokens");
    expect![[r#"
        t  Do it
        ● worker
          I use one name.
          ? Edit stock.py — allowed by ada
          ✓ Edit stock.py
            @@ line 5 @@
                 """`nails, 12` becomes `("nails", 12)`."""
                 name, count = line.split(",")
            -    return name, int(count)
            +    return name.strip(), int(count)
          Done
          Names are stripped.
          → complete (rule: worker.onSuccess)
        complete  after 1 iteration: Done …
        unverified  this project has no checks that could confirm it
        changed  stock.py (+1 -1)
        spent N tokens, 1 tool call, 0s of work
          worker  demo/x  N tokens
        next: add to it: rawko task --continue t "…"; see why: rawko replay t
        --decisions
    "#]]
    .assert_eq(&timeless(&pty.screen()));
}

/// A call that its tool cannot make, and a question that cannot be shown whole.
#[test]
fn no_person_is_asked_about_a_wrong_input() {
    let options = (1..=11).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    let script = format!(
        "- agent: worker\n  steps:\n    \
         - tool_calls: [{{name: Write, input: {{path: 5, content: x}}}}, {{name: Write, input: {{nonsense: true}}}}, {{name: AskUser, input: {{question: Which?, options: [{options}]}}}}]\n    \
         - expect: 'the input of `AskUser` is wrong'\n      text: I decide myself.\n"
    );
    let dir = one_worker("permissions: {ask: [Write, Edit]}\n", &script);
    let done = run(dir.path(), &["task", "Do it", "--id", "t", "--agent", "worker"], "");
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    assert_eq!(done.stdout.matches("the input of `Write` is wrong").count(), 2, "{}", done.stdout);
}

#[test]
fn an_address_is_asked_for_by_its_host() {
    let script = r#"
- agent: worker
  steps:
    - tool_calls: [{name: WebFetch, input: {url: "https://docs.invalid/a"}}]
    - expect: "denied this call: not from there"
      text: I do without.
"#;
    let dir = one_worker("permissions: {ask: [WebFetch]}\n", script);
    let mut pty = task(&dir, &[]);
    pty.wait_until_ready();
    pty.wait_for_all(&["? Fetch https://docs.invalid/a", "a  always allow WebFetch(domain:docs.invalid)"]);
    pty.choose("r");
    pty.wait_for("reason:");
    pty.press("not from there\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
}

const SHIP: &str = r#"
statechart:
  id: ship
  initial: asking
  context: {task: null, address: null}
  states:
    asking:
      invoke:
        id: person
        src: human
        input:
          title: "'Where to?'"
          form: >-
            {properties: {street: {type: 'string'}, zip: {type: 'integer', minimum: 10000, maximum: 99999},
            floors: {type: 'array', items: {type: 'integer'}}}, required: ['street', 'zip']}
        onDone: {target: sent, actions: [{type: assign, context_updates: {address: event.data.data}}]}
        onError: failed
    sent: {type: final, output: {address: context.address}}
    failed: {type: final, tags: [error]}
"#;

#[test]
fn a_form_is_filled_in_and_each_field_is_checked() {
    let dir = one_worker("", "[]");
    std::fs::write(dir.path().join("ship.yaml"), SHIP).unwrap();
    let args = ["task", "Send it", "--id", "t", "--chart", "ship.yaml"];
    let mut pty = Pty::start(dir.path(), &args, SIZE);
    pty.wait_for_all(&["? Where to?", "field 1 of 3", "street:"]);
    pty.wait_until("a form that takes keys", |pty| pty.screen().contains("Enter: next"));
    pty.press("Main Road 1\r");
    pty.wait_for("field 2 of 3");
    pty.press("7\r");
    // The field stays, with the typed text.
    pty.wait_for_all(&["zip: expected at least 10000, found 7", "zip: 7"]);
    pty.press("0173\r");
    pty.wait_for("field 3 of 3 (several, with commas between)");
    pty.press("2, 3\r");
    let (code, text) = pty.end();
    assert_eq!(code, Some(0), "{text}");
    let shown = run(dir.path(), &["show", "t", "--json"], "").stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let address = serde_json::json!({"street": "Main Road 1", "zip": 70173, "floors": [2, 3]});
    assert_eq!(shown["output"]["address"], address, "{shown}");
}
