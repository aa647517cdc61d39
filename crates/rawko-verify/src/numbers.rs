//! `Numbers`: a short list of numbers, nearly always empty, as part of labels that are compared for every step. A list of its
//! own because comparing two empty slices is a call of `memcmp` at an address that is not mapped, which took half of the time
//! of a large exploration on processors with masked loads.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers<T>(Box<[T]>);

impl<T: PartialEq> PartialEq for Numbers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && (self.0.is_empty() || self.0 == other.0)
    }
}

impl<T: Eq> Eq for Numbers<T> {}

impl<T: Hash> Hash for Numbers<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.len());
        self.0.iter().for_each(|number| number.hash(state));
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(numbers.into())
    }
}

impl<T> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl<'n, T> IntoIterator for &'n Numbers<T> {
    type Item = &'n T;
    type IntoIter = std::slice::Iter<'n, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_equal_if_their_numbers_are() {
        let list = |numbers: &[u16]| Numbers::from(numbers.to_vec());
        assert_eq!(list(&[]), list(&[]));
        assert_eq!(list(&[1, 2]), list(&[1, 2]));
        assert_ne!(list(&[1]), list(&[2]));
        assert_ne!(list(&[]), list(&[1]));
    }
}
