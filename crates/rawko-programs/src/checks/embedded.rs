//! Tests within source files: test modules and functions of Rust, examples in docstrings of Python. A file that holds them is
//! work, so it is not put back as a whole; a control run has its tests as they were.

use std::ops::Range;
use std::path::Path;

use super::doc_examples;

/// Returns the present text with the tests of before, or `None` if they are the same or there were none.
pub(super) fn with_former_tests(path: &str, before: &str, now: &str) -> Option<String> {
    let find: fn(&str) -> Vec<EmbeddedTest> = match Path::new(path).extension()?.to_str()? {
        "rs" => tests_and_examples,
        "py" => docstring_examples,
        _ => return None,
    };
    let (mut former, present) = (find(before), find(now));
    // Text beside a test is none, unless the agent made it one.
    former.retain(|test| test.is_run);
    let (mut text, mut at, mut is_changed) = (String::new(), 0, false);
    let mut left: Vec<&EmbeddedTest> = former.iter().collect();
    for test in &present {
        text.push_str(&now[at..test.place.start]);
        at = test.place.end;
        let known = left.iter().position(|former| former.name == test.name);
        let own = &now[test.place.clone()];
        let put = known.map_or(own, |known| &before[left.remove(known).place.clone()]);
        is_changed |= put != own;
        text.push_str(put);
    }
    text.push_str(&now[at..]);
    is_changed |= !left.is_empty();
    let missing: Vec<&str> = left.iter().map(|test| &before[test.place.clone()]).collect();
    if path.ends_with(".rs") {
        for (number, test) in missing.iter().enumerate() {
            match test.trim_start().starts_with("//") {
                true => text.push_str(&doc_examples::as_item(number, test)),
                false => text.extend(["\n", *test, "\n"]),
            }
        }
    } else if !missing.is_empty() {
        // Doctest also runs the examples of this name.
        let entries: Vec<String> =
            missing.iter().enumerate().map(|(number, test)| format!("'former {number}': {test}")).collect();
        text.extend(["\n__test__ = {", entries.join(", ").as_str(), "}\n"]);
    }
    is_changed.then_some(text)
}

/// One test, or a module of them.
#[derive(Debug, PartialEq, Eq)]
struct EmbeddedTest {
    name: String,
    /// With its attributes.
    place: Range<usize>,
    /// False for an example that is only text.
    is_run: bool,
}

/// Finds the tests of a file of Rust, and the examples outside of them.
fn tests_and_examples(text: &str) -> Vec<EmbeddedTest> {
    let mut found = rust_tests(text);
    let examples: Vec<EmbeddedTest> = doc_examples::find(text)
        .into_iter()
        .filter(|one| !found.iter().any(|test| test.place.contains(&one.place.start)))
        .map(|one| EmbeddedTest { name: one.name, place: one.place, is_run: one.is_test })
        .collect();
    found.extend(examples);
    found.sort_by_key(|test| test.place.start);
    found
}

/// Finds items with an attribute such as `#[cfg(test)]` or `#[tokio::test]`.
fn rust_tests(text: &str) -> Vec<EmbeddedTest> {
    let (mut found, mut begin, mut is_test, mut at) = (Vec::new(), None, false, 0);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        let mut line = text[at..end].trim();
        let indent = text[at..end].len() - text[at..end].trim_start().len();
        while let Some((attribute, rest)) = attribute(line) {
            begin = begin.or(Some(at + indent));
            is_test |= is_test_attribute(attribute);
            line = rest.trim_start();
        }
        if line.is_empty() || line.starts_with("//") {
            at = end;
            continue;
        }
        let item = Some(line).filter(|_| is_test).and_then(item_name);
        match (item, begin.take()) {
            (Some(name), Some(start)) => {
                let stop = end_of_item(text, start + text[start..].find(line).unwrap_or(0));
                found.push(EmbeddedTest { name, place: start..stop, is_run: true });
                at = text[stop..].find('\n').map_or(text.len(), |length| stop + length + 1);
            }
            _ => at = end,
        }
        is_test = false;
    }
    found
}

/// Splits `#[test] fn a() {}` after the attribute.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix("#[")?;
    let mut depth = 1;
    let end = inner.char_indices().find(|(_, letter)| {
        depth += i32::from(*letter == '[') - i32::from(*letter == ']');
        depth == 0
    });
    // An attribute of several lines: its other lines are no item.
    Some(end.map_or((inner, ""), |(end, _)| (&inner[..end], &inner[end + 1..])))
}

fn is_test_attribute(attribute: &str) -> bool {
    let name = attribute.split(['(', '=', ' ']).next().unwrap_or_default();
    let is_configured = name == "cfg"
        && attribute.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "test")
        && !attribute.contains("not(");
    is_configured || matches!(name.rsplit("::").next(), Some("test" | "rstest" | "test_case" | "bench"))
}

/// Returns the kind and name of a module or function.
fn item_name(line: &str) -> Option<String> {
    let mut words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let kind = words.find(|word| ["mod", "fn", "struct", "enum", "impl", "use", "const"].contains(word))?;
    let name = words.find(|word| !word.is_empty())?;
    matches!(kind, "mod" | "fn").then(|| format!("{kind} {name}"))
}

