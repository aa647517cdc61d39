//! The loopback interface of a new network namespace, and the port on it where rawko's proxy listens.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

const RTM_NEWLINK: u16 = 16;
const REQUEST_WITH_ANSWER: u16 = 1 | 4;
/// Index of the loopback interface in every network namespace.
const LOOPBACK: u32 = 1;
const IFF_UP: u32 = 1;

/// Switches the loopback interface on.
pub(super) fn loopback() -> io::Result<()> {
    // Without a protocol: NETLINK_ROUTE is zero.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Sequence and port of the message, then family and type of the interface.
    message.extend([1_u32, 0, 0].iter().flat_map(|word| word.to_ne_bytes()));
    message.extend([LOOPBACK, IFF_UP, IFF_UP].iter().flat_map(|word| word.to_ne_bytes()));
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 64];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let code = answer.get(16..20).filter(|_| length >= 20).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

pub(super) fn listener() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}
