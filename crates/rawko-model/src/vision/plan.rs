//! Selects the images for the vision model, and their number per request: all in one request for a comparison, else
//! three. Images already analysed are left out.

use serde::{Deserialize, Serialize};

use super::images::{self, CaptionedImage};
use super::intent::{ImageIntent, classify};
use super::memory::{ImageAnalysis, VisionMemory};
use crate::message::{Message, MessagePart, Role};
use crate::provider::{Completion, CompletionRequest, ProviderError};

/// Vision models become vague with more, except for comparisons.
const TOGETHER_MAX: usize = 3;
/// Limit for comparisons.
const COMPARED_MAX: usize = 20;
/// Maximum size of an image analysis.
const ANALYSIS_BYTES_MAX: usize = 64 * 1024;
/// More words around an image do not help to see it.
const WORDS_CHARS_MAX: usize = 4000;
const SYSTEM: &str = "You look at images for a colleague who cannot see them and has to work from your words. \
                      Say what is there, not what might be. Images are numbered; use the numbers.";

/// The requests to make before the text model can be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VisionPlan {
    /// Requests; they are independent of each other.
    pub requests: Vec<VisionRequest>,
}

/// One request and its images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VisionRequest {
    /// Purpose, which decides the prompt.
    pub intent: ImageIntent,
    /// Content hashes, in the order of the request.
    pub images: Vec<String>,
    /// Request to the vision model.
    pub completion: CompletionRequest,
}

impl VisionRequest {
    /// Returns the analysis to store. A failure is stored too, for the text model.
    pub fn analysed(&self, answer: Result<&Completion, &ProviderError>) -> ImageAnalysis {
        let said = match answer {
            Ok(completion) => match images::words(&completion.message).trim() {
                "" => Err("its response was empty".to_owned()),
                text => Ok(text[..text.floor_char_boundary(ANALYSIS_BYTES_MAX)].to_owned()),
            },
            Err(error) => Err(error.message.clone()),
        };
        ImageAnalysis { images: self.images.clone(), said, attempts: 1 }
    }
}

/// Plans the analyses. `idempotency` is the prefix of each request's key.
pub fn plan(
    messages: &[Message],
    memory: &VisionMemory,
    vision_model: &str,
    idempotency: &str,
) -> VisionPlan {
    let all = images::all(messages);
    let requests = (0..messages.len()).flat_map(|message| of_message(messages, &all, message, memory));
    let requests = requests.enumerate().map(|(index, (intent, chosen))| {
        let words = chosen.iter().map(|number| all[*number].message).max();
        let words = words.map(|message| images::words_about(messages, message)).unwrap_or_default();
        let asked =
            VisionParameters { model: vision_model, idempotency: format!("{idempotency}/{index}"), intent };
        asked.request(&all, &chosen, &words)
    });
    VisionPlan { requests: requests.collect() }
}

/// Returns the images to analyse for one message, by number, in batches.
fn of_message(
    messages: &[Message],
    all: &[CaptionedImage<'_>],
    message: usize,
    memory: &VisionMemory,
) -> Vec<(ImageIntent, Vec<usize>)> {
    let words = images::words_about(messages, message);
    let own: Vec<usize> = (0..all.len()).filter(|number| all[*number].message == message).collect();
    let earlier: Vec<usize> = (0..all.len()).filter(|number| all[*number].message < message).collect();
    let is_asked = messages[message].role == Role::User;
    // "How does this differ from the first one?" refers to images of earlier messages too, and needs no new one.
    let compared: Vec<usize> = earlier.into_iter().chain(own.iter().copied()).collect();
    let is_about = is_asked && (!own.is_empty() || mentions_images(&images::words(&messages[message])));
    if is_about && classify(&words, compared.len()) == ImageIntent::Compare {
        let chosen = compared[compared.len().saturating_sub(COMPARED_MAX)..].to_vec();
        let hashes: Vec<String> = chosen.iter().map(|number| all[*number].hash.clone()).collect();
        return if memory.is_settled_together(&hashes) {
            Vec::new()
        } else {
            vec![(ImageIntent::Compare, chosen)]
        };
    }
    let is_new = |number: &usize| !memory.is_settled(&all[*number].hash);
    let new: Vec<usize> = own.into_iter().filter(is_new).collect();
    let intent = classify(&words, new.len());
    new.chunks(TOGETHER_MAX).map(|portion| (intent, portion.to_vec())).collect()
}

fn mentions_images(words: &str) -> bool {
    let lower = words.to_lowercase();
    ["image", "picture", "screenshot", "photo", "mockup"].iter().any(|word| lower.contains(word))
}

/// The parameters of a vision request.
struct VisionParameters<'a> {
    model: &'a str,
    idempotency: String,
    intent: ImageIntent,
}

impl VisionParameters<'_> {
    fn request(self, all: &[CaptionedImage<'_>], chosen: &[usize], words: &str) -> VisionRequest {
        let mut parts = Vec::new();
        for number in chosen {
            parts.push(MessagePart::Text { text: format!("Image {}:", number + 1) });
            parts.push(all[*number].part.clone());
        }
        parts.push(MessagePart::Text { text: self.instruction(words) });
        let completion = CompletionRequest {
            model: self.model.to_owned(),
            system: SYSTEM.to_owned(),
            messages: vec![Message { role: Role::User, parts }].into(),
            idempotency: self.idempotency,
            ..CompletionRequest::default()
        };
        let images = chosen.iter().map(|number| all[*number].hash.clone()).collect();
        VisionRequest { intent: self.intent, images, completion }
    }

    fn instruction(&self, words: &str) -> String {
        let instruction = self.intent.instruction();
        let words = words.trim();
        if words.is_empty() {
            return instruction.to_owned();
        }
        let end = words.char_indices().nth(WORDS_CHARS_MAX).map_or(words.len(), |(at, _)| at);
        format!(
            "{instruction}\n\nThis is what your colleague was asked, so that you know what matters:\n{}",
            &words[..end]
        )
    }
}
