//! Pages of lists: size, position, and the cursor of the next page. Cursors are opaque, so that their meaning can
//! change.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rawko_view::list_index::{ListOrder, SortPosition};
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::{ErrorResponse, ProblemCode};

const LIMIT: u16 = 50;
const LIMIT_MAX: u16 = 500;

/// Page of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 50)]
    pub(crate) limit: Option<u16>,
    /// `next` of the previous page.
    pub(crate) cursor: Option<String>,
}

impl PageQuery {
    pub(crate) fn limit(&self) -> Result<usize, ErrorResponse> {
        limit_of(self.limit)
    }

    /// Returns the key below which the page starts.
    pub(crate) fn before(&self) -> Result<Option<i64>, ErrorResponse> {
        self.cursor.as_deref().map(read_cursor).transpose()
    }
}

/// Validates a page size.
pub(crate) fn limit_of(asked: Option<u16>) -> Result<usize, ErrorResponse> {
    let limit = asked.unwrap_or(LIMIT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(usize::from(limit));
    }
    Err(ErrorResponse::new(ProblemCode::InvalidRequest, format!("`limit` must be between 1 and {LIMIT_MAX}")))
}

/// Encodes a key of the store as a cursor.
pub(crate) fn cursor(key: i64) -> String {
    URL_SAFE_NO_PAD.encode(format!("k{key}"))
}

pub(crate) fn read_cursor(text: &str) -> Result<i64, ErrorResponse> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.strip_prefix('k')?.parse().ok());
    key.ok_or_else(|| {
        ErrorResponse::new(
            ProblemCode::InvalidCursor,
            "invalid `cursor`; pass the `next` of the previous page",
        )
    })
}

/// Encodes a position in a sorted list.
pub(crate) fn position_cursor(position: &SortPosition) -> String {
    URL_SAFE_NO_PAD.encode(format!("s{position}"))
}

pub(crate) fn read_position(text: &str, order: ListOrder) -> Result<SortPosition, ErrorResponse> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let position = text.and_then(|text| SortPosition::parse(text.strip_prefix('s')?, order));
    position.ok_or_else(|| {
        let message = "invalid `cursor`; pass the `next` of the previous page, with the same `sort`";
        ErrorResponse::new(ProblemCode::InvalidCursor, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_the_key_it_was_made_of() {
        for key in [0, 1, 77, i64::MAX] {
            assert_eq!(read_cursor(&cursor(key)).unwrap(), key);
        }
        for wrong in ["", "77", "a", "k77", "!!", &cursor(1)[1..]] {
            assert_eq!(read_cursor(wrong).unwrap_err().code(), ProblemCode::InvalidCursor, "{wrong}");
        }
    }

    #[test]
    fn limits_have_bounds() {
        assert_eq!(limit_of(None).unwrap(), 50);
        assert_eq!(limit_of(Some(500)).unwrap(), 500);
        assert!(limit_of(Some(0)).is_err() && limit_of(Some(501)).is_err());
    }
}
