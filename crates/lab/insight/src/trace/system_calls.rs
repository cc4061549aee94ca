//! Every system call of a process tree.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_kernel::perf::Sampler;
use prony_kernel::pin_current_thread;
use prony_kernel::tracefs::Tracefs;
use prony_model::Unavailable;

use crate::trace::rights::{self, Denied};
use crate::trace::tally::{Fields, Tally};

/// Traces the system calls of a process tree, until it is told to finish or dropped.
#[derive(Debug)]
pub struct SystemCalls {
    finish: Sender<()>,
    thread: JoinHandle<Traced>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// System calls by name; `syscall_N` for a number without a name.
    pub by_name: BTreeMap<String, u64>,
    /// System calls whose names are unknown because the kernel wrote faster than Prony read.
    pub lost: u64,
    /// How often a thread was woken; `None` if that could not be counted.
    pub wake_ups: Option<u64>,
    /// What could not be counted, or not completely, and why.
    pub unavailable: Vec<Unavailable>,
}

/// About 75,000 records, which a busy CPU makes in a quarter of a second. Prony's thread competes with the load for a
/// CPU, and is late at times.
const RING_BYTES: usize = 8 << 20;
const WAKES_RING_BYTES: usize = 2 << 20;
/// How often the rings are read, unless one is a quarter full before.
const INTERVAL: Duration = Duration::from_millis(10);

impl SystemCalls {
    /// Starts tracing the threads whose kernel ids `threads` returns, and every thread and process that they start
    /// later. A thread that runs on `cpus` reads the records.
    ///
    /// # Errors
    /// What is unavailable, why, and what makes it available.
    pub fn start(
        threads: impl Fn() -> io::Result<BTreeSet<i32>>,
        cpus: &[usize],
    ) -> Result<SystemCalls, Unavailable> {
        let reader = Reader::open(threads).map_err(|denied| rights::system_calls(&denied))?;
        let (finish, finished) = channel();
        let cpus = cpus.to_vec();
        let thread = thread::Builder::new()
            .name("trace".to_owned())
            .spawn(move || {
                // On another CPU it only costs someone else a little time.
                let _ = pin_current_thread(&cpus);
                reader.read_until(&finished)
            })
            .map_err(|error| rights::system_calls(&Denied::Io(error)))?;
        Ok(SystemCalls { finish, thread })
    }

    /// Ends tracing.
    pub fn finish(self) -> Traced {
        // A thread that has ended needs no message.
        let _ = self.finish.send(());
        self.thread.join().unwrap_or_else(|_| Traced {
            unavailable: vec![rights::failed()],
            ..Traced::default()
        })
    }
}

/// Reads the records of a tree.
struct Reader {
    calls: Sampler,
    /// The wake-ups of all threads of the machine, or why there are none.
    wakes: Result<Sampler, Unavailable>,
    tally: Tally,
    error: Option<io::Error>,
}

impl Reader {
    fn open(threads: impl Fn() -> io::Result<BTreeSet<i32>>) -> Result<Reader, Denied> {
        let tracefs = Tracefs::open()?;
        let fields = Fields {
            number: tracefs.field("raw_syscalls", "sys_enter", "id")?,
            caller: tracefs.field("raw_syscalls", "sys_enter", "common_pid")?,
            woken: tracefs.field("sched", "sched_waking", "pid")?,
        };
        let calls = tracefs.event_id("raw_syscalls", "sys_enter")?;
        let calls = Sampler::fields_of(calls, &threads, RING_BYTES)?;
        // The kernel shows system calls to more users than it shows wake-ups.
        let wakes = tracefs.event_id("sched", "sched_waking")?;
        let wakes = Sampler::system_wide_fields_of(wakes, WAKES_RING_BYTES);
        // In a PID namespace their ids would be those of other threads.
        let threads = if is_namespaced() {
            BTreeSet::new()
        } else {
            threads()?
        };
        Ok(Reader {
            calls,
            wakes: wakes.map_err(|error| rights::wake_ups(&error.into())),
            tally: Tally::new(fields, threads),
            error: None,
        })
    }

    fn read_until(mut self, finished: &Receiver<()>) -> Traced {
        while let Err(TryRecvError::Empty) = finished.try_recv() {
            self.calls.wait(INTERVAL);
            self.read();
        }
        self.calls.stop();
        if let Ok(wakes) = &self.wakes {
            wakes.stop();
        }
        self.read();
        self.traced()
    }

    fn read(&mut self) {
        let tally = &mut self.tally;
        let calls = self
            .calls
            .read_fields(&mut |fields| tally.take_call(fields));
        let wakes = match &mut self.wakes {
            Ok(wakes) => wakes.read_fields(&mut |fields| tally.take_wake(fields)),
            Err(_) => Ok(()),
        };
        self.error = calls.and(wakes).err().or(self.error.take());
    }

    fn traced(self) -> Traced {
        let mut traced = Traced {
            by_name: self.tally.calls(),
            ..Traced::default()
        };
        let unavailable = &mut traced.unavailable;
        unavailable.extend(self.error.as_ref().map(rights::unread));
        match lost_calls(&self.calls, self.tally.calls_seen) {
            Ok(lost) => {
                traced.lost = lost;
                unavailable.extend(rights::lost_calls(lost));
            }
            Err(error) => unavailable.push(rights::unread(&error)),
        }
        match self.wakes {
            Ok(wakes) => {
                traced.wake_ups = Some(self.tally.wake_ups());
                match lost_wake_ups(&wakes, self.tally.wakes_seen) {
                    Ok(lost) => unavailable.extend(rights::lost_wake_ups(lost)),
                    Err(error) => unavailable.push(rights::unread(&error)),
                }
            }
            Err(reason) => unavailable.push(reason),
        }
        traced
    }
}

/// How many system calls have no record. The kernel counts the calls apart from the records, and both agree to the call.
fn lost_calls(sampler: &Sampler, seen: u64) -> io::Result<u64> {
    let counted: u64 = sampler.totals()?.iter().map(|total| total.count).sum();
    Ok(counted.saturating_sub(seen))
}

/// How many wake-ups found no room in a ring. Now and then the kernel counts a wake-up and neither records it nor counts
/// its record as lost (up to 7 in 700 were seen), so the counts alone would tell of a loss in half of all loads.
fn lost_wake_ups(sampler: &Sampler, seen: u64) -> io::Result<u64> {
    let totals = sampler.totals()?;
    let lost = totals.iter().map(|total| total.lost);
    match lost.sum() {
        Some(lost) => Ok(lost),
        None => lost_calls(sampler, seen),
    }
}

/// Whether this process is in a PID namespace, such as a container's, so that its ids are not the kernel's.
fn is_namespaced() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name != Path::new(FIRST))
}
