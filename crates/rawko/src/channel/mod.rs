//! Channels from the command line: requests, and the format of channels and messages.

mod asking;
mod look;
mod phrases;

pub(crate) use asking::{Asker, me};
pub(crate) use look::{describe, list, message_line, time_left_ms, turn_line};
pub(crate) use phrases::{HELP, Phrase, read as read_phrase};
