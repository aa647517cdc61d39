//! Bytes into lines, whatever the pieces they come in. Apart from what the lines mean, because two framings (server-sent
//! events and JSON lines) stand on it, and because the bound on a line is kept here.

/// More than this in one line is no answer of a model.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A line that nobody wants to hold in memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// Lines end with LF, CR or both, as server-sent events allow.
#[derive(Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    /// An LF that comes now belongs to the CR before it.
    is_after_cr: bool,
}

impl Lines {
    /// The lines that these bytes complete.
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

    /// What came after the last end of a line.
    pub(super) fn take_rest(&mut self) -> Option<String> {
        (!self.pending.is_empty()).then(|| self.take_line())
    }

    /// Only whole lines are decoded, so no character is torn by the pieces they came in.
    fn take_line(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, LineTooLong, Lines};

    #[test]
    fn lines_come_out_the_same_whatever_the_pieces() {
        let text = "one\r\ntwo\n\nthrée\rfour\r\r\nrest";
        let expected = ["one", "two", "", "thrée", "four", ""];
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let pieces = text.as_bytes().chunks(size);
            let got: Vec<String> = pieces.flat_map(|piece| lines.handle_bytes(piece).unwrap()).collect();
            assert_eq!(got, expected, "pieces of {size}");
            assert_eq!(lines.take_rest().as_deref(), Some("rest"));
            assert_eq!(lines.take_rest(), None);
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::default();
        assert_eq!(lines.handle_bytes(&vec![b'x'; LINE_BYTES_MAX]), Ok(Vec::new()));
        assert_eq!(lines.handle_bytes(b"x"), Err(LineTooLong));
    }
}
