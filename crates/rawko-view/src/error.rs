//! Why something cannot be shown.

use rawko_host::HostError;
use rawko_store::StoreError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    #[error(transparent)]
    Host(#[from] HostError),
    /// A journal that this rawko cannot read.
    #[error("{0}")]
    Unreadable(String),
}

impl From<StoreError> for ViewError {
    fn from(error: StoreError) -> Self {
        ViewError::Host(HostError::Store(error))
    }
}
