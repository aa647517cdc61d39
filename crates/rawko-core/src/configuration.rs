//! `Configuration`: the set of active state nodes as a bitset. Charts of up to 128 nodes keep it inline, so that
//! copying it before a step costs nothing.

use crate::ids::NodeId;

const INLINE_WORDS: usize = 2;

/// A set of state nodes of one chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    words: Words,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Words {
    Inline([u64; INLINE_WORDS]),
    Heap(Box<[u64]>),
}

impl Configuration {
    /// An empty set with room for `nodes` state nodes.
    pub fn empty(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        if words <= INLINE_WORDS {
            Self { words: Words::Inline([0; INLINE_WORDS]) }
        } else {
            Self { words: Words::Heap(vec![0; words].into()) }
        }
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match &self.words {
            Words::Inline(words) => words,
            Words::Heap(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.words {
            Words::Inline(words) => words,
            Words::Heap(words) => words,
        }
    }

    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        self.words().get(node.index() / 64).is_some_and(|word| word >> (node.0 % 64) & 1 == 1)
    }

    #[inline]
    pub fn insert(&mut self, node: NodeId) {
        self.words_mut()[node.index() / 64] |= 1 << (node.0 % 64);
    }

    #[inline]
    pub fn remove(&mut self, node: NodeId) {
        self.words_mut()[node.index() / 64] &= !(1 << (node.0 % 64));
    }

    pub fn clear(&mut self) {
        self.words_mut().fill(0);
    }

    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|word| *word == 0)
    }

    /// The members in document order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.words()
            .iter()
            .enumerate()
            .flat_map(|(index, word)| Bits { word: *word, base: index as u32 * 64 })
    }

    /// The members from `first` to `last` inclusive, last first: the order in which states are exited.
    #[inline]
    pub fn range_rev(&self, first: NodeId, last: NodeId, mut visit: impl FnMut(NodeId)) {
        let (low, high) = (first.index() / 64, last.index() / 64);
        let words = self.words();
        for index in (low..=high.min(words.len().saturating_sub(1))).rev() {
            let mut word = words[index];
            if index == low {
                word &= u64::MAX << (first.0 % 64);
            }
            if index == high {
                word &= u64::MAX >> (63 - last.0 % 64);
            }
            while word != 0 {
                let bit = 63 - word.leading_zeros();
                word &= !(1 << bit);
                visit(NodeId(index as u32 * 64 + bit));
            }
        }
    }
}

struct Bits {
    word: u64,
    base: u32,
}

impl Iterator for Bits {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(NodeId(self.base + bit))
    }
}
