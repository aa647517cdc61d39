//! `rawko channels`: shows channels and controls them.

use clap::Subcommand;
use rawko_server::{ChannelAnswer, ChannelRequest};
use rawko_turns::{Channel, ChannelEffect, ChannelEvent, OptionScope, OverrideTo, TurnOptions};
use serde_json::Value as Json;

use crate::channel::{Asker, describe, list, me, message_line};
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::inputs;

const EXAMPLES: &str = "\
A channel is a shared conversation in which agents take turns and people post at any time. Channels
are kept in the store; agents connect through `rawko serve`. Turn options are those of the `turns`
section of the settings (docs/guide/channels.md).

Examples:
  rawko channels create standup --agent ada --agent bob --option defaultTimeoutSeconds=30
  rawko channels
  rawko channels post standup 'What is new?' --as kim
  rawko channels messages standup
  rawko channels log standup | jq -r '.agentId + \" \" + .to'
  rawko channels skip standup
  rawko channels order standup bob ada";

/// Manage channels: shared conversations of agents and people
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Another name, shown before that of the current user
    #[arg(long = "as", value_name = "NAME", global = true)]
    by: Option<String>,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all channels (default)
    List,
    /// Create a channel
    Create {
        channel: String,
        /// Agent to assign (repeatable)
        #[arg(long, value_name = "AGENT")]
        agent: Vec<String>,
        /// Turn option (repeatable)
        #[arg(long, value_name = "KEY=VALUE")]
        option: Vec<String>,
    },
    /// Show the members and the current turn of a channel
    Show { channel: String },
    /// Assign agents to a channel; offline agents join when they connect
    Assign {
        channel: String,
        #[arg(required = true)]
        agents: Vec<String>,
    },
    /// Remove an agent from a channel
    Remove { channel: String, agent: String },
    /// Pause a channel: stop the clock and start no turns
    Pause { channel: String },
    /// Resume a paused channel
    Resume { channel: String },
    /// End the current turn
    Skip { channel: String },
    /// Give the next turn to an agent
    Next { channel: String, agent: String },
    /// Let a waiting agent continue (active) or end its turn (queued)
    Override {
        channel: String,
        #[arg(value_parser = ["active", "queued"])]
        to: String,
    },
    /// Set the order of agents; unnamed agents follow
    Order {
        channel: String,
        #[arg(required = true)]
        agents: Vec<String>,
    },
    /// Set an agent's priority (for the order `priority`)
    Priority {
        channel: String,
        agent: String,
        #[arg(allow_negative_numbers = true)]
        priority: i32,
    },
    /// Replace the options of a channel or of one agent
    Set {
        channel: String,
        /// Apply only to the turns of this agent
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        #[arg(value_name = "KEY=VALUE")]
        options: Vec<String>,
    },
    /// Post a message
    Post {
        channel: String,
        text: String,
        /// Idempotency key: post the message only once
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
    /// Print the messages
    Messages {
        channel: String,
        /// Only messages after this number
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        after: u64,
    },
    /// Print all transitions of all members, one JSON object per line
    Log { channel: String },
    /// Close a channel permanently; its journal is kept
    Close { channel: String },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let is_list = matches!(args.action, None | Some(Action::List));
    if is_list && place.reader()?.is_none() {
        // A list creates no store.
        print_all(&[], args.json, console)?;
        return Ok(CommandVerdict::Done);
    }
    hosting::block_on(async {
        let mut asker = Asker::open(&place, console).await?;
        let outcome = act(args, &mut asker, console).await;
        asker.close(console).await;
        outcome
    })?;
    Ok(CommandVerdict::Done)
}

async fn act(args: &Args, asker: &mut Asker, console: &mut Console) -> Result<(), CommandFailure> {
    let by = me(args.by.as_ref());
    let action = args.action.as_ref().unwrap_or(&Action::List);
    match action {
        Action::List => all(args.json, asker, console).await,
        Action::Create { channel, agent, option } => {
            let (name, agents, options) = (channel.clone(), agent.clone(), options(option)?);
            asker.ask(ChannelRequest::Create { name, agents, options, by }).await?;
            show(channel, args.json, asker, console).await
        }
        Action::Show { channel } => show(channel, args.json, asker, console).await,
        Action::Assign { channel, agents } => {
            asker.ask(ChannelRequest::Assign { name: channel.clone(), agents: agents.clone(), by }).await?;
            show(channel, args.json, asker, console).await
        }
        Action::Messages { channel, after } => messages(channel, *after, args.json, asker, console).await,
        Action::Log { channel } => log(channel, asker, console).await,
        Action::Close { channel } => {
            asker.ask(ChannelRequest::Close { name: channel.clone(), by }).await?;
            Ok(())
        }
        Action::Post { channel, text, key } => {
            let event = ChannelEvent::PersonSpoke { person: by, id: key.clone(), text: text.clone() };
            let effects = asker.apply(channel, event).await?;
            posted(&effects, console)
        }
        Action::Remove { .. }
        | Action::Pause { .. }
        | Action::Resume { .. }
        | Action::Skip { .. }
        | Action::Next { .. }
        | Action::Override { .. }
        | Action::Order { .. }
        | Action::Priority { .. }
        | Action::Set { .. } => {
            let Some((channel, event)) = event(action, by)? else { return Ok(()) };
            asker.apply(channel, event).await?;
            show(channel, args.json, asker, console).await
        }
    }
}

