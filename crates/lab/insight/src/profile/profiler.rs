//! The thread that reads samples while the server runs.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use procfs_core::FromRead;
use procfs_core::process::Status;
use prony_kernel::perf::{Event, OpenError, SampleContent, SampledEvent, Sampler};
use prony_kernel::{monotonic_ns, pin_current_thread};
use prony_model::{Profile, Unavailable};

use crate::profile::assemble::{self, LIMITS, Totals};
use crate::profile::collector::{Collector, Counted};
use crate::profile::naming;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Samples for each second that a thread runs; off the CPU, about as many for each second of the profile.
    pub frequency_hz: u64,
    /// Also sample where threads wait. This costs more: the kernel writes a record of each context switch.
    pub off_cpu: bool,
    /// The CPUs for the profiler's own thread; empty for any.
    pub cpus: Vec<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            // Not a round number, so that it does not keep step with timers of the server.
            frequency_hz: 199,
            off_cpu: false,
            cpus: Vec::new(),
        }
    }
}

/// Profiles a process tree from its start until [`finish`](Profiler::finish).
#[derive(Debug)]
pub struct Profiler {
    stop: Arc<AtomicBool>,
    /// `None` once it was joined.
    thread: Option<JoinHandle<Recorded>>,
}

/// Where the time of a process tree went.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    pub on_cpu: Profile,
    /// The share of its stacks, from 0 to 1, that reach the first function of their thread.
    pub on_cpu_whole: f64,
    pub off_cpu: Option<Profile>,
    /// What the profiles do not show.
    pub unavailable: Vec<Unavailable>,
    /// The processes that were seen: pass them to [`forget`](crate::profile::forget) when they have ended.
    pub processes: BTreeSet<i32>,
}

/// What the thread hands over at its end.
struct Recorded {
    collector: Collector,
    options: Options,
    seconds: f64,
    off_cpu: bool,
    unavailable: Vec<Unavailable>,
    /// The processes whose threads were listed, whether or not they have samples.
    listed: BTreeSet<i32>,
}

/// How much of a stack the kernel copies: more than nearly every server's stack is deep.
const STACK_BYTES: u32 = 48 << 10;
/// Room for more than a second of samples on each CPU; users who may not lock as much get less.
const RING_BYTES: usize = 4 << 20;
/// How long a record may wait in the kernel.
const READ_EVERY: Duration = Duration::from_millis(100);
/// For how long context switches are counted to choose how many of them are sampled.
const RATE_WINDOW: Duration = Duration::from_millis(200);

impl Profiler {
    /// Starts to profile the threads that `list_threads` returns, and every thread and process that they start later.
    ///
    /// # Errors
    /// If the kernel does not permit it: what to do about that is in the error.
    pub fn start(
        options: Options,
        list_threads: impl Fn() -> io::Result<BTreeSet<i32>> + Send + 'static,
    ) -> Result<Profiler, Unavailable> {
        let stop = Arc::new(AtomicBool::new(false));
        let (opened, is_open) = channel();
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("profiler".into())
            .spawn(move || record(options, &list_threads, &stopped, &opened))
            .map_err(|error| unavailable(format!("no thread can be started: {error}"), None))?;
        let mut profiler = Profiler {
            stop,
            thread: Some(thread),
        };
        match is_open.recv() {
            Ok(Ok(())) => Ok(profiler),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(profiler.join().err().unwrap_or_else(panicked)),
        }
    }

    /// Ends the profile. The processes should still run: otherwise code that was compiled while they ran has no names.
    /// `units` is how many requests (or events) they served meanwhile.
    ///
    /// # Errors
    /// If the profiler failed.
    pub fn finish(mut self, units: f64) -> Result<Profiles, Unavailable> {
        self.stop.store(true, Ordering::Relaxed);
        let recorded = self.join()?;
        Ok(recorded.profiles(units))
    }

    fn join(&mut self) -> Result<Recorded, Unavailable> {
        let thread = self.thread.take().ok_or_else(panicked)?;
        thread.join().map_err(|_| panicked())
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.join();
    }
}

impl Recorded {
    fn profiles(self, units: f64) -> Profiles {
        let collector = &self.collector;
        let (named, hidden) = naming::name_all(
            collector.places.all(),
            &collector.modules,
            &collector.processes,
        );
        let frequency_hz = self.options.frequency_hz as f64;
        let on_cpu = Totals {
            frequency_hz,
            seconds: collector.on_cpu.samples as f64 / frequency_hz,
            units,
            lost: collector.lost(),
        };
        let assemble = |counted, totals| assemble::profile(counted, &named, totals, LIMITS);
        let off_cpu = self.off_cpu.then(|| {
            let mut profile = assemble(
                &collector.off_cpu,
                Totals {
                    frequency_hz: collector.off_cpu.samples as f64 / self.seconds,
                    ..on_cpu
                },
            );
            profile.seconds = profile.total();
            profile
        });
        let mut unavailable = self.unavailable;
        unavailable.extend(hidden);
        Profiles {
            on_cpu: assemble(&collector.on_cpu, on_cpu),
            on_cpu_whole: share_whole(&collector.on_cpu),
            off_cpu,
            unavailable,
            processes: collector.processes.pids().chain(self.listed).collect(),
        }
    }
}

fn share_whole(counted: &Counted) -> f64 {
    match counted.samples {
        0 => 0.0,
        samples => counted.whole as f64 / samples as f64,
    }
}

