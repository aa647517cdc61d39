//! Truncates the output of services to a size that a journal can hold.

/// Maximum size of a failure's text.
pub(crate) const KEPT_BYTES: usize = 4 * 1024;

/// Returns the beginning of a text, cut on a character boundary.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Returns the end of a text, cut on a character boundary.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    let start = (text.len().saturating_sub(bytes_max)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(text.len())..]
}

/// Formats a size for messages: `4 MiB`.
pub(crate) fn shown_size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.into_iter().find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    whole.map_or_else(|| format!("{bytes} bytes"), |(unit, bits)| format!("{} {unit}", bytes >> bits))
}

#[cfg(test)]
mod tests {
    use super::{head, shown_size, tail};

    #[test]
    fn texts_are_cut_on_character_boundaries() {
        assert_eq!((head("añb", 2), tail("añb", 2)), ("a", "b"));
        assert_eq!((head("añb", 3), tail("añb", 3)), ("añ", "ñb"));
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
        assert_eq!((head("ñ", 1), tail("ñ", 1)), ("", ""));
    }

    #[test]
    fn sizes_are_shown_in_the_largest_whole_unit() {
        assert_eq!([0, 1000, 4 << 20, 3 << 30].map(shown_size), ["0 bytes", "1000 bytes", "4 MiB", "3 GiB"]);
    }
}
