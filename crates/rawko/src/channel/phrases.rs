//! Parses the input of a person in a chat: a message, or a command that begins with a slash.

use rawko_turns::{Event, OverrideTo};

pub(crate) const HELP: &str = "\
  text          says it; to begin with a slash, write two
  /who          who is here, whose turn it is and for how long
  /history N    the last N messages (20)
  /skip         ends the turn
  /next AGENT   this agent is next
  /go           lets a waiting or interrupted agent go on
  /take         takes the turn from a waiting agent
  /pause        stops the clock; /resume starts it again
  /assign AGENT puts an agent into the channel; /remove AGENT takes it out
  /order A B …  puts the list in order
  /quit         leaves; so does Ctrl-D";

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phrase {
    Nothing,
    Do(Event),
    Assign(String),
    Who,
    History(u64),
    Help,
    Quit,
    /// The line is invalid, with the reason.
    Unknown(String),
}

pub(crate) fn read(line: &str, me: &str) -> Phrase {
    let line = line.trim();
    let by = || me.to_owned();
    let Some(command) = line.strip_prefix('/').filter(|rest| !rest.starts_with('/')) else {
        let text = line.strip_prefix('/').unwrap_or(line);
        if text.is_empty() {
            return Phrase::Nothing;
        }
        return Phrase::Do(Event::PersonSpoke { person: by(), id: None, text: text.to_owned() });
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["help" | "?"] => Phrase::Help,
        ["who" | "turn"] => Phrase::Who,
        ["quit" | "exit"] => Phrase::Quit,
        ["history"] => Phrase::History(20),
        ["history", number] => match number.parse() {
            Ok(number) => Phrase::History(number),
            Err(_) => Phrase::Unknown(format!("`{number}` is not a number")),
        },
        ["skip"] => Phrase::Do(Event::Skipped { by: by() }),
        ["next", agent] => Phrase::Do(Event::NextNamed { agent: (*agent).into(), by: by() }),
        ["go"] => Phrase::Do(Event::Overridden { by: by(), to: OverrideTo::Active }),
        ["take"] => Phrase::Do(Event::Overridden { by: by(), to: OverrideTo::Queued }),
        ["pause"] => Phrase::Do(Event::Paused { by: by() }),
        ["resume"] => Phrase::Do(Event::Resumed { by: by() }),
        ["assign", agent] => Phrase::Assign((*agent).to_owned()),
        ["remove", agent] => Phrase::Do(Event::Removed { agent: (*agent).into(), by: by() }),
        ["order", agents @ ..] if !agents.is_empty() => {
            Phrase::Do(Event::OrderSet { agents: agents.iter().map(|agent| (*agent).into()).collect() })
        }
        _ => Phrase::Unknown(format!("`/{command}` is not a command; `/help` lists them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_they_mean() {
        let say =
            |text: &str| Phrase::Do(Event::PersonSpoke { person: "kim".into(), id: None, text: text.into() });
        for (line, meaning) in [
            ("hello", say("hello")),
            ("//etc/hosts", say("/etc/hosts")),
            ("  ", Phrase::Nothing),
            ("/who", Phrase::Who),
            ("/history 5", Phrase::History(5)),
            ("/history x", Phrase::Unknown("`x` is not a number".into())),
            ("/next ada", Phrase::Do(Event::NextNamed { agent: "ada".into(), by: "kim".into() })),
            ("/take", Phrase::Do(Event::Overridden { by: "kim".into(), to: OverrideTo::Queued })),
            ("/dance", Phrase::Unknown("`/dance` is not a command; `/help` lists them".into())),
        ] {
            assert_eq!(read(line, "kim"), meaning, "{line}");
        }
    }
}
