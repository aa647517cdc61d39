//! The command line as a whole: the list of commands and the options that all of them share.

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    acp, agents, answer, attach, audit, backup, cancel, channels, charts, chat, check, completions, demo,
    diff, doctor, fork, graph, history, hook, import, init, instance, logs, lsp, mcp, migrate, pause, prune,
    ps, queue, replay, restore, resume, run, schema, send, serve, show, simulate, task, test, top, triggers,
    trust, undo, verify, worker, worktrees,
};
use crate::console::announce;
use rawko_chart::is_unprintable;

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    failure: an instance failed or was cancelled, a scenario, simulation or property failed
  2    usage error: invalid arguments, an unreadable file, an unknown instance
  3    temporary failure, try again later: disk full, store in use; a property is undecided
  41   credentials: an API key or the operator credential is missing or was rejected
  52   invalid chart or settings, or a project that is not trusted
  53   budget or limit reached
  54   loop detected, or stuck without progress
  55   waiting for a person, an event or a timer, or paused
  130  interrupted: the instance is paused (143: terminated; it continues with `resume` or `serve`)

Pass `-` as a file to read standard input. Data goes to standard output, messages to standard
error. Set NO_COLOR to turn off colours. See `rawko help COMMAND` for options and examples.";

/// The commands in the order of `rawko --help`. Kept here because clap has no headings for subcommands.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Get started", &["demo", "init", "trust", "task", "attach"]),
    ("Charts", &["check", "verify", "simulate", "test", "graph", "charts", "import", "schema"]),
    (
        "Runs",
        &[
            "run",
            "pause",
            "resume",
            "queue",
            "ps",
            "top",
            "show",
            "history",
            "logs",
            "send",
            "approve",
            "deny",
            "cancel",
            "fork",
            "migrate",
            "replay",
            "diff",
            "undo",
            "worktrees",
        ],
    ),
    ("Agents", &["agents", "channels", "chat"]),
    ("Editors and other agents", &["acp", "hook", "lsp", "mcp"]),
    ("Server", &["serve", "triggers", "worker"]),
    ("Maintenance", &["doctor", "audit", "backup", "restore", "prune", "instance", "completions"]),
];
/// Width of the column with the names of the commands.
const NAME_WIDTH: usize = 13;

/// Statechart runtime for AI agents: check, test and run workflows that survive crashes
#[derive(Debug, Parser)]
#[command(name = "rawko", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: CommonArgs,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

// Options of every command. No documentation comment: clap would take it for the text of the command.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    pub(crate) color: ColorWhen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// Declares the commands, and a parser for each alone: building the options of all commands takes more time and memory than
/// most commands themselves.
macro_rules! commands {
    ($($variant:ident($args:ty),)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum CliCommand {
            $($variant($args),)*
        }

        impl CliCommand {
            /// Parses the words after the name of a command. `None` for a name, an option or a value that is not known.
            fn alone(name: &str, words: impl Iterator<Item = OsString>) -> Option<Cli> {
                $(if name.eq_ignore_ascii_case(stringify!($variant)) {
                    return parsed_alone::<$args>(words).map(|(common, args)| Cli { common, command: Self::$variant(args) });
                })*
                None
            }
        }
    };
}

commands! {
    Init(init::Args),
    Demo(demo::Args),
    Check(check::Args),
    Simulate(simulate::Args),
    Graph(graph::Args),
    Verify(verify::Args),
    Test(test::Args),
    Trust(trust::Args),
    Task(task::Args),
    Attach(attach::Args),
    Run(run::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Queue(queue::Args),
    Ps(ps::Args),
    Top(top::Args),
    Show(show::Args),
    History(history::Args),
    Logs(logs::Args),
    Send(send::Args),
    Approve(answer::Approve),
    Deny(answer::Deny),
    Cancel(cancel::Args),
    Fork(fork::Args),
    Migrate(migrate::Args),
    Replay(replay::Args),
    Diff(diff::Args),
    Undo(undo::Args),
    Worktrees(worktrees::Args),
    Agents(agents::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Triggers(triggers::Args),
    Worker(worker::Args),
    Channels(channels::Args),
    Chat(chat::Args),
    Acp(acp::Args),
    Hook(hook::Args),
    Lsp(lsp::Args),
    Charts(charts::Args),
    Doctor(doctor::Args),
    Audit(audit::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Instance(instance::Args),
    Prune(prune::Args),
    Import(import::Args),
    Schema(schema::Args),
    Completions(completions::Args),
}

/// Parses the arguments of this process. Prints the help or a usage error and exits if there is nothing to run.
pub(crate) fn parse() -> Cli {
    if let Some(cli) = command_alone(std::env::args_os()) {
        return cli;
    }
    let parsed = grouped().try_get_matches();
    parsed.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| stop(&error))
}

/// Prints a usage error, or the help, and exits. An argument may be a name from elsewhere: clap repeats it, and removes
/// only some of the sequences that a terminal obeys.
fn stop(error: &clap::Error) -> ! {
    let text = error.to_string();
    if !text.contains(is_unprintable) {
        error.exit();
    }
    announce(text.trim_end());
    std::process::exit(error.exit_code())
}

/// Parses a command without building all others. `None` if that is not possible: the whole command line then prints the help
/// or the error.
fn command_alone(mut words: impl Iterator<Item = OsString>) -> Option<Cli> {
    let name = words.nth(1)?;
    CliCommand::alone(name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase()))?, words)
}

