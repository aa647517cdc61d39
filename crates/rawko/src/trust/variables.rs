//! Variables of the person's environment that files of a project fill in: a header or an address may carry a secret away.

use rawko_chart::SpannedValue;

use super::starts::ProjectStart;

/// Returns the variables that a document names, by the place that gets them: a section and the entry in it.
pub(super) fn of_document(document: &SpannedValue, all: &mut Vec<ProjectStart>) {
    for section in document.entries().unwrap_or_default() {
        match section.value.entries() {
            Some(entries) => entries
                .iter()
                .for_each(|entry| add(&format!("{}.{}", section.key, entry.key), &entry.value, all)),
            None => add(&section.key, &section.value, all),
        }
    }
}

/// Returns the variables that a text names, under the name of its file.
pub(super) fn of_text(file: &str, text: &str, all: &mut Vec<ProjectStart>) {
    push(file, names(text), all);
}

fn add(place: &str, value: &SpannedValue, all: &mut Vec<ProjectStart>) {
    let mut found = Vec::new();
    walk(value, &mut found);
    push(place, found, all);
}

fn push(place: &str, mut words: Vec<String>, all: &mut Vec<ProjectStart>) {
    words.sort();
    words.dedup();
    if !words.is_empty() {
        all.push(ProjectStart { kind: "variables", name: format!("{place} uses yours"), words });
    }
}

fn walk(value: &SpannedValue, found: &mut Vec<String>) {
    found.extend(value.text().into_iter().flat_map(names));
    for item in value.items().unwrap_or_default() {
        walk(item, found);
    }
    for entry in value.entries().unwrap_or_default() {
        found.extend(names(&entry.key));
        walk(&entry.value, found);
    }
}

/// Returns the names in `${NAME}`, `${NAME:-default}` and `${env:NAME}`.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let is_plain = rest[..at].ends_with('$');
        rest = &rest[at + 2..];
        let inside = rest.strip_prefix("env:").unwrap_or(rest);
        let name: String = inside.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        if !name.is_empty() && !is_plain {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_named_with_its_place() {
        let document = "{services: {s: {http: {url: 'https://x/${A}', headers: {B: 'Bearer ${B:-none}'}}}}, \
                        providers: {default: x, y: {api_key: '${env:C} $${D} ${A}${A}'}}, list: ['${E}']}";
        let mut all = Vec::new();
        of_document(&SpannedValue::read(document).unwrap(), &mut all);
        of_text("a.md", "${F}", &mut all);
        let lines: Vec<String> =
            all.iter().map(|start| format!("{}: {}", start.name, start.words.join(" "))).collect();
        let expected = [
            "services.s uses yours: A B",
            "providers.y uses yours: A C",
            "list uses yours: E",
            "a.md uses yours: F",
        ];
        assert_eq!(lines, expected);
    }
}
