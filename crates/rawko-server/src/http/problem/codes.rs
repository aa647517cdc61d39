//! All problem codes. `docs/reference/api.md` lists them, which a test checks.

use axum::http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $status:literal $word:literal $title:literal;)*) => {
        /// Machine-readable kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemCode { $($(#[$doc])* $variant,)* }

        impl ProblemCode {
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
    InvalidRequest 400 "invalid_request" "the request is not well-formed";
    InvalidJson 400 "invalid_json" "the body is not JSON";
    InvalidCursor 400 "invalid_cursor" "the cursor is not one that a list gave";
    Unauthorized 401 "unauthorized" "a token is needed";
    Forbidden 403 "forbidden" "the token may not do this";
    CrossSite 403 "cross_site" "a page of another site asks";
    UnknownHost 403 "unknown_host" "the server is not called this";
    NotFound 404 "not_found" "there is nothing here";
    NoInstance 404 "no_instance" "there is no such instance";
    NoStep 404 "no_step" "the instance has no such step";
    NoChart 404 "no_chart" "there is no such chart";
    NoVersion 404 "no_version" "the chart has no such version";
    NoChannel 404 "no_channel" "there is no such channel";
    NoAgent 404 "no_agent" "there is no such agent";
    MethodNotAllowed 405 "method_not_allowed" "this cannot be done here";
    SlowBody 408 "slow_body" "the body took too long";
    Exists 409 "exists" "there is one already";
    Over 409 "over" "the instance is over";
    NothingAsked 409 "nothing_asked" "the instance asks nobody for anything";
    SeveralAsked 409 "several_asked" "the instance asks for several things";
    NotAsked 409 "not_asked" "the instance does not ask for this";
    NotFailed 409 "not_failed" "the instance did not fail";
    /// The turn rules of a channel reject it; `reason` names the rule.
    Refused 409 "refused" "the channel does not allow it now";
    IdempotencyConflict 409 "idempotency_conflict" "the key was used for another request";
    TooLarge 413 "too_large" "the body is too large";
    UnsupportedMediaType 415 "unsupported_media_type" "the body must be JSON";
    InvalidBody 422 "invalid_body" "the body is not what is expected here";
    InvalidChart 422 "invalid_chart" "the chart cannot be used";
    InvalidEdit 422 "invalid_edit" "the context cannot be changed like this";
    InvalidName 422 "invalid_name" "this cannot be a name";
    StepFailed 422 "step_failed" "the step could not be taken";
    /// `reason` says why: `unknown_event`, `internal_event` or `wrong_event_data`.
    EventRefused 422 "event_refused" "the chart does not take this event";
    /// `reasons` lists what does not fit.
    AnswerRefused 422 "answer_refused" "the answer does not fit its form";
    NotPossible 422 "not_possible" "the project does not allow it";
    TooManyRequests 429 "too_many_requests" "too many requests";
    Internal 500 "internal" "a fault of rawko";
    Busy 503 "busy" "the instance has too many events waiting";
    Unavailable 503 "unavailable" "this cannot be done now";
    StoreUnavailable 503 "store_unavailable" "the store takes or gives nothing";
    TooManyStreams 503 "too_many_streams" "too many event streams";
    TimedOut 503 "timed_out" "the answer took too long";
    Closing 503 "closing" "the server is closing";
}

impl ProblemCode {
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
