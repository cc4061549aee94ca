//! Events that are sampled, and the rings that their records go to.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::attributes::{self, Control, EVERY_THREAD, Target, words};
use super::error::OpenError;
use super::event::{Means, SampledEvent};
use super::layout::{self, Layout, Malformed};
use super::record::Record;
use super::ring::Ring;
use crate::system::parse_cpu_list;

/// Samples events of some threads, and of every thread and process that they start later.
///
/// Each thread that exists at the start costs an open file for each event and CPU; later ones cost none. Each CPU has a
/// ring.
#[derive(Debug)]
pub struct Sampler {
    rings: Vec<Ring>,
    opened: Vec<Opened>,
    layout: Layout,
    means: Means,
}

/// An event that is open for one thread and one CPU.
#[derive(Debug)]
struct Opened {
    file: File,
    event: usize,
}

/// What the kernel counted of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How often it happened, whether or not there was a sample: times, or nanoseconds of a clock.
    pub count: u64,
    /// The samples for which the rings had no room; `None` before Linux 6.0, which does not count them.
    pub lost: Option<u64>,
}

/// How often to start over because new threads appeared while events were being opened.
const ATTEMPTS: usize = 5;
/// With more open files nothing is sampled: each takes about a kilobyte of the kernel's memory.
const MOST_FILES: usize = 32_768;

impl Sampler {
    /// Samples the threads whose kernel ids `threads` returns.
    ///
    /// A ring has `ring_bytes_per_cpu`, rounded up to a power of 2, or less if the kernel does not lock as much memory
    /// for this user (`kernel.perf_event_mlock_kb`). If this user may not sample the kernel, the CPU clock is sampled in
    /// user mode alone: see [`sees_kernel`](Self::sees_kernel).
    ///
    /// A thread that appears meanwhile is sampled if its parent already was, and missed if not; the two cases look the
    /// same. So this starts over until no new thread appears, and only then do the events happen.
    ///
    /// # Errors
    /// If the kernel does not permit it or has no such event, if the threads are too many, or if they have ended.
    pub fn open(
        events: &[SampledEvent],
        threads: impl Fn() -> io::Result<BTreeSet<i32>>,
        ring_bytes_per_cpu: usize,
    ) -> Result<Sampler, OpenError> {
        for _ in 0..ATTEMPTS {
            let before = threads()?;
            if before.is_empty() {
                return Err(OpenError::NoThreads);
            }
            let opening = Opening::new(events, before.len(), ring_bytes_per_cpu)?;
            let sampler = opening.open(before.iter().copied())?;
            if threads()?.is_subset(&before) {
                return sampler.enabled();
            }
        }
        Err(OpenError::ThreadsKeepAppearing)
    }

    /// Samples a tracepoint each time that one of these threads reaches it, as [`open`](Self::open) does, but the samples
    /// have nothing except the fields: see [`read_fields`](Self::read_fields). This costs the threads about a fifth less.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn fields_of(
        tracepoint: u64,
        threads: impl Fn() -> io::Result<BTreeSet<i32>>,
        ring_bytes_per_cpu: usize,
    ) -> Result<Sampler, OpenError> {
        let events = [SampledEvent::fields_of(tracepoint)];
        Self::open(&events, threads, ring_bytes_per_cpu)
    }

    /// Samples a tracepoint each time that any thread reaches it, likewise with nothing except the fields. This takes
    /// `CAP_PERFMON`, or a `perf_event_paranoid` of 0 (-1 for raw data).
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn system_wide_fields_of(
        tracepoint: u64,
        ring_bytes_per_cpu: usize,
    ) -> Result<Sampler, OpenError> {
        let events = [SampledEvent::fields_of(tracepoint)];
        let opening = Opening::new(&events, 1, ring_bytes_per_cpu)?;
        opening.open([EVERY_THREAD])?.enabled()
    }

    /// Passes on every record that the kernel has written by now: those of one CPU in their order, one CPU after the
    /// other.
    ///
    /// # Errors
    /// If some records cannot be read. The others are still passed on.
    pub fn read(&mut self, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        let layout = &self.layout;
        read_all(&mut self.rings, &mut |bytes| {
            layout.read(bytes)?.into_iter().for_each(&mut *take);
            Ok(())
        })
    }

    /// Likewise the fields of the tracepoint, of a sampler that samples nothing else.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub fn read_fields(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        read_all(&mut self.rings, &mut |bytes| {
            layout::fields(bytes)?.into_iter().for_each(&mut *take);
            Ok(())
        })
    }

    /// Waits until a quarter of some ring is full, but not longer than `timeout`.
    pub fn wait(&self, timeout: Duration) {
        let mut rings: Vec<_> = self
            .rings
            .iter()
            .map(|ring| PollFd::new(ring, PollFlags::IN))
            .collect();
        let timeout = Timespec::try_from(timeout).ok();
        // A signal may end it early, which harms nobody.
        let _ = poll(&mut rings, timeout.as_ref());
    }

    /// Nothing happens any more; what was written can still be read.
    pub fn stop(&self) {
        for opened in &self.opened {
            // It can only fail for a descriptor that is no event.
            let _ = attributes::control(&opened.file, Control::Disable);
        }
    }

    /// Whether the CPU clock is sampled in the kernel too. If not, time in the kernel has no samples.
    pub fn sees_kernel(&self) -> bool {
        self.means.sees_kernel
    }

    /// What the kernel counted of each event so far, in the order of the events.
    ///
    /// # Errors
    /// If the kernel does not report them.
    pub fn totals(&self) -> io::Result<Vec<Total>> {
        let lost = self.means.counts_lost.then_some(0);
        let events = self.opened.iter().map(|opened| opened.event + 1).max();
        let mut totals = vec![Total { count: 0, lost }; events.unwrap_or(0)];
        for opened in &self.opened {
            let read = read_event(&opened.file, self.means)?;
            let total = &mut totals[opened.event];
            total.count += read.count;
            total.lost = total.lost.zip(read.lost).map(|(sum, lost)| sum + lost);
        }
        Ok(totals)
    }

    fn enabled(self) -> Result<Sampler, OpenError> {
        for opened in &self.opened {
            attributes::control(&opened.file, Control::Enable)?;
        }
        Ok(self)
    }
}

