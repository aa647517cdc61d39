//! Limits that a project sets itself in its settings: the coverage that it needs, the warnings that it allows. An agent that
//! moves one makes a check pass without work, so a control run has the limits of before.

use std::sync::LazyLock;

use regex::Regex;

static LIMIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)^\s*["']?([\w.-]*(?:fail[_-]?under|min[_-]?coverage|coverage[_-]?min|max[_-]?warnings|max[_-]?complexity|threshold)[\w.-]*)["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)"#,
    )
    .ok()
});
const SETTINGS: [&str; 6] = ["toml", "cfg", "ini", "json", "yml", "yaml"];

/// Returns the text with the limits of before, or `None` if they are the same.
pub(super) fn with_former(path: &str, before: &str, now: &str) -> Option<String> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    if !SETTINGS.contains(&ending) && !path.ends_with("rc") {
        return None;
    }
    let key = |line: &str| {
        let found = LIMIT.as_ref()?.captures(line)?;
        Some((found.get(1)?.as_str().to_owned(), found.get(2)?.as_str().to_owned()))
    };
    let former: Vec<(String, String, &str)> =
        before.lines().filter_map(|line| key(line).map(|(key, value)| (key, value, line))).collect();
    let mut is_changed = false;
    let lines = now.lines().map(|line| {
        let Some((name, value)) = key(line) else { return line };
        let known = former.iter().find(|(known, _, _)| *known == name);
        let other = known.filter(|(_, before, _)| *before != value);
        is_changed |= other.is_some();
        other.map_or(line, |(_, _, line)| *line)
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    is_changed.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::with_former;

    #[test]
    fn limits_are_as_before() {
        let table = [
            (
                "pyproject.toml",
                "fail_under = 90\nx = 1\n",
                "fail_under = 0\nx = 2\n",
                Some("fail_under = 90\nx = 2\n"),
            ),
            (
                "a.json",
                "  \"max-warnings\": 0,\n",
                "  \"max-warnings\": 99,\n",
                Some("  \"max-warnings\": 0,\n"),
            ),
            ("a.yml", "coverage_threshold: 80\n", "coverage_threshold: 80\nnew: 1\n", None),
            ("app.py", "threshold = 1\n", "threshold = 2\n", None),
        ];
        for (path, before, now, expected) in table {
            assert_eq!(with_former(path, before, now).as_deref(), expected, "{path}");
        }
    }
}
