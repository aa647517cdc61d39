//! Enum words used in documents, for the OpenAPI description. The enums themselves belong to other crates; tests
//! compare them.

use utoipa::ToSchema;

/// Status of an instance.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = InstanceStatus)]
pub enum InstanceStatusWord {
    Running,
    Waiting,
    Paused,
    Stalled,
    Ended,
}

/// Status of the chart after a step.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Status)]
pub enum StatusWord {
    Active,
    Done,
    Error,
    Cancelled,
}

/// How an instance ended.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Outcome)]
pub enum OutcomeWord {
    Succeeded,
    Failed,
    Limit,
    Loop,
    Stuck,
    Cancelled,
}

/// Kind of input that an instance waits for.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(rename_all = "snake_case", as = Waits)]
pub enum WaitWord {
    Nothing,
    Work,
    Person,
    Timer,
    Event,
    Paused,
}

#[cfg(test)]
mod tests {
    use rawko_core::Status;
    use rawko_store::{InstanceStatus, Outcome, Wait};
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
        assert_eq!(words::<WaitWord>(), serde_json::json!(Wait::ALL.map(Wait::as_str)));
    }
}
