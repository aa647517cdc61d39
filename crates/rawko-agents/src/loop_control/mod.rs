//! Doom detection and the limits around a loop, as pure functions over a memory that lives in the snapshot.
