//! Classifies the purpose of images by rules over the accompanying text. Rules only: they cost nothing, and the vision
//! model receives the text too.

use serde::{Deserialize, Serialize};

/// The purpose of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageIntent {
    /// There is no image.
    None,
    /// Compare several images.
    Compare,
    /// Diagnose an error from a screenshot.
    Error,
    /// Transcribe text.
    Extract,
    /// Build or review a user interface.
    Interface,
    /// Explain a diagram.
    Diagram,
    /// Describe the image.
    Describe,
}

/// In order of precedence: an error within an interface counts as an error.
const RULES: [(ImageIntent, &[&str]); 4] = [
    (
        ImageIntent::Error,
        &[
            "error",
            "exception",
            "crash",
            "crashes",
            "stack trace",
            "traceback",
            "broken",
            "bug",
            "fails",
            "failure",
            "wrong",
        ],
    ),
    (
        ImageIntent::Diagram,
        &[
            "diagram",
            "flowchart",
            "architecture",
            "chart",
            "graph",
            "sequence",
            "erd",
            "uml",
            "state machine",
        ],
    ),
    (
        ImageIntent::Interface,
        &[
            "ui",
            "screen",
            "mockup",
            "design",
            "layout",
            "button",
            "page",
            "css",
            "wireframe",
            "component",
            "implement this",
            "build this",
        ],
    ),
    (
        ImageIntent::Extract,
        &[
            "text",
            "read",
            "extract",
            "transcribe",
            "ocr",
            "table",
            "numbers",
            "what does it say",
            "copy",
            "values",
        ],
    ),
];

const COMPARING: [&str; 16] = [
    "compare",
    "compared",
    "comparison",
    "comparing",
    "difference",
    "differences",
    "differ",
    "different",
    "before and after",
    "before/after",
    "versus",
    "vs",
    "changed",
    "same",
    "which of",
    "match",
];

/// Classifies the text that accompanies `images` images.
pub fn classify(text: &str, images: usize) -> ImageIntent {
    let words = words(text);
    let says = |wanted: &str| words.contains(&format!(" {wanted} "));
    match images {
        0 => ImageIntent::None,
        2.. if COMPARING.iter().any(|word| says(word)) || (says("before") && says("after")) => {
            ImageIntent::Compare
        }
        _ => {
            let rule = RULES.iter().find(|(_, wanted)| wanted.iter().any(|word| says(word)));
            rule.map_or(ImageIntent::Describe, |(intent, _)| *intent)
        }
    }
}

/// Normalises to lower case with single spaces between and around words, so that `text` does not match `context`.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '/';
    let words = lower.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

impl ImageIntent {
    /// Returns the instruction for the vision model.
    pub(super) fn instruction(self) -> &'static str {
        match self {
            ImageIntent::None => "",
            ImageIntent::Compare => {
                "Compare the images. Say first what is the same, then every difference you can see, each with the numbers of the images."
            }
            ImageIntent::Error => {
                "The image shows something that went wrong. Give every error message word for word, with file names, line numbers and codes, then what can be seen around it."
            }
            ImageIntent::Extract => {
                "Give everything that is written in each image word for word, tables as tables. Mark what cannot be read."
            }
            ImageIntent::Interface => {
                "The image shows a user interface. Describe its layout from top to bottom: elements, texts, colours, sizes, spacing and states, so that it could be built from your words."
            }
            ImageIntent::Diagram => {
                "The image shows a diagram. List its elements, then every connection with its direction and label, then what it says as a whole."
            }
            ImageIntent::Describe => "Describe what each image shows, with all texts in it word for word.",
        }
    }
}
