//! `StateTable`: the identities of all states that an exploration has found, with their numbers. Keys are stored behind one
//! another, and the table holds their numbers with a part of their hash. With hash compaction only hashes are stored.

/// Whether two states with the same hash are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Whole identities are stored.
    #[default]
    Exact,
    /// Only 64-bit hashes are stored: two states with the same hash count as one.
    Compact,
}

#[derive(Debug)]
pub(crate) struct StateTable {
    storage: Storage,
    /// The number of a state plus one (0: free), with the upper half of its hash. The place of a slot are the first bits of
    /// that half, so that a larger table is filled in order and without the keys.
    slots: Vec<u64>,
    /// The length of all keys, as long as they have the same. Not used if compact.
    stride: Option<u32>,
    /// Ends of the keys in `bytes`, by number, once their lengths differ.
    ends: Vec<u32>,
    bytes: Vec<u8>,
    /// Hashes by number, if compact.
    hashes: Vec<u64>,
    length: usize,
}

const SLOTS_FIRST: usize = 64;

impl StateTable {
    pub(crate) fn new(storage: Storage) -> Self {
        Self {
            storage,
            slots: vec![0; SLOTS_FIRST],
            stride: None,
            ends: Vec::new(),
            bytes: Vec::new(),
            hashes: Vec::new(),
            length: 0,
        }
    }

    /// Returns the number of a known key, or gives it the next one.
    pub(crate) fn insert(&mut self, key: &[u8]) -> Result<u32, u32> {
        if self.length * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let hash = hash(key);
        let (mask, tag) = (self.slots.len() - 1, hash & TAG);
        let mut at = place(tag, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            let number = (slot & !TAG) as u32 - 1;
            if slot & TAG == tag && self.is(number, key, hash) {
                return Err(number);
            }
            at = (at + 1) & mask;
        }
        let number = self.length as u32;
        self.slots[at] = tag | u64::from(number + 1);
        self.length += 1;
        match self.storage {
            Storage::Exact => self.push(key),
            Storage::Compact => self.hashes.push(hash),
        }
        Ok(number)
    }

    fn push(&mut self, key: &[u8]) {
        let length = key.len() as u32;
        let before = self.length as u32 - 1;
        match self.stride {
            None if before == 0 => self.stride = Some(length),
            Some(stride) if stride != length => {
                self.ends = (1..=before).map(|number| number * stride).collect();
                self.stride = None;
            }
            _ => {}
        }
        self.bytes.extend_from_slice(key);
        if self.stride.is_none() {
            self.ends.push(self.bytes.len() as u32);
        }
    }

    /// Returns the stored bytes.
    pub(crate) fn size(&self) -> usize {
        self.slots.len() * 8 + self.ends.len() * 4 + self.bytes.len() + self.hashes.len() * 8
    }

    /// Returns true if another key may not fit: its place would need more than 32 bits.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > FULL || self.length > LENGTH_MAX
    }

    fn key(&self, number: u32) -> &[u8] {
        let at = number as usize;
        if let Some(stride) = self.stride {
            let stride = stride as usize;
            return &self.bytes[at * stride..(at + 1) * stride];
        }
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from as usize..self.ends[at] as usize]
    }

    fn is(&self, number: u32, key: &[u8], hash: u64) -> bool {
        match self.storage {
            Storage::Exact => self.key(number) == key,
            Storage::Compact => self.hashes[number as usize] == hash,
        }
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0u64; mask + 1];
        for slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut at = place(*slot, mask + 1);
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

/// Returns the first place to look for a slot in a table of this length, a power of two of at most 32 bits.
#[inline]
fn place(slot: u64, length: usize) -> usize {
    (slot >> (u64::BITS - length.trailing_zeros())) as usize
}

/// The upper half of a slot.
const TAG: u64 = 0xffff_ffff_0000_0000;
/// States for which a table of 32 bits is large enough.
const LENGTH_MAX: usize = 1 << 31;
/// Bytes of keys with room for one more.
const FULL: usize = u32::MAX as usize - (1 << 24);

/// A hash with 64 good bits: hash compaction depends on them.
fn hash(key: &[u8]) -> u64 {
    let mut hash = fold(key.len() as u64 ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
    let mut chunks = key.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        hash = fold(hash ^ u64::from_le_bytes(word), 0xa076_1d64_78bd_642f);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    hash = fold(hash ^ u64::from_le_bytes(last), 0xe703_7ed1_a0b4_28db);
    fold(hash, 0x8ebc_6af0_9c88_c6e3)
}

/// Multiplies to 128 bits and folds the halves.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ ((product >> 64) as u64) ^ one.rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_again_and_others_are_new() {
        for storage in [Storage::Exact, Storage::Compact] {
            let mut visited = StateTable::new(storage);
            let keys: Vec<Vec<u8>> =
                (0..5_000u32).map(|n| n.to_le_bytes()[..1 + n as usize % 4].to_vec()).collect();
            let mut known: std::collections::BTreeMap<Vec<u8>, u32> = std::collections::BTreeMap::new();
            for key in keys.iter().chain(&keys) {
                let next = known.len() as u32;
                match (visited.insert(key), known.get(key)) {
                    (Ok(number), None) => assert_eq!(number, next),
                    (Err(number), Some(before)) => assert_eq!(number, *before),
                    (found, expected) => panic!("{key:?}: {found:?} instead of {expected:?}"),
                }
                known.entry(key.clone()).or_insert(next);
            }
            assert!(visited.size() > 0);
        }
    }

    #[test]
    fn keys_of_one_length_have_no_ends_until_another_comes() {
        let mut visited = StateTable::new(Storage::Exact);
        for number in 0..1_000u32 {
            assert_eq!(visited.insert(&number.to_le_bytes()), Ok(number));
        }
        assert!(visited.ends.is_empty());
        assert_eq!(visited.insert(b""), Ok(1_000));
        assert_eq!(visited.insert(b"longer than the others"), Ok(1_001));
        for number in 0..1_000u32 {
            assert_eq!(visited.insert(&number.to_le_bytes()), Err(number));
        }
        assert_eq!(
            (visited.insert(b""), visited.insert(b"longer than the others")),
            (Err(1_000), Err(1_001))
        );
    }
}
