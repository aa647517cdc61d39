//! Enum words used in documents, for the OpenAPI description. The enums themselves belong to other crates; tests
//! compare them.

use utoipa::ToSchema;

/// Status of an instance.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = InstanceStatus)]
pub enum InstanceStatusWord {
    /// A service, an agent or a child works.
    Running,
    /// For a person, an event, a timer or a host.
    Waiting,
    /// Moves only on a resume.
    Paused,
    /// Nothing moves it any more.
    Stalled,
    /// Over, with an outcome.
    Ended,
}

/// Status of the chart after a step.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Status)]
pub enum StatusWord {
    /// Not ended: work runs, or input is awaited.
    Active,
    /// A top-level final state was reached.
    Done,
    /// Work failed and no transition handles it; retry, an event or cancel continue.
    Error,
    /// Ended by a cancel request.
    Cancelled,
}

/// How an instance ended.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Outcome)]
pub enum OutcomeWord {
    /// Done, without a tag of another outcome.
    Succeeded,
    /// Done in a final state with the tag `error` or `failed`.
    Failed,
    /// A budget or a limit was exhausted; the work is kept.
    Limit,
    /// A loop was detected.
    Loop,
    /// No progress was made.
    Stuck,
    /// Ended by a cancel request, or in a final state with the tag `cancelled`.
    Cancelled,
}

/// Kind of input that an instance waits for.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Waits)]
pub enum WaitWord {
    /// It has ended, or waits for nothing in particular.
    Nothing,
    /// A service, an agent or a child is running.
    Work,
    /// A person has to answer.
    Person,
    /// A timer is set, and nothing else can happen by itself.
    Timer,
    /// Only an event from outside can continue it.
    Event,
    /// A person paused it.
    Paused,
}

#[cfg(test)]
mod tests {
    use rawko_core::Status;
    use rawko_store::{InstanceStatus, Outcome, WaitReason};
    use utoipa::PartialSchema;

    use super::*;

    fn words<T: PartialSchema>() -> serde_json::Value {
        serde_json::to_value(T::schema()).unwrap()["enum"].clone()
    }

    #[test]
    fn the_words_are_those_of_the_enums() {
        let statuses = [Status::Active, Status::Done, Status::Error, Status::Cancelled].map(Status::as_str);
        assert_eq!(words::<StatusWord>(), serde_json::json!(statuses));
        let shown = InstanceStatus::ALL.map(InstanceStatus::as_str);
        assert_eq!(words::<InstanceStatusWord>(), serde_json::json!(shown));
        assert_eq!(words::<OutcomeWord>(), serde_json::json!(Outcome::ALL.map(Outcome::as_str)));
        assert_eq!(words::<WaitWord>(), serde_json::json!(WaitReason::ALL.map(WaitReason::as_str)));
    }
}
