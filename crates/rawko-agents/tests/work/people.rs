//! Agents that are people: they get requests, and their answers are returned.

use std::time::Duration;

use rawko_core::Value;
use rawko_host::{PersonAnswer, SettleReason, StartOptions};
use serde_json::json;

use crate::yard::yard;

#[tokio::test]
async fn a_person_is_asked_and_the_answer_comes_back() {
    let ada = "---\nname: ada\nkind: human\ndisplayName: Ada\nwhenToUse: For judgement.\n---\n";
    let yard = yard("[]").file(".rawko/agents/ada.md", ada);
    let host = yard.host().await;
    let input = json!({"agent": "ada", "prompt": "Is it good?"});
    let start = StartOptions { chart: "one".into(), input: input.into(), id: Some("i".into()) };
    host.start(start).await.unwrap();
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(&settled, SettleReason::Waiting(activity) if activity.person), "{settled:?}");
    let data = Value::from_json(json!({"grade": 1}));
    let answer = PersonAnswer {
        approved: true,
        by: Some("ada".into()),
        claimed: None,
        asked_ms: None,
        comment: Some("very".into()),
        data,
    };
    host.answer("i", None, answer).await.unwrap();
    let settled = host.settled("i", Duration::from_secs(60)).await.unwrap();
    assert!(matches!(settled, SettleReason::Over(_)), "{settled:?}");
    let output = host.results("i").unwrap().output.to_json();
    assert_eq!(
        (&output["approved"], &output["by"], &output["comment"], &output["data"]["grade"]),
        (&json!(true), &json!("ada"), &json!("very"), &json!(1)),
        "{output}"
    );
    host.close().await;
}