fn record(
    options: Options,
    list_threads: &dyn Fn() -> io::Result<BTreeSet<i32>>,
    stop: &AtomicBool,
    opened: &Sender<Result<(), Unavailable>>,
) -> Recorded {
    let mut recorded = Recorded {
        collector: Collector::default(),
        seconds: 0.0,
        off_cpu: false,
        unavailable: Vec::new(),
        listed: BTreeSet::new(),
        options,
    };
    if !recorded.options.cpus.is_empty() {
        // It only disturbs a little more if it runs elsewhere.
        let _ = pin_current_thread(&recorded.options.cpus);
    }
    let mut sampler = match recorded.open(list_threads) {
        Ok(sampler) => sampler,
        Err(error) => {
            let _ = opened.send(Err(not_permitted(&error)));
            return recorded;
        }
    };
    // The caller that started it may be gone, and has then set `stop`.
    let _ = opened.send(Ok(()));
    recorded.listed = processes(list_threads);
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        sampler.wait(READ_EVERY);
        recorded.read(&mut sampler);
    }
    sampler.stop();
    recorded.listed.extend(processes(list_threads));
    recorded.seconds = start.elapsed().as_secs_f64();
    let end_ns = monotonic_ns();
    recorded.read(&mut sampler);
    recorded.collector.end(end_ns);
    recorded
}

impl Recorded {
    fn open(
        &mut self,
        list_threads: &dyn Fn() -> io::Result<BTreeSet<i32>>,
    ) -> Result<Sampler, OpenError> {
        let on_cpu = on_cpu(self.options.frequency_hz);
        if self.options.off_cpu {
            let period = period(list_threads, self.options.frequency_hz);
            match Sampler::open(&[on_cpu, off_cpu(period)], list_threads, RING_BYTES) {
                Ok(sampler) if sampler.sees_kernel() => {
                    self.off_cpu = true;
                    self.collector.period = period;
                    return Ok(sampler);
                }
                Ok(_) | Err(OpenError::Forbidden { .. }) => self.unavailable.push(Unavailable {
                    what: "where threads wait".into(),
                    why: "the kernel does not let this user sample context switches".into(),
                    remedy: Some(PERMIT.into()),
                }),
                Err(error) => return Err(error),
            }
        }
        let sampler = Sampler::open(&[on_cpu], list_threads, RING_BYTES)?;
        if !sampler.sees_kernel() {
            self.unavailable.push(Unavailable {
                what: "CPU time in the kernel, in the profile".into(),
                why: "the kernel lets this user sample only user mode".into(),
                remedy: Some(PERMIT.into()),
            });
        }
        Ok(sampler)
    }

    /// Takes what the kernel has written.
    fn read(&mut self, sampler: &mut Sampler) {
        let collector = &mut self.collector;
        let result = sampler.read(&mut |record| collector.hold(record));
        if result.is_err() {
            // Some records could not be read.
            collector.lose(1);
        }
        collector.all_read();
    }
}

const PERMIT: &str = "sudo sysctl kernel.perf_event_paranoid=1";

fn on_cpu(frequency_hz: u64) -> SampledEvent {
    SampledEvent {
        event: Event::CpuClock { frequency_hz },
        content: SampleContent {
            call_chain: true,
            user_registers: true,
            user_stack_bytes: STACK_BYTES,
        },
        switches: false,
        mappings: true,
    }
}

fn off_cpu(period: u64) -> SampledEvent {
    SampledEvent {
        event: Event::ContextSwitches { period },
        switches: true,
        mappings: false,
        ..on_cpu(0)
    }
}

fn processes(list_threads: &dyn Fn() -> io::Result<BTreeSet<i32>>) -> BTreeSet<i32> {
    let threads = list_threads().unwrap_or_default().into_iter();
    threads.filter_map(process_of).collect()
}

fn process_of(thread: i32) -> Option<i32> {
    Some(status(thread)?.tgid)
}

fn status(thread: i32) -> Option<Status> {
    Status::from_file(format!("/proc/{thread}/status")).ok()
}

/// N, if every Nth context switch is sampled to get about `frequency_hz` samples a second.
fn period(list_threads: &dyn Fn() -> io::Result<BTreeSet<i32>>, frequency_hz: u64) -> u64 {
    let threads = list_threads().unwrap_or_default();
    let count = || -> u64 { threads.iter().map(|&thread| switches(thread)).sum() };
    let before = count();
    let start = Instant::now();
    sleep(RATE_WINDOW);
    let switches = count().saturating_sub(before);
    let rate = switches as f64 / start.elapsed().as_secs_f64();
    odd((rate / frequency_hz as f64) as u64)
}

/// A server that waits twice for each request would always be sampled in the same wait by an even number.
fn odd(number: u64) -> u64 {
    number | 1
}

/// How often a thread has left a CPU.
fn switches(thread: i32) -> u64 {
    let counts = status(thread).map(|status| {
        let counts = [
            status.voluntary_ctxt_switches,
            status.nonvoluntary_ctxt_switches,
        ];
        counts.into_iter().flatten().sum()
    });
    counts.unwrap_or(0)
}

fn not_permitted(error: &OpenError) -> Unavailable {
    let remedy = matches!(error, OpenError::Forbidden { paranoid: Some(level) } if *level > 1);
    unavailable(error.to_string(), remedy.then(|| PERMIT.to_owned()))
}

fn panicked() -> Unavailable {
    unavailable("the profiler failed".into(), None)
}

fn unavailable(why: String, remedy: Option<String>) -> Unavailable {
    Unavailable {
        what: "profiles".into(),
        why,
        remedy,
    }
}
