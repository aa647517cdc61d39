//! Reads OTLP's protobuf field by field, as its definitions number them; independent of the code under test.

use std::collections::BTreeMap;

/// The parts of a span that tests check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    /// 1 for internal, 3 for a client call.
    pub(crate) kind: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_error: bool,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Of the resource.
    pub(crate) service: String,
}

impl Seen {
    pub(crate) fn has(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

impl<'b> Field<'b> {
    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(_) => panic!("a number was expected"),
        }
    }

    fn bytes(&self) -> &'b [u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(_) => panic!("bytes were expected"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number without end");
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (own, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(own.try_into().unwrap()))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (own, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(own)
            }
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, field));
    }
    all
}

fn each(bytes: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes).into_iter().filter(move |(field, _)| *field == number).map(|(_, field)| field.bytes())
}

/// Returns all spans of an `ExportTraceServiceRequest`.
pub(crate) fn spans(request: &[u8]) -> Vec<Seen> {
    let mut all = Vec::new();
    for of_resource in each(request, 1) {
        let resource: BTreeMap<_, _> = each(of_resource, 1)
            .flat_map(|resource| each(resource, 1).collect::<Vec<_>>())
            .map(key_value)
            .collect();
        let service = resource.get("service.name").cloned().unwrap_or_default();
        for of_scope in each(of_resource, 2) {
            all.extend(each(of_scope, 2).map(|bytes| Seen { service: service.clone(), ..span(bytes) }));
        }
    }
    all
}

fn span(bytes: &[u8]) -> Seen {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut seen = Seen::default();
    for (number, field) in fields(bytes) {
        match number {
            1 => seen.trace = hex(field.bytes()),
            2 => seen.id = hex(field.bytes()),
            4 => seen.parent = hex(field.bytes()),
            5 => seen.name = field.text(),
            6 => seen.kind = field.number(),
            7 => seen.start = field.number(),
            8 => seen.end = field.number(),
            9 => seen.attributes.extend([key_value(field.bytes())]),
            15 => {
                seen.is_error =
                    fields(field.bytes()).iter().any(|(number, code)| *number == 3 && code.number() == 2)
            }
            other => panic!("field {other} of a span"),
        }
    }
    seen
}

fn key_value(bytes: &[u8]) -> (String, String) {
    let (mut key, mut value) = (String::new(), String::new());
    for (number, field) in fields(bytes) {
        match number {
            1 => key = field.text(),
            2 => value = any_value(field.bytes()),
            other => panic!("field {other} of an attribute"),
        }
    }
    (key, value)
}

fn any_value(bytes: &[u8]) -> String {
    let (number, field) = fields(bytes).pop().unwrap();
    match number {
        1 => field.text(),
        3 => (field.number() as i64).to_string(),
        4 => f64::from_bits(field.number()).to_string(),
        5 => format!("[{}]", each(field.bytes(), 1).map(any_value).collect::<Vec<_>>().join(", ")),
        other => panic!("field {other} of a value"),
    }
}