/// Returns the channel event of an action, if the action is one.
fn event(action: &Action, by: String) -> Result<Option<(&str, ChannelEvent)>, CommandFailure> {
    Ok(Some(match action {
        Action::Remove { channel, agent } => {
            (channel, ChannelEvent::Removed { agent: agent.as_str().into(), by })
        }
        Action::Pause { channel } => (channel, ChannelEvent::Paused { by }),
        Action::Resume { channel } => (channel, ChannelEvent::Resumed { by }),
        Action::Skip { channel } => (channel, ChannelEvent::Skipped { by }),
        Action::Next { channel, agent } => {
            (channel, ChannelEvent::NextNamed { agent: agent.as_str().into(), by })
        }
        Action::Override { channel, to } => {
            let to = if to == "active" { OverrideTo::Active } else { OverrideTo::Queued };
            (channel, ChannelEvent::Overridden { by, to })
        }
        Action::Order { channel, agents } => (
            channel,
            ChannelEvent::OrderSet { agents: agents.iter().map(|agent| agent.as_str().into()).collect() },
        ),
        Action::Priority { channel, agent, priority } => {
            (channel, ChannelEvent::PrioritySet { agent: agent.as_str().into(), priority: *priority })
        }
        Action::Set { channel, agent, options: said } => {
            let scope = agent
                .as_ref()
                .map_or(OptionScope::Channel, |agent| OptionScope::Agent(agent.as_str().into()));
            (channel, ChannelEvent::OptionsSet { scope, options: options(said)? })
        }
        Action::List
        | Action::Create { .. }
        | Action::Show { .. }
        | Action::Assign { .. }
        | Action::Post { .. }
        | Action::Messages { .. }
        | Action::Log { .. }
        | Action::Close { .. } => return Ok(None),
    })
    .map(|(channel, event)| (channel.as_str(), event)))
}

fn options(texts: &[String]) -> Result<TurnOptions, CommandFailure> {
    let object = Json::Object(inputs::object_from("--option", texts)?);
    serde_json::from_value(object)
        .map_err(|error| CommandFailure::Usage(format!("invalid turn option: {error}")))
}

async fn all(json: bool, asker: &mut Asker, console: &mut Console) -> Result<(), CommandFailure> {
    let ChannelAnswer::Channels(channels) = asker.ask(ChannelRequest::List).await? else { return Ok(()) };
    print_all(&channels, json, console)
}

fn print_all(channels: &[Channel], json: bool, console: &mut Console) -> Result<(), CommandFailure> {
    if json {
        return console.line(&format!("{:#}", serde_json::json!({"v": 1, "channels": channels})));
    }
    if channels.is_empty() {
        console.note(TextStyle::Dim, "none", "no channels yet; create one with `rawko channels create NAME`");
        return Ok(());
    }
    list(channels, console)
}

async fn show(
    channel: &str,
    json: bool,
    asker: &mut Asker,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let channel = asker.look(channel).await?;
    if json {
        return console.line(&format!("{:#}", serde_json::json!(channel)));
    }
    describe(&channel, console).iter().try_for_each(|line| console.line(line))
}

async fn messages(
    channel: &str,
    after: u64,
    json: bool,
    asker: &mut Asker,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for message in asker.messages(channel, after).await? {
        let line = if json {
            serde_json::to_string(&message).unwrap_or_default()
        } else {
            message_line(&message, console)
        };
        console.line(&line)?;
    }
    Ok(())
}

async fn log(channel: &str, asker: &mut Asker, console: &mut Console) -> Result<(), CommandFailure> {
    let request = ChannelRequest::Log { name: channel.to_owned() };
    let ChannelAnswer::Log(entries) = asker.ask(request).await? else { return Ok(()) };
    entries.iter().try_for_each(|entry| console.line(&serde_json::to_string(entry).unwrap_or_default()))
}

/// Prints the effects of a posted message.
fn posted(effects: &[ChannelEffect], console: &mut Console) -> Result<(), CommandFailure> {
    if effects.is_empty() {
        console.note(TextStyle::Dim, "ignored", "already posted with this key");
    }
    for effect in effects {
        match effect {
            ChannelEffect::Posted(message) => console.line(&message_line(message, console))?,
            ChannelEffect::Held { .. } => {
                console.note(TextStyle::Notice, "held", "will be posted when the turn ends")
            }
            _ => {}
        }
    }
    Ok(())
}
