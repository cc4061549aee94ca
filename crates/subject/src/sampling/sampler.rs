//! Samples a server's process tree while a load is on it.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_record::ServerCost;

use super::process_tree::{ProcessTree, TreeUsage, memory_of};
use super::stat::peak_resident_bytes;

/// A thread that samples a process tree until it is told to finish.
#[derive(Debug)]
pub struct Sampler {
    tree: ProcessTree,
    start: TreeUsage,
    finish: Sender<()>,
    thread: JoinHandle<Peaks>,
}

/// The most of everything over all samples.
#[derive(Clone, Copy, Debug, Default)]
struct Peaks {
    processes: usize,
    /// Of the single process, or else of all samples the highest.
    memory_bytes: u64,
}

impl Sampler {
    /// How often is sampled. A sample reads all of `/proc` (about a millisecond) on a CPU of the
    /// load, so it is seldom; of a single process the kernel keeps the peak between samples.
    pub const INTERVAL: Duration = Duration::from_millis(500);

    /// Begins to sample; CPU time counts from here.
    ///
    /// # Errors
    /// Where the tree has ended, or no thread can be started.
    pub fn start(tree: ProcessTree, interval: Duration) -> io::Result<Sampler> {
        let (finish, finished) = channel();
        let start = tree.usage()?;
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(tree, interval, &finished))?;
        Ok(Sampler {
            tree,
            start,
            finish,
            thread,
        })
    }

    /// Ends sampling: what the server used since the start.
    ///
    /// `available_cpu_s` is the CPU time that it could have used meanwhile: the seconds that it was
    /// loaded, times its CPUs.
    ///
    /// # Errors
    /// Where the tree has ended meanwhile, so that its CPU time cannot be read any more.
    pub fn finish(self, available_cpu_s: f64) -> io::Result<ServerCost> {
        let end = self.tree.usage();
        // A thread that is gone has nothing to be told.
        let _ = self.finish.send(());
        let peaks = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the sampler failed"))?;
        let end = end?;
        if end.processes == 0 {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the server has ended",
            ));
        }
        let cpu_user_s = (end.cpu_user_s - self.start.cpu_user_s).max(0.0);
        let cpu_system_s = (end.cpu_system_s - self.start.cpu_system_s).max(0.0);
        Ok(ServerCost {
            cpu_user_s,
            cpu_system_s,
            busy_share: if available_cpu_s > 0.0 {
                (cpu_user_s + cpu_system_s) / available_cpu_s
            } else {
                0.0
            },
            peak_memory_bytes: peaks.memory_bytes,
            processes: u32::try_from(peaks.processes).unwrap_or(u32::MAX),
        })
    }
}

/// Samples at once, then at every interval, and once more at the end.
fn sample(tree: ProcessTree, interval: Duration, finished: &Receiver<()>) -> Peaks {
    let mut peaks = Peaks::default();
    loop {
        peaks.take(&tree.pids().unwrap_or_default());
        match finished.recv_timeout(interval) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                peaks.take(&tree.pids().unwrap_or_default());
                return peaks;
            }
        }
    }
}

impl Peaks {
    fn take(&mut self, pids: &[i32]) {
        let memory = match pids {
            // The kernel keeps the peak of a process, between samples too.
            [only] => peak_resident_bytes(*only).unwrap_or(0),
            several => memory_of(several),
        };
        self.processes = self.processes.max(pids.len());
        self.memory_bytes = self.memory_bytes.max(memory);
    }
}
