//! A server that already runs, found where it listens.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::manifest::ServerUrl;
use crate::sampling::{ProcessTree, Unmeasured};

/// Programs that pass connections on to a server: what they use is not what the server uses.
const FORWARDERS: [&str; 9] = [
    "docker-proxy",
    "rootlessport",
    "conmon",
    "slirp4netns",
    "passt",
    "pasta",
    "kubectl",
    "ssh",
    "sshd",
];

/// A server that already runs. Prony neither starts nor stops it.
#[derive(Clone, Debug)]
pub struct ListeningServer {
    address: SocketAddr,
    processes: Result<ProcessTree, Unmeasured>,
}

#[derive(Debug, thiserror::Error)]
pub enum NotListening {
    #[error("the host `{host}` cannot be resolved: {source}; is it spelled correctly?")]
    Unresolved { host: String, source: io::Error },
    #[error(
        "nothing listens on {authority}; start the server, or give `run` instead of `url` so that Prony starts it"
    )]
    Refused { authority: String },
    #[error("cannot connect to {authority}: {source}")]
    Unreachable {
        authority: String,
        source: io::Error,
    },
}

impl ListeningServer {
    /// The server at `url`, at the first of its addresses that accepts a connection within `timeout`.
    pub fn find(url: &ServerUrl, timeout: Duration) -> Result<Self, NotListening> {
        let unresolved = |source| NotListening::Unresolved {
            host: url.host().to_owned(),
            source,
        };
        let addresses = (url.host(), url.port()).to_socket_addrs();
        let mut failure = unresolved(io::Error::other("it has no address"));
        for address in addresses.map_err(unresolved)? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(_) => return Ok(Self::at(address)),
                Err(source) => failure = not_connected(url, source),
            }
        }
        Err(failure)
    }

    fn at(address: SocketAddr) -> Self {
        let processes = ProcessTree::at(address);
        let processes = processes.and_then(|tree| match tree.roots().iter().find_map(forwarder) {
            Some(program) => Err(Unmeasured::Forwarded(program)),
            None => Ok(tree),
        });
        Self { address, processes }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its processes, to sample.
    pub fn tree(&self) -> Result<&ProcessTree, &Unmeasured> {
        self.processes.as_ref()
    }

    /// Whether all its processes have ended, as far as they are visible.
    pub fn has_ended(&self) -> bool {
        let tree = self.processes.as_ref().ok();
        tree.is_some_and(|tree| tree.pids().is_ok_and(|pids| pids.is_empty()))
    }

    /// The CPUs on which it may run; none if that is unknown.
    pub fn cpus(&self) -> Vec<usize> {
        self.processes
            .as_ref()
            .map_or_else(|_| Vec::new(), ProcessTree::cpus)
    }
}

fn not_connected(url: &ServerUrl, source: io::Error) -> NotListening {
    let authority = format!("{}:{}", bracketed(url.host()), url.port());
    match source.kind() {
        ErrorKind::ConnectionRefused => NotListening::Refused { authority },
        _ => NotListening::Unreachable { authority, source },
    }
}

/// A host as it is written before a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

/// The name of the program, if it only passes connections on.
fn forwarder(pid: &i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name = name.trim_end();
    is_forwarder(name).then(|| name.to_owned())
}

/// Whether a program of this name passes connections on. passt runs itself again as `pasta.avx2` on CPUs that have it.
fn is_forwarder(name: &str) -> bool {
    let (name, _) = name.split_once('.').unwrap_or((name, ""));
    FORWARDERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    #[test]
    fn an_address_of_another_machine_is_elsewhere() {
        // This address is reserved for documentation (RFC 5737), so no machine has it.
        let server = ListeningServer::at("192.0.2.1:80".parse().unwrap());
        assert_eq!(server.tree(), Err(&Unmeasured::Elsewhere));
        assert!(server.cpus().is_empty() && !server.has_ended());
    }

    #[test]
    fn forwarders_are_known_by_their_names() {
        let all = ["docker-proxy", "pasta", "pasta.avx2", "passt.avx2"];
        assert!(all.into_iter().all(is_forwarder));
        assert!(!["node", "pastad", ".pasta"].into_iter().any(is_forwarder));
    }

    #[test]
    fn this_process_is_not_the_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = ListeningServer::find(&url.parse().unwrap(), Duration::from_secs(5)).unwrap();
        assert_eq!(server.address(), listener.local_addr().unwrap());
        assert_eq!(server.tree(), Err(&Unmeasured::Hidden));
        // Neither is a child that still holds the socket.
        let mut child = Command::new("cat");
        let inherited = listener.try_clone().unwrap();
        let mut child = child
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(inherited))
            .spawn()
            .unwrap();
        let held = ProcessTree::at(server.address());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(held, Err(Unmeasured::Hidden));
    }

    #[test]
    fn a_port_without_a_listener_is_refused_with_what_to_do() {
        let (_bound, address) = prony_testkit::connections::refusing();
        let url: ServerUrl = format!("http://{address}").parse().unwrap();
        let error = ListeningServer::find(&url, Duration::from_secs(5)).unwrap_err();
        let expected = format!("nothing listens on {}; start the server", url.authority());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
