//! Loopback ports that stay free while a server is down: below the range of outgoing connections.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// Returns a free port, which stays free while its server is down.
pub fn free_port() -> io::Result<u16> {
    Ok(free(1)?[0])
}

/// Returns `wanted` free ports. Starts over if one is taken, because another process may search at the same time.
pub(super) fn free(wanted: usize) -> io::Result<Vec<u16>> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(2_654_435_761) % COUNT;
    let mut found = Vec::new();
    for _ in 0..COUNT {
        if found.len() == wanted {
            return Ok(found);
        }
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + start.wrapping_add(offset) % COUNT).unwrap_or(u16::MAX);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            found.push(port);
        }
    }
    Err(io::Error::other("no port is free"))
}
