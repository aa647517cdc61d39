//! The conversation for the text model: images are replaced by the analyses of the vision model.

use super::images::{self, CaptionedImage};
use super::memory::{ImageAnalysis, VisionMemory};
use crate::message::{Message, MessagePart};

/// Replaces every image with its number and analysis. An analysis is placed at the last of its images; a repeated image
/// only refers to it.
pub fn join(messages: &[Message], memory: &VisionMemory) -> Vec<Message> {
    let mut joining = ImageJoin { all: images::all(messages), memory, seen: Vec::new(), told: Vec::new() };
    let joined = |message: &Message| {
        let parts = message.parts.iter().flat_map(|part| joining.part(part)).collect();
        Message { role: message.role, parts }
    };
    messages.iter().map(joined).collect()
}

struct ImageJoin<'m> {
    all: Vec<CaptionedImage<'m>>,
    memory: &'m VisionMemory,
    /// Content hashes of the images so far.
    seen: Vec<String>,
    /// The analyses included so far.
    told: Vec<&'m ImageAnalysis>,
}

impl<'m> ImageJoin<'m> {
    fn part(&mut self, part: &MessagePart) -> Vec<MessagePart> {
        let Some(hash) = part.image_hash() else { return vec![part.clone()] };
        let number = self.number(&hash).unwrap_or_default();
        if self.seen.contains(&hash) {
            return vec![text(format!("[Image {number} again]"))];
        }
        self.seen.push(hash.clone());
        let mut parts = vec![text(format!("[Image {number}]"))];
        let analyses = self.memory.of(&hash);
        if analyses.is_empty() {
            parts.push(text(format!(
                "[Image {number} was not analysed. You cannot see it; mention that if it matters.]"
            )));
        }
        for analysis in analyses {
            if self.is_complete(analysis) && !self.told.contains(&analysis) {
                self.told.push(analysis);
                parts.push(text(self.said(analysis)));
            }
        }
        parts
    }

    /// Returns true if all of its images in this conversation have appeared.
    fn is_complete(&self, analysis: &ImageAnalysis) -> bool {
        analysis.images.iter().all(|image| self.seen.contains(image) || self.number(image).is_none())
    }

    fn number(&self, hash: &str) -> Option<usize> {
        self.all.iter().position(|image| image.hash == hash).map(|index| index + 1)
    }

    fn said(&self, analysis: &ImageAnalysis) -> String {
        let mut numbers: Vec<usize> = analysis.images.iter().filter_map(|image| self.number(image)).collect();
        numbers.sort_unstable();
        let which = match numbers.as_slice() {
            [one] => format!("image {one}"),
            several => {
                format!("images {}", several.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
            }
        };
        match &analysis.said {
            Ok(words) => format!("[What a vision model sees in {which}:]\n{words}\n[End of {which}]"),
            Err(why) => format!(
                "[A vision model was asked about {which} and failed: {why}. You cannot see {which}; go on without, \
                 and say what you could not check.]"
            ),
        }
    }
}

fn text(text: String) -> MessagePart {
    MessagePart::Text { text }
}
