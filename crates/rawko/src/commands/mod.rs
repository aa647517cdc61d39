//! One file per command. Each has its arguments, its help and a `run`.

#[cfg(feature = "acp")]
pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod cancel;
pub(crate) mod channels;
pub(crate) mod charts;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod continuing;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod fork;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod instance;
#[cfg(not(all(feature = "acp", feature = "mcp", feature = "server", feature = "worker")))]
mod left_out;
pub(crate) mod logs;
pub(crate) mod lsp;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod pause;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod queue;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod send;
#[cfg(feature = "server")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod task;
pub(crate) mod test;
pub(crate) mod top;
pub(crate) mod triggers;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod verify;
#[cfg(feature = "worker")]
pub(crate) mod worker;
pub(crate) mod worktrees;

#[cfg(not(feature = "acp"))]
left_out::left_out!(acp, "acp");
#[cfg(not(feature = "mcp"))]
left_out::left_out!(mcp, "mcp");
#[cfg(not(feature = "server"))]
left_out::left_out!(serve, "server");
#[cfg(not(feature = "worker"))]
left_out::left_out!(worker, "worker");

use crate::cli::CliCommand;
use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};

pub(crate) fn run(command: CliCommand, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    match command {
        CliCommand::Init(args) => init::run(&args, console),
        CliCommand::Demo(args) => demo::run(&args, console),
        CliCommand::Check(args) => check::run(&args, console),
        CliCommand::Simulate(args) => simulate::run(&args, console),
        CliCommand::Graph(args) => graph::run(&args, console),
        CliCommand::Verify(args) => verify::run(&args, console),
        CliCommand::Test(args) => test::run(&args, console),
        CliCommand::Trust(args) => trust::run(&args, console),
        CliCommand::Task(args) => task::run(&args, console),
        CliCommand::Attach(args) => attach::run(&args, console),
        CliCommand::Run(args) => run::run(&args, console),
        CliCommand::Pause(args) => pause::run(&args, console),
        CliCommand::Resume(args) => resume::run(&args, console),
        CliCommand::Queue(args) => queue::run(&args, console),
        CliCommand::Ps(args) => ps::run(&args, console),
        CliCommand::Top(args) => top::run(&args, console),
        CliCommand::Show(args) => show::run(&args, console),
        CliCommand::History(args) => history::run(&args, console),
        CliCommand::Logs(args) => logs::run(&args, console),
        CliCommand::Send(args) => send::run(&args, console),
        CliCommand::Approve(args) => answer::approve(&args, console),
        CliCommand::Deny(args) => answer::deny(&args, console),
        CliCommand::Cancel(args) => cancel::run(&args, console),
        CliCommand::Fork(args) => fork::run(&args, console),
        CliCommand::Migrate(args) => migrate::run(&args, console),
        CliCommand::Replay(args) => replay::run(&args, console),
        CliCommand::Diff(args) => diff::run(&args, console),
        CliCommand::Undo(args) => undo::run(&args, console),
        CliCommand::Worktrees(args) => worktrees::run(&args, console),
        CliCommand::Acp(args) => acp::run(&args, console),
        CliCommand::Agents(args) => agents::run(&args, console),
        CliCommand::Serve(args) => serve::run(&args, console),
        CliCommand::Lsp(args) => lsp::run(&args, console),
        CliCommand::Mcp(args) => mcp::run(&args, console),
        CliCommand::Triggers(args) => triggers::run(&args, console),
        CliCommand::Worker(args) => worker::run(&args, console),
        CliCommand::Channels(args) => channels::run(&args, console),
        CliCommand::Chat(args) => chat::run(&args, console),
        CliCommand::Charts(args) => charts::run(&args, console),
        CliCommand::Doctor(args) => doctor::run(&args, console),
        CliCommand::Audit(args) => audit::run(&args, console),
        CliCommand::Backup(args) => backup::run(&args, console),
        CliCommand::Restore(args) => restore::run(&args, console),
        CliCommand::Hook(args) => hook::run(&args, console),
        CliCommand::Instance(args) => instance::run(&args, console),
        CliCommand::Prune(args) => prune::run(&args, console),
        CliCommand::Import(args) => import::run(&args, console),
        CliCommand::Schema(args) => schema::run(&args, console),
        CliCommand::Completions(args) => completions::run(&args, console),
    }
}
