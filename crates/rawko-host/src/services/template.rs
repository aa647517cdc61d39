//! Text with `${NAME}` placeholders, which keep secrets out of settings files. The template is separate from its value:
//! the template is shown and stored, the value exists only during a call.

use rawko_settings::{Environment, is_variable_name};

/// A text whose variables are filled in for each call. `$${` is an escaped `${`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextTemplate {
    source: String,
    parts: Vec<TextPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TextPart {
    Text(String),
    Variable(String),
}

impl TextTemplate {
    /// Parses a text, or returns the problem with a `${`.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), source);
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('$') {
                text.push_str(before);
                text.push_str("${");
                rest = &from[2..];
                continue;
            }
            let Some(end) = from.find('}') else { return Err("a `${` has no `}`".into()) };
            let name = &from[2..end];
            if !is_variable_name(name) {
                return Err(format!("`${{{name}}}` is not the name of a variable"));
            }
            text.push_str(before);
            if !text.is_empty() {
                parts.push(TextPart::Text(std::mem::take(&mut text)));
            }
            parts.push(TextPart::Variable(name.to_owned()));
            rest = &from[end + 1..];
        }
        text.push_str(rest);
        parts.push(TextPart::Text(text));
        Ok(Self { source: source.to_owned(), parts })
    }

    /// Returns the source text, which is safe to show.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Returns only the variables, for the audit: the text around them may contain a literal secret.
    pub(crate) fn variables_shown(&self) -> String {
        let shown: Vec<String> = self.variables().map(|name| format!("${{{name}}}")).collect();
        if shown.is_empty() { "…".to_owned() } else { shown.join(" ") }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TextPart::Text(_) => None,
            TextPart::Variable(name) => Some(name.as_str()),
        })
    }

    /// Returns the text with its variables filled in, or the first unset variable as the error.
    pub(crate) fn fill(&self, environment: &Environment) -> Result<String, &str> {
        let mut filled = String::new();
        for part in &self.parts {
            filled.push_str(match part {
                TextPart::Text(text) => text,
                TextPart::Variable(name) => environment.get(name).ok_or(name.as_str())?,
            });
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, TextTemplate};

    #[test]
    fn variables_are_filled_in() {
        let environment: Environment = [("TOKEN", "t0k"), ("A_1", "x")].into_iter().collect();
        let table = [
            ("plain", Ok("plain")),
            ("", Ok("")),
            ("Bearer ${TOKEN}", Ok("Bearer t0k")),
            ("${A_1}${TOKEN}!", Ok("xt0k!")),
            ("costs $5 and $${TOKEN}", Ok("costs $5 and ${TOKEN}")),
            ("${MISSING}", Err("MISSING")),
            ("${TOKEN", Err("a `${` has no `}`")),
            ("${TO KEN}", Err("`${TO KEN}` is not the name of a variable")),
            ("${}", Err("`${}` is not the name of a variable")),
        ];
        for (source, expected) in table {
            let filled =
                TextTemplate::parse(source).and_then(|t| t.fill(&environment).map_err(str::to_owned));
            assert_eq!(filled, expected.map(str::to_owned).map_err(str::to_owned), "{source}");
        }
    }
}
