//! The noise during a load on a server that Prony did not start.

use std::fs;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use prony_kernel::{ThrottleMeter, allowed_cpus, parse_cpu_list};
use prony_model::{CpuAssignment, Outside, OutsideServer};

use super::noise::NoiseMeter;
use super::process::{CpuTime, Stat, value_of_line};
use super::process_tree::{descendants, memory_of};
use super::scheduling::ThreadFigures;
use crate::port::listeners_on;

/// Measures the noise during a load on a server that somebody else started.
///
/// If the server runs on this machine, Prony finds its processes by their listening socket, and does not count their
/// CPU time as noise.
#[derive(Debug)]
pub struct OutsideMeter {
    server: Server,
    quota: ThrottleMeter,
    noise: NoiseMeter,
}

/// Where the server is, with its processes if Prony can see them.
#[derive(Debug)]
enum Server {
    Elsewhere,
    Unseen,
    Seen(Processes),
}

/// The processes of a server, and their usage at one instant.
#[derive(Debug)]
struct Processes {
    pids: Vec<i32>,
    /// The CPUs on which they may run.
    cpus: Vec<usize>,
    cpu_s: f64,
    figures: Option<ThreadFigures>,
}

impl Processes {
    /// `None` if they have ended.
    fn now(pids: Vec<i32>) -> Option<Processes> {
        let mut cpus: Vec<usize> = pids
            .iter()
            .filter_map(|&pid| cpus_of(pid))
            .flatten()
            .collect();
        cpus.sort_unstable();
        cpus.dedup();
        (!cpus.is_empty()).then(|| Processes {
            cpus,
            cpu_s: cpu_s(&pids),
            figures: ThreadFigures::of(&pids),
            pids,
        })
    }
}

impl OutsideMeter {
    /// Starts measuring, just before this process loads the server at `address` (`None` for a Unix socket). `load_cpus`
    /// are the CPUs of the load; if empty, all that this process may use.
    pub fn start(address: Option<SocketAddr>, load_cpus: &[usize]) -> io::Result<OutsideMeter> {
        let load = match load_cpus {
            [] => allowed_cpus()?,
            some => some.to_vec(),
        };
        let server = address.map_or(Server::Unseen, find);
        let seen = match &server {
            Server::Seen(processes) => Some(processes),
            Server::Elsewhere | Server::Unseen => None,
        };
        let quota = ThrottleMeter::of(seen.map_or(&[][..], |it| &it.pids[..]));
        let cpus = CpuAssignment {
            server: seen.map_or_else(Vec::new, |it| it.cpus.clone()),
            load,
        };
        let noise = NoiseMeter::start(cpus, seen.map_or(0.0, |it| it.cpu_s))?;
        Ok(OutsideMeter {
            server,
            quota,
            noise,
        })
    }

    /// The noise since the start, and how its CPU quota stopped the server.
    pub fn finish(self) -> io::Result<Outside> {
        let throttled = self.quota.throttled();
        let (server, cpu_s) = self.server.after_load();
        Ok(Outside {
            noise: self.noise.finish(cpu_s)?,
            server,
            throttled,
        })
    }
}

impl Server {
    /// Where it was, and what CPU time it has used since it began, as far as that is known.
    fn after_load(self) -> (OutsideServer, f64) {
        let before = match self {
            Server::Seen(before) => before,
            Server::Elsewhere => return (OutsideServer::Elsewhere, 0.0),
            Server::Unseen => return (OutsideServer::Unseen, 0.0),
        };
        let after = Processes::now(with_descendants(before.pids));
        // If the server has ended or was restarted, its usage is unknown.
        let Some(after) = after.filter(|after| after.cpu_s >= before.cpu_s) else {
            return (OutsideServer::Unseen, before.cpu_s);
        };
        let used_s = after.cpu_s - before.cpu_s;
        let figures = after.figures.zip(before.figures);
        let scheduling = figures.and_then(|(after, before)| after.since(&before, used_s));
        (OutsideServer::Seen(scheduling), after.cpu_s)
    }
}

/// The processes of a server that runs on this machine, whether or not Prony started it.
#[derive(Debug)]
pub struct LocalServer {
    roots: Vec<i32>,
}

impl LocalServer {
    /// The server of this process id; `None` if there is no such process.
    pub fn of_process(pid: i32) -> Option<LocalServer> {
        let roots = vec![pid];
        Stat::read(pid).is_ok().then_some(LocalServer { roots })
    }

    /// The server that listens at an address of this machine; `None` if it is elsewhere, or if its processes are not
    /// visible.
    pub fn at(address: SocketAddr) -> Option<LocalServer> {
        if !is_here(address) {
            return None;
        }
        let roots = listeners_on(address.port());
        (!with_descendants(roots.clone()).is_empty()).then_some(LocalServer { roots })
    }

    /// Starts watching the CPU quotas of its processes.
    pub fn quota(&self) -> ThrottleMeter {
        ThrottleMeter::of(&with_descendants(self.roots.clone()))
    }

