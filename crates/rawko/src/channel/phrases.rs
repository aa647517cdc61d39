//! Parses the input of a person in a chat: a message, or a command that begins with a slash.

use rawko_turns::{ChannelEvent, OverrideTo};

pub(crate) const HELP: &str = "  text          post a message (start it with // for a leading slash)
  /who          show members and the current turn
  /history N    show the last N messages (default 20)
  /skip         end the current turn
  /next AGENT   give the next turn to an agent
  /go           let a waiting or interrupted agent continue
  /take         end the turn of a waiting agent
  /pause        pause the channel; /resume continues it
  /assign AGENT add an agent to the channel; /remove AGENT removes it
  /order A B …  set the order of agents
  /quit         leave (also Ctrl-D)";

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phrase {
    Nothing,
    Do(ChannelEvent),
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
        return Phrase::Do(ChannelEvent::PersonSpoke { person: by(), id: None, text: text.to_owned() });
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
        ["skip"] => Phrase::Do(ChannelEvent::Skipped { by: by() }),
        ["next", agent] => Phrase::Do(ChannelEvent::NextNamed { agent: (*agent).into(), by: by() }),
        ["go"] => Phrase::Do(ChannelEvent::Overridden { by: by(), to: OverrideTo::Active }),
        ["take"] => Phrase::Do(ChannelEvent::Overridden { by: by(), to: OverrideTo::Queued }),
        ["pause"] => Phrase::Do(ChannelEvent::Paused { by: by() }),
        ["resume"] => Phrase::Do(ChannelEvent::Resumed { by: by() }),
        ["assign", agent] => Phrase::Assign((*agent).to_owned()),
        ["remove", agent] => Phrase::Do(ChannelEvent::Removed { agent: (*agent).into(), by: by() }),
        ["order", agents @ ..] if !agents.is_empty() => Phrase::Do(ChannelEvent::OrderSet {
            agents: agents.iter().map(|agent| (*agent).into()).collect(),
        }),
        _ => Phrase::Unknown(format!("unknown command `/{command}`; see `/help`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_they_mean() {
        let say = |text: &str| {
            Phrase::Do(ChannelEvent::PersonSpoke { person: "kim".into(), id: None, text: text.into() })
        };
        for (line, meaning) in [
            ("hello", say("hello")),
            ("//etc/hosts", say("/etc/hosts")),
            ("  ", Phrase::Nothing),
            ("/who", Phrase::Who),
            ("/history 5", Phrase::History(5)),
            ("/history x", Phrase::Unknown("`x` is not a number".into())),
            ("/next ada", Phrase::Do(ChannelEvent::NextNamed { agent: "ada".into(), by: "kim".into() })),
            ("/take", Phrase::Do(ChannelEvent::Overridden { by: "kim".into(), to: OverrideTo::Queued })),
            ("/dance", Phrase::Unknown("unknown command `/dance`; see `/help`".into())),
        ] {
            assert_eq!(read(line, "kim"), meaning, "{line}");
        }
    }
}
