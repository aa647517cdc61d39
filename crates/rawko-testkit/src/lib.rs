//! What tests of several crates share: a server that answers as model services do, over real sockets and in their real
//! wire formats. Nothing here is part of the product, and nothing of the product is used here: a mistake in a codec
//! cannot hide behind the same mistake in its test.

mod reply;
mod request;
mod server;
mod wire;

pub use reply::{Ending, Reply};
pub use request::Asked;
pub use server::ProviderServer;
pub use wire::{Answer, Call, Format, Reason, anthropic, gemini, ollama, openai};
