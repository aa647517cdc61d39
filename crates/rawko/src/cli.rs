//! The command line as a whole: the list of commands and the options that all of them share.

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    agents, answer, attach, audit, backup, cancel, channels, charts, chat, check, completions, demo, diff,
    doctor, fork, graph, history, import, init, instance, logs, migrate, pause, prune, ps, queue, replay,
    restore, resume, run, schema, send, serve, show, simulate, task, test, top, trust, undo, verify, worker,
    worktrees,
};

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
const GROUPS: [(&str, &[&str]); 6] = [
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
    ("Server", &["serve", "worker"]),
    ("Maintenance", &["doctor", "audit", "backup", "restore", "prune", "instance", "completions"]),
];
/// Width of the column with the names of the commands.
const NAME_WIDTH: usize = 13;

/// Statechart runtime for AI agents: check, test and run workflows that survive crashes
#[derive(Debug, Parser)]
#[command(name = "rawko", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 900)]
    pub(crate) color: ColorWhen,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    Worker(worker::Args),
    Channels(channels::Args),
    Chat(chat::Args),
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
    let matches = grouped().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
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
