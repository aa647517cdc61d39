//! Captures the output of a command. Keeps the beginning and the end: the beginning shows the command's purpose, the
//! end its result.

use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct CommandOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl CommandOutput {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: (bytes_max / 2).max(1), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let kept = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(kept);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    pub(super) fn is_cut(&self) -> bool {
        self.left_out() > 0
    }

    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if !self.is_cut() {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out())
    }
}

#[cfg(test)]
mod tests {
    use super::CommandOutput;

    #[test]
    fn head_and_tail_are_kept() {
        for (chunks, expected) in [
            (vec!["abc"], "abc"),
            (vec!["abcd", "efgh"], "abcdefgh"),
            (vec!["abcdefgh", "ij"], "abcd\n[… 2 bytes left out …]\nghij"),
            (vec!["ab", "cd", "ef", "ghijklmnop"], "abcd\n[… 8 bytes left out …]\nmnop"),
            (vec![], ""),
        ] {
            let mut output = CommandOutput::new(8);
            chunks.iter().for_each(|chunk| output.push(chunk.as_bytes()));
            assert_eq!(output.text(), expected, "{chunks:?}");
        }
    }
}
