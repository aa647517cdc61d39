//! A reply as data: content, chunking, and the end of the connection.

use serde_json::Value;

/// End of the connection after the last chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyEnding {
    /// Terminated as HTTP requires.
    Whole,
    /// Closed in the middle.
    Cut,
    /// Nothing more is sent, and the connection stays open.
    Silent,
    /// The last piece is sent again every few milliseconds, without end.
    Repeating,
}

/// A response that the server sends for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// HTTP status.
    pub status: u16,
    /// Headers in the order in which they are sent; a content type comes first.
    pub headers: Vec<(String, String)>,
    /// Each chunk is sent separately.
    pub pieces: Vec<Vec<u8>>,
    /// The end of the connection; [`ReplyEnding::Whole`] by default.
    pub ending: ReplyEnding,
}

impl ModelReply {
    fn new(status: u16, content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, pieces, ending: ReplyEnding::Whole }
    }

    /// Server-sent events, each chunk sent separately.
    pub fn events(pieces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(
            200,
            "text/event-stream",
            pieces.into_iter().map(|piece| piece.into().into_bytes()).collect(),
        )
    }

    /// JSON lines.
    pub fn lines(pieces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(
            200,
            "application/x-ndjson",
            pieces.into_iter().map(|piece| piece.into().into_bytes()).collect(),
        )
    }

    /// Creates a JSON response in one piece.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", vec![body.to_string().into_bytes()])
    }

    /// Creates a response in one piece with the content type `text/html`, as proxies send errors.
    pub fn text(status: u16, body: &str) -> Self {
        Self::new(status, "text/html", vec![body.as_bytes().to_vec()])
    }

    /// Adds a header; does not replace one with the same name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the end of the connection.
    #[must_use]
    pub fn ending(self, ending: ReplyEnding) -> Self {
        Self { ending, ..self }
    }

    /// Splits the same bytes into chunks of this size: a network preserves no boundaries.
    #[must_use]
    pub fn in_pieces_of(self, size: usize) -> Self {
        let pieces = self.pieces.concat().chunks(size.max(1)).map(<[u8]>::to_vec).collect();
        Self { pieces, ..self }
    }

    /// Truncates after this many bytes, then breaks the connection.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        let mut all = self.pieces.concat();
        all.truncate(bytes);
        Self { pieces: vec![all], ending: ReplyEnding::Cut, ..self }
    }

    /// Returns the content without chunk boundaries.
    pub fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}
