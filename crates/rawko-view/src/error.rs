//! Errors of reading instances and journals for display.

use rawko_host::HostError;
use rawko_store::StoreError;

/// The reason that an instance or its journal cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The instance, its chart or the store cannot be read.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Journal with a record that this version of rawko cannot read.
    #[error("{0}")]
    Unreadable(String),
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        ViewError::Host(HostError::Store(error))
    }
}
