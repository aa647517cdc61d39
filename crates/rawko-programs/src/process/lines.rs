//! Lines to and from a child: bounded on input, non-blocking on output.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// Limit of lines that a child may leave unread.
const UNREAD_MAX: usize = 256;

/// Reads lines up to a length. A partial line is kept when the future is dropped.
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProgramLine {
    Text(String),
    NotUtf8,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), bytes_max }
    }

    /// Returns the next line without its newline. The last line need not end with one.
    pub(crate) async fn next(&mut self) -> ProgramLine {
        loop {
            // A pipe that fails to read has ended.
            let available = self.reader.fill_buf().await.unwrap_or_default();
            let (taken, is_end) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (available.len(), available.is_empty()),
            };
            if taken == 0 && self.line.is_empty() {
                return ProgramLine::End;
            }
            self.line.extend_from_slice(&available[..taken]);
            self.reader.consume(taken);
            if self.line.len() > self.bytes_max {
                return ProgramLine::TooLong;
            }
            if is_end {
                let text = String::from_utf8(std::mem::take(&mut self.line));
                return text.map_or(ProgramLine::NotUtf8, |text| {
                    ProgramLine::Text(text.trim_end_matches(['\r', '\n']).to_owned())
                });
            }
        }
    }
}

/// Writes lines. Dropping it closes the child's input after everything is written.
pub(crate) struct LineWriter {
    queue: mpsc::Sender<String>,
}

impl LineWriter {
    /// Writes on a separate task, so that a child that does not read cannot block us.
    pub(crate) fn new(mut pipe: ChildStdin) -> Self {
        let (queue, mut lines) = mpsc::channel::<String>(UNREAD_MAX);
        tokio::spawn(async move {
            while let Some(mut line) = lines.recv().await {
                line.push('\n');
                // A child that closes its input is not an error: its output and exit status decide the result.
                if pipe.write_all(line.as_bytes()).await.is_err() || pipe.flush().await.is_err() {
                    break;
                }
            }
        });
        Self { queue }
    }

    /// Returns false if the child leaves too much unread.
    pub(crate) fn send(&self, line: String) -> bool {
        !matches!(self.queue.try_send(line), Err(mpsc::error::TrySendError::Full(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_bounded() {
        let text = |text: &str| ProgramLine::Text(text.to_owned());
        let cases: [(&str, &[u8], Vec<ProgramLine>); 5] = [
            ("nothing", b"", vec![ProgramLine::End]),
            (
                "three, the last not ended",
                b"a\r\n\nb",
                vec![text("a"), text(""), text("b"), ProgramLine::End],
            ),
            ("as long as may be", b"1234567\n", vec![text("1234567"), ProgramLine::End]),
            ("too long", b"12345678\n", vec![ProgramLine::TooLong]),
            ("not text", b"\xff\n", vec![ProgramLine::NotUtf8, ProgramLine::End]),
        ];
        for (case, bytes, expected) in cases {
            let mut reader = LineReader::new(bytes, 8);
            for line in expected {
                assert_eq!(reader.next().await, line, "{case}");
            }
        }
    }
}
