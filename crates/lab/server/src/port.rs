//! Free ports, and who listens on a port.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

use procfs_core::net::{TcpNetEntries, TcpState};
use procfs_core::{ExplicitSystemInfo, FromReadSI};

use crate::sampling::process;

/// A port of `host` that the kernel reports as free. Another program may take it before a server does.
pub fn free_port(host: IpAddr) -> io::Result<u16> {
    Ok(TcpListener::bind((host, 0))?.local_addr()?.port())
}

pub fn says_address_in_use(output: &str) -> bool {
    const WORDS: [&str; 4] = [
        "address already in use",
        "address in use",
        "addressinuse",
        "eaddrinuse",
    ];
    let output = output.to_lowercase();
    let port_in_use = |line: &str| match (line.find("port "), line.find("in use")) {
        (Some(port), Some(in_use)) => port < in_use,
        _ => false,
    };
    WORDS.iter().any(|words| output.contains(words)) || output.lines().any(port_in_use)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    Ours,
    /// A process outside the tree, perhaps in addition to one of the tree.
    Foreign,
    Unknown,
}

/// Who listens on a TCP port: the processes `pids` or others.
pub(crate) fn listener_of(port: u16, pids: &[i32]) -> Listener {
    let listening = inodes(|address| address.port() == port);
    if listening.is_empty() {
        return Listener::Unknown;
    }
    let mut ours = HashSet::new();
    for pid in pids {
        match socket_inodes(*pid) {
            Ok(inodes) => ours.extend(inodes),
            // A process that has just ended holds no port.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Listener::Unknown,
        }
    }
    if listening.is_subset(&ours) {
        Listener::Ours
    } else {
        Listener::Foreign
    }
}

/// The processes that hold all sockets that accept connections to `address`; `None` if there is no such socket, or if a
/// process that Prony cannot look into holds one.
pub(crate) fn holders_at(address: SocketAddr) -> Option<Vec<i32>> {
    let sockets = inodes(|listens| {
        let ip = listens.ip().to_canonical();
        let is_any = ip.is_unspecified() && (listens.is_ipv6() || address.is_ipv4());
        listens.port() == address.port() && (is_any || ip == address.ip().to_canonical())
    });
    let (mut holders, mut found) = (Vec::new(), HashSet::new());
    for pid in process::ids().ok()? {
        // Descriptors of other users' processes are not readable.
        let held = socket_inodes(pid).unwrap_or_default().into_iter();
        let held: Vec<u64> = held.filter(|inode| sockets.contains(inode)).collect();
        if !held.is_empty() {
            holders.push(pid);
        }
        found.extend(held);
    }
    (!sockets.is_empty() && found == sockets).then_some(holders)
}

/// The addresses on which the processes `pids` listen, each once, sorted.
pub(crate) fn addresses_of(pids: &[i32]) -> Vec<SocketAddr> {
    let inodes = pids.iter().filter_map(|&pid| socket_inodes(pid).ok());
    let ours: HashSet<u64> = inodes.flatten().collect();
    let mut addresses: Vec<SocketAddr> = listening()
        .into_iter()
        .filter(|(_, inode)| ours.contains(inode))
        .map(|(address, _)| address)
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The inodes of the sockets that listen on such an address.
fn inodes(is_it: impl Fn(&SocketAddr) -> bool) -> HashSet<u64> {
    let sockets = listening().into_iter();
    let sockets = sockets.filter(|(address, _)| is_it(address));
    sockets.map(|(_, inode)| inode).collect()
}

/// Every TCP socket that listens, with its inode.
fn listening() -> Vec<(SocketAddr, u64)> {
    // Only the byte order matters here.
    let system = ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: 0,
        page_size: 0,
        is_little_endian: cfg!(target_endian = "little"),
    };
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .into_iter()
        .filter_map(|table| TcpNetEntries::from_file(table, &system).ok())
        .flat_map(|table| table.0)
        .filter(|socket| socket.state == TcpState::Listen)
        .map(|socket| (socket.local_address, socket.inode))
        .collect()
}

fn socket_inodes(pid: i32) -> io::Result<Vec<u64>> {
    let mut inodes = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A descriptor may be closed while the folder is read.
        let Ok(target) = entry.and_then(|entry| fs::read_link(entry.path())) else {
            continue;
        };
        let target = target.to_string_lossy();
        let inode = target
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    Ok(inodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_a_taken_port_are_recognised() {
        for words in [
            "listen tcp 127.0.0.1:80: bind: address already in use",
            "Error: Os { code: 98, kind: AddrInUse, message: \"Address in use\" }",
            "OSError: [Errno 98] Address already in use",
            "Failed to start server. Is port 3000 in use?",
            "syscall: \"listen\", code: \"EADDRINUSE\"",
            "error: AddressInUse",
        ] {
            assert!(says_address_in_use(words), "{words}");
        }
        assert!(!says_address_in_use("in use: 3 files\nport 80 opened"));
    }

    #[test]
    fn a_port_of_this_process_is_its_own_and_foreign_to_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(listener_of(port, &[me]), Listener::Ours);
        assert_eq!(listener_of(port, &[]), Listener::Foreign);
        assert_eq!(listener_of(0, &[me]), Listener::Unknown);
    }

    #[test]
    fn the_addresses_of_this_process_are_found() {
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(TcpListener::bind);
        let me = i32::try_from(std::process::id()).unwrap();
        let addresses = addresses_of(&[me]);
        // Without IPv6 there is no second one.
        for listener in listeners.into_iter().flatten() {
            let address = listener.local_addr().unwrap();
            assert!(addresses.contains(&address), "{address} in {addresses:?}");
        }
        assert_eq!(addresses_of(&[]), []);
    }

    #[test]
    fn free_ports_can_be_bound() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let port = free_port(host).unwrap();
        assert_ne!(port, 0);
    }
}
