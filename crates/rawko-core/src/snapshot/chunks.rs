//! `Chunks`: a list of fixed length whose copies share memory. A step copies the parts of a snapshot that it changes, so
//! a plain list of ten thousand items would make every answer cost as much as all of them.

use std::sync::Arc;

/// Elements that one write copies.
const CHUNK: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunks<T> {
    parts: Vec<Arc<Vec<T>>>,
}

impl<T: Clone> Chunks<T> {
    pub(crate) fn from_vec(values: Vec<T>) -> Self {
        Self { parts: values.chunks(CHUNK).map(|part| Arc::new(part.to_vec())).collect() }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.parts.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(crate) fn set(&mut self, index: usize, value: T) {
        if let Some(part) = self.parts.get_mut(index / CHUNK)
            && let Some(slot) = Arc::make_mut(part).get_mut(index % CHUNK)
        {
            *slot = value;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.iter())
    }
}

impl<T: Clone + PartialEq> Chunks<T> {
    /// Returns the elements that differ from an earlier list of the same length. Shared parts are not compared.
    pub(crate) fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (usize, &'a T)> + 'a {
        let pairs = self.parts.iter().zip(&before.parts).enumerate();
        pairs.filter(|(_, (new, old))| !Arc::ptr_eq(new, old)).flat_map(|(part, (new, old))| {
            let both = new.iter().zip(old.iter()).enumerate();
            both.filter(|(_, (new, old))| new != old).map(move |(at, (new, _))| (part * CHUNK + at, new))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shares_everything_but_the_part_that_is_written() {
        let old = Chunks::from_vec((0..1_000).collect());
        let mut new = old.clone();
        new.set(700, -1);
        new.set(999, -2);
        assert_eq!((old.get(700), new.get(700), new.get(1_000)), (Some(&700), Some(&-1), None));
        let changed: Vec<(usize, &i32)> = new.changed_since(&old).collect();
        assert_eq!(changed, [(700, &-1), (999, &-2)]);
        let shared = new.parts.iter().zip(&old.parts).filter(|(new, old)| Arc::ptr_eq(new, old)).count();
        assert_eq!((shared, new.parts.len()), (14, 16));
        assert_eq!(new.iter().count(), 1_000);
    }
}
