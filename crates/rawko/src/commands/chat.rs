//! `rawko chat`: takes part in a channel from a terminal.

use std::io::{BufRead, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rawko_server::ChannelRequest;
use rawko_turns::{Channel, ChannelEffect};
use rustyline::ExternalPrinter;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

use crate::channel::{Asker, HELP, Phrase, describe, me, message_line, read_phrase, time_left_ms, turn_line};
use crate::console::{Console, TextStyle};
use crate::durations;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, ServePlan, StoreArgs};

/// Maximum wait for news before checking for typed input.
const LOOK_MS: u64 = 100;
/// Remaining time below which a turn is announced once more.
const HURRY_MS: i64 = 10_000;
/// Number of earlier messages shown at the start.
const BEFORE: u64 = 10;

const EXAMPLES: &str = "\
Prints messages and turn changes as they happen, and posts what you type. Lines that begin with a
slash are commands; `/help` lists them. The channel option `humanInterruptMode` decides when your
message is posted while an agent has the turn.

Without a terminal, every line of standard input is posted. At the end of input the chat stays until
no agent has the turn or --patience has passed.

If `rawko serve` is not running, the chat hosts the channel itself and starts the agents that have a
`command` in the settings.

Examples:
  rawko chat standup
  rawko chat standup --as kim
  echo 'What is new?' | rawko chat standup --patience 1m";

/// Join a channel from the terminal
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Channel name
    channel: String,

    /// Another name, shown before that of the current user
    #[arg(long = "as", value_name = "NAME")]
    by: Option<String>,

    /// Stay this long after the last line while agents take turns
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = durations::read)]
    patience: Duration,

    #[command(flatten)]
    store: StoreArgs,
}

/// Input from the terminal.
enum TerminalInput {
    Line(String),
    End,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let mut place = ProjectContext::here(&args.store)?;
    place.serve = ServePlan { own_agents: true, ..ServePlan::default() };
    hosting::block_on(async {
        let mut asker = Asker::open(&place, console).await?;
        let outcome = talk(args, &mut asker, console).await;
        asker.close(console).await;
        outcome
    })
}

async fn talk(
    args: &Args,
    asker: &mut Asker,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let channel = asker.look(&args.channel).await?;
    let me = me(args.by.as_ref());
    let mut chat = Chat {
        name: args.channel.clone(),
        me,
        seen: channel.posted.saturating_sub(BEFORE),
        version: None,
        turn: None,
        hurried: false,
        holder: Arc::default(),
    };
    let (mut typed, mut screen) = listen(&chat.name, Arc::clone(&chat.holder))?;
    chat.look(asker, &mut screen, console, 0).await?;
    let mut leaving: Option<Instant> = None;
    loop {
        // One line at a time, so that its effects are shown before the next.
        if let Ok(input) = typed.try_recv() {
            match input {
                TerminalInput::Line(line) => {
                    if chat.execute(&line, asker, &mut screen, console).await? == ChatStep::Leave {
                        return Ok(CommandVerdict::Done);
                    }
                }
                TerminalInput::End => leaving = Some(Instant::now() + args.patience),
            }
        }
        let channel = chat.look(asker, &mut screen, console, LOOK_MS).await?;
        let quiet = channel.turn.is_none();
        if leaving.is_some_and(|until| quiet || Instant::now() >= until) {
            return Ok(CommandVerdict::Done);
        }
    }
}

#[derive(PartialEq, Eq)]
enum ChatStep {
    GoOn,
    Leave,
}

struct Chat {
    name: String,
    me: String,
    seen: u64,
    version: Option<u64>,
    /// The turn at the last check.
    turn: Option<String>,
    /// True once the nearly expired turn was announced.
    hurried: bool,
    holder: TurnHolder,
}

/// The holder and the deadline of the turn, for the prompt.
type TurnHolder = Arc<Mutex<Option<(String, Instant)>>>;

