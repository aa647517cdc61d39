//! The file tools. They access the project only through its confinement.

mod edit;
mod glob;
mod grep;
mod media;
mod raw;
mod read;
mod search;
mod write;

pub(super) use edit::edit;
pub(super) use glob::glob;
pub(super) use grep::grep;
pub(super) use media::image_type;
pub use media::{IMAGE_BYTES_MAX, image_of_base64, image_part};
pub(super) use raw::raw;
pub(super) use read::read;
pub use search::nameable_files;
pub(super) use write::write;
