//! `ContentReader`: long texts by content hash, for services. A service that puts a long text into its answer and a reference
//! into the part that a chart keeps finds the text again here: the journal stores every long string once, by its hash
//! (`rawko_store::content`), for as long as the instances that entered it are kept.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rawko_store::{Store, content};

/// Reads stored texts for one call. Cheap to clone.
#[derive(Clone, Default)]
pub struct ContentReader(Option<Arc<dyn ContentSource>>);

/// Source of the blobs that `ContentReader` reads; implemented by drivers.
pub trait ContentSource: Send + Sync {
    /// The body of a blob; `None` when there is none of this name.
    fn blob(&self, name: [u8; 16]) -> ReadingBlob<'_>;
}

/// A pending read of a stored text; `None` if no store has it.
pub type ReadingBlob<'a> = Pin<Box<dyn Future<Output = Result<Option<Vec<u8>>, String>> + Send + 'a>>;

impl ContentReader {
    /// Creates a reader over a source.
    pub fn new(source: Arc<dyn ContentSource>) -> Self {
        Self(Some(source))
    }

    pub(crate) fn of_store(store: &Arc<dyn Store>) -> Self {
        Self::new(Arc::new(InStore(Arc::clone(store))))
    }

    /// The name under which a text is stored once it was part of an answer; it must be a long one.
    pub fn name(text: &str) -> String {
        content::hex(&content::text_name(text))
    }

    /// Reads a text by its name. `None`: it is not stored, or not here. An error may pass.
    pub async fn text(&self, name: &str) -> Result<Option<String>, String> {
        let (Some(source), Some(hash)) = (&self.0, content::from_hex(name)) else { return Ok(None) };
        let body = source.blob(hash).await?;
        Ok(body.and_then(|body| content::text_of(&hash, body)))
    }
}

impl fmt::Debug for ContentReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Contents").field(&self.0.is_some()).finish()
    }
}

/// A store on this machine. Reading makes a thread wait.
struct InStore(Arc<dyn Store>);

impl ContentSource for InStore {
    fn blob(&self, name: [u8; 16]) -> ReadingBlob<'_> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || store.blob(&name)).await;
            let read = read.map_err(|error| error.to_string())?;
            Ok(read.map_err(|error| error.to_string())?.map(|blob| blob.body))
        })
    }
}
