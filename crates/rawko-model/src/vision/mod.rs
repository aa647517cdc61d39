//! HybridAgent: what becomes of images in a conversation with a model that cannot see. A vision model looks at them and
//! its words take their place. Planning and joining are pure; whoever holds the providers makes the requests between.

mod images;
mod intent;
mod join;
mod memory;
mod plan;

pub use intent::{Intent, classify};
pub use join::join;
pub use memory::{Analysis, VisionMemory};
pub use plan::{VisionPlan, VisionRequest, plan};