impl Chat {
    /// Shows new messages and turns.
    async fn look(
        &mut self,
        asker: &mut Asker,
        screen: &mut Screen,
        console: &mut Console,
        patience_ms: u64,
    ) -> Result<Channel, CommandFailure> {
        let news = asker.news(&self.name, self.seen, self.version, patience_ms).await?;
        self.version = Some(news.version);
        for message in &news.messages {
            self.seen = message.number;
            screen.show(&message_line(message, console), console)?;
        }
        let turn = news
            .channel
            .turn
            .as_ref()
            .map(|turn| format!("{} {}", turn.id, news.channel.state_of(&turn.agent).as_str()));
        let left_ms = time_left_ms(&news.channel);
        let hurry = left_ms.is_some_and(|left| left <= HURRY_MS);
        if turn != self.turn || (hurry && !self.hurried) {
            self.turn = turn;
            self.hurried = hurry;
            screen.show(&console.paint(TextStyle::Dim, &turn_line(&news.channel)), console)?;
        }
        let left = Duration::from_millis(left_ms.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0));
        let holder = news.channel.turn.as_ref().map(|turn| (turn.agent.to_string(), Instant::now() + left));
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
        Ok(news.channel)
    }

    async fn execute(
        &mut self,
        line: &str,
        asker: &mut Asker,
        screen: &mut Screen,
        console: &mut Console,
    ) -> Result<ChatStep, CommandFailure> {
        let name = self.name.clone();
        let outcome = match read_phrase(line, &self.me) {
            Phrase::Nothing => Ok(()),
            Phrase::Quit => return Ok(ChatStep::Leave),
            Phrase::Help => screen.show(HELP, console),
            Phrase::Unknown(why) => screen.show(&why, console),
            Phrase::Who => {
                let channel = asker.look(&name).await?;
                screen.show(&describe(&channel, console).join("\n"), console)
            }
            Phrase::History(number) => {
                let channel = asker.look(&name).await?;
                let messages = asker.messages(&name, channel.posted.saturating_sub(number)).await?;
                messages.iter().try_for_each(|message| screen.show(&message_line(message, console), console))
            }
            Phrase::Assign(agent) => {
                let request = ChannelRequest::Assign { name, agents: vec![agent], by: self.me.clone() };
                asker.ask(request).await.map(drop)
            }
            Phrase::Do(event) => match asker.apply(&name, event).await {
                Ok(effects) if effects.iter().any(|effect| matches!(effect, ChannelEffect::Held { .. })) => {
                    screen.show(&console.paint(TextStyle::Dim, "held until the turn ends"), console)
                }
                other => other.map(drop),
            },
        };
        match outcome {
            // A rejected request is printed, and the chat continues.
            Err(CommandFailure::Failed(why) | CommandFailure::Usage(why)) => {
                screen.show(&console.paint(TextStyle::Notice, &why), console)?
            }
            other => other?,
        }
        console.flush()?;
        Ok(ChatStep::GoOn)
    }
}

/// The destination of output lines: above the prompt if there is one.
enum Screen {
    Prompt(Box<dyn ExternalPrinter + Send>),
    Plain,
}

impl Screen {
    fn show(&mut self, text: &str, console: &mut Console) -> Result<(), CommandFailure> {
        match self {
            Screen::Prompt(printer) => {
                let cannot = |error| CommandFailure::Usage(format!("cannot write to the terminal: {error}"));
                printer.print(console.ready(&format!("{text}\n"))).map_err(cannot)
            }
            Screen::Plain => {
                console.line(text)?;
                console.flush()
            }
        }
    }
}

/// Returns the prompt with the turn's holder and remaining time: `standup (ada, 42s)> `.
fn prompt(name: &str, holder: &TurnHolder) -> String {
    match &*holder.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((agent, until)) => {
            let left = until.saturating_duration_since(Instant::now());
            format!("{name} ({agent}, {}s)> ", left.as_secs())
        }
        None => format!("{name}> "),
    }
}

/// Reads input on a separate thread, because reading a line blocks.
fn listen(
    name: &str,
    holder: TurnHolder,
) -> Result<(mpsc::UnboundedReceiver<TerminalInput>, Screen), CommandFailure> {
    let (lines, typed) = mpsc::unbounded_channel();
    if !std::io::stdin().is_terminal() {
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let _ = lines.send(TerminalInput::Line(line));
            }
            let _ = lines.send(TerminalInput::End);
        });
        return Ok((typed, Screen::Plain));
    }
    let cannot =
        |error: ReadlineError| CommandFailure::Usage(format!("cannot read from the terminal: {error}"));
    let mut editor = rustyline::DefaultEditor::new().map_err(cannot)?;
    // A terminal that cannot draw gets plain lines.
    let screen = match editor.create_external_printer() {
        Ok(printer) => Screen::Prompt(Box::new(printer)),
        Err(_) => Screen::Plain,
    };
    let name = name.to_owned();
    std::thread::spawn(move || {
        while let Ok(line) = editor.readline(&prompt(&name, &holder)) {
            // A missing history entry is harmless.
            let _ = editor.add_history_entry(&line);
            let leaves = read_phrase(&line, "") == Phrase::Quit;
            let _ = lines.send(TerminalInput::Line(line));
            // Stop reading here, which leaves the terminal in its original mode.
            if leaves {
                return;
            }
        }
        let _ = lines.send(TerminalInput::Line("/quit".to_owned()));
    });
    Ok((typed, screen))
}
