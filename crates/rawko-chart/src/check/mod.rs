//! Semantic analyses over a lowered chart. Placeholder of this branch: the branch `check` brings the real module.

use crate::finding::Finding;
use crate::lowered::Lowered;

pub(crate) fn analyse(_lowered: &Lowered) -> Vec<Finding> {
    Vec::new()
}
