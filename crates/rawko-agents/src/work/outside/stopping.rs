//! The step after a program has stopped: it is done if its phase's requirements are met and its response is valid;
//! otherwise it is asked for the missing part, a bounded number of times, like a model.

use rawko_core::Value;

use crate::work::complete::text;
use crate::work::types::{ExitGoal, ExitNeed};
use rawko_arbiter::Plan;
use rawko_arbiter::loop_control::LoopSettings;
use rawko_model::provider::{Completion, OutputSchema, Repair, Unfit, judge};
use rawko_model::{Message, Role, StopReason};
use rawko_programs::program::TurnResult;

/// Number of repeated requests, by reason.
#[derive(Default)]
pub(super) struct RepeatedRequests {
    challenges: u32,
    continuations: u32,
    repairs: u32,
}

/// The state of the work when it stops.
pub(super) struct StoppedWork<'a> {
    pub(super) result: &'a TurnResult,
    pub(super) text: &'a str,
    pub(super) plan: &'a Value,
    pub(super) changes: u64,
    pub(super) goal: &'a Value,
    pub(super) schema: Option<&'a OutputSchema>,
}

#[derive(Debug, PartialEq)]
pub(super) enum AfterTurn {
    Finished {
        data: Value,
    },
    /// Send this and continue.
    Again {
        words: String,
    },
    /// The agent's own limit.
    Limit {
        code: &'static str,
        message: String,
    },
    /// Repeating the request would not help.
    Filtered,
    /// The response does not match the request.
    Unfit {
        message: String,
    },
    GoalMissed {
        message: String,
    },
}

impl RepeatedRequests {
    pub(super) fn next(&mut self, stopped: &StoppedWork<'_>, loops: &LoopSettings) -> AfterTurn {
        match stopped.result.stop_reason {
            StopReason::ContentFilter => return AfterTurn::Filtered,
            StopReason::Length => return self.cut_off(loops),
            StopReason::Stop | StopReason::ToolCalls | StopReason::Other => {}
        }
        match answer(stopped) {
            Ok(data) if stopped.misses(&data) => self.missed(stopped.goal, loops),
            Ok(data) => AfterTurn::Finished { data },
            Err((completion, unfit)) => self.unfit(stopped, &completion, &unfit),
        }
    }

    fn cut_off(&mut self, loops: &LoopSettings) -> AfterTurn {
        self.continuations += 1;
        if self.continuations > loops.continuations_max {
            let message = "the answer was cut at the output limit again and again".to_owned();
            return AfterTurn::Limit { code: "output_length", message };
        }
        let words = "Your answer was cut off at the length limit. Continue exactly where it stopped, in smaller pieces.";
        AfterTurn::Again { words: words.to_owned() }
    }

    fn missed(&mut self, goal: &Value, loops: &LoopSettings) -> AfterTurn {
        self.challenges += 1;
        let goal = ExitGoal::of(goal);
        let missing = goal.missing.as_deref().unwrap_or("what this is for is not done yet");
        if self.challenges > loops.challenges_max {
            let message = format!("the agent stopped {} times although {missing}", self.challenges);
            return AfterTurn::GoalMissed { message };
        }
        AfterTurn::Again { words: format!("You stopped, but {missing}") }
    }

    fn unfit(&mut self, stopped: &StoppedWork<'_>, completion: &Completion, unfit: &Unfit) -> AfterTurn {
        let more = stopped
            .schema
            .and_then(|schema| Repair::default().messages(self.repairs, completion, unfit, schema));
        self.repairs += 1;
        match more.as_deref() {
            Some([.., words]) => AfterTurn::Again { words: text(words) },
            Some([]) | None => AfterTurn::Unfit { message: unfit.to_string() },
        }
    }
}

