//! Bytes to text: by byte order mark, by the encoding that an XML document declares, else UTF-8. Separate from the
//! languages, because the encoding has to be known before the language is.

use encoding_rs::Encoding;

use crate::ImportError;

/// Bytes in which an XML declaration must end.
const DECLARATION_MAX: usize = 256;

/// Decodes a document.
pub fn decode(bytes: &[u8]) -> Result<String, ImportError> {
    if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
        return Err(refused("UTF-32 is not supported; save the document as UTF-8".to_owned()));
    }
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decoded(encoding, &bytes[length..]);
    }
    match bytes {
        [b'<', 0, ..] => decoded(encoding_rs::UTF_16LE, bytes),
        [0, b'<', ..] => decoded(encoding_rs::UTF_16BE, bytes),
        _ => decoded(declared(bytes)?, bytes),
    }
}

fn decoded(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, ImportError> {
    match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) => Ok(text.into_owned()),
        None if encoding == encoding_rs::UTF_8 => {
            let at = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u32;
            Err(ImportError::Malformed {
                line,
                message: format!("not UTF-8 text (first invalid byte: {at})"),
            })
        }
        None => Err(refused(format!("not {} text, which it declares to be", encoding.name()))),
    }
}

/// Returns the encoding in an XML declaration, which is ASCII in the encodings that need one.
fn declared(bytes: &[u8]) -> Result<&'static Encoding, ImportError> {
    let head = &bytes[..bytes.len().min(DECLARATION_MAX)];
    let end = head.windows(2).position(|pair| pair == b"?>").filter(|_| head.starts_with(b"<?xml"));
    let head = end.map(|end| String::from_utf8_lossy(&head[..end]).into_owned()).unwrap_or_default();
    let Some((_, rest)) = head.split_once("encoding") else { return Ok(encoding_rs::UTF_8) };
    let label = rest.trim_start().trim_start_matches('=').trim_start();
    let label: String = label.chars().skip(1).take_while(|c| !matches!(c, '"' | '\'')).collect();
    match Encoding::for_label(label.as_bytes()) {
        // Single bytes before the declaration: a converter left the old name in place.
        Some(encoding) if encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE => {
            Ok(encoding_rs::UTF_8)
        }
        Some(encoding) => Ok(encoding),
        None => Err(refused(format!("the encoding `{label}` is not supported; save the document as UTF-8"))),
    }
}

fn refused(message: String) -> ImportError {
    ImportError::Malformed { line: 1, message }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::decode;

    #[test]
    fn declared_encodings_and_marks() {
        let utf16 = |text: &str, big: bool| -> Vec<u8> {
            text.encode_utf16()
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect()
        };
        let marked = [vec![0xff, 0xfe], utf16("<é/>", false)].concat();
        let cases: Vec<(Vec<u8>, &str)> = vec![
            ("<é/>".as_bytes().to_vec(), "<é/>"),
            ([vec![0xef, 0xbb, 0xbf], "<é/>".as_bytes().to_vec()].concat(), "<é/>"),
            (marked, "<é/>"),
            (
                utf16("<?xml version='1.0' encoding='UTF-16'?><é/>", true),
                "<?xml version='1.0' encoding='UTF-16'?><é/>",
            ),
            (
                b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><\xe9/>".to_vec(),
                "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><é/>",
            ),
            (
                b"<?xml version='1.0' encoding = 'utf-16'?><a/>".to_vec(),
                "<?xml version='1.0' encoding = 'utf-16'?><a/>",
            ),
            (
                b"<?xml version='1.0' encoding='Shift_JIS'?><\x83\x65/>".to_vec(),
                "<?xml version='1.0' encoding='Shift_JIS'?><テ/>",
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode(&bytes).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn other_bytes_are_refused_by_name() {
        for (bytes, expected) in [
            (&b"{}\n\xff"[..], expect!["line 2: not UTF-8 text (first invalid byte: 3)"]),
            (
                b"<?xml version='1.0' encoding='EBCDIC'?><a/>",
                expect!["line 1: the encoding `EBCDIC` is not supported; save the document as UTF-8"],
            ),
            (&[0xff, 0xfe, 0, 0, 60], expect!["line 1: UTF-32 is not supported; save the document as UTF-8"]),
        ] {
            expected.assert_eq(&decode(bytes).unwrap_err().to_string());
        }
    }
}
