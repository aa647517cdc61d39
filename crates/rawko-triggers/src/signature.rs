//! Signatures of webhooks: which sender signs how, and whether a request is genuine. Comparisons take the same time for
//! every wrong signature; no error contains a secret or the expected signature.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Slack's own advice: older requests may be replays.
const SLACK_TOLERANCE_MS: i64 = 5 * 60 * 1000;
const SLACK_TIME: &str = "x-slack-request-timestamp";
/// Longer headers are refused unread.
const HEADER_MAX: usize = 1_000;

/// The key of a signature. It has no readable form.
#[derive(Clone, PartialEq, Eq)]
pub struct SignatureSecret(Vec<u8>);

impl SignatureSecret {
    /// Creates a key from text.
    pub fn new(text: &str) -> SignatureSecret {
        SignatureSecret(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for SignatureSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The way in which the sender signs its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// `X-Hub-Signature-256` over the body.
    Github,
    /// `X-Slack-Signature` over time and body.
    Slack,
    /// HMAC-SHA256 over the body, or over time and body, in a header of the sender's choice.
    Hmac(HmacOptions),
    /// No signature. Only for requests from this machine.
    None,
}

/// A signature of a sender that is neither GitHub nor Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HmacOptions {
    /// Header with the signature.
    pub header: String,
    /// Text before the signature: `sha256=`.
    pub prefix: String,
    /// Encoding of the signature in the header.
    pub encoding: Encoding,
    /// Header with the time in seconds; then `TIME.BODY` is signed.
    pub timestamp: Option<String>,
    /// Greatest difference between the time of the request and the current time.
    pub tolerance_ms: i64,
}

/// Encoding of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Hexadecimal digits.
    #[default]
    Hex,
    /// Base64 with padding.
    Base64,
}

/// The reason why a request is not genuine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The header is missing.
    #[error("the header `{0}` is missing")]
    NoHeader(String),
    /// The signature cannot be decoded.
    #[error("the signature is malformed")]
    Malformed,
    /// The signature is of another body or key.
    #[error("the signature does not match")]
    Wrong,
    /// The time is missing or not a number.
    #[error("the time of the request is not a number of seconds")]
    NoTime,
    /// The time is out of the tolerance.
    #[error("the request is too old, or its time is in the future")]
    Stale,
}

impl Signature {
    /// Returns true if it needs a secret.
    pub fn is_signed(&self) -> bool {
        match self {
            Signature::Github | Signature::Slack | Signature::Hmac(_) => true,
            Signature::None => false,
        }
    }

    /// Returns true if the time of a request is signed, so that a replay is refused by its age.
    pub(crate) fn signs_time(&self) -> bool {
        self.time_header().is_some()
    }

    /// Returns the header with the signed time of a request, if there is one.
    pub(crate) fn time_header(&self) -> Option<&str> {
        match self {
            Signature::Slack => Some(SLACK_TIME),
            Signature::Hmac(options) => options.timestamp.as_deref(),
            Signature::Github | Signature::None => None,
        }
    }

    /// Checks a request. `header` returns a header by its name, in any case.
    pub fn verify<'h>(
        &self,
        secret: &SignatureSecret,
        header: &dyn Fn(&str) -> Option<&'h str>,
        body: &[u8],
        now_ms: i64,
    ) -> Result<(), SignatureError> {
        let text = |name: &str| {
            let found = header(name).filter(|text| text.len() <= HEADER_MAX);
            found.ok_or_else(|| SignatureError::NoHeader(name.to_owned()))
        };
        match self {
            Signature::Github => {
                let given = decoded(text("x-hub-signature-256")?, "sha256=", Encoding::Hex)?;
                matches(secret, &[body], &given)
            }
            Signature::Slack => {
                let given = decoded(text("x-slack-signature")?, "v0=", Encoding::Hex)?;
                let time = text(SLACK_TIME)?;
                in_time(time, now_ms, SLACK_TOLERANCE_MS)?;
                matches(secret, &[b"v0:", time.as_bytes(), b":", body], &given)
            }
            Signature::Hmac(options) => {
                let given = decoded(text(&options.header)?, &options.prefix, options.encoding)?;
                match &options.timestamp {
                    None => matches(secret, &[body], &given),
                    Some(name) => {
                        let time = text(name)?;
                        in_time(time, now_ms, options.tolerance_ms)?;
                        matches(secret, &[time.as_bytes(), b".", body], &given)
                    }
                }
            }
            Signature::None => Ok(()),
        }
    }
}

