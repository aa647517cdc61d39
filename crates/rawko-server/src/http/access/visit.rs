//! Session cookie of the page, so that a browser need not store the token. It names the token and an expiry time, and
//! is signed with a key derived from the token: it survives a restart, and becomes invalid when the token changes.

use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;

use crate::tokens::{ServerTokens, Token};

pub(crate) const COOKIE: &str = "rawko_session";
/// Lifetime of a session.
pub(crate) const VISIT_MS: i64 = 12 * 60 * 60 * 1000;

impl Token {
    /// Returns the cookie value of a session that expires at `until_ms`.
    pub(crate) fn visit(&self, until_ms: i64) -> String {
        let claim = format!("{}.{until_ms}", hex(self.name.as_bytes()));
        format!("{claim}.{}", hex(&self.sign(&claim)))
    }

    fn sign(&self, claim: &str) -> [u8; 32] {
        *blake3::keyed_hash(&self.visit_key, claim.as_bytes()).as_bytes()
    }
}

impl ServerTokens {
    /// Returns the token of a cookie, if the cookie is valid.
    pub(crate) fn of_visit(&self, cookie: &str, now_ms: i64) -> Option<&Token> {
        let (claim, signature) = cookie.rsplit_once('.')?;
        let (name, until_ms) = claim.split_once('.')?;
        let token = self.named(&String::from_utf8(unhex(name)?).ok()?)?;
        let is_signed: bool = token.sign(claim).as_slice().ct_eq(&unhex(signature)?).into();
        (is_signed && until_ms.parse::<i64>().ok()? > now_ms).then_some(token)
    }
}

/// Returns the cookie value of a request.
pub(super) fn cookie_of(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.len().is_multiple_of(2).then(|| text.as_bytes().chunks(2).map(pair).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::Role;

    #[test]
    fn a_visit_is_good_until_it_ends_and_only_for_its_token() {
        let tokens = ServerTokens::default().with("kim", Role::Operate, "one").with("lee", Role::Read, "two");
        let cookie = tokens.find("one").unwrap().visit(1_000);
        assert_eq!(&*tokens.of_visit(&cookie, 999).unwrap().name, "kim");
        assert!(tokens.of_visit(&cookie, 1_000).is_none(), "it is over");
        let longer = cookie.replace(".1000.", ".9000.");
        assert!(tokens.of_visit(&longer, 999).is_none(), "nobody signed this end");
        let (_, signed) = cookie.split_once('.').unwrap();
        let as_lee = format!("{}.{signed}", hex(b"lee"));
        assert!(tokens.of_visit(&as_lee, 999).is_none(), "nobody signed this name");
        let changed = ServerTokens::default().with("kim", Role::Operate, "another");
        assert!(changed.of_visit(&cookie, 999).is_none(), "the token was changed");
        for wrong in ["", ".", "..", "a.b.c", "6b696d.1000", "6b696d.1000.é", "one"] {
            assert!(tokens.of_visit(wrong, 0).is_none(), "{wrong}");
        }
    }
}