impl StoppedWork<'_> {
    /// Returns true if the goal's requirements are not met, like the guard of the chart `agent`.
    fn misses(&self, data: &Value) -> bool {
        ExitGoal::of(self.goal).needs().any(|need| match need {
            ExitNeed::Plan => Plan::of(self.plan).is_none_or(|plan| plan.steps.is_empty()),
            ExitNeed::Change => self.changes == 0,
            ExitNeed::Report => self.text.trim().is_empty(),
            ExitNeed::Answer => data.is_null(),
        })
    }
}

/// Returns the agent's data or, with a schema, the data found in its text.
fn answer(stopped: &StoppedWork<'_>) -> Result<Value, (Box<Completion>, Unfit)> {
    let data = &stopped.result.data;
    let Some(schema) = stopped.schema else { return Ok(data.clone()) };
    let said = if data.is_null() { stopped.text.to_owned() } else { data.to_string() };
    let completion = Completion {
        message: Message::text(Role::Assistant, said),
        stop_reason: stopped.result.stop_reason,
        usage: stopped.result.usage,
        data: None,
        model: None,
    };
    judge(&completion, schema).map_err(|unfit| (Box::new(completion), unfit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawko_model::Usage;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    fn rounds(
        stop_reason: StopReason,
        goal: &str,
        schema: Option<&str>,
        text: &str,
        data: &str,
    ) -> Vec<AfterTurn> {
        let result = TurnResult {
            text: text.into(),
            data: value(data),
            stop_reason,
            usage: Usage::default(),
            session: None,
        };
        let schema = schema.map(|schema| OutputSchema { name: "answer".into(), schema: value(schema) });
        let goal = value(goal);
        let stopped = StoppedWork {
            result: &result,
            text,
            plan: &Value::Null,
            changes: 0,
            goal: &goal,
            schema: schema.as_ref(),
        };
        let (mut rounds, loops) = (RepeatedRequests::default(), LoopSettings::default());
        (0..4).map(|_| rounds.next(&stopped, &loops)).collect()
    }

    fn words(next: &[AfterTurn]) -> Vec<&'static str> {
        let word = |next: &AfterTurn| match next {
            AfterTurn::Finished { .. } => "finished",
            AfterTurn::Again { .. } => "again",
            AfterTurn::Limit { .. } => "limit",
            AfterTurn::Filtered => "filtered",
            AfterTurn::Unfit { .. } => "unfit",
            AfterTurn::GoalMissed { .. } => "missed",
        };
        next.iter().map(word).collect()
    }

    #[test]
    fn stopping_is_believed_a_bounded_number_of_times() {
        use StopReason::{ContentFilter, Length, Other, Stop};
        let report = r#"{"needs": ["report"], "missing": "there is no report"}"#;
        let change = r#"{"needs": ["change"], "missing": "nothing was changed"}"#;
        let number = Some(r#"{"type": "number"}"#);
        let table = [
            ("no goal", Stop, "null", None, "", "null", ["finished"; 4]),
            ("a report", Stop, report, None, "it is so", "null", ["finished"; 4]),
            ("a reason that is not known", Other, report, None, "it is so", "null", ["finished"; 4]),
            ("no report", Stop, report, None, " ", "null", ["again", "again", "again", "missed"]),
            ("no change", Stop, change, None, "done", "null", ["again", "again", "again", "missed"]),
            ("cut off", Length, "null", None, "so", "null", ["again", "again", "again", "limit"]),
            ("filtered", ContentFilter, "null", None, "", "null", ["filtered"; 4]),
            ("data that fits", Stop, "null", number, "", "4", ["finished"; 4]),
            ("text that fits", Stop, "null", number, "4", "null", ["finished"; 4]),
            ("neither", Stop, "null", number, "four", "null", ["again", "again", "unfit", "unfit"]),
        ];
        for (case, stop_reason, goal, schema, text, data, expected) in table {
            assert_eq!(words(&rounds(stop_reason, goal, schema, text, data)), expected, "{case}");
        }
        assert_eq!(
            rounds(Stop, change, None, "done", "null")[3],
            AfterTurn::GoalMissed {
                message: "the agent stopped 4 times although nothing was changed".into()
            }
        );
    }
}
