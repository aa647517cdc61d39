//! Commands of a session: lines that begin with `/`.

use crate::console::{Console, TextStyle};
use crate::live_area::wrapped;

/// A command and its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SlashCommand {
    Pause,
    Resume,
    Skip,
    Retry,
    Agent(String),
    Model(String),
    Plan,
    Diff,
    /// Takes back the changes of the last call, or all of them.
    Undo {
        all: bool,
    },
    Redo,
    /// Prints a tool call in full; `None`: the last one.
    Open(Option<usize>),
    Cost,
    Cancel,
    Help,
    Exit,
}

const ALL: [(&str, &str); 15] = [
    ("/help", "list the commands and keys"),
    ("/pause", "pause the task"),
    ("/resume", "continue a paused task"),
    ("/skip", "skip the current step of the plan"),
    ("/retry", "run the agent again, or retry now instead of waiting"),
    ("/agent", "NAME: let this agent work next"),
    ("/model", "NAME: model of the next agents without one of their own"),
    ("/plan", "print the plan"),
    ("/diff", "print the changes of the task so far"),
    ("/undo", "take back the last change of files; `/undo all`: all of the task"),
    ("/redo", "take back the last undo"),
    ("/open", "[N]: print tool call N in full, or the last one"),
    ("/cost", "print tokens and cost by agent and model"),
    ("/cancel", "end the task"),
    ("/exit", "pause the task and leave"),
];

/// Returns the names and descriptions, for completion.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.into_iter()
}

impl SlashCommand {
    /// Returns true if a line is a command: a path such as `/etc/hosts is wrong` is a message.
    pub(crate) fn is_meant(line: &str) -> bool {
        let name = line.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
        line == "/" || name.is_some_and(|name| !name.contains('/'))
    }

    /// Returns true if a line begins with the name of a command.
    pub(crate) fn is_known(line: &str) -> bool {
        let name = line.split_whitespace().next().filter(|_| line.starts_with('/'));
        name.is_some_and(|name| ALL.iter().any(|(known, _)| *known == name))
    }

    pub(crate) fn read(line: &str) -> Result<SlashCommand, String> {
        let (name, argument) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let argument = argument.trim().to_owned();
        let needed = |what: &str| match argument.is_empty() {
            true => Err(format!("{name} needs {what}")),
            false => Ok(argument.clone()),
        };
        Ok(match name {
            "/pause" => SlashCommand::Pause,
            "/resume" => SlashCommand::Resume,
            "/skip" => SlashCommand::Skip,
            "/retry" => SlashCommand::Retry,
            "/agent" => SlashCommand::Agent(needed("the name of an agent")?),
            "/model" => SlashCommand::Model(needed("the name of a model")?),
            "/plan" => SlashCommand::Plan,
            "/diff" => SlashCommand::Diff,
            "/undo" if argument.is_empty() => SlashCommand::Undo { all: false },
            "/undo" if argument == "all" => SlashCommand::Undo { all: true },
            "/undo" => return Err(format!("/undo takes nothing or `all`, not `{argument}`")),
            "/redo" => SlashCommand::Redo,
            "/open" if argument.is_empty() => SlashCommand::Open(None),
            "/open" => match argument.parse() {
                Ok(number) => SlashCommand::Open(Some(number)),
                Err(_) => return Err(format!("/open takes the number of a tool call, not `{argument}`")),
            },
            "/cost" => SlashCommand::Cost,
            "/cancel" => SlashCommand::Cancel,
            "/help" | "/?" => SlashCommand::Help,
            "/exit" | "/quit" => SlashCommand::Exit,
            _ => return Err(format!("unknown command {name}; /help lists all commands")),
        })
    }
}

const KEYS: [(&str, &str); 12] = [
    ("Enter", "send the text to the agent, which reads it before its next completion"),
    ("Ctrl-J", "new line in the text; also Alt-Enter"),
    ("@", "name a file of the project"),
    ("!", "run a command in the project; the agents read its output"),
    ("Tab", "complete a command or a file; show the next request"),
    ("Esc", "stop the current turn"),
    ("Ctrl-O", "print the request, or the last tool call, in full; again: the one before"),
    ("Ctrl-R", "search earlier inputs"),
    ("Ctrl-G", "write the text in your editor ($EDITOR)"),
    ("Ctrl-C", "pause the task; again: leave"),
    ("Ctrl-D", "on an empty line: pause the task and leave"),
    ("Ctrl-Z", "suspend rawko; `fg` returns"),
];

/// Columns of a command or key, and of the space around it.
const NAME_COLUMNS: usize = 8;

/// Returns the lines of `/help`.
pub(crate) fn help(columns: usize, console: &Console) -> Vec<String> {
    let wide = columns.saturating_sub(NAME_COLUMNS + 3).max(10);
    let lines = |(name, about): &(&str, &str)| -> Vec<String> {
        let mut name = console.paint(TextStyle::Bold, &format!("{name:<NAME_COLUMNS$}"));
        let mut lines = Vec::new();
        for part in wrapped(about, wide) {
            lines.push(format!("  {name} {part}"));
            name = " ".repeat(NAME_COLUMNS);
        }
        lines
    };
    ALL.iter().chain(&KEYS).flat_map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(SlashCommand::read("/agent tester"), Ok(SlashCommand::Agent("tester".to_owned())));
        assert_eq!(SlashCommand::read("/pause "), Ok(SlashCommand::Pause));
        assert!(SlashCommand::read("/agent").is_err());
        for (line, is_meant) in [
            ("/pause", true),
            ("/nonsense x", true),
            ("/", true),
            ("/etc/hosts is wrong", false),
            ("x /pause", false),
        ] {
            assert_eq!(SlashCommand::is_meant(line), is_meant, "{line}");
        }
        for (line, is_known) in
            [("/cost", true), ("/agent x", true), ("/tmp", false), ("/costs", false), ("cost", false)]
        {
            assert_eq!(SlashCommand::is_known(line), is_known, "{line}");
        }
        assert!(SlashCommand::read("/nonsense").is_err_and(|why| why.contains("/help")));
        assert_eq!(SlashCommand::read("/undo"), Ok(SlashCommand::Undo { all: false }));
        assert_eq!(SlashCommand::read("/undo all"), Ok(SlashCommand::Undo { all: true }));
        assert!(SlashCommand::read("/undo x").is_err());
        assert_eq!(SlashCommand::read("/open 7"), Ok(SlashCommand::Open(Some(7))));
        for (name, _) in all() {
            let line =
                if ["/agent", "/model"].contains(&name) { format!("{name} x") } else { name.to_owned() };
            assert!(SlashCommand::read(&line).is_ok(), "{line}");
        }
    }
}
