//! The grammar that describes the format. One description serves three readers: the structure check, the typed
//! definitions (through the key enums) and the JSON Schema, so that none of them can know a key the others do not.

/// The allowed contents of a value.
#[derive(Debug)]
pub(crate) enum ValueShape {
    /// Any data.
    Any,
    Null,
    Text,
    /// Text of this form, a regular expression that JSON Schema supports. It is for editors: the reader accepts any
    /// text here, and reports an invalid one where it is used.
    TextLike(&'static str),
    Bool,
    /// An integer of at least this.
    Whole(i64),
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    List(&'static ValueShape),
    /// A map with any keys and values of one shape. The text describes the keys.
    MapOf(&'static ValueShape, &'static str),
    /// Like `MapOf`, with keys of a form: see `TextLike`.
    MapBy(&'static str, &'static ValueShape, &'static str),
    Record(&'static RecordShape),
    /// A record selected by the value of a key.
    Tagged(&'static TaggedShape),
    /// The first one that fits the kind of value.
    Either(&'static [ValueShape]),
}

/// A map with known keys.
#[derive(Debug)]
pub(crate) struct RecordShape {
    /// Its name in the schema.
    pub(crate) name: &'static str,
    /// Its name in messages, with an article.
    pub(crate) words: &'static str,
    pub(crate) fields: &'static [FieldShape],
    /// Another record whose keys it includes.
    pub(crate) extends: Option<&'static RecordShape>,
    pub(crate) required: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct FieldShape {
    pub(crate) key: &'static str,
    pub(crate) shape: &'static ValueShape,
    pub(crate) doc: &'static str,
}

#[derive(Debug)]
pub(crate) struct TaggedShape {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) variants: &'static [(&'static str, &'static RecordShape)],
}

impl RecordShape {
    pub(crate) fn field(&self, key: &str) -> Option<&'static FieldShape> {
        let own = self.fields.iter().find(|field| field.key == key);
        own.or_else(|| self.extends.and_then(|record| record.field(key)))
    }

    /// Returns all fields, the record's own first.
    pub(crate) fn all_fields(&self) -> Vec<&'static FieldShape> {
        let mut fields: Vec<&'static FieldShape> = self.fields.iter().collect();
        if let Some(record) = self.extends {
            fields.extend(record.all_fields().into_iter().filter(|field| !self.has_own(field.key)));
        }
        fields
    }

    fn has_own(&self, key: &str) -> bool {
        self.fields.iter().any(|field| field.key == key)
    }
}

/// Declares records together with an enum of their keys. Readers match on the enum, so that a key that is described but
/// not read, or read but not described, does not compile.
macro_rules! records {
    ($(
        $(#[$meta:meta])*
        $keys:ident $record:ident $name:literal $words:literal $(extends $base:ident)? $(requires [$($required:literal),*])? {
            $($variant:ident $key:literal $shape:expr, $doc:literal;)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $keys { $($variant,)* }

        impl $keys {
            #[inline]
            pub(crate) fn parse(key: &str) -> Option<Self> {
                match key { $($key => Some(Self::$variant),)* _ => None }
            }
        }

        pub(crate) static $record: RecordShape = RecordShape {
            name: $name,
            words: $words,
            fields: &[$(FieldShape { key: $key, shape: &$shape, doc: $doc },)*],
            extends: records!(@base $($base)?),
            required: records!(@required $([$($required),*])?),
        };
    )*};
    (@base) => { None };
    (@base $base:ident) => { Some(&$base) };
    (@required) => { &[] };
    (@required [$($required:literal),*]) => { &[$($required),*] };
}

pub(crate) use records;
