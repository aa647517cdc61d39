//! Mutations: seeded, so that a run can be repeated. Besides small changes they repeat parts many times, which finds
//! recursion without a bound and cost that grows faster than the input.

/// Length of an input.
pub(crate) const INPUT_MAX: usize = 64 * 1024;

const EDGES: [&str; 12] = [
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "1e309",
    "NaN",
    "\u{0}",
    "\u{feff}",
    "é\u{301}",
    "\u{1F600}",
    "\r\n",
    "\u{2028}",
];

pub(crate) struct Mutator {
    state: u64,
    /// Words of the language.
    words: &'static [&'static str],
}

impl Mutator {
    pub(crate) fn new(seed: u64, words: &'static [&'static str]) -> Mutator {
        Mutator { state: seed, words }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        match u64::try_from(limit) {
            Ok(limit) if limit > 0 => usize::try_from(self.next() % limit).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Returns every word repeated, alone and in pairs with the first ones: the deepest texts of the language.
    pub(crate) fn deep_inputs(&self) -> Vec<Vec<u8>> {
        let repeated = |text: &str| text.repeat(INPUT_MAX / 2 / text.len().max(1)).into_bytes();
        let mut all: Vec<Vec<u8>> = self.words.iter().map(|word| repeated(word)).collect();
        for first in self.words.iter().take(4) {
            all.extend(self.words.iter().map(|second| repeated(&format!("{first}{second}"))));
        }
        all
    }

    /// Returns a mutation of one of these inputs.
    pub(crate) fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut text = corpus.get(self.below(corpus.len())).cloned().unwrap_or_default();
        for _ in 0..=self.below(6) {
            self.change(&mut text, corpus);
            text.truncate(INPUT_MAX);
        }
        text
    }

    fn range(&mut self, text: &[u8]) -> std::ops::Range<usize> {
        let from = self.below(text.len() + 1);
        let length = match self.below(4) {
            0 => self.below(text.len() - from + 1),
            _ => self.below((text.len() - from + 1).min(16)),
        };
        from..from + length
    }

    fn change(&mut self, text: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        match self.below(9) {
            0 if !text.is_empty() => {
                let at = self.below(text.len());
                text[at] ^= 1 << self.below(8);
            }
            1 => {
                let range = self.range(text);
                text.drain(range);
            }
            2 => {
                let (at, edge) = (self.below(text.len() + 1), EDGES[self.below(EDGES.len())]);
                text.splice(at..at, edge.bytes());
            }
            3 | 4 if !self.words.is_empty() => {
                let (at, word) = (self.below(text.len() + 1), self.words[self.below(self.words.len())]);
                text.splice(at..at, word.bytes());
            }
            5 => {
                // The same part again, up to thousands of times.
                let part = text[self.range(text)].to_vec();
                let times = [2, 8, 100, 5_000][self.below(4)].min(INPUT_MAX / part.len().max(1));
                let at = self.below(text.len() + 1);
                text.splice(at..at, part.repeat(times));
            }
            6 if !self.words.is_empty() => {
                let word = self.words[self.below(self.words.len())];
                let times = [3, 50, 300, 10_000][self.below(4)].min(INPUT_MAX / word.len().max(1));
                let at = self.below(text.len() + 1);
                text.splice(at..at, word.repeat(times).bytes());
            }
            7 if !corpus.is_empty() => {
                let other = &corpus[self.below(corpus.len())];
                let (at, part) = (self.below(text.len() + 1), other[self.range(other)].to_vec());
                text.splice(at..at, part);
            }
            _ => {
                let (from, to) = (self.range(text), self.below(text.len() + 1));
                let part = text[from].to_vec();
                text.splice(to..to, part);
            }
        }
    }
}
