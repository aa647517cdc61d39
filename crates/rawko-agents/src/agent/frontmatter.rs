//! Markdown with frontmatter: splits the text into YAML and prompt. The YAML keeps its position in the file, so that
//! every finding points into the original text.

use rawko_chart::codes::agents::UNCLOSED_FRONTMATTER;
use rawko_chart::{Finding, Span, is_unprintable};

const MARK: &str = "---";

/// The two parts of a Markdown file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontmatterParts<'t> {
    /// As long as everything before the body, with blanks in place of the first marker. `None` without frontmatter.
    pub(super) yaml: Option<String>,
    pub(super) body: &'t str,
    pub(super) body_start: usize,
}

pub(super) fn split(text: &str) -> Result<FrontmatterParts<'_>, Vec<Finding>> {
    // Blank lines and invisible characters before the first marker do not turn limits into a prompt.
    let is_blank = |character: char| character.is_whitespace() || is_unprintable(character);
    let opening = text.len() - text.trim_start_matches(is_blank).len();
    let mut at = opening;
    let mut lines = text[opening..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end_matches(is_blank) != MARK {
        let opening = text.len() - text.trim_start_matches('\u{feff}').len();
        return Ok(FrontmatterParts { yaml: None, body: text[opening..].trim(), body_start: opening });
    }
    at += first.len();
    let start = at;
    for line in lines {
        let end = at + line.len();
        if line.trim_end() == MARK {
            let yaml = format!("{}{}", blanks(&text[..start]), &text[start..at]);
            return Ok(FrontmatterParts { yaml: Some(yaml), body: text[end..].trim(), body_start: end });
        }
        at = end;
    }
    let finding = UNCLOSED_FRONTMATTER
        .at(Span::new(opening, opening + MARK.len()), "the frontmatter that begins here is not closed")
        .help("put a line `---` between the keys and the prompt");
    Err(vec![finding])
}

/// Returns the same number of blank bytes.
fn blanks(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yaml_keeps_its_place() {
        for text in [
            "---\nname: a\n---\nBody.\n",
            "\u{feff}---\r\nname: a\r\n---\r\nBody.",
            "\n \u{200b}--- \nname: a\n---\nBody.",
        ] {
            let parts = split(text).unwrap();
            let yaml = parts.yaml.unwrap();
            assert_eq!(yaml.find("name"), text.find("name"));
            assert_eq!(parts.body, "Body.");
        }
    }

    #[test]
    fn a_text_without_frontmatter_is_all_body() {
        for text in ["Build.", "# Title\n\n---\n\nMore", "--- x\n"] {
            assert_eq!(
                split(text).unwrap(),
                FrontmatterParts { yaml: None, body: text.trim(), body_start: 0 }
            );
        }
    }

    #[test]
    fn a_frontmatter_without_end_is_a_finding() {
        assert_eq!(split("---\nname: a\n").unwrap_err()[0].code, UNCLOSED_FRONTMATTER.name);
    }
}
