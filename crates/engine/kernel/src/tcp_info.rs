//! What the kernel knows about a TCP connection.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;

/// What has passed through a TCP connection so far. Figures that this kernel does not have are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Bytes that arrived in order.
    pub bytes_received: Option<u64>,
    /// Segments with data that arrived.
    pub data_segments_in: Option<u32>,
}

/// The beginning of the kernel's `struct tcp_info`, which only grows at its end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Kernels {
    state: u8,
    options: [u8; 7],
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    counts: [u32; 5],
    times: [u32; 4],
    path: [u32; 8],
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
}

/// The figures of a connected TCP socket.
///
/// # Errors
/// If it is no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut kernels = Kernels::default();
    let mut length = size_of::<Kernels>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a structure of numbers that is as long, and the length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut kernels).cast(),
            &raw mut length,
        )
    };
    Errno::result(result)?;
    Ok(kernels.first(length as usize))
}

/// A field of which the kernel has written every byte.
macro_rules! known {
    ($kernels:ident, $length:ident, $field:ident) => {{
        let end = std::mem::offset_of!(Kernels, $field) + size_of_val(&$kernels.$field);
        (end <= $length).then_some($kernels.$field)
    }};
}

impl Kernels {
    /// The peer has sent a FIN and nothing has reset the connection. The kernel counts the FIN as a byte received.
    fn has_fin(&self) -> bool {
        const CLOSE_WAIT: u8 = 8;
        const LAST_ACK: u8 = 9;
        const CLOSING: u8 = 11;
        matches!(self.state, CLOSE_WAIT | LAST_ACK | CLOSING)
    }

    /// The figures in the first `length` bytes.
    fn first(self, length: usize) -> TcpInfo {
        TcpInfo {
            bytes_received: known!(self, length, bytes_received)
                .map(|bytes| bytes.saturating_sub(u64::from(self.has_fin()))),
            data_segments_in: known!(self, length, data_segs_in),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn bytes_and_segments_of_a_connection_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_nodelay(true).unwrap();
        let received = |socket: &TcpStream| {
            let info = tcp_info(socket).unwrap();
            (info.bytes_received, info.data_segments_in)
        };
        assert_eq!(received(&client), (Some(0), Some(0)));
        let mut read = [0; 500];
        for _ in 0..3 {
            server.write_all(&[7; 500]).unwrap();
            client.read_exact(&mut read).unwrap();
        }
        assert_eq!(received(&client), (Some(1500), Some(3)));
        drop(server);
        assert_eq!(client.read(&mut read).unwrap(), 0);
        assert_eq!(received(&client).0, Some(1500), "a FIN is no byte");
    }

    #[test]
    fn an_older_kernel_has_fewer_figures() {
        let kernels = Kernels {
            bytes_received: 9,
            ..Kernels::default()
        };
        assert_eq!(kernels.first(104), TcpInfo::default());
        let later = kernels.first(136);
        let figures = (later.bytes_received, later.data_segments_in);
        assert_eq!(figures, (Some(9), None));
        assert_eq!(kernels.first(135).bytes_received, None);
        assert_eq!(kernels.first(0), TcpInfo::default());
    }

    #[test]
    fn another_socket_has_none() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(tcp_info(&socket).is_err());
    }
}
