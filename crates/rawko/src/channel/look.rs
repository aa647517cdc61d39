//! Formats channels, turns and messages for a terminal.

use rawko_turns::{Author, Channel, Member, Message, Phase, State, TurnOrder};

use crate::console::{Console, Style};
use crate::failure::Failure;
use crate::table::{Cell, Table};
use crate::times;

/// Prints all channels, one line each.
pub(crate) fn list(channels: &[Channel], console: &mut Console) -> Result<(), Failure> {
    let mut table = Table::new(&["CHANNEL", "TURN", "AGENTS", "MESSAGES"]);
    for channel in channels {
        let here = channel.members.values().filter(|member| member.state != State::Offline).count();
        let all = channel
            .members
            .values()
            .filter(|member| member.assigned || member.state != State::Offline)
            .count();
        table.add(vec![
            Cell::painted(channel.name.clone(), Style::Bold),
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
            Phase::Running { deadline_ms, .. } => {
                format!(
                    "{pause}{} for {}",
                    turn.agent,
                    times::span(deadline_ms.saturating_sub(now_ms).max(0))
                )
            }
            Phase::Waiting(_) => format!("{pause}{} (waiting)", turn.agent),
        },
    }
}

/// Returns the remaining time of the current turn.
pub(crate) fn time_left_ms(channel: &Channel) -> Option<i64> {
    match channel.turn.as_ref()?.phase {
        Phase::Running { deadline_ms, .. } => Some(deadline_ms.saturating_sub(times::now_ms()).max(0)),
        Phase::Waiting(_) => None,
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
    let count = console.paint(Style::Dim, &format!("{} messages", channel.posted));
    let mut lines = vec![
        format!("{}  {count}", console.paint(Style::Bold, &channel.name)),
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

fn notes(channel: &Channel, member: &Member) -> Vec<String> {
    let mut notes = vec![format!("{} unread", channel.posted.saturating_sub(member.seen))];
    if member.priority != 0 {
        notes.push(format!("priority {}", member.priority));
    }
    if member.grace_due_ms.is_some() {
        notes.push("connection lost".to_owned());
    }
    if member.assigned && member.state == State::Offline {
        notes.push("assigned".to_owned());
    }
    notes
}

fn state_style(state: State) -> Style {
    match state {
        State::Offline => Style::Dim,
        State::Idle | State::Queued => Style::Plain,
        State::Active => Style::Good,
        State::Waiting => Style::Notice,
    }
}

/// Formats a message as a line.
pub(crate) fn message_line(message: &Message, console: &Console) -> String {
    let number = console.paint(Style::Dim, &format!("{:>4}", message.number));
    let late = if message.late { console.paint(Style::Dim, " (late)") } else { String::new() };
    let text = message.text.replace('\n', "\n      ");
    match &message.author {
        Author::Notice => format!("{number}  {}", console.paint(Style::Notice, &text)),
        Author::Agent(agent) => {
            format!("{number}  {}: {text}{late}", console.paint(Style::Accent, agent.as_str()))
        }
        Author::Person(name) => format!("{number}  {}: {text}", console.paint(Style::Bold, name)),
    }
}
