//! Parses the input of a person at the prompt.

use serde_json::{Value as Json, json};

/// One line at the prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SimulationCommand {
    Nothing,
    /// A stimulus in the form of the stimuli file.
    Stimulus(Json),
    /// The event with this number in the list, with data.
    Choice {
        number: usize,
        data: Json,
    },
    /// Advance to the next due timer.
    Wait,
    Events,
    Context,
    States,
    Why,
    Help,
    Quit,
}

pub(crate) const HELP: &str = "\
  EVENT               send an event                       APPROVED
  EVENT JSON          send an event with data             APPROVED {\"by\": \"ada\"}
  NUMBER [JSON]       send an event from the list         1
  +DURATION           advance time                        +1500ms  +15m  +24h
  +                   advance time to the next timer or result
  {...}               a stimulus in JSON                  {\"advance\": 1500}

  :events             list the events accepted now
  :states             print the active states
  :context            print the context
  :why                turn explanations of transitions on or off
  :help               print this help
  :quit               leave (also Ctrl-D)";

/// Commands after a colon, which may be abbreviated.
const NAMED: [(&str, SimulationCommand); 6] = [
    ("events", SimulationCommand::Events),
    ("context", SimulationCommand::Context),
    ("states", SimulationCommand::States),
    ("why", SimulationCommand::Why),
    ("help", SimulationCommand::Help),
    ("quit", SimulationCommand::Quit),
];

/// Parses a line, or returns the reason that it is invalid.
pub(crate) fn parse(line: &str) -> Result<SimulationCommand, String> {
    let line = line.trim();
    match line.chars().next() {
        None => Ok(SimulationCommand::Nothing),
        Some(':') => named(line[1..].trim()),
        Some('?') => Ok(SimulationCommand::Help),
        Some('+') => Ok(wait(line[1..].trim())),
        Some('{') => serde_json::from_str(line)
            .map(SimulationCommand::Stimulus)
            .map_err(|error| format!("not JSON: {error}")),
        Some(_) => event(line),
    }
}

fn named(word: &str) -> Result<SimulationCommand, String> {
    let found = NAMED.iter().find(|(name, _)| !word.is_empty() && name.starts_with(word));
    found.map(|(_, command)| command.clone()).ok_or_else(|| format!("unknown command `:{word}`; see `:help`"))
}

fn wait(duration: &str) -> SimulationCommand {
    if duration.is_empty() {
        return SimulationCommand::Wait;
    }
    let ms = duration.parse::<u64>().map(Json::from);
    SimulationCommand::Stimulus(json!({ "advance": ms.unwrap_or_else(|_| duration.into()) }))
}

fn event(line: &str) -> Result<SimulationCommand, String> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let data = match rest.trim() {
        "" => Json::Null,
        text => serde_json::from_str(text)
            .map_err(|error| format!("invalid data for `{name}`: not JSON: {error}"))?,
    };
    Ok(match name.parse() {
        Ok(number) => SimulationCommand::Choice { number, data },
        Err(_) => SimulationCommand::Stimulus(stimulus(name, data)),
    })
}

/// Builds the stimulus of an event.
pub(crate) fn stimulus(name: &str, data: Json) -> Json {
    if data.is_null() { json!({ "type": name }) } else { json!({ "type": name, "data": data }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_they_mean() {
        let table = [
            ("", Ok(SimulationCommand::Nothing)),
            ("  GO ", Ok(SimulationCommand::Stimulus(json!({"type": "GO"})))),
            ("GO {\"a\": 1}", Ok(SimulationCommand::Stimulus(json!({"type": "GO", "data": {"a": 1}})))),
            ("2", Ok(SimulationCommand::Choice { number: 2, data: Json::Null })),
            ("2 [1]", Ok(SimulationCommand::Choice { number: 2, data: json!([1]) })),
            ("+15m", Ok(SimulationCommand::Stimulus(json!({"advance": "15m"})))),
            ("+ 1500", Ok(SimulationCommand::Stimulus(json!({"advance": 1500})))),
            ("+", Ok(SimulationCommand::Wait)),
            ("{\"advance\": 3}", Ok(SimulationCommand::Stimulus(json!({"advance": 3})))),
            (":q", Ok(SimulationCommand::Quit)),
            (":context", Ok(SimulationCommand::Context)),
            ("?", Ok(SimulationCommand::Help)),
            (":nope", Err("unknown command `:nope`; see `:help`".to_owned())),
            (":", Err("unknown command `:`; see `:help`".to_owned())),
            (
                "GO {",
                Err("invalid data for `GO`: not JSON: EOF while parsing an object at line 1 column 1"
                    .to_owned()),
            ),
        ];
        for (line, expected) in table {
            assert_eq!(parse(line), expected, "{line}");
        }
    }
}
