//! Undocumented behaviour of real and compatible services, as tables of raw bytes.

mod anthropic;
mod gemini;
mod ollama;
mod openai;

use expect_test::Expect;
use rawko_testkit::{ModelReply, WireProtocol};

use crate::support::{answered, shown, table};

async fn check(format: WireProtocol, cases: Vec<(&str, ModelReply)>, expected: Expect) {
    let mut rows = Vec::new();
    for (name, reply) in cases {
        let (_, result) = answered(format, reply).await;
        rows.push((name.to_owned(), shown(&result)));
    }
    expected.assert_eq(&table(rows));
}
