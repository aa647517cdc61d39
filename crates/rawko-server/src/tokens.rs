//! `ServerTokens`: the credentials of callers. Stored as hashes, and compared in constant time.

use std::fmt;
use std::sync::Arc;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::role::{AgentNames, Role};

/// The tokens of a server. Without any, all clients are trusted. Cheap to clone.
#[derive(Clone, Default)]
pub struct ServerTokens {
    all: Arc<Vec<Token>>,
}

pub(crate) struct Token {
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
    hash: [u8; 32],
    /// Key that signs session cookies; derived, so that changing the token invalidates them.
    pub(crate) visit_key: [u8; 32],
    /// Key that signs links to requests.
    pub(crate) request_key: [u8; 32],
}

impl ServerTokens {
    /// Adds a token. If two have the same text, the first wins.
    #[must_use]
    pub fn with(self, name: &str, role: Role, secret: &str) -> ServerTokens {
        let mut all =
            Arc::try_unwrap(self.all).unwrap_or_else(|shared| shared.iter().map(Token::copy).collect());
        all.push(Token {
            name: name.into(),
            role,
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            visit_key: blake3::derive_key("rawko 2026 visits of the page", secret.as_bytes()),
            request_key: blake3::derive_key("rawko 2026 links to requests", secret.as_bytes()),
        });
        ServerTokens { all: Arc::new(all) }
    }

    /// Returns true if no token is required.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns true if a token with this name exists.
    pub fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// Returns the token with this text. Compares all of them, so that the time reveals nothing.
    pub(crate) fn find(&self, given: &str) -> Option<&Token> {
        let hash = *blake3::hash(given.as_bytes()).as_bytes();
        let mut found = 0_u32;
        for (index, token) in (1..).zip(self.all.iter()) {
            let fits: Choice = token.hash.ct_eq(&hash) & found.ct_eq(&0);
            found.conditional_assign(&index, fits);
        }
        self.all.get(usize::try_from(found).ok()?.checked_sub(1)?)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Token> {
        self.all.iter().find(|token| &*token.name == name)
    }

    /// Returns a key for one purpose that only holders of the tokens could compute.
    #[cfg(feature = "mcp")]
    pub(crate) fn derived_key(&self, purpose: &'static str) -> [u8; 32] {
        let keys: Vec<u8> = self.all.iter().flat_map(|token| token.visit_key).collect();
        blake3::derive_key(purpose, &keys)
    }

    /// Returns the names under which this token connects agents; `None` if it may not.
    pub(crate) fn let_in_agent(&self, given: Option<&str>) -> Option<AgentNames> {
        if self.is_empty() {
            return Some(AgentNames::Any);
        }
        let token = self.find(given?)?;
        token.role.agent_names(&token.name)
    }

    /// Returns true if this token may provide services.
    #[cfg(feature = "http")]
    pub(crate) fn let_in_service(&self, given: Option<&str>) -> bool {
        let fits = |given| self.find(given).is_some_and(|token| token.role.provides_services());
        self.is_empty() || given.is_some_and(fits)
    }
}

impl Token {
    fn copy(&self) -> Token {
        let Token { name, role, hash, visit_key, request_key } = self;
        Token {
            name: Arc::clone(name),
            role: *role,
            hash: *hash,
            visit_key: *visit_key,
            request_key: *request_key,
        }
    }
}

/// Prints only the number of tokens.
impl fmt::Debug for ServerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.all.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_all_of_its_text() {
        let tokens = ServerTokens::default()
            .with("reader", Role::Read, "look-1")
            .with("ci", Role::Operate, "work-2")
            .with("again", Role::Admin, "work-2");
        let role = |given| tokens.find(given).map(|token| (&*token.name, token.role));
        assert_eq!(role("look-1"), Some(("reader", Role::Read)));
        assert_eq!(role("work-2"), Some(("ci", Role::Operate)));
        for wrong in ["", "look-", "look-11", "LOOK-1", "reader"] {
            assert_eq!(role(wrong), None, "{wrong}");
        }
        assert_eq!((tokens.let_in_agent(Some("look-1")), tokens.let_in_agent(None)), (None, None));
        assert_eq!(tokens.let_in_agent(Some("work-2")), Some(AgentNames::Any));
        let bot = tokens.clone().with("bot", Role::Agent, "talk-3");
        assert_eq!(bot.let_in_agent(Some("talk-3")), Some(AgentNames::Only("bot".into())));
        assert_eq!(ServerTokens::default().let_in_agent(None), Some(AgentNames::Any));
        assert_eq!(format!("{tokens:?}"), "3 tokens");
    }
}
