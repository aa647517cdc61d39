//! Splits bytes into lines, independent of chunk boundaries. Separate from the meaning of the lines, because two
//! framings (server-sent events and JSON Lines) share it, and because the limit on line length is enforced here.

/// A longer line is not a valid response of a model.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A line above `LINE_BYTES_MAX`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// Lines end with LF, CR or CRLF, as server-sent events allow.
#[derive(Default)]
pub(super) struct LineSplitter {
    pending: Vec<u8>,
    /// The next LF belongs to the preceding CR.
    is_after_cr: bool,
}

impl LineSplitter {
    /// Returns the lines that these bytes complete.
    pub(super) fn handle_bytes(&mut self, bytes: &[u8]) -> Result<Vec<String>, LineTooLong> {
        let mut lines = Vec::new();
        for &byte in bytes {
            let is_second_half = byte == b'\n' && self.is_after_cr;
            self.is_after_cr = byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => lines.push(self.take_line()),
                _ if self.pending.len() >= LINE_BYTES_MAX => return Err(LineTooLong),
                _ => self.pending.push(byte),
            }
        }
        Ok(lines)
    }

    /// Returns the text after the last line ending.
    pub(super) fn take_rest(&mut self) -> Option<String> {
        (!self.pending.is_empty()).then(|| self.take_line())
    }

    /// Only whole lines are decoded, so a chunk boundary cannot split a character.
    fn take_line(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, LineSplitter, LineTooLong};

    #[test]
    fn lines_come_out_the_same_whatever_the_pieces() {
        let text = "one\r\ntwo\n\nthrée\rfour\r\r\nrest";
        let expected = ["one", "two", "", "thrée", "four", ""];
        for size in 1..=text.len() {
            let mut lines = LineSplitter::default();
            let pieces = text.as_bytes().chunks(size);
            let got: Vec<String> = pieces.flat_map(|piece| lines.handle_bytes(piece).unwrap()).collect();
            assert_eq!(got, expected, "pieces of {size}");
            assert_eq!(lines.take_rest().as_deref(), Some("rest"));
            assert_eq!(lines.take_rest(), None);
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = LineSplitter::default();
        assert_eq!(lines.handle_bytes(&vec![b'x'; LINE_BYTES_MAX]), Ok(Vec::new()));
        assert_eq!(lines.handle_bytes(b"x"), Err(LineTooLong));
    }
}
