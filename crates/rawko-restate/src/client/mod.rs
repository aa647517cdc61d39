//! The HTTP client of a Restate server: the ingress, which calls services, and the admin API, which registers them and
//! queries state. Separate from the payloads, which `layout` defines.

pub(crate) mod admin;
mod error;
mod http;
mod ingress;
mod target;

pub use admin::{Admin, Deployment, Force, RegisteredDeployment, Resumed, ServiceRevision};
pub use error::RestateError;
pub use ingress::{Ingress, SentCall};
pub use target::HandlerTarget;

/// Default URL of a server's ingress.
pub const INGRESS_URL: &str = "http://127.0.0.1:8080";
/// Default URL of a server's admin API.
pub const ADMIN_URL: &str = "http://127.0.0.1:9070";

/// Both APIs of a server, or of a cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Restate {
    ingress: Ingress,
    admin: Admin,
}

impl Restate {
    /// Validates the addresses without connecting. The nodes of a cluster are comma-separated; unreachable nodes are
    /// skipped.
    pub fn new(ingress: &str, admin: &str) -> Result<Restate, RestateError> {
        Ok(Restate { ingress: Ingress::new(ingress)?, admin: Admin::new(admin)? })
    }

    /// Returns the client that calls handlers.
    pub fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    /// Returns the client that registers workers and queries state.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }
}
