//! A thousand clients, and one that does not read.

use serde_json::json;

use crate::sse::Events;
use crate::support::Api;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_hear_everything() {
    let api = Api::start().await;
    api.order("o-1").await;
    let mut clients = Vec::new();
    for number in 0..1_000 {
        let query = if number % 10 == 0 { "?instance=o-1" } else { "" };
        clients.push(Events::open(api.address(), query, None).await);
    }
    // A client is connected once it has received its start position.
    for client in &mut clients {
        assert_eq!(client.named("hello").await.id, Some(1));
    }
    for number in 0..20 {
        api.send("o-1", "NOTE", json!(number)).await;
    }
    for client in &mut clients {
        for id in 2..=21 {
            assert_eq!(client.named("step").await.id, Some(id));
        }
    }
    // All streams end together, and promptly.
    api.stop().await;
    for client in &mut clients {
        assert_eq!(client.next().await, None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_cut_off_and_resumes() {
    let api = Api::start().await;
    api.order("o-1").await;
    let mut lazy = Events::open(api.address(), "?instance=o-1", None).await;
    let mut eager = Events::open(api.address(), "?instance=o-1", None).await;
    assert_eq!(lazy.named("hello").await.id, Some(1));
    assert_eq!(eager.named("hello").await.id, Some(1));
    // Each event is some hundred kilobytes with its changes: more than the queue and sockets hold together.
    let text = "x".repeat(200_000);
    for number in 0..100 {
        api.send("o-1", "NOTE", json!([number, text])).await;
        assert_eq!(eager.named("step").await.id, Some(number + 2));
    }
    let mut last = 1;
    while let Some(event) = lazy.next().await {
        last = event.id.unwrap();
    }
    assert!(last < 101, "it was cut off before the end");
    let mut again = Events::open(api.address(), "?instance=o-1", Some(last)).await;
    again.named("hello").await;
    for id in last + 1..=101 {
        assert_eq!(again.named("step").await.id, Some(id));
    }
    api.stop().await;
}
