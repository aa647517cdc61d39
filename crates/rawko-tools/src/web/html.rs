//! Converts HTML to text: headings, lists and link targets. Pages that need a browser are not supported.

use super::entities::decoded;

/// Elements whose contents are not text.
const SILENT: [&str; 7] = ["script", "style", "noscript", "svg", "template", "head", "iframe"];
/// Elements that start and end a line.
const BLOCKS: [&str; 30] = [
    "p",
    "div",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "nav",
    "aside",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "br",
    "hr",
    "pre",
    "blockquote",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dl",
    "dt",
    "dd",
    "form",
    "figure",
    "title",
];

/// Returns the text of a page.
pub(super) fn text(page: &str) -> String {
    let mut writer = HtmlWriter::default();
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        writer.text(&rest[..open]);
        rest = &rest[open..];
        rest = match tag(rest) {
            Some((tag, after)) => writer.tag(&tag, after),
            None => {
                writer.text("<");
                &rest[1..]
            }
        };
    }
    writer.text(rest);
    writer.finished()
}

struct Tag<'p> {
    name: String,
    is_closing: bool,
    attributes: &'p str,
}

/// Parses a tag or comment at the start of a text and returns the rest. A `>` in quotes does not end a tag.
fn tag(text: &str) -> Option<(Tag<'_>, &str)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        let end = comment.find("-->").map_or(comment.len(), |at| at + 3);
        return Some((Tag { name: "!".into(), is_closing: false, attributes: "" }, &comment[end..]));
    }
    let inside = text.strip_prefix('<')?;
    let is_closing = inside.starts_with('/');
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    if !inside.starts_with(|first: char| first.is_ascii_alphabetic() || "!?".contains(first)) {
        return None;
    }
    let mut quote = None;
    let end = inside.char_indices().find_map(|(at, letter)| match (quote, letter) {
        (None, '>') => Some(at),
        (None, '"' | '\'') => {
            quote = Some(letter);
            None
        }
        (Some(open), _) if open == letter => {
            quote = None;
            None
        }
        _ => None,
    });
    let end = end.or_else(|| inside.find('>'))?;
    let length = inside[..end].find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(end);
    let (name, attributes) = inside[..end].split_at(length);
    Some((Tag { name: name.to_ascii_lowercase(), is_closing, attributes }, &inside[end + 1..]))
}

#[derive(Default)]
struct HtmlWriter {
    out: String,
    /// Start of a link's text, and its target.
    link: Option<(usize, String)>,
    is_preformatted: bool,
}

impl HtmlWriter {
    fn text(&mut self, text: &str) {
        let text = decoded(text);
        if self.is_preformatted {
            self.out.push_str(&text);
            return;
        }
        for (at, word) in text.split(|letter: char| letter.is_whitespace()).enumerate() {
            if at > 0 && !self.out.ends_with(['\n', ' ']) {
                self.out.push(' ');
            }
            self.out.push_str(word);
        }
    }

    /// Handles a tag and returns the position to continue from.
    fn tag<'p>(&mut self, tag: &Tag<'_>, after: &'p str) -> &'p str {
        let name = tag.name.as_str();
        if SILENT.contains(&name) && !tag.is_closing && !tag.attributes.ends_with('/') {
            return self.silent(name, after);
        }
        if BLOCKS.contains(&name) {
            self.line();
        }
        match (name, tag.is_closing) {
            ("pre", is_closing) => self.is_preformatted = !is_closing,
            ("li", false) => self.out.push_str("- "),
            ("td" | "th", true) => self.out.push_str(" | "),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                let level = name[1..].parse().unwrap_or(1);
                self.out.push('\n');
                self.out.push_str(&format!("{} ", "#".repeat(level)));
            }
            ("a", false) => {
                self.link = attribute(tag.attributes, "href").map(|to| (self.out.len(), to));
            }
            ("a", true) => self.linked(),
            _ => {}
        }
        after
    }

    /// Skips an element without text, but keeps a title within it.
    fn silent<'p>(&mut self, name: &str, after: &'p str) -> &'p str {
        let lower = after.to_ascii_lowercase();
        let end = lower.find(&format!("</{name}")).unwrap_or(after.len());
        if name == "head"
            && let Some(open) =
                lower[..end].find("<title").and_then(|at| Some(at + lower[at..].find('>')? + 1))
        {
            let close = lower[open..end].find("</title").map_or(end, |at| open + at);
            self.text(&after[open..close]);
            self.line();
        }
        let rest = &after[end..];
        rest.find('>').map_or("", |at| &rest[at + 1..])
    }

    fn linked(&mut self) {
        if let Some((from, to)) = self.link.take()
            && to.starts_with("http")
            && !self.out[from.min(self.out.len())..].trim().is_empty()
        {
            self.out.push_str(&format!(" ({to})"));
        }
    }

    fn line(&mut self) {
        let length = self.out.trim_end_matches(' ').len();
        self.out.truncate(length);
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Collapses consecutive empty lines into one.
    fn finished(self) -> String {
        let mut lines: Vec<&str> = Vec::new();
        for line in self.out.lines().map(str::trim_end) {
            if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
                lines.push(line);
            }
        }
        lines.join("\n").trim().to_owned()
    }
}

/// Returns the value of an attribute, with or without quotes.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let lower = attributes.to_ascii_lowercase();
    let at = lower.find(&format!("{name}="))? + name.len() + 1;
    let value = &attributes[at..];
    let quote = value.chars().next().filter(|first| "\"'".contains(*first));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next(),
        None => value.split([' ', '\n', '\t']).next(),
    };
    value.map(decoded)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::text;

    #[test]
    fn a_page_becomes_text() {
        let page = r#"<!DOCTYPE html><html><head><title>The &amp; title</title><style>p { x > y }</style></head>
            <body><!-- <p>not this</p> --><h1>Hello</h1><p>One   two<br>three &lt;b&gt; &#8212; &#x41;</p>
            <ul><li>first<li><a href="https://example.com/a?b=1&amp;c=2" title="a > b">second</a></ul>
            <pre>fn main() {
    x &lt; y
}</pre><script>if (a < b) { "</p>" }</script><table><tr><td>1</td><td>2</td></tr></table>5 < 6</body></html>"#;
        expect![[r#"
            The & title

            # Hello
            One two
            three <b> — A
            - first
            - second (https://example.com/a?b=1&c=2)
            fn main() {
                x < y
            }
            1 | 2 |
            5 < 6"#]]
        .assert_eq(&text(page));
    }

    #[test]
    fn broken_pages_end() {
        for page in
            ["<", "<a", "<!--", "<script>x", "<a href=\"x>", "</", "<p", "&", "&#", "&#xffffffff;", "<é>"]
        {
            let _ = text(page);
        }
    }
}
