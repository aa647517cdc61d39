//! `Pieces`: a table that grows in chunks. One large `Vec` would be copied as it grows, and the allocator would return
//! it to the system, where the next stage of loading would have to allocate it again.

/// Capacity limit of one chunk, unless a single run is longer.
const PIECE_LEN_MAX: usize = 1024;
const PIECE_LEN_MIN: usize = 16;

#[derive(Debug)]
pub(super) struct Pieces<T> {
    pieces: Vec<Vec<T>>,
    piece_len: usize,
}

/// A contiguous range of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceRange {
    piece: u32,
    first: u32,
    pub(super) len: u32,
}

impl<T: Copy> Pieces<T> {
    /// Creates a table for about `len` elements.
    pub(super) fn for_about(len: usize) -> Self {
        Self { pieces: Vec::new(), piece_len: len.clamp(PIECE_LEN_MIN, PIECE_LEN_MAX) }
    }

    /// Adds a contiguous run.
    pub(super) fn add(&mut self, run: &[T]) -> PieceRange {
        let len = run.len();
        let has_room = |piece: &Vec<T>| piece.capacity() - piece.len() >= len;
        if !self.pieces.last().is_some_and(has_room) {
            self.pieces.push(Vec::with_capacity(len.max(self.piece_len)));
        }
        let number = self.pieces.len() as u32 - 1;
        let Some(piece) = self.pieces.last_mut() else { return PieceRange { piece: 0, first: 0, len: 0 } };
        let first = piece.len() as u32;
        piece.extend_from_slice(run);
        PieceRange { piece: number, first, len: len as u32 }
    }

    #[inline]
    pub(super) fn get(&self, run: PieceRange) -> &[T] {
        &self.pieces[run.piece as usize][run.first as usize..(run.first + run.len) as usize]
    }
}
