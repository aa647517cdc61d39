//! Errors of reading instances and journals for display.

use rawko_host::HostError;
use rawko_store::StoreError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
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
