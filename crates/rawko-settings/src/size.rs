//! Sizes as people write them: `2GiB`, `500MB`, or a number of bytes.

const UNITS: [(&str, u64); 10] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("kB", 1_000),
    ("B", 1),
];

/// The bytes of a size, or `None` when it is none.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, bytes)| Some((text.strip_suffix(name)?.trim_end(), *bytes)))
        .unwrap_or((text, 1));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_have_a_number_and_perhaps_a_unit() {
        let table = [
            ("2GiB", Some(2 << 30)),
            ("2 GiB", Some(2 << 30)),
            ("500MB", Some(500_000_000)),
            ("4096", Some(4096)),
            ("64B", Some(64)),
            ("0", Some(0)),
            ("-1", None),
            ("1.5GiB", None),
            ("GiB", None),
            ("huge", None),
            ("", None),
            ("99999999999TiB", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
