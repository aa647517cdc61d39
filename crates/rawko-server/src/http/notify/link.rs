//! Signed links to one request: the bearer can answer that request, once, until the link expires. Signed with a key
//! derived from the operator's token, so that links survive a restart, and a new token invalidates them.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::http::access::{hex, unhex};
use crate::tokens::{ServerTokens, Token};

/// The request that a link answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// Name of the token that signed it.
    #[serde(rename = "t")]
    pub(super) token: String,
    /// Name of the receiver, recorded with the answer.
    #[serde(rename = "r")]
    pub(super) receiver: String,
    #[serde(rename = "i")]
    pub(super) instance: String,
    #[serde(rename = "v")]
    pub(super) invoke: String,
    /// Time of the request, which distinguishes it from a later one of the same invoke.
    #[serde(rename = "s")]
    pub(super) since_ms: i64,
    #[serde(rename = "u")]
    pub(super) until_ms: i64,
}

impl Claim {
    /// Returns the code of a link.
    pub(super) fn signed(&self, token: &Token) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{}.{}", hex(text.as_bytes()), hex(&signature(token, &text)))
    }

    /// Returns the claim of a code, if the code is valid now.
    pub(super) fn of(code: &str, tokens: &ServerTokens, now_ms: i64) -> Option<Claim> {
        let (claim, given) = code.split_once('.')?;
        let text = String::from_utf8(unhex(claim)?).ok()?;
        let claim: Claim = serde_json::from_str(&text).ok()?;
        let token = tokens.named(&claim.token)?;
        let is_signed: bool = signature(token, &text).as_slice().ct_eq(&unhex(given)?).into();
        (is_signed && claim.until_ms > now_ms).then_some(claim)
    }
}

/// A keyed hash (BLAKE3 as a MAC).
fn signature(token: &Token, text: &str) -> [u8; 32] {
    *blake3::keyed_hash(&token.request_key, text.as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::Role;

    #[test]
    fn a_link_is_for_one_request_until_it_expires() {
        let tokens = ServerTokens::default().with("ada", Role::Admin, "one").with("kim", Role::Admin, "two");
        let claim = Claim {
            token: "ada".into(),
            receiver: "team".into(),
            instance: "order-1".into(),
            invoke: "approval".into(),
            since_ms: 5,
            until_ms: 1_000,
        };
        let code = claim.signed(tokens.named("ada").unwrap());
        assert_eq!(Claim::of(&code, &tokens, 999), Some(claim.clone()));
        assert_eq!(Claim::of(&code, &tokens, 1_000), None, "it has expired");
        let (_, signature) = code.split_once('.').unwrap();
        for other in [
            Claim { instance: "order-2".into(), ..claim.clone() },
            Claim { invoke: "address".into(), ..claim.clone() },
            Claim { since_ms: 6, ..claim.clone() },
            Claim { until_ms: 9_000, ..claim.clone() },
            Claim { token: "kim".into(), ..claim.clone() },
        ] {
            let text = serde_json::to_string(&other).unwrap();
            let forged = format!("{}.{signature}", hex(text.as_bytes()));
            assert_eq!(Claim::of(&forged, &tokens, 0), None, "{other:?}");
        }
        let changed = ServerTokens::default().with("ada", Role::Admin, "three");
        assert_eq!(Claim::of(&code, &changed, 0), None, "the token was changed");
        for wrong in ["", ".", "a.b", "00.00", &code[..code.len() - 2], &format!("{code}00")] {
            assert_eq!(Claim::of(wrong, &tokens, 0), None, "{wrong}");
        }
        let visit = tokens.named("ada").unwrap().visit(1_000);
        assert_eq!(Claim::of(&visit, &tokens, 0), None, "a session is no link");
    }
}
