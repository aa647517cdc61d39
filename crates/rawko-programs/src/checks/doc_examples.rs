//! Examples in comments of Rust, which `cargo test` runs. Separate from the tests that are items of their own.

use std::ops::Range;

/// One fenced block of a comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DocExample {
    /// The item that it is about, and its number there.
    pub(super) name: String,
    /// Its lines, with the fences.
    pub(super) place: Range<usize>,
    /// False for text and other languages.
    pub(super) is_test: bool,
}

/// Words behind a fence that leave it a test.
const TESTED: [&str; 6] = ["rust", "should_panic", "no_run", "compile_fail", "standalone_crate", "edition"];

/// Finds the examples of a file.
pub(super) fn find(text: &str) -> Vec<DocExample> {
    let (mut found, mut waiting): (Vec<DocExample>, Vec<DocExample>) = (Vec::new(), Vec::new());
    let (mut open, mut at): (Option<(usize, String)>, usize) = (None, 0);
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        let doc = bare.strip_prefix("///").or_else(|| bare.strip_prefix("//!"));
        let Some(doc) = doc.filter(|doc| !doc.starts_with('/')) else {
            open = None;
            let is_between = bare.is_empty() || bare.starts_with("#[") || bare.starts_with("//");
            if !is_between && !waiting.is_empty() {
                let name = item(bare);
                let named = waiting.drain(..).enumerate();
                found.extend(
                    named.map(|(number, one)| DocExample { name: format!("{name} {number}"), ..one }),
                );
            }
            continue;
        };
        let Some(info) = doc.trim_start().strip_prefix("```") else { continue };
        match open.take() {
            None => open = Some((start, info.trim().to_owned())),
            Some((from, info)) => {
                let is_test = info
                    .split([',', ' '])
                    .all(|word| word.is_empty() || TESTED.iter().any(|tested| word.starts_with(tested)));
                waiting.push(DocExample { name: String::new(), place: from..end, is_test });
            }
        }
    }
    found.extend(
        waiting
            .into_iter()
            .enumerate()
            .map(|(number, one)| DocExample { name: format!("end {number}"), ..one }),
    );
    found
}

/// Returns the words of an item up to its name.
fn item(line: &str) -> String {
    let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '!');
    let words =
        words.filter(|word| !["", "pub", "crate", "async", "unsafe", "const", "default"].contains(word));
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// Returns an item that has these examples as its comment.
pub(super) fn as_item(number: usize, lines: &str) -> String {
    let doc = lines.lines().map(|line| line.trim_start().replacen("//!", "///", 1) + "\n");
    format!("\n{}#[allow(dead_code)]\nfn former_example_{number}() {{}}\n", doc.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_by_item() {
        let text = "//! ```\n//! use x;\n//! ```\nuse y;\n/// Adds.\n///\n/// ```\n/// add(1);\n/// ```\n/// ```text\n/// out\n/// ```\n#[inline]\npub fn add() {}\n\n    /// ```should_panic\n    /// x();\n    /// ```\n    pub const fn other(&self) {}\n";
        let found: Vec<(String, bool)> = find(text).into_iter().map(|one| (one.name, one.is_test)).collect();
        let expected = [("use y 0", true), ("fn add 0", true), ("fn add 1", false), ("fn other 0", true)];
        assert_eq!(found, expected.map(|(name, is_test)| (name.to_owned(), is_test)));
        assert_eq!(
            as_item(0, "    //! ```\n    //! x\n    //! ```\n"),
            "\n/// ```\n/// x\n/// ```\n#[allow(dead_code)]\nfn former_example_0() {}\n"
        );
    }
}