/// Passes on the bytes of every record. An error in one does not keep the others.
fn read_all(
    rings: &mut [Ring],
    take: &mut dyn FnMut(&[u8]) -> Result<(), Malformed>,
) -> io::Result<()> {
    let mut result = Ok(());
    for ring in rings {
        let mut taken = Ok(());
        let read = ring.read(&mut |bytes| {
            if let Err(malformed) = take(bytes) {
                taken = Err(io::Error::other(malformed));
            }
        });
        result = result.and(read).and(taken);
    }
    result
}

fn online_cpus() -> io::Result<Vec<i32>> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let cpus = parse_cpu_list(&list).map_err(io::Error::other)?;
    Ok(cpus.into_iter().map(|cpu| cpu as i32).collect())
}

/// A sampler whose events are being opened. They are disabled.
struct Opening<'a> {
    events: &'a [SampledEvent],
    threads: usize,
    cpus: Vec<i32>,
    rings: Vec<Ring>,
    means: Means,
    opened: Vec<Opened>,
    identifiers: Vec<(u64, usize)>,
}

impl<'a> Opening<'a> {
    fn new(
        events: &'a [SampledEvent],
        threads: usize,
        ring_bytes: usize,
    ) -> Result<Opening<'a>, OpenError> {
        let cpus = online_cpus()?;
        if threads.saturating_mul(cpus.len() * events.len()) > MOST_FILES {
            return Err(OpenError::TooManyThreads { threads });
        }
        Ok(Opening {
            events,
            threads,
            rings: Ring::open_all(&cpus, ring_bytes)
                .map_err(|error| OpenError::of(error, threads))?,
            cpus,
            means: Means {
                counts_lost: true,
                sees_kernel: true,
            },
            opened: Vec::new(),
            identifiers: Vec::new(),
        })
    }

    fn open(mut self, threads: impl IntoIterator<Item = i32>) -> Result<Sampler, OpenError> {
        for thread in threads {
            for event in 0..self.events.len() {
                self.open_event(event, thread)
                    .map_err(|error| OpenError::of(error, self.threads))?;
            }
        }
        if self.opened.is_empty() {
            return Err(OpenError::NoThreads);
        }
        let contents = self.events.iter().map(|event| event.content).collect();
        Ok(Sampler {
            layout: Layout::new(contents, self.identifiers),
            rings: self.rings,
            opened: self.opened,
            means: self.means,
        })
    }

    /// Opens an event for a thread on every CPU; not if the thread has ended.
    fn open_event(&mut self, event: usize, thread: i32) -> io::Result<()> {
        for index in 0..self.cpus.len() {
            let cpu = self.cpus[index];
            let file = match self.open_with_means(event, Target { thread, cpu }) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                other => other?,
            };
            self.rings[index].take_records_of(&file)?;
            let identifier = read_event(&file, self.means)?.identifier;
            self.identifiers.push((identifier, event));
            self.opened.push(Opened { file, event });
        }
        Ok(())
    }

    /// Opens an event; if the kernel refuses, without what older kernels lack and what other users may not see.
    fn open_with_means(&mut self, event: usize, target: Target) -> io::Result<File> {
        let event = &self.events[event];
        loop {
            let attributes = event.attributes(target, self.means);
            let error = match attributes::open(attributes, target, None) {
                Ok(file) => return Ok(file),
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINVAL) if self.means.counts_lost && self.opened.is_empty() => {
                    self.means.counts_lost = false;
                }
                Some(libc::EACCES | libc::EPERM)
                    if self.means.sees_kernel && event.works_without_kernel() =>
                {
                    self.means.sees_kernel = false;
                }
                _ => return Err(error),
            }
        }
    }
}

/// What the kernel says about an open event.
struct ReadEvent {
    count: u64,
    identifier: u64,
    lost: Option<u64>,
}

fn read_event(mut event: &File, means: Means) -> io::Result<ReadEvent> {
    let mut bytes = [0; 3 * 8];
    let length = if means.counts_lost { 3 * 8 } else { 2 * 8 };
    event.read_exact(&mut bytes[..length])?;
    let [count, identifier, lost] = words(&bytes);
    Ok(ReadEvent {
        count,
        identifier,
        lost: means.counts_lost.then_some(lost),
    })
}

#[cfg(test)]
mod tests;
