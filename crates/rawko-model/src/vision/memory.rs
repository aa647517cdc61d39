//! What vision models have said about images, by the images' content. Plain data: it lives with the conversation, and
//! an image is looked at once however often it is sent.

use serde::{Deserialize, Serialize};

/// Analyses that are kept; images themselves never are.
const ANALYSES_MAX: usize = 256;
/// A vision model that failed is asked once more, and then no more: work goes on without.
const ATTEMPTS_MAX: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VisionMemory {
    pub(super) analyses: Vec<Analysis>,
}

/// What was said about one or more images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// The images, by content.
    pub images: Vec<String>,
    /// `Err` with why there is none.
    pub said: Result<String, String>,
    /// How often it was tried.
    pub attempts: u32,
}

impl Analysis {
    fn is_settled(&self) -> bool {
        self.said.is_ok() || self.attempts >= ATTEMPTS_MAX
    }
}

impl VisionMemory {
    /// The analyses that an image is in, failed ones too.
    pub(super) fn of(&self, image: &str) -> Vec<&Analysis> {
        self.analyses.iter().filter(|analysis| analysis.images.iter().any(|one| one == image)).collect()
    }

    /// Whether there is nothing more to learn about an image.
    pub(super) fn is_settled(&self, image: &str) -> bool {
        self.of(image).into_iter().any(Analysis::is_settled)
    }

    /// The same for images that are to be looked at together.
    pub(super) fn is_settled_together(&self, images: &[String]) -> bool {
        let has_all = |analysis: &&Analysis| images.iter().all(|image| analysis.images.contains(image));
        self.analyses.iter().filter(has_all).any(Analysis::is_settled)
    }

    /// With another analysis. It takes the place of failures about the same images.
    #[must_use]
    pub fn with(mut self, mut analysis: Analysis) -> Self {
        let is_covered = |old: &Analysis| old.images.iter().all(|image| analysis.images.contains(image));
        let (failed, kept): (Vec<_>, Vec<_>) =
            self.analyses.into_iter().partition(|old| old.said.is_err() && is_covered(old));
        analysis.attempts += failed.iter().map(|old| old.attempts).max().unwrap_or_default();
        self.analyses = kept;
        self.analyses.push(analysis);
        let over = self.analyses.len().saturating_sub(ANALYSES_MAX);
        self.analyses.drain(..over);
        self
    }

    pub fn len(&self) -> usize {
        self.analyses.len()
    }

    pub fn is_empty(&self) -> bool {
        self.analyses.is_empty()
    }
}
