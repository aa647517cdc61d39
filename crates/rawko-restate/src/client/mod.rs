//! The HTTP client of a Restate server: its ingress, where services are called, and its admin side, where they are
//! registered and everything can be looked at. Apart from what is said over it, which `layout` knows.

pub(crate) mod admin;
mod error;
mod http;
mod ingress;
mod target;

pub use admin::{Admin, Deployment, Force, Registered, Resumed, ServiceRevision};
pub use error::ClientError;
pub use ingress::{Ingress, Sent};
pub use target::Target;

/// Where the ingress of a server listens unless it was told otherwise.
pub const INGRESS_URL: &str = "http://127.0.0.1:8080";
/// The same for its admin side.
pub const ADMIN_URL: &str = "http://127.0.0.1:9070";

/// Both sides of a server, or of a cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Restate {
    ingress: Ingress,
    admin: Admin,
}

impl Restate {
    /// Nothing is asked yet; an address that cannot be one is refused. The nodes of a cluster are written with commas between
    /// them: one that is away is passed over.
    pub fn new(ingress: &str, admin: &str) -> Result<Restate, ClientError> {
        Ok(Restate { ingress: Ingress::new(ingress)?, admin: Admin::new(admin)? })
    }

    pub fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    pub fn admin(&self) -> &Admin {
        &self.admin
    }
}
