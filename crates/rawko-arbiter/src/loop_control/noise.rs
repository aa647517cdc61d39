//! Differences between runs without a real change. Each kind is replaced by a placeholder, so that `3 failed in 0.51s`
//! equals `3 failed in 0.48s` but not `2 failed in 0.51s`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The order matters: a timestamp contains times, a temporary path may contain anything.
const KINDS: [(&str, &str); 10] = [
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<uuid>"),
    (r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?", "<time>"),
    (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .{0,24}?\d{1,2}:\d{2}:\d{2}( [A-Z]{2,4})?( \d{4})?", "<time>"),
    (r"\b\d{1,2}:\d{2}:\d{2}([.,]\d+)?\b", "<time>"),
    (r#"(/private)?(/var/folders|/var/tmp|/tmp)/[^\s"'`:,;)\]}>]+"#, "<temporary>"),
    (r"\b0x[0-9a-fA-F]{4,}\b", "<address>"),
    (r"(?i)\b(pid|process|ppid|tid|thread)([ =:#]+)\d+\b", "<process>"),
    (r"\b1[5-9]\d{8}(\.\d+|\d{3})?\b", "<time>"),
    (
        r"(?i)\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b( ?\d+(\.\d+)?\s?(s|secs?|seconds?|ms)\b)?",
        "<duration>",
    ),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let kinds = KINDS.iter().filter_map(|(pattern, word)| Some((Regex::new(pattern).ok()?, *word)));
    kinds.collect()
});

pub(super) fn without_noise(text: &str) -> String {
    let mut out = text.to_owned();
    for (pattern, word) in PATTERNS.iter() {
        if pattern.is_match(&out) {
            out = pattern.replace_all(&out, |_: &Captures<'_>| *word).into_owned();
        }
    }
    let lines = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(PATTERNS.len(), KINDS.len());
    }

    #[test]
    fn only_noise_is_taken() {
        for (text, expected) in [
            ("3 failed in 0.51s", "3 failed in <duration>"),
            ("took 1m 3s, 12 files", "took <duration>, 12 files"),
            ("at 2026-11-16T12:34:33.120Z ok", "at <time> ok"),
            ("Mon Nov 16 12:34:33 UTC 2026", "<time>"),
            ("[12:34:33] built", "[<time>] built"),
            ("wrote /tmp/abc.Xy1/out.txt: 3 lines", "wrote <temporary>: 3 lines"),
            ("pid 4711 listens", "<process> listens"),
            ("<Foo object at 0x7f3a2b10>", "<Foo object at <address>>"),
            ("id 123e4567-e89b-12d3-a456-426614174000", "id <uuid>"),
            ("started 1763296473123", "started <time>"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("error[E0308] at src/main.rs:12:5", "error[E0308] at src/main.rs:12:5"),
            ("2 of 10 done", "2 of 10 done"),
            ("a   b\n\n", "a b"),
        ] {
            assert_eq!(without_noise(text), expected);
        }
    }
}
