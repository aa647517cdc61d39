//! Compaction: the kept messages, the summarised ones, and termination.

use expect_test::expect;
use proptest::prelude::*;
use rawko_core::Value;
use rawko_model::provider::{
    Compaction, CompactionAttempt, CompactionLimits, NoProgress, answers_so_far, compact, messages_tokens,
};
use rawko_model::{Message, MessagePart, Reasoning, Role, ToolResult, ToolUse};

const LIMITS: CompactionLimits =
    CompactionLimits { tokens_max: 400, kept_tokens: 120, result_bytes_max: 400 };

fn call(id: &str, result: &str) -> [Message; 2] {
    let tool_use =
        ToolUse { id: id.to_owned(), name: "Read".to_owned(), input: Value::map([("path", Value::str(id))]) };
    let result = ToolResult { id: id.to_owned(), content: result.to_owned(), is_error: false };
    [
        Message { role: Role::Assistant, parts: vec![MessagePart::ToolUse(tool_use)] },
        Message { role: Role::User, parts: vec![MessagePart::ToolResult(result)] },
    ]
}

fn conversation(results: &[usize]) -> Vec<Message> {
    let mut messages = vec![Message::text(Role::User, "Make the test pass.")];
    for (number, bytes) in results.iter().enumerate() {
        messages.extend(call(&format!("c{number}"), &"r".repeat(*bytes)));
    }
    messages
}

fn shown(messages: &[Message]) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::ToolUse(it) => format!("calls {}", it.id),
        MessagePart::ToolResult(it) => format!("result of {}, {} bytes", it.id, it.content.len()),
        MessagePart::Reasoning(reasoning) => format!("thinks {}", reasoning.text),
        MessagePart::Image { .. } | MessagePart::ImageRef { .. } => "image".to_owned(),
    };
    let line = |message: &Message| {
        format!("{:?}: {}\n", message.role, message.parts.iter().map(part).collect::<Vec<_>>().join(" + "))
    };
    messages.iter().map(line).collect()
}

