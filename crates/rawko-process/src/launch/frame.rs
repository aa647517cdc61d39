//! Frames on the socket between launcher and helper: a length, a text, and file descriptors. Separate, because both sides
//! use it, and descriptors cannot be passed in any other way without `unsafe`.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Other systems have no such flags, and no helper that would get the frame.
#[cfg(target_os = "linux")]
const SEND: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const SEND: SendFlags = SendFlags::empty();
#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::empty();

/// Standard input, output and error of the program.
const DESCRIPTORS_MAX: usize = 3;
/// More is a mistake: a spec is a few kilobytes, and its environment at most some hundred.
const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) fn send(mut socket: &UnixStream, text: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let length = u32::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(&length)], &mut control, SEND))?;
    socket.write_all(&length[sent..])?;
    socket.write_all(text)
}

pub(crate) fn receive(mut socket: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut length)], &mut control, RECEIVE))?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let descriptors = control
        .drain()
        .flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
            _ => Vec::new(),
        })
        .collect();
    socket.read_exact(&mut length[received.bytes..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok((text, descriptors))
}
