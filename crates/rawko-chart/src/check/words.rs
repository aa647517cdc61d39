//! The connotation of a name. Limited to whole words, so that `failover` is not a failure and `incomplete` not a
//! success.

const FAILURE: [&str; 14] = [
    "error",
    "errored",
    "errors",
    "fail",
    "failed",
    "failure",
    "failing",
    "limit",
    "timeout",
    "timedout",
    "aborted",
    "crashed",
    "exhausted",
    "exceeded",
];
const SUCCESS: [&str; 9] =
    ["complete", "completed", "done", "success", "succeeded", "successful", "ok", "passed", "finished"];
/// Words that invert the meaning: `no_errors`, `error_handled`, `not_done`.
const TURNED: [&str; 10] =
    ["no", "not", "non", "free", "without", "handled", "recovered", "resolved", "fixed", "ignored"];
const LIMIT: [&str; 6] = ["max", "maximum", "limit", "cap", "budget", "quota"];

pub(crate) fn sound_like_failure(name: &str) -> bool {
    let words = words(name);
    let timed_out = words.windows(2).any(|pair| pair[0] == "timed" && pair[1] == "out");
    (timed_out || has(&words, &FAILURE)) && !has(&words, &TURNED)
}

pub(crate) fn sound_like_success(name: &str) -> bool {
    let words = words(name);
    has(&words, &SUCCESS) && !has(&words, &TURNED) && !sound_like_failure(name)
}

pub(crate) fn sound_like_limit(name: &str) -> bool {
    has(&words(name), &LIMIT)
}

fn has(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

/// Returns the words of `snake_case`, `kebab-case`, `dotted.names` and `camelCase`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sound_like_what_their_words_say() {
        for name in ["failed", "build_error", "limitReached", "timed_out", "TIMEOUT", "retry-limit"] {
            assert!(sound_like_failure(name), "{name}");
        }
        for name in ["failover", "no_errors", "unlimited", "error_handled", "complete"] {
            assert!(!sound_like_failure(name), "{name}");
        }
        for name in ["complete", "all_done", "success", "buildPassed"] {
            assert!(sound_like_success(name), "{name}");
        }
        for name in ["incomplete", "not_done", "completed_with_errors", "abandoned"] {
            assert!(!sound_like_success(name), "{name}");
        }
        assert!(
            sound_like_limit("max_retries")
                && sound_like_limit("tokenBudget")
                && !sound_like_limit("maximal")
        );
    }
}