    /// What it uses now, with its descendants; `None` if it has ended. Reads all of `/proc`, which takes about a
    /// millisecond.
    pub fn usage(&self) -> Option<LocalUsage> {
        let pids = with_descendants(self.roots.clone());
        (!pids.is_empty()).then(|| LocalUsage {
            cpu_s: cpu_s(&pids),
            memory_bytes: memory_of(&pids),
            processes: u32::try_from(pids.len()).unwrap_or(u32::MAX),
        })
    }
}

/// What the processes of a server use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalUsage {
    /// CPU time since their start and that of their ended children, in seconds.
    pub cpu_s: f64,
    /// Their current memory in bytes: the resident set of a single process, or the sum of the proportional sets of
    /// several.
    pub memory_bytes: u64,
    /// Their number.
    pub processes: u32,
}

/// Only addresses of this machine can be bound.
fn is_here(address: SocketAddr) -> bool {
    UdpSocket::bind((address.ip(), 0)).is_ok()
}

fn find(address: SocketAddr) -> Server {
    if !is_here(address) {
        return Server::Elsewhere;
    }
    let listeners = listeners_on(address.port());
    // A child that this process has just started holds its sockets until it executes its program.
    if listeners.contains(&own_pid()) {
        return Server::Unseen;
    }
    let processes = Processes::now(with_descendants(listeners));
    processes.map_or(Server::Unseen, Server::Seen)
}

/// These processes and all their descendants, each once, without those that have ended.
fn with_descendants(pids: Vec<i32>) -> Vec<i32> {
    let mut all = pids.clone();
    // Process 1 may hold the socket for the server (systemd), but every process is its descendant.
    for pid in pids.into_iter().filter(|&pid| pid != FIRST_PROCESS) {
        all.extend(descendants(pid).unwrap_or_default());
    }
    all.sort_unstable();
    all.dedup();
    // What this process uses is the load's, even if it is the server too.
    all.retain(|&pid| pid != own_pid() && Stat::read(pid).is_ok());
    all
}

const FIRST_PROCESS: i32 = 1;

/// The id of this process.
pub(crate) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// CPU time of processes and of their ended children, in seconds.
fn cpu_s(pids: &[i32]) -> f64 {
    // The time of a process that has just ended is in that of its parent's ended children.
    let cpu = pids
        .iter()
        .filter_map(|&pid| Stat::cpu_with_children(pid).ok());
    cpu.map(CpuTime::total_s).sum()
}

/// The CPUs on which a process may run.
pub(crate) fn cpus_of(pid: i32) -> Option<Vec<usize>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_cpu_list(&value_of_line(&status, "Cpus_allowed_list:")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use prony_testkit::until;
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    /// A process with a child; dropping it ends both.
    struct Busy(Child);

    impl Busy {
        fn start() -> Busy {
            let mut command = Command::new("sh");
            command.args(["-c", "sh -c 'while :; do :; done' & wait"]);
            command.stdin(Stdio::null());
            Busy(command.spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            for pid in descendants(self.pid()).unwrap_or_default() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_server_elsewhere_or_without_a_process_is_not_watched() {
        // This address is reserved for documentation (RFC 5737), so no machine has it.
        let elsewhere = "192.0.2.1:80".parse().unwrap();
        let server = find(elsewhere);
        assert!(matches!(server, Server::Elsewhere), "{server:?}");
        assert!(LocalServer::at(elsewhere).is_none());
        assert!(LocalServer::at("127.0.0.1:0".parse().unwrap()).is_none());
        assert!(LocalServer::of_process(i32::MAX).is_none());
    }

    #[test]
    fn a_port_without_a_listener_is_unseen() {
        // The port of a client, so that no other test gets it meanwhile.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        for address in [Some(client.local_addr().unwrap()), None] {
            let meter = OutsideMeter::start(address, &[]).unwrap();
            assert_eq!(meter.finish().unwrap().server, OutsideServer::Unseen);
        }
    }

    #[test]
    fn a_servers_usage_includes_its_children() {
        let busy = Busy::start();
        let pids = until("both to have used CPU time", || {
            let pids = with_descendants(vec![busy.pid()]);
            (pids.len() == 2 && cpu_s(&pids) > 0.02).then_some(pids)
        });
        let processes = Processes::now(pids).unwrap();
        assert!(processes.cpu_s > 0.02 && processes.figures.is_some());
        assert_eq!(processes.cpus, allowed_cpus().unwrap());
        assert!(Processes::now(Vec::new()).is_none());
    }

    #[test]
    fn a_local_server_is_watched_until_it_ends() {
        let busy = Busy::start();
        let server = LocalServer::of_process(busy.pid()).unwrap();
        let before = server.usage().unwrap();
        let later = until("further CPU time", || {
            let later = server.usage().unwrap();
            (later.cpu_s > before.cpu_s && later.processes == 2).then_some(later)
        });
        assert!(later.memory_bytes > 0);
        drop(busy);
        assert_eq!(server.usage(), None);
    }

    /// Waits a little: a child that another test starts has the sockets of this process until it executes its program.
    #[test]
    fn this_process_is_found_by_the_port_that_it_listens_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_listener = || (listeners_on(port) == [own_pid()]).then_some(());
        until("this process", is_listener);
        drop(listener);
        until("no listener", || {
            listeners_on(port).is_empty().then_some(())
        });
    }
}
