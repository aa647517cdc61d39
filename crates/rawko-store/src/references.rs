//! Finds the blobs that a packed text names. Separate from packing and unpacking, because it does not parse: a text
//! that merely looks like a reference counts as one, which may keep a blob too many and never one too few.

use rustc_hash::FxHashSet;

/// The keys before a blob's name, as packing writes them.
const KEYS: [&str; 2] = [r#""$ref":""#, r#""$chunk":""#];
const HEX_LEN: usize = 32;

/// Adds the names of all blobs that a text refers to.
pub(crate) fn collect(text: &str, into: &mut FxHashSet<[u8; 16]>) {
    if !text.contains("\"$") {
        return;
    }
    for key in KEYS {
        for (at, _) in text.match_indices(key) {
            let name = text.get(at + key.len()..at + key.len() + HEX_LEN);
            into.extend(name.and_then(parse));
        }
    }
}

/// Adds the names in a blob: a list holds references, a string none.
pub(crate) fn collect_nested(body: &[u8], into: &mut FxHashSet<[u8; 16]>) {
    if body.first() == Some(&b'l')
        && let Ok(text) = std::str::from_utf8(&body[1..])
    {
        collect(text, into);
    }
}

fn parse(hex: &str) -> Option<[u8; 16]> {
    let mut name = [0; 16];
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawko_instance::content;

    #[test]
    fn everything_that_packing_takes_out_is_found_again() {
        let (long, other) = ("x".repeat(300), "y".repeat(300));
        let list: Vec<String> = (0..200).map(|number| format!("\"{number} {long}\"")).collect();
        let json = format!(r#"{{"a":"{long}","list":[{}],"$odd":{{"b":"{other}"}}}}"#, list.join(","));
        let packed = content::pack(&json);
        let mut found = FxHashSet::default();
        collect(&packed.text, &mut found);
        let mut open: Vec<[u8; 16]> = found.iter().copied().collect();
        while let Some(name) = open.pop() {
            let blob = packed.blobs.iter().find(|blob| blob.hash == name).unwrap();
            let mut nested = FxHashSet::default();
            collect_nested(&blob.body, &mut nested);
            open.extend(nested.into_iter().filter(|name| found.insert(*name)));
        }
        assert_eq!(found.len(), packed.blobs.len());
        assert!(packed.blobs.len() > 200);
    }
}
