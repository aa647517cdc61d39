//! `Answer`: a person's reply to a request of an instance, passed on by the embedding program.

use rawko_host::PersonAnswer;
use serde::Serialize;

use super::error::Result;
use super::project::to_value;

/// The reply of a person: an approval, a denial, or a filled-in form.
///
/// ```
/// # fn main() -> rawko::Result<()> {
/// use rawko::Answer;
///
/// let shipped = Answer::approve().by("ada").comment("go");
/// let filled_in = Answer::approve().data(serde_json::json!({"region": "eu"}))?;
/// let refused = Answer::deny().comment("too expensive");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    given: PersonAnswer,
}

impl Answer {
    fn of(approved: bool) -> Answer {
        let data = rawko_core::Value::Null;
        let given = PersonAnswer { approved, by: None, claimed: None, asked_ms: None, comment: None, data };
        Answer { given }
    }

    /// The person approves, or submits the form.
    pub fn approve() -> Answer {
        Answer::of(true)
    }

    /// The person denies.
    pub fn deny() -> Answer {
        Answer::of(false)
    }

    /// Names the person in the journal and for the chart (`event.data.by`). The program vouches for the name.
    #[must_use]
    pub fn by(mut self, person: impl Into<String>) -> Answer {
        self.given.by = Some(person.into());
        self
    }

    /// Adds a remark for the chart (`event.data.comment`).
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Answer {
        self.given.comment = Some(comment.into());
        self
    }

    /// Sets the fields of the form (`event.data.data`).
    ///
    /// # Errors
    /// [`Error::Json`](crate::Error::Json) if the data cannot be written as JSON.
    pub fn data(mut self, data: impl Serialize) -> Result<Answer> {
        self.given.data = to_value("the data of the answer", data)?;
        Ok(self)
    }

    pub(super) fn into_given(self) -> PersonAnswer {
        self.given
    }
}
