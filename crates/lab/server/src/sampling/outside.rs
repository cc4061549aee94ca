//! The noise during a load on a server that Prony did not start.

use std::io;
use std::net::SocketAddr;

use prony_kernel::{ThrottleMeter, allowed_cpus};
use prony_model::{CpuAssignment, Outside, OutsideServer};

use super::noise::NoiseMeter;
use super::process_tree::{ProcessTree, Unmeasured};
use super::scheduling::ThreadFigures;

/// Measures the noise during a load on a server that somebody else started.
///
/// If the server runs on this machine, Prony finds its processes by their listening socket, and does not count their
/// CPU time as noise.
#[derive(Debug)]
pub struct OutsideMeter {
    server: Result<Processes, OutsideServer>,
    quota: ThrottleMeter,
    noise: NoiseMeter,
}

/// The processes of a server, and their usage at one instant.
#[derive(Debug)]
struct Processes {
    pids: Vec<i32>,
    cpu_s: f64,
    figures: Option<ThreadFigures>,
}

impl Processes {
    /// `None` if they have ended.
    fn now(tree: &ProcessTree) -> Option<Processes> {
        let pids = tree.pids().ok().filter(|pids| !pids.is_empty())?;
        Some(Processes {
            cpu_s: tree.cpu(&pids).ok()?.total_s(),
            figures: ThreadFigures::of(&pids),
            pids,
        })
    }

    /// Where they are, and what CPU time they have used since they began, as far as that is known.
    fn after_load(self) -> (OutsideServer, f64) {
        let after = Processes::now(&ProcessTree::of(self.pids));
        // If the server has ended or was restarted, its usage is unknown.
        let Some(after) = after.filter(|after| after.cpu_s >= self.cpu_s) else {
            return (OutsideServer::Unseen, self.cpu_s);
        };
        let used_s = after.cpu_s - self.cpu_s;
        let figures = after.figures.zip(self.figures);
        let scheduling = figures.and_then(|(after, before)| after.since(&before, used_s));
        (OutsideServer::Seen(scheduling), after.cpu_s)
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
        let tree = match address.map(ProcessTree::at) {
            Some(Ok(tree)) => Ok(tree),
            Some(Err(Unmeasured::Elsewhere)) => Err(OutsideServer::Elsewhere),
            Some(Err(_)) | None => Err(OutsideServer::Unseen),
        };
        let server = tree.as_ref().map_or(Vec::new(), ProcessTree::cpus);
        let processes = tree.and_then(|tree| Processes::now(&tree).ok_or(OutsideServer::Unseen));
        let (pids, cpu_s) = match &processes {
            Ok(seen) => (&seen.pids[..], seen.cpu_s),
            Err(_) => (&[][..], 0.0),
        };
        Ok(OutsideMeter {
            quota: ThrottleMeter::of(pids),
            noise: NoiseMeter::start(CpuAssignment { server, load }, cpu_s)?,
            server: processes,
        })
    }

    /// The noise since the start, and how its CPU quota stopped the server.
    pub fn finish(self) -> io::Result<Outside> {
        let throttled = self.quota.throttled();
        let (server, cpu_s) = match self.server {
            Ok(processes) => processes.after_load(),
            Err(unknown) => (unknown, 0.0),
        };
        Ok(Outside {
            noise: self.noise.finish(cpu_s)?,
            server,
            throttled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::process_tree::descendants;
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
            for pid in descendants(&[self.pid()]).unwrap_or_default() {
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
        assert_eq!(ProcessTree::at(elsewhere), Err(Unmeasured::Elsewhere));
        let meter = OutsideMeter::start(Some(elsewhere), &[]).unwrap();
        assert_eq!(meter.finish().unwrap().server, OutsideServer::Elsewhere);
        let nobody = "127.0.0.1:0".parse().unwrap();
        assert_eq!(ProcessTree::at(nobody), Err(Unmeasured::Hidden));
        assert!(ProcessTree::of_process(i32::MAX).is_none());
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
        let tree = ProcessTree::of(vec![busy.pid()]);
        let processes = until("both to have used CPU time", || {
            let processes = Processes::now(&tree)?;
            (processes.pids.len() == 2 && processes.cpu_s > 0.02).then_some(processes)
        });
        assert!(processes.figures.is_some());
        assert_eq!(tree.cpus(), allowed_cpus().unwrap());
        assert!(Processes::now(&ProcessTree::of(Vec::new())).is_none());
    }

    #[test]
    fn a_local_server_is_watched_until_it_ends() {
        let busy = Busy::start();
        let server = ProcessTree::of_process(busy.pid()).unwrap();
        let before = server.cpu_s().unwrap();
        let later = until("further CPU time", || {
            let later = server.usage().unwrap();
            let cpu_s = later.cpu_user_s + later.cpu_system_s;
            (cpu_s > before && later.processes == 2).then_some(later)
        });
        assert!(later.resident_bytes > 0);
        drop(busy);
        assert!(server.usage().is_err());
    }
}
