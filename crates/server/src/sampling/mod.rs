//! What a server costs and what else the machine does, sampled from `/proc` and `/sys` while a load is on it.

mod hardware;
mod noise;
mod outside;
pub mod process;
pub mod process_tree;
mod scheduling;

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_kernel::TreeCounters;
use prony_model::{CpuAssignment, MachineNoise, ServerCost};

use hardware::{CPU_FOLDER, EnergyMeter, Frequencies, POWERCAP_FOLDER};
use noise::NoiseMeter;
use process::CpuTime;
use process_tree::peak_memory_of;
use scheduling::ThreadFigures;

pub use outside::OutsideMeter;
pub use process_tree::{ProcessTree, TreeUsage};

/// Measures what a server costs and what else happens, with a thread that samples until it gets the word to finish.
#[derive(Debug)]
pub struct Sampler {
    tree: ProcessTree,
    server_cpus: usize,
    memory_before_bytes: u64,
    figures: Option<ThreadFigures>,
    counters: Option<TreeCounters>,
    cpu: CpuTime,
    noise: NoiseMeter,
    finish: Sender<()>,
    thread: JoinHandle<Samples>,
}

/// What was measured from the start of a [`Sampler`] to its end.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// What the load cost the server.
    pub server: ServerCost,
    /// What else happened on the machine.
    pub noise: MachineNoise,
}

/// What all samples together say.
#[derive(Debug)]
struct Samples {
    processes: usize,
    /// Of the single process, or else of all samples the highest.
    memory_bytes: u64,
    frequencies: Frequencies,
    energy: Option<EnergyMeter>,
}

impl Sampler {
    /// How often is sampled. A sample reads all of `/proc` (about a millisecond) on a CPU of the
    /// load, so it is seldom; of a single process the kernel keeps the peak between samples.
    pub const INTERVAL: Duration = Duration::from_millis(500);

    /// Begins to sample a server's tree; everything counts from here. `cpus` are those that the server and its load keep
    /// to. The load is made by this process, or by children of it that it has waited for when the sampler finishes.
    ///
    /// # Errors
    /// If the tree has ended, or no thread can be started.
    pub fn start(
        tree: ProcessTree,
        cpus: &CpuAssignment,
        interval: Duration,
    ) -> io::Result<Sampler> {
        let pids = tree.pids()?;
        let mut samples = Samples::none(cpus);
        samples.take(&pids);
        let memory_before_bytes = samples.memory_bytes;
        let figures = ThreadFigures::of(&pids);
        let counters = TreeCounters::open(|| tree.threads());
        let (finish, finished) = channel();
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(tree, samples, interval, &finished))?;
        // Last, so that what was done here is not in them.
        let cpu = tree.cpu(&pids)?;
        Ok(Sampler {
            tree,
            server_cpus: cpus.server.len(),
            memory_before_bytes,
            figures,
            counters,
            cpu,
            noise: NoiseMeter::start(cpus.clone(), cpu.total_s())?,
            finish,
            thread,
        })
    }

    /// Ends sampling: what the server used since the start, and what else happened. The server was loaded for
    /// `loaded_s` seconds.
    ///
    /// # Errors
    /// If the tree has ended meanwhile, so that its CPU time cannot be read any more.
    pub fn finish(self, loaded_s: f64) -> io::Result<Sampled> {
        let pids = self.tree.pids()?;
        let cpu = self.tree.cpu(&pids)?;
        let noise = self.noise.finish(cpu.total_s())?;
        let counted = self.counters.as_ref().and_then(TreeCounters::read);
        let figures = ThreadFigures::of(&pids);
        // A thread that is gone needs no message.
        let _ = self.finish.send(());
        let samples = self
            .thread
            .join()
            .map_err(|_| io::Error::other("the sampler failed"))?;
        if pids.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the server has ended",
            ));
        }
        let cpu_user_s = (cpu.user_s - self.cpu.user_s).max(0.0);
        let cpu_system_s = (cpu.system_s - self.cpu.system_s).max(0.0);
        let available_s = loaded_s * self.server_cpus as f64;
        Ok(Sampled {
            server: ServerCost {
                cpu_user_s,
                cpu_system_s,
                busy_share: if available_s > 0.0 {
                    (cpu_user_s + cpu_system_s) / available_s
                } else {
                    0.0
                },
                peak_memory_bytes: samples.memory_bytes,
                processes: u32::try_from(samples.processes).unwrap_or(u32::MAX),
                memory_before_bytes: Some(self.memory_before_bytes),
                cycles: counted.map(|values| values.cycles),
                instructions: counted.map(|values| values.instructions),
                scheduling: figures
                    .zip(self.figures)
                    .and_then(|(after, before)| after.since(&before, cpu_user_s + cpu_system_s)),
            },
            noise: MachineNoise {
                frequency_mhz: samples.frequencies.range_mhz(),
                energy_j: samples.energy.map(|energy| energy.used_j()),
                ..noise
            },
        })
    }
}

/// Samples at every interval, and once more at the end.
fn sample(
    tree: ProcessTree,
    mut samples: Samples,
    interval: Duration,
    finished: &Receiver<()>,
) -> Samples {
    loop {
        let told = finished.recv_timeout(interval);
        samples.take(&tree.pids().unwrap_or_default());
        match told {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return samples,
        }
    }
}

impl Samples {
    fn none(cpus: &CpuAssignment) -> Samples {
        let both = [&cpus.server[..], &cpus.load[..]].concat();
        Samples {
            processes: 0,
            memory_bytes: 0,
            frequencies: Frequencies::of(Path::new(CPU_FOLDER), &both),
            energy: EnergyMeter::start(Path::new(POWERCAP_FOLDER)),
        }
    }

    fn take(&mut self, pids: &[i32]) {
        let memory = peak_memory_of(pids);
        self.processes = self.processes.max(pids.len());
        self.memory_bytes = self.memory_bytes.max(memory);
        self.frequencies.look();
        if let Some(energy) = &mut self.energy {
            energy.look();
        }
    }
}
