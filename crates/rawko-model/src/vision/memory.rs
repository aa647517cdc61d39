//! Image analyses, keyed by image content. Plain data: it is stored with the conversation, and each image is analysed
//! once however often it is sent.

use serde::{Deserialize, Serialize};

/// Limit of stored analyses; images themselves are never stored.
const ANALYSES_MAX: usize = 256;
/// A failed vision model is retried once; then work continues without the analysis.
const ATTEMPTS_MAX: u32 = 2;

/// Analyses by content hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VisionMemory {
    pub(super) analyses: Vec<ImageAnalysis>,
}

/// The analysis of one or more images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageAnalysis {
    /// Content hashes of the images.
    pub images: Vec<String>,
    /// `Err` with the reason of the failure.
    pub said: Result<String, String>,
    /// Number of attempts.
    pub attempts: u32,
}

impl ImageAnalysis {
    fn is_settled(&self) -> bool {
        self.said.is_ok() || self.attempts >= ATTEMPTS_MAX
    }
}

impl VisionMemory {
    /// Returns the analyses of an image, including failed ones.
    pub(super) fn of(&self, image: &str) -> Vec<&ImageAnalysis> {
        self.analyses.iter().filter(|analysis| analysis.images.iter().any(|one| one == image)).collect()
    }

    /// Returns true if an image needs no further analysis.
    pub(super) fn is_settled(&self, image: &str) -> bool {
        self.of(image).into_iter().any(ImageAnalysis::is_settled)
    }

    /// Returns true if a set of images needs no further joint analysis.
    pub(super) fn is_settled_together(&self, images: &[String]) -> bool {
        let has_all = |analysis: &&ImageAnalysis| images.iter().all(|image| analysis.images.contains(image));
        self.analyses.iter().filter(has_all).any(ImageAnalysis::is_settled)
    }

    /// Adds an analysis. It replaces failures about the same images.
    #[must_use]
    pub fn with(mut self, mut analysis: ImageAnalysis) -> Self {
        let is_covered = |old: &ImageAnalysis| old.images.iter().all(|image| analysis.images.contains(image));
        let (failed, kept): (Vec<_>, Vec<_>) =
            self.analyses.into_iter().partition(|old| old.said.is_err() && is_covered(old));
        analysis.attempts += failed.iter().map(|old| old.attempts).max().unwrap_or_default();
        self.analyses = kept;
        self.analyses.push(analysis);
        let over = self.analyses.len().saturating_sub(ANALYSES_MAX);
        self.analyses.drain(..over);
        self
    }

    /// Returns the number of analysed images.
    pub fn len(&self) -> usize {
        self.analyses.len()
    }

    /// Returns true if no image was analysed.
    pub fn is_empty(&self) -> bool {
        self.analyses.is_empty()
    }
}
