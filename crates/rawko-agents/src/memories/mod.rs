//! Memories: lessons from earlier work, as Markdown files that a person can read and edit. Reading, scoring, selecting
//! and rendering are pure; only `folder` accesses the disk.

mod extract;
mod file;
mod folder;
mod inject;
mod score;

pub use extract::{
    Extraction, ExtractionError, NewMemory, extraction_prompt, extraction_schema, parse_extraction,
};
pub use file::{Memory, MemoryProblem, parse_memory, render_memory};
pub use folder::{MEMORIES_FOLDER, Memories, note_use, read_memories, write_memory};
pub use inject::{Injection, inject};
pub use score::{ScoredMemory, rank};
