//! Commands of a session: lines that begin with `/`.

use crate::console::{Console, Style};

/// A command and its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Pause,
    Resume,
    Skip,
    Retry,
    Agent(String),
    Model(String),
    Plan,
    Diff,
    Undo,
    Cost,
    Cancel,
    Help,
    Exit,
}

const ALL: [(&str, &str); 13] = [
    ("/help", "list the commands and keys"),
    ("/pause", "pause the task"),
    ("/resume", "continue a paused task"),
    ("/skip", "skip the current step of the plan"),
    ("/retry", "run the agent again, or retry now instead of waiting"),
    ("/agent", "NAME: let this agent work next"),
    ("/model", "NAME: model of the next agents without one of their own"),
    ("/plan", "print the plan"),
    ("/diff", "print the changes of the task so far"),
    ("/undo", "take the last changes back"),
    ("/cost", "print tokens and cost by agent and model"),
    ("/cancel", "end the task"),
    ("/exit", "pause the task and leave"),
];

/// Returns the names, for completion.
pub(crate) fn names() -> Vec<String> {
    ALL.iter().map(|(name, _)| (*name).to_owned()).collect()
}

impl Command {
    pub(crate) fn read(line: &str) -> Result<Command, String> {
        let (name, argument) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let argument = argument.trim().to_owned();
        let needed = |what: &str| match argument.is_empty() {
            true => Err(format!("{name} needs {what}")),
            false => Ok(argument.clone()),
        };
        Ok(match name {
            "/pause" => Command::Pause,
            "/resume" => Command::Resume,
            "/skip" => Command::Skip,
            "/retry" => Command::Retry,
            "/agent" => Command::Agent(needed("the name of an agent")?),
            "/model" => Command::Model(needed("the name of a model")?),
            "/plan" => Command::Plan,
            "/diff" => Command::Diff,
            "/undo" => Command::Undo,
            "/cost" => Command::Cost,
            "/cancel" => Command::Cancel,
            "/help" | "/?" => Command::Help,
            "/exit" | "/quit" => Command::Exit,
            _ => return Err(format!("unknown command {name}; /help lists all commands")),
        })
    }
}

/// Returns the lines of `/help`.
pub(crate) fn help(console: &Console) -> Vec<String> {
    let line = |(name, about): &(&str, &str)| {
        format!("  {} {about}", console.paint(Style::Bold, &format!("{name:<8}")))
    };
    let keys = [
        ("Enter", "send the text to the agent, which reads it before its next completion"),
        ("Tab", "complete a command; show the next request"),
        ("Esc", "stop the current turn"),
        ("Ctrl-C", "pause the task; again: leave"),
    ];
    ALL.iter().map(line).chain(keys.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(Command::read("/agent tester"), Ok(Command::Agent("tester".to_owned())));
        assert_eq!(Command::read("/pause "), Ok(Command::Pause));
        assert!(Command::read("/agent").is_err());
        assert!(Command::read("/nonsense").is_err_and(|why| why.contains("/help")));
        for name in names() {
            assert!(Command::read(&format!("{name} x")).is_ok(), "{name}");
        }
    }
}