/// Returns the end of an item: its closing brace, or a semicolon. Braces in texts and comments do not count.
fn end_of_item(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (start, 0_i32);
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += text[at..].find("*/").map_or(text.len() - at, |length| length + 1);
            }
            b'r' if !bytes[..at].last().is_some_and(|letter| letter.is_ascii_alphanumeric()) => {
                let marks = bytes[at + 1..].iter().take_while(|letter| **letter == b'#').count();
                if bytes.get(at + 1 + marks) == Some(&b'"') {
                    let close = format!("\"{}", "#".repeat(marks));
                    let from = at + 2 + marks;
                    at = text[from..].find(&close).map_or(text.len(), |length| from + length + marks);
                }
            }
            b'"' => at = end_of_quote(bytes, at, b'"'),
            // `'x'` and `'\n'`, not `'a` of a lifetime.
            b'\'' if bytes.get(at + 1) == Some(&b'\\') || bytes.get(at + 2) == Some(&b'\'') => {
                at = end_of_quote(bytes, at, b'\'');
            }
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth <= 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn end_of_quote(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len().saturating_sub(1))
}

/// Finds docstrings with examples, by the name of their function or class.
fn docstring_examples(text: &str) -> Vec<EmbeddedTest> {
    let (mut found, mut at) = (Vec::new(), 0);
    let quotes = ["\"\"\"", "'''"];
    loop {
        let next = quotes.iter().filter_map(|quote| Some((at + text[at..].find(quote)?, *quote))).min();
        let Some((start, quote)) = next else { return found };
        let Some(length) = text[start + 3..].find(quote) else { return found };
        let end = start + 3 + length + 3;
        if text[start..end].contains(">>>") {
            let head = text[..start].lines().rev().find_map(|line| {
                let line = line.trim_start();
                let line = line.strip_prefix("async ").unwrap_or(line);
                line.strip_prefix("def ").or_else(|| line.strip_prefix("class "))
            });
            let name = head.and_then(|head| head.split(['(', ':', ' ']).next()).unwrap_or_default();
            found.push(EmbeddedTest { name: name.to_owned(), place: start..end, is_run: true });
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "pub fn add() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() {\n        assert_eq!(add(), '}'.len_utf8() as i32 + 1, \"}\");\n    }\n}\n";

    #[test]
    fn a_changed_test_of_rust_is_as_before_and_the_code_as_now() {
        let fixed = LIB.replace("    1\n", "    2\n");
        let former = |now: &str| with_former_tests("src/lib.rs", LIB, now);
        assert_eq!(former(&fixed), None, "only the code changed");
        let table = [
            ("weaker", fixed.replace("as i32 + 1", "as i32")),
            ("ignored", fixed.replace("    #[test]", "    #[test]\n    #[ignore]")),
            ("may panic", fixed.replace("    #[test]", "    #[should_panic]\n    #[test]")),
            ("no test", fixed.replace("    #[test]\n", "")),
        ];
        for (name, now) in table {
            assert_eq!(former(&now).as_deref(), Some(fixed.as_str()), "{name}");
        }
        for (name, now) in [
            ("never compiled", fixed.replace("cfg(test)", "cfg(any())")),
            ("deleted", fixed[..fixed.find("#[cfg").unwrap()].to_owned()),
        ] {
            let text = former(&now).unwrap();
            assert!(text.starts_with(&now) && text.contains("as i32 + 1"), "{name}: {text}");
        }
        let more = fixed.clone() + "\n#[test]\nfn another() {}\n";
        assert_eq!(former(&more), None, "a new test stays");
    }

    #[test]
    fn items_of_rust_end_at_their_brace() {
        let text = "#[test]\nfn a<'a>() { let x = r#\"}\"#; /* } */ let y = '\\''; } // }\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\nfn other() {}\n#[tokio::test] async fn b() { if x { y } }\n#[cfg(not(test))]\nfn c() {}\n";
        let names: Vec<String> = rust_tests(text).into_iter().map(|test| test.name).collect();
        assert_eq!(names, ["fn a", "mod tests", "fn b"]);
        let places: Vec<&str> = rust_tests(text).iter().map(|test| &text[test.place.clone()]).collect();
        assert!(places[0].ends_with("let y = '\\''; }"), "{places:?}");
        assert_eq!(places[1], "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;");
    }

    #[test]
    fn examples_of_docstrings_are_as_before() {
        let before = "def add(a, b):\n    \"\"\"\n    >>> add(1, 2)\n    3\n    \"\"\"\n    return a - b\n";
        let fixed = before.replace("a - b", "a + b");
        assert_eq!(with_former_tests("app.py", before, &fixed), None);
        let weaker = fixed.replace("    3\n", "    -1\n");
        assert_eq!(with_former_tests("app.py", before, &weaker).as_deref(), Some(fixed.as_str()));
        let without = "def add(a, b):\n    return a - b\n";
        let text = with_former_tests("app.py", before, without).unwrap();
        assert!(
            text.starts_with(without) && text.contains("__test__ = {'former 0': \"\"\"\n    >>> add"),
            "{text}"
        );
    }
}
