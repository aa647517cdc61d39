//! The command line as a whole: the list of commands and the options that all of them share.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{
    agents, answer, backup, cancel, channels, charts, chat, check, completions, demo, doctor, fork, graph,
    history, import, init, instance, logs, prune, ps, replay, restore, resume, run, schema, send, serve,
    show, simulate, task, test, worker,
};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: an instance failed or was cancelled, a scenario did not hold, a simulation failed
  2    usage: wrong arguments, a file that cannot be read, an instance that is not there
  3    try again later: the disk is full, somebody else holds the store, a provider is out of reach
  41   credentials: a provider does not take the key, or there is none
  52   the chart or the settings are invalid
  53   a budget or a limit is used up
  54   a loop was detected
  55   waiting for a person, an event or a timer
  130  interrupted; 143 terminated: what ran is parked

Every command reads standard input when the file is `-`, writes its data to standard output and
everything else to standard error.";

/// The statechart runtime for AI agents.
///
/// rawko reads a workflow written as a statechart, tells you precisely what is wrong with it, draws it,
/// plays it through in virtual time, and runs it so that nothing is lost when the machine dies.
#[derive(Debug, Parser)]
#[command(name = "rawko", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// When to use colour; auto is on a terminal, unless `NO_COLOR` is set
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
    Test(test::Args),
    Task(task::Args),
    Run(run::Args),
    Resume(resume::Args),
    Ps(ps::Args),
    Show(show::Args),
    History(history::Args),
    Logs(logs::Args),
    Send(send::Args),
    Approve(answer::Approve),
    Deny(answer::Deny),
    Cancel(cancel::Args),
    Fork(fork::Args),
    Replay(replay::Args),
    Agents(agents::Args),
    Serve(serve::Args),
    Worker(worker::Args),
    Channels(channels::Args),
    Chat(chat::Args),
    Charts(charts::Args),
    Doctor(doctor::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Instance(instance::Args),
    Prune(prune::Args),
    Import(import::Args),
    Schema(schema::Args),
    Completions(completions::Args),
}