fn decoded(text: &str, prefix: &str, encoding: Encoding) -> Result<Vec<u8>, SignatureError> {
    let text = text.trim().strip_prefix(prefix).ok_or(SignatureError::Malformed)?;
    let bytes = match encoding {
        Encoding::Hex => unhex(text),
        Encoding::Base64 => STANDARD.decode(text).ok(),
    };
    bytes.ok_or(SignatureError::Malformed)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

fn in_time(text: &str, now_ms: i64, tolerance_ms: i64) -> Result<(), SignatureError> {
    let seconds: i64 = text.parse().map_err(|_| SignatureError::NoTime)?;
    let age_ms = now_ms.saturating_sub(seconds.saturating_mul(1_000));
    match age_ms.saturating_abs() <= tolerance_ms {
        true => Ok(()),
        false => Err(SignatureError::Stale),
    }
}

/// Compares in constant time.
fn matches(secret: &SignatureSecret, parts: &[&[u8]], given: &[u8]) -> Result<(), SignatureError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).map_err(|_| SignatureError::Wrong)?;
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(given).map_err(|_| SignatureError::Wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    type HeaderLookup = [(&'static str, &'static str)];

    fn verify(
        signature: &Signature,
        secret: &str,
        headers: &HeaderLookup,
        body: &str,
        now_ms: i64,
    ) -> Result<(), SignatureError> {
        let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        signature.verify(&SignatureSecret::new(secret), &header, body.as_bytes(), now_ms)
    }

    /// The example of GitHub's documentation.
    #[test]
    fn github_signs_the_body() {
        let good = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let secret = "It's a Secret to Everybody";
        let check =
            |header, body| verify(&Signature::Github, secret, &[("x-hub-signature-256", header)], body, 0);
        assert_eq!(check(good, "Hello, World!"), Ok(()));
        assert_eq!(check(good, "Hello, World?"), Err(SignatureError::Wrong));
        assert_eq!(check("sha256=75", "Hello, World!"), Err(SignatureError::Wrong), "a prefix is not enough");
        assert_eq!(check("sha256=", "Hello, World!"), Err(SignatureError::Wrong));
        for malformed in ["757107", "sha1=757107", "sha256=7", "sha256=zz", "sha256=é"] {
            assert_eq!(check(malformed, "Hello, World!"), Err(SignatureError::Malformed), "{malformed}");
        }
        let missing = verify(&Signature::Github, secret, &[], "Hello, World!", 0);
        assert_eq!(missing, Err(SignatureError::NoHeader("x-hub-signature-256".to_owned())));
    }

    /// The example of Slack's documentation.
    #[test]
    fn slack_signs_time_and_body() {
        const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let secret = "8f742231b10e8888abcd99yyyzzz85a5";
        let headers = [
            ("x-slack-request-timestamp", "1531420618"),
            ("x-slack-signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
        ];
        let at = |now_ms| verify(&Signature::Slack, secret, &headers, BODY, now_ms);
        assert_eq!(at(1_531_420_618_000), Ok(()));
        assert_eq!(at(1_531_420_618_000 + 300_000), Ok(()));
        assert_eq!(at(1_531_420_618_000 + 300_001), Err(SignatureError::Stale), "a replay");
        assert_eq!(at(1_531_420_618_000 - 300_001), Err(SignatureError::Stale), "from the future");
        let moved = [("x-slack-request-timestamp", "1531420619"), headers[1]];
        assert_eq!(
            verify(&Signature::Slack, secret, &moved, BODY, 1_531_420_618_000),
            Err(SignatureError::Wrong),
            "the time is signed"
        );
        let no_time = [("x-slack-request-timestamp", "soon"), headers[1]];
        assert_eq!(verify(&Signature::Slack, secret, &no_time, BODY, 0), Err(SignatureError::NoTime));
    }

    /// RFC 4231, test case 2.
    #[test]
    fn others_choose_header_encoding_and_time() {
        let options = HmacOptions {
            header: "x-signature".to_owned(),
            prefix: String::new(),
            encoding: Encoding::Hex,
            timestamp: None,
            tolerance_ms: 60_000,
        };
        let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let base64 = "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=";
        let body = "what do ya want for nothing?";
        let check = |options: &HmacOptions, text, now_ms| {
            let headers = [("x-signature", text), ("x-time", "100")];
            verify(&Signature::Hmac(options.clone()), "Jefe", &headers, body, now_ms)
        };
        assert_eq!(check(&options, hex, 0), Ok(()));
        let in_base64 = HmacOptions { encoding: Encoding::Base64, ..options.clone() };
        assert_eq!(check(&in_base64, base64, 0), Ok(()));
        let timed = HmacOptions { timestamp: Some("x-time".to_owned()), ..options };
        assert_eq!(
            check(&timed, hex, 100_000),
            Err(SignatureError::Wrong),
            "`100.BODY` is signed, not the body"
        );
        assert_eq!(check(&timed, hex, 161_000), Err(SignatureError::Stale));
        assert_eq!(format!("{:?}", SignatureSecret::new("Jefe")), "Secret");
    }
}
