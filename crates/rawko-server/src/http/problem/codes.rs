//! All problem codes. `docs/reference/api.md` lists them, which a test checks.

use axum::http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $status:literal $word:literal $title:literal;)*) => {
        /// Machine-readable kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemCode {
            $(
                #[doc = concat!("HTTP status ", $status, ": ", $title, ".")]
                $(#[$doc])*
                $variant,
            )*
        }

        impl ProblemCode {
            /// All codes, for the API's description.
            pub const ALL: &[ProblemCode] = &[$(ProblemCode::$variant,)*];

            /// Returns the last word of the code.
            pub fn as_str(self) -> &'static str {
                match self { $(ProblemCode::$variant => $word,)* }
            }

            /// Returns a short text for people, the same for all problems with this code.
            pub fn title(self) -> &'static str {
                match self { $(ProblemCode::$variant => $title,)* }
            }

            fn number(self) -> u16 {
                match self { $(ProblemCode::$variant => $status,)* }
            }
        }
    };
}

codes! {
    InvalidRequest 400 "invalid_request" "malformed request";
    InvalidJson 400 "invalid_json" "the body is not valid JSON";
    InvalidCursor 400 "invalid_cursor" "invalid cursor";
    Unauthorized 401 "unauthorized" "a valid token is required";
    Forbidden 403 "forbidden" "the role of the token is not sufficient";
    CrossSite 403 "cross_site" "cross-site request";
    UnknownHost 403 "unknown_host" "unknown host name";
    NotFound 404 "not_found" "not found";
    NoInstance 404 "no_instance" "instance not found";
    NoStep 404 "no_step" "step not found";
    NoChart 404 "no_chart" "chart not found";
    NoVersion 404 "no_version" "chart version not found";
    NoChannel 404 "no_channel" "channel not found";
    NoAgent 404 "no_agent" "agent not found";
    MethodNotAllowed 405 "method_not_allowed" "method not allowed";
    SlowBody 408 "slow_body" "timeout while reading the body";
    Exists 409 "exists" "already exists";
    /// The file is not as the editor read it.
    Changed 409 "changed" "changed in the meantime";
    Over 409 "over" "the instance has ended";
    NothingAsked 409 "nothing_asked" "the instance has no pending request";
    SeveralAsked 409 "several_asked" "the instance has several pending requests";
    NotAsked 409 "not_asked" "the instance has no such pending request";
    /// An answer names a request that is over.
    Superseded 409 "superseded" "the request is over, and a later one is pending";
    NotRemovable 409 "not_removable" "the instance cannot be removed";
    NotFailed 409 "not_failed" "the instance has not failed";
    Paused 409 "paused" "the instance is paused";
    /// The turn rules of a channel reject it; `reason` names the rule.
    Refused 409 "refused" "refused by the channel";
    IdempotencyConflict 409 "idempotency_conflict" "the idempotency key was used for another request";
    TooLarge 413 "too_large" "the body is too large";
    UnsupportedMediaType 415 "unsupported_media_type" "the content type must be application/json";
    InvalidBody 422 "invalid_body" "invalid body";
    InvalidChart 422 "invalid_chart" "invalid chart";
    InvalidEdit 422 "invalid_edit" "invalid change of the context";
    InvalidName 422 "invalid_name" "invalid name";
    StepFailed 422 "step_failed" "the step failed";
    /// `reason` is `unknown_event`, `internal_event` or `wrong_event_data`.
    EventRefused 422 "event_refused" "the chart rejected the event";
    /// `reasons` lists what does not fit.
    AnswerRefused 422 "answer_refused" "the answer does not match the form";
    NotPossible 422 "not_possible" "not possible in this project";
    TooManyRequests 429 "too_many_requests" "too many requests";
    Internal 500 "internal" "internal error";
    Busy 503 "busy" "the queue of the instance is full";
    Unavailable 503 "unavailable" "unavailable";
    StoreUnavailable 503 "store_unavailable" "the store is unavailable";
    TooManyStreams 503 "too_many_streams" "too many open event streams";
    TimedOut 503 "timed_out" "timeout";
    Closing 503 "closing" "the server is shutting down";
}

impl ProblemCode {
    /// Returns the HTTP status of the code.
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.number()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

#[cfg(test)]
mod tests {
    use super::ProblemCode;

    #[test]
    fn every_code_has_a_status_of_its_own_kind_and_a_word_of_its_own() {
        for code in ProblemCode::ALL {
            assert_eq!(code.status().as_u16(), code.number(), "{code:?}");
            let same = ProblemCode::ALL.iter().filter(|other| other.as_str() == code.as_str()).count();
            assert_eq!(same, 1, "{code:?}");
        }
    }
}
