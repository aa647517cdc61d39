//! Programs that provide services: their protocol over WebSocket, and their connections. The queue of calls is the
//! host's (`rawko_host::RemoteServices`); this is its carrier.

mod connection;
mod protocol;

pub(crate) use connection::{ServiceConnections, serve};
pub(crate) use protocol::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX};
pub use protocol::{
    FromProcess, PROTOCOL as SERVICE_PROTOCOL, ServiceOffer, ToProcess, json_schema as service_json_schema,
};
