//! What a tree means apart from how it was written: its hash, and its data as a `Value`.

use std::fmt::Write;
use std::sync::Arc;

use rawko_core::{Map, Value};

use super::{Data, View};

/// A hash of the content: the same for YAML and JSON, whatever the white space and comments. Order counts, because
/// document order has a meaning.
pub(crate) fn content_hash(view: View<'_>) -> [u8; 16] {
    let mut out = String::with_capacity(4096);
    write(view, &mut out);
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(out.as_bytes()).as_bytes()[..16]);
    hash
}

/// Every text is preceded by its length, so that no two trees give the same bytes.
fn write(view: View<'_>, out: &mut String) {
    match view.data() {
        Data::Null => out.push('n'),
        Data::Bool(value) => out.push(if *value { 't' } else { 'f' }),
        Data::Int(value) => drop(write!(out, "i{value};")),
        Data::Float(value) => drop(write!(out, "d{value};")),
        Data::Str(text) => write_text(text, out),
        Data::List { .. } => {
            out.push('[');
            view.items().into_iter().flatten().for_each(|item| write(item, out));
            out.push(']');
        }
        Data::Map { .. } => {
            out.push('{');
            for pair in view.pairs().into_iter().flatten() {
                write_text(pair.key, out);
                write(pair.value, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    let mut length = text.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (length % 10) as u8;
        length /= 10;
        if length == 0 {
            break;
        }
    }
    buffer[at..].iter().for_each(|digit| out.push(char::from(*digit)));
    out.push(':');
    out.push_str(text);
}

/// The data of a tree.
pub(crate) fn to_value(view: View<'_>) -> Value {
    match view.data() {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(*value),
        Data::Int(value) => Value::Int(*value),
        Data::Float(value) => Value::float(*value),
        Data::Str(text) => Value::str(text),
        Data::List { .. } => Value::list(view.items().into_iter().flatten().map(to_value).collect()),
        Data::Map { .. } => {
            let pairs = view.pairs().into_iter().flatten();
            let map: Map = pairs.map(|pair| (Arc::from(pair.key), to_value(pair.value))).collect();
            Value::Map(Arc::new(map))
        }
    }
}
