//! How the person gets to see the page on which they log in. Separate, because a build without the client has it, too.

/// Shows an address to the person, usually in their browser.
pub type Browser<'b> = &'b (dyn Fn(&str) + Send + Sync);