fn parsed_alone<A: Args>(words: impl Iterator<Item = OsString>) -> Option<(CommonArgs, A)> {
    let command = clap::Command::default().no_binary_name(true).disable_help_flag(true);
    let command = CommonArgs::augment_args(A::augment_args(command));
    let matches = command.disable_help_subcommand(true).try_get_matches_from(words).ok()?;
    Some((CommonArgs::from_arg_matches(&matches).ok()?, A::from_arg_matches(&matches).ok()?))
}

/// Returns the command line, with the commands under headings in its help.
fn grouped() -> clap::Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &clap::Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut list = String::new();
    for (title, names) in GROUPS {
        list += &format!("{header}{title}:{header:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let gap = " ".repeat(NAME_WIDTH.saturating_sub(name.len()));
            list += &format!("  {literal}{name}{literal:#}{gap}{about}\n");
        }
        list.push('\n');
    }
    let (before, after) = ("{about-with-newline}\n{usage-heading} {usage}", "{options}{after-help}");
    format!("{before}\n\n{list}{header}Options:{header:#}\n{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_parsed_alone_and_the_same_way() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>().into_iter();
        for line in [
            "rawko hook",
            "rawko hook --store x.db --chart own",
            "rawko show x --color never",
            "rawko run x.yaml --id a",
            "rawko task fix --agent developer --max-budget-usd 2 --color=always",
            "rawko simulate x.yaml --json --events -",
            "rawko channels list",
        ] {
            let whole = Cli::try_parse_from(words(line)).unwrap_or_else(|error| panic!("{error}"));
            let alone = command_alone(words(line)).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{line}");
        }
        for line in [
            "rawko",
            "rawko show --help",
            "rawko hook --nonsense",
            "rawko channels help",
            "rawko help show",
            "rawko Show x",
            "rawko --color never hook",
        ] {
            assert!(command_alone(words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn every_command_is_parsed_alone() {
        for name in Cli::command().get_subcommands().map(clap::Command::get_name) {
            for words in [vec!["rawko", name], vec!["rawko", name, "x"], vec!["rawko", name, "--nonsense"]] {
                let whole = Cli::try_parse_from(&words).ok();
                let alone = command_alone(words.iter().map(OsString::from));
                assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{words:?}");
            }
        }
    }

    /// A new command is decided on here: one that acts for the person is refused to Claude Code.
    #[test]
    fn every_command_either_looks_or_acts() {
        let command = Cli::command();
        let names = command.get_subcommands().map(clap::Command::get_name);
        let acting: Vec<&str> = names.filter(|name| !LOOKING.contains(name)).collect();
        for name in &acting {
            assert!(rawko_tools::ACTING_COMMANDS.contains(name), "`{name}` is neither in LOOKING nor acts");
        }
        assert_eq!(acting.len(), rawko_tools::ACTING_COMMANDS.len());
    }

    /// Commands that change no instance and answer nothing.
    const LOOKING: [&str; 19] = [
        "agents",
        "audit",
        "charts",
        "check",
        "completions",
        "diff",
        "doctor",
        "graph",
        "history",
        "import",
        "logs",
        "lsp",
        "ps",
        "schema",
        "show",
        "simulate",
        "test",
        "triggers",
        "verify",
    ];

    #[test]
    fn every_command_is_in_one_group_and_fits_a_line() {
        let command = Cli::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        for line in template(&command).lines().filter(|line| line.starts_with("  ")) {
            assert!(line.len() <= 100, "{line}");
        }
    }
}
