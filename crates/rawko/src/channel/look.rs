//! Formats channels, turns and messages for a terminal.

use rawko_turns::{Channel, ChannelMember, ChannelMessage, MemberState, MessageAuthor, TurnOrder, TurnPhase};

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::table::{Cell, ConsoleTable};
use crate::times;

/// Prints all channels, one line each.
pub(crate) fn list(channels: &[Channel], console: &mut Console) -> Result<(), CommandFailure> {
    let mut table = ConsoleTable::new(&["CHANNEL", "TURN", "AGENTS", "MESSAGES"]);
    for channel in channels {
        let here = channel.members.values().filter(|member| member.state != MemberState::Offline).count();
        let all = channel
            .members
            .values()
            .filter(|member| member.assigned || member.state != MemberState::Offline)
            .count();
        table.add(vec![
            Cell::painted(channel.name.clone(), TextStyle::Bold),
            Cell::new(turn_words(channel, times::now_ms())),
            Cell::new(format!("{here} of {all}")),
            Cell::new(channel.posted.to_string()),
        ]);
    }
    table.print(console)
}

/// Formats the holder of the turn and its remaining time.
fn turn_words(channel: &Channel, now_ms: i64) -> String {
    let pause = if channel.paused_ms.is_some() { "paused, " } else { "" };
    match &channel.turn {
        None => format!("{pause}no agent"),
        Some(turn) => match &turn.phase {
            TurnPhase::Running { deadline_ms, .. } => {
                format!(
                    "{pause}{} for {}",
                    turn.agent,
                    times::span(deadline_ms.saturating_sub(now_ms).max(0))
                )
            }
            TurnPhase::Waiting(_) => format!("{pause}{} (waiting)", turn.agent),
        },
    }
}

/// Returns the remaining time of the current turn.
pub(crate) fn time_left_ms(channel: &Channel) -> Option<i64> {
    match channel.turn.as_ref()?.phase {
        TurnPhase::Running { deadline_ms, .. } => Some(deadline_ms.saturating_sub(times::now_ms()).max(0)),
        TurnPhase::Waiting(_) => None,
    }
}

/// Formats the turn as a line between messages.
pub(crate) fn turn_line(channel: &Channel) -> String {
    let words = turn_words(channel, times::now_ms());
    format!("— {words}{} —", if channel.turn.is_some() { "" } else { " has the turn" })
}

/// Formats a channel in full, line by line.
pub(crate) fn describe(channel: &Channel, console: &Console) -> Vec<String> {
    let order = match channel.options.for_channel().order {
        TurnOrder::RoundRobin => "round robin",
        TurnOrder::Priority => "priority",
        TurnOrder::Manual => "manual",
    };
    let count = console.paint(TextStyle::Dim, &format!("{} messages", channel.posted));
    let mut lines = vec![
        format!("{}  {count}", console.paint(TextStyle::Bold, &channel.name)),
        format!("    turn     {}", turn_words(channel, times::now_ms())),
        format!("    order    {order}"),
    ];
    let others = channel.members.keys().filter(|agent| !channel.order.contains(agent));
    let everybody = channel.order.iter().chain(others);
    lines.extend(everybody.filter_map(|agent| {
        let member = channel.members.get(agent)?;
        let state = console.paint(state_style(member.state), &format!("{:<8}", member.state.as_str()));
        Some(format!("    {state} {:<16} {}", agent.as_str(), notes(channel, member).join(", ")))
    }));
    if !channel.held.is_empty() {
        lines.push(format!("    held     {} messages until the turn ends", channel.held.len()));
    }
    lines
}

fn notes(channel: &Channel, member: &ChannelMember) -> Vec<String> {
    let mut notes = vec![format!("{} unread", channel.posted.saturating_sub(member.seen))];
    if member.priority != 0 {
        notes.push(format!("priority {}", member.priority));
    }
    if member.grace_due_ms.is_some() {
        notes.push("connection lost".to_owned());
    }
    if member.assigned && member.state == MemberState::Offline {
        notes.push("assigned".to_owned());
    }
    notes
}

fn state_style(state: MemberState) -> TextStyle {
    match state {
        MemberState::Offline => TextStyle::Dim,
        MemberState::Idle | MemberState::Queued => TextStyle::Plain,
        MemberState::Active => TextStyle::Good,
        MemberState::Waiting => TextStyle::Notice,
    }
}

/// Formats a message as a line.
pub(crate) fn message_line(message: &ChannelMessage, console: &Console) -> String {
    let number = console.paint(TextStyle::Dim, &format!("{:>4}", message.number));
    let late = if message.late { console.paint(TextStyle::Dim, " (late)") } else { String::new() };
    let text = message.text.replace('\n', "\n      ");
    match &message.author {
        MessageAuthor::Notice => format!("{number}  {}", console.paint(TextStyle::Notice, &text)),
        MessageAuthor::Agent(agent) => {
            format!("{number}  {}: {text}{late}", console.paint(TextStyle::Accent, agent.as_str()))
        }
        MessageAuthor::Person(name) => format!("{number}  {}: {text}", console.paint(TextStyle::Bold, name)),
    }
}
