//! Character references of HTML: the numeric ones, and the names common in prose.

const NAMED: [(&str, &str); 22] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("times", "×"),
    ("middot", "·"),
    ("bull", "•"),
    ("larr", "←"),
    ("rarr", "→"),
    ("para", "¶"),
];
/// Length limit of a reference.
const LENGTH_MAX: usize = 12;

pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest
            .find(';')
            .filter(|end| *end <= LENGTH_MAX)
            .and_then(|end| Some((character(&rest[..end])?, end)))
        {
            Some((character, end)) => {
                out.push_str(&character);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let hexadecimal = number.strip_prefix(['x', 'X']);
        let number = match hexadecimal {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return char::from_u32(number.ok()?).map(String::from);
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
}
