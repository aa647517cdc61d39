//! Consequences of errors found earlier. A misspelt target leads nowhere and a misspelt key discards its whole block;
//! the states they mean would be reported as unreachable, which is not a second error.

use rawko_core::NodeId;

use super::index::ChartIndex;
use crate::finding::Finding;

/// Above this the file is probably not a chart.
const STRAYS_MAX: usize = 64;
/// Comparing takes the product of two lengths.
const NAME_MAX: usize = 64;

/// Words of the text that were not used.
#[derive(Debug, Default)]
pub(crate) struct Strays<'t> {
    /// Unknown targets: a state with a similar name was meant.
    misspelt: Vec<&'t str>,
    /// Words in blocks that were not read.
    lost: Vec<&'t str>,
}

impl<'t> Strays<'t> {
    pub(crate) fn new(text: &'t str, earlier: &[Finding]) -> Self {
        let mut strays = Strays::default();
        for finding in earlier.iter().take(STRAYS_MAX) {
            let Some(written) = text.get(finding.span.range()) else { continue };
            match finding.code.rsplit("::").next() {
                Some("unknown_target" | "ambiguous_target" | "unknown_initial") => {
                    strays.misspelt.extend(words(written).last());
                }
                Some("unknown_key" | "misplaced_key" | "wrong_type" | "unknown_value" | "missing_key") => {
                    strays.lost.extend(words(block(text, finding.span.start as usize)));
                }
                _ => {}
            }
        }
        strays
    }

    /// Returns the states that may have been meant.
    pub(crate) fn meant(&self, index: &ChartIndex<'_>) -> Vec<NodeId> {
        if self.misspelt.is_empty() && self.lost.is_empty() {
            return Vec::new();
        }
        let meant =
            |key: &str| self.lost.contains(&key) || self.misspelt.iter().any(|word| similar(word, key));
        index.ids().skip(1).filter(|id| meant(&index.node(*id).key)).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-')
        .filter(|word| !word.is_empty())
}

/// Returns the rest of the line, and the following lines with deeper indentation.
fn block(text: &str, start: usize) -> &str {
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let column = start - line;
    let mut end = start;
    for (number, line) in text[start..].split_inclusive('\n').enumerate() {
        let indent = line.len() - line.trim_start_matches([' ', '-']).len();
        if number > 0 && indent <= column && !line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    &text[start..end]
}

fn similar(word: &str, key: &str) -> bool {
    if word.len() > NAME_MAX || key.len() > NAME_MAX {
        return false;
    }
    let (word, key) = (word.to_lowercase(), key.to_lowercase());
    let shorter = word.len().min(key.len());
    strsim::damerau_levenshtein(&word, &key) <= 2.max(shorter / 3)
        || (shorter >= 4 && (word.starts_with(&key) || key.starts_with(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_what_is_indented_further() {
        let text = "a:\n  onn:\n    GO: b\n\n    STOP: c\n  on: d\n";
        assert_eq!(block(text, 5), "onn:\n    GO: b\n\n    STOP: c\n");
        assert_eq!(block("{\"onn\": {\"GO\": \"b\"}}", 1), "\"onn\": {\"GO\": \"b\"}}");
    }

    #[test]
    fn similar_names_are_slips_of_each_other() {
        assert!(similar("reviewing", "review") && similar("Reveiw", "review") && similar("done", "doen"));
        assert!(!similar("build", "review") && !similar("published", "draft"));
    }
}
