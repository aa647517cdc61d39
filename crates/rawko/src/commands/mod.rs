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

use crate::cli::Command;
use crate::console::Console;
use crate::failure::{Failure, Verdict};

pub(crate) fn run(command: Command, console: &mut Console) -> Result<Verdict, Failure> {
    match command {
        Command::Init(args) => init::run(&args, console),
        Command::Demo(args) => demo::run(&args, console),
        Command::Check(args) => check::run(&args, console),
        Command::Simulate(args) => simulate::run(&args, console),
        Command::Graph(args) => graph::run(&args, console),
        Command::Verify(args) => verify::run(&args, console),
        Command::Test(args) => test::run(&args, console),
        Command::Trust(args) => trust::run(&args, console),
        Command::Task(args) => task::run(&args, console),
        Command::Attach(args) => attach::run(&args, console),
        Command::Run(args) => run::run(&args, console),
        Command::Pause(args) => pause::run(&args, console),
        Command::Resume(args) => resume::run(&args, console),
        Command::Queue(args) => queue::run(&args, console),
        Command::Ps(args) => ps::run(&args, console),
        Command::Top(args) => top::run(&args, console),
        Command::Show(args) => show::run(&args, console),
        Command::History(args) => history::run(&args, console),
        Command::Logs(args) => logs::run(&args, console),
        Command::Send(args) => send::run(&args, console),
        Command::Approve(args) => answer::approve(&args, console),
        Command::Deny(args) => answer::deny(&args, console),
        Command::Cancel(args) => cancel::run(&args, console),
        Command::Fork(args) => fork::run(&args, console),
        Command::Migrate(args) => migrate::run(&args, console),
        Command::Replay(args) => replay::run(&args, console),
        Command::Diff(args) => diff::run(&args, console),
        Command::Undo(args) => undo::run(&args, console),
        Command::Worktrees(args) => worktrees::run(&args, console),
        Command::Acp(args) => acp::run(&args, console),
        Command::Agents(args) => agents::run(&args, console),
        Command::Serve(args) => serve::run(&args, console),
        Command::Lsp(args) => lsp::run(&args, console),
        Command::Mcp(args) => mcp::run(&args, console),
        Command::Triggers(args) => triggers::run(&args, console),
        Command::Worker(args) => worker::run(&args, console),
        Command::Channels(args) => channels::run(&args, console),
        Command::Chat(args) => chat::run(&args, console),
        Command::Charts(args) => charts::run(&args, console),
        Command::Doctor(args) => doctor::run(&args, console),
        Command::Audit(args) => audit::run(&args, console),
        Command::Backup(args) => backup::run(&args, console),
        Command::Restore(args) => restore::run(&args, console),
        Command::Hook(args) => hook::run(&args, console),
        Command::Instance(args) => instance::run(&args, console),
        Command::Prune(args) => prune::run(&args, console),
        Command::Import(args) => import::run(&args, console),
        Command::Schema(args) => schema::run(&args, console),
        Command::Completions(args) => completions::run(&args, console),
    }
}
