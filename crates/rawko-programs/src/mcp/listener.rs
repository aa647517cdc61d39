//! What a server can ask of rawko and tell it: questions to the person, the project's directory, and that its tools have
//! changed, and completions if the settings allow it.

#![expect(deprecated, reason = "roots and sampling are deprecated, and servers still ask for them")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, JsonObject,
    ListRootsResult, Root, RootsCapabilities, SamplingCapability, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

use super::asking::Askers;
use super::sampling::{Sampler, sample};

/// Receives requests and notifications of the server.
pub(super) struct ServerListener {
    pub(super) is_stale: Arc<AtomicBool>,
    pub(super) askers: Arc<Askers>,
    /// The project, as a `file:` address.
    pub(super) root: String,
    pub(super) sampler: Sampler,
}

impl ServerListener {
    pub(super) fn roots(&self) -> ListRootsResult {
        ListRootsResult::new(vec![Root::new(self.root.clone()).with_name("project")])
    }
}

impl ClientHandler for ServerListener {
    fn get_info(&self) -> ClientConfig {
        let rawko = Implementation::new("rawko", env!("CARGO_PKG_VERSION"));
        let (forms, pages) = (FormElicitationCapability::new(), UrlElicitationCapability::new());
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.extensions = Some([tasks].into_iter().collect());
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(forms).with_url(pages));
        capabilities.sampling = self.sampler.as_ref().map(|_| SamplingCapability::default());
        ClientConfig::new(capabilities, rawko)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.askers.ask(request).await)
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        sample(&self.sampler, self.askers.sampled().as_deref(), request).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Release);
    }
}
