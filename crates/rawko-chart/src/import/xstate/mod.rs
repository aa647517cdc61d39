//! XState v5 configurations as JSON.
use super::{ImportError, ImportOptions, Imported};
/// Imports an XState configuration.
pub fn xstate(_text: &str, _options: ImportOptions<'_>) -> Result<Imported, ImportError> {
    Err(ImportError::UnknownLanguage)
}
