//! The project's checks: commands whose results are counted, not guessed.
