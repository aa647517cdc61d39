//! HybridAgent: images in a conversation with a model that cannot see. A vision model analyses them and its text
//! replaces them. Planning and joining are pure; the owner of the providers makes the requests in between.

mod images;
mod intent;
mod join;
mod memory;
mod plan;

pub use intent::{ImageIntent, classify};
pub use join::join;
pub use memory::{ImageAnalysis, VisionMemory};
pub use plan::{VisionPlan, VisionRequest, plan};