#[test]
fn the_middle_becomes_a_summary() {
    let messages = conversation(&[400, 400, 400, 200, 200]);
    let Compaction::Summarise(summarising) = compact(&messages, 10, LIMITS, CompactionAttempt::Nothing)
    else {
        panic!()
    };
    let shorter = summarising.apply(&messages, "Three files were read.").unwrap();
    expect![[r#"
        User: Make the test pass.
        User: [Summary of the conversation so far: 8 messages, 4 answers]
        Three files were read.
        Assistant: calls c4
        User: result of c4, 200 bytes
        ---
        User: Summarise this part of the conversation.

        assistant calls Read: {"path":"c0"}
        result: rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr
        [779 bytes left out]
        rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr
        assistant calls Read: {"path":"c3"}
        result: rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr
    "#]].assert_eq(&format!(
        "{}---\n{}",
        shown(&shorter),
        shown(&summarising.ask).replace(&"r".repeat(400), "…")
    ));
    assert_eq!(answers_so_far(&shorter), 5, "no answer is forgotten");
    assert_eq!(compact(&shorter, 10, LIMITS, CompactionAttempt::Nothing), Compaction::Fits);

    // It grows again: the old summary becomes part of the new one.
    let mut grown = shorter;
    for number in 5..9 {
        grown.extend(call(&format!("c{number}"), &"r".repeat(400)));
    }
    let Compaction::Summarise(summarising) = compact(&grown, 10, LIMITS, CompactionAttempt::Nothing) else {
        panic!()
    };
    let again = summarising.apply(&grown, "Many files were read.").unwrap();
    expect![[r#"
        User: Make the test pass.
        User: [Summary of the conversation so far: 16 messages, 8 answers]
        Many files were read.
        Assistant: calls c8
        User: result of c8, 400 bytes
    "#]]
    .assert_eq(&shown(&again));
    assert_eq!(answers_so_far(&again), 9);
}

#[test]
fn what_is_done_when() {
    let kind = |compaction: &Compaction| match compaction {
        Compaction::Fits => "fits",
        Compaction::Summarise(_) => "summarise",
        Compaction::Shorten(_) => "shorten",
        Compaction::GiveUp { .. } => "give up",
    };
    let long = Message::text(Role::User, "x".repeat(4_000));
    let table = [
        ("small", conversation(&[100]), 0, CompactionAttempt::Nothing, "fits"),
        ("small, but many tools", conversation(&[100]), 1_000, CompactionAttempt::Nothing, "give up"),
        ("many results", conversation(&[400; 6]), 0, CompactionAttempt::Nothing, "summarise"),
        ("a summary did not help", conversation(&[900; 6]), 0, CompactionAttempt::Summary, "shorten"),
        (
            "one large result and nothing else",
            conversation(&[9_000]),
            0,
            CompactionAttempt::Nothing,
            "shorten",
        ),
        ("a long task", vec![long.clone()], 0, CompactionAttempt::Nothing, "give up"),
        (
            "a long task and an answer",
            vec![long, Message::text(Role::Assistant, "no")],
            0,
            CompactionAttempt::Nothing,
            "give up",
        ),
        ("nothing", Vec::new(), 0, CompactionAttempt::Nothing, "fits"),
    ];
    for (name, messages, overhead, tried, expected) in table {
        assert_eq!(kind(&compact(&messages, overhead, LIMITS, tried)), expected, "{name}");
    }
}

#[test]
fn a_summary_that_does_not_help_is_refused() {
    let messages = conversation(&[400; 6]);
    let Compaction::Summarise(summarising) = compact(&messages, 0, LIMITS, CompactionAttempt::Nothing) else {
        panic!()
    };
    for summary in ["", "  \n", &"long ".repeat(2_000)] {
        assert_eq!(summarising.apply(&messages, summary), Err(NoProgress));
    }
    assert_eq!(summarising.apply(&messages[..2], "of another conversation"), Err(NoProgress));
}

#[test]
fn results_keep_their_beginning_and_end() {
    let mut messages = conversation(&[]);
    messages.extend(call("c0", &format!("first line {} last line", "ü".repeat(5_000))));
    let Compaction::Shorten(shorter) = compact(&messages, 0, LIMITS, CompactionAttempt::Nothing) else {
        panic!()
    };
    let Some(MessagePart::ToolResult(result)) = shorter[2].parts.first() else { panic!() };
    assert!(result.content.starts_with("first line") && result.content.ends_with("last line"));
    assert!(result.content.contains("bytes left out"), "{}", result.content);
}

fn thought(text: &str) -> MessagePart {
    let signature = Some("s".repeat(40));
    MessagePart::Reasoning(Reasoning { text: text.to_owned(), signature, ..Reasoning::default() })
}

fn thoughts(messages: &[Message]) -> Vec<&Reasoning> {
    fn of(part: &MessagePart) -> Option<&Reasoning> {
        if let MessagePart::Reasoning(it) = part { Some(it) } else { None }
    }
    messages.iter().flat_map(|message| message.parts.iter().filter_map(of)).collect()
}

#[test]
fn old_thoughts_are_dropped_before_anything_else() {
    let mut messages = conversation(&[100, 100]);
    for at in [1, 3] {
        messages[at].parts.insert(0, thought(&format!("{at} {}", "hm ".repeat(300))));
    }
    let before = messages_tokens(&messages);
    let limits = CompactionLimits { tokens_max: before - 10, kept_tokens: before / 2, result_bytes_max: 400 };
    let Compaction::Shorten(lighter) = compact(&messages, 0, limits, CompactionAttempt::Nothing) else {
        panic!()
    };
    assert_eq!(thoughts(&lighter), [thoughts(&messages)[1]], "the newest are needed, unchanged");
    assert_eq!(messages.len(), lighter.len());
    let tight = CompactionLimits { tokens_max: 30, ..LIMITS };
    let Compaction::Summarise(summarising) = compact(&messages, 0, tight, CompactionAttempt::Nothing) else {
        panic!()
    };
    assert!(!shown(&summarising.ask).contains("hm hm"), "a summary is made of what was said and done");
}

/// A typical conversation: a task, responses with or without calls, occasional remarks.
fn conversations() -> impl Strategy<Value = Vec<Message>> {
    let turn = (0..4_usize, 0..3_000_usize, any::<bool>());
    (1..2_000_usize, proptest::collection::vec(turn, 0..14)).prop_map(|(task, turns)| {
        let mut messages = vec![Message::text(Role::User, "t".repeat(task))];
        for (number, (calls, bytes, has_remark)) in turns.into_iter().enumerate() {
            let (mut uses, mut results) =
                (vec![MessagePart::Text { text: "I look. ".repeat(bytes / 200) }], Vec::new());
            if calls % 2 == 1 {
                uses.insert(0, thought(&"hm ".repeat(bytes / 9)));
            }
            for call_number in 0..calls {
                let [tool_use, result] = call(&format!("c{number}.{call_number}"), &"é".repeat(bytes));
                uses.extend(tool_use.parts);
                results.extend(result.parts);
            }
            messages.push(Message { role: Role::Assistant, parts: uses });
            if has_remark || results.is_empty() {
                results.push(MessagePart::Text { text: "Continue.".to_owned() });
            }
            messages.push(Message { role: Role::User, parts: results });
        }
        messages
    })
}

/// Returns true if every result directly follows the message with its use.
fn is_paired(messages: &[Message]) -> bool {
    let ids = |message: &Message| -> Vec<String> { message.tool_uses().map(|it| it.id.clone()).collect() };
    let results = |message: &Message| -> Vec<String> {
        let of = |part: &MessagePart| {
            if let MessagePart::ToolResult(it) = part { Some(it.id.clone()) } else { None }
        };
        message.parts.iter().filter_map(of).collect()
    };
    let first = messages.first().is_none_or(|message| results(message).is_empty());
    first && messages.windows(2).all(|pair| ids(&pair[0]) == results(&pair[1]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// For any conversation and summaries, each step makes it smaller, no pair is split, and it ends.
    #[test]
    fn compaction_ends(messages in conversations(), tokens_max in 50..2_000_u64, summary_bytes in 0..3_000_usize) {
        let limits = CompactionLimits { tokens_max, kept_tokens: tokens_max / 4, result_bytes_max: 400 };
        let (answers, task, last) = (answers_so_far(&messages), messages[0].clone(), messages.last().unwrap().role);
        let (mut messages, mut tried) = (messages, CompactionAttempt::Nothing);
        for step in 0.. {
            prop_assert!(step < 50, "it does not end");
            let before = messages_tokens(&messages);
            let next = match compact(&messages, 7, limits, tried) {
                Compaction::Fits => {
                    prop_assert!(before + 7 <= tokens_max);
                    break;
                }
                Compaction::GiveUp { tokens } => {
                    prop_assert_eq!(tokens, before + 7);
                    break;
                }
                Compaction::Summarise(summarising) => match summarising.apply(&messages, &"s".repeat(summary_bytes)) {
                    Ok(shorter) => shorter,
                    Err(NoProgress) => {
                        tried = CompactionAttempt::Summary;
                        continue;
                    }
                },
                Compaction::Shorten(shorter) => shorter,
            };
            prop_assert!(messages_tokens(&next) < before, "each step makes it smaller");
            for thought in thoughts(&next) {
                prop_assert!(thoughts(&messages).contains(&thought), "no thought is edited: its signature is of all of it");
            }
            prop_assert!(is_paired(&next), "{}", shown(&next));
            prop_assert_eq!(&next[0], &task);
            prop_assert_eq!(next.last().unwrap().role, last);
            prop_assert_eq!(answers_so_far(&next), answers);
            (messages, tried) = (next, CompactionAttempt::Nothing);
        }
    }
}
