//! Real threads, sampled by the kernel of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::gettid;
use prony_testkit::processes::Killed;
use prony_testkit::until;

use super::super::event::{Event, SampleContent};
use super::super::testing::{report_skipped, unless_forbidden};
use super::*;
use crate::tracefs::Tracefs;

const RING_BYTES: usize = 1 << 20;
const CPU_CLOCK: SampledEvent = SampledEvent {
    event: Event::CpuClock { frequency_hz: 1000 },
    content: SampleContent {
        call_chain: true,
        user_registers: true,
        user_stack_bytes: 1024,
    },
    switches: true,
    mappings: true,
};

/// Uses that much CPU time, however busy the machine is.
fn burn(duration: Duration) {
    let used = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
    let until = used() + duration;
    while used() < until {}
}

/// What a sampler has seen, by thread.
#[derive(Debug, Default)]
struct Seen {
    samples: BTreeMap<i32, u64>,
    complete: u64,
    switches: BTreeMap<i32, u64>,
    exits: BTreeSet<i32>,
    executables: Vec<String>,
    lost: u64,
}

impl Seen {
    fn take(&mut self, record: Record) {
        match record {
            Record::Sample(sample) => {
                *self.samples.entry(sample.tid).or_default() += 1;
                let is_complete = !sample.user_chain.is_empty()
                    && sample.registers.is_some_and(|r| r.ip > 0 && r.sp > 0)
                    && sample.stack.len() == 1024;
                self.complete += u64::from(is_complete);
            }
            Record::CameBack { tid, .. } => *self.switches.entry(tid).or_default() += 1,
            Record::Ended { tid, .. } => drop(self.exits.insert(tid)),
            Record::Mapped { path, .. } => self.executables.push(path.display().to_string()),
            Record::Lost(lost) => self.lost += lost,
            _ => (),
        }
    }

    fn read(&mut self, sampler: &mut Sampler) {
        sampler.read(&mut |record| self.take(record)).unwrap();
    }

    /// Does this again and again until a thread has many samples, and reads so often that the ring has room.
    fn until_sampled(&mut self, sampler: &mut Sampler, tid: i32, work: impl Fn()) {
        until("twenty samples", || {
            work();
            self.read(sampler);
            (self.samples.get(&tid)? >= &20).then_some(())
        });
    }

    fn all(sampler: &mut Sampler) -> Seen {
        let mut seen = Seen::default();
        seen.read(sampler);
        seen
    }
}

fn this_thread() -> io::Result<BTreeSet<i32>> {
    Ok(BTreeSet::from([gettid().as_raw()]))
}

#[test]
fn a_busy_thread_and_those_it_starts_are_sampled() {
    let Some(mut sampler) = unless_forbidden(Sampler::open(&[CPU_CLOCK], this_thread, RING_BYTES))
    else {
        return;
    };
    let (own, burn_some) = (gettid().as_raw(), || burn(Duration::from_millis(10)));
    let mut seen = Seen::default();
    seen.until_sampled(&mut sampler, own, burn_some);
    static IS_SEEN: AtomicBool = AtomicBool::new(false);
    let (send, receive) = channel();
    thread::spawn(move || {
        send.send(gettid().as_raw()).unwrap();
        while !IS_SEEN.load(Relaxed) {
            burn_some();
        }
        thread::sleep(Duration::from_millis(1));
    });
    let child = receive.recv().unwrap();
    seen.until_sampled(&mut sampler, child, || {});
    IS_SEEN.store(true, Relaxed);
    // A thread can be joined before the kernel notes its end.
    until("the end of the child", || {
        seen.read(&mut sampler);
        seen.exits.contains(&child).then_some(())
    });
    sampler.stop();
    seen.read(&mut sampler);
    assert_eq!((seen.samples.len(), seen.lost), (2, 0), "{seen:?}");
    for tid in [own, child] {
        assert!(seen.switches[&tid] >= 2, "{tid}: {seen:?}");
    }
    assert!(seen.complete > 10, "{seen:?}");
    let total = sampler.totals().unwrap()[0];
    assert!(total.count > 20_000_000, "nanoseconds: {total:?}");
}

#[test]
fn a_program_that_a_child_executes_is_mapped() {
    let Some(mut sampler) = unless_forbidden(Sampler::open(&[CPU_CLOCK], this_thread, RING_BYTES))
    else {
        return;
    };
    let shell = Command::new("sh").args(["-c", "exit 0"]).status();
    assert!(shell.unwrap().success());
    let seen = Seen::all(&mut sampler);
    let is_mapped = seen.executables.iter().any(|path| path.contains("/libc"));
    assert!(is_mapped, "{seen:?}");
}

/// Its thread ends while it is sampled, and the ring can still be waited for.
#[test]
fn a_process_that_is_killed_leaves_what_it_has_done() {
    let mut command = Command::new("sh");
    command
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null());
    let mut busy = Killed(command.spawn().unwrap());
    let pid = busy.0.id() as i32;
    let opened = Sampler::open(&[CPU_CLOCK], || Ok(BTreeSet::from([pid])), RING_BYTES);
    let Some(mut sampler) = unless_forbidden(opened) else {
        return;
    };
    let mut seen = Seen::default();
    seen.until_sampled(&mut sampler, pid, || {});
    busy.0.kill().unwrap();
    busy.0.wait().unwrap();
    seen.read(&mut sampler);
    assert!(seen.exits.contains(&pid), "{seen:?}");
    // While it was busy, its ring may have become a quarter full: that stays pending until the first wait.
    sampler.wait(Duration::ZERO);
    let before = Instant::now();
    sampler.wait(Duration::from_millis(50));
    let waited = before.elapsed();
    assert!(waited >= Duration::from_millis(45), "an empty ring is full");
    let ended = Sampler::open(&[CPU_CLOCK], || Ok(BTreeSet::from([pid])), RING_BYTES);
    assert!(matches!(ended, Err(OpenError::NoThreads)), "{ended:?}");
}

/// The tracepoint of system calls.
fn system_calls() -> Option<u64> {
    let tracefs = Tracefs::open().ok()?;
    tracefs.event_id("raw_syscalls", "sys_enter").ok()
}

fn is_getppid(fields: &[u8]) -> bool {
    fields[8..16] == (libc::SYS_getppid as u64).to_ne_bytes()
}

/// More calls than the ring has room for: all are counted, and the samples and the lost ones add up to them.
#[test]
fn a_full_ring_wakes_its_reader_and_what_it_loses_is_counted() {
    let Some(tracepoint) = system_calls() else {
        return report_skipped("tracefs cannot be read");
    };
    let Some(mut sampler) = unless_forbidden(Sampler::fields_of(tracepoint, this_thread, 4 * 4096))
    else {
        return;
    };
    let calls = 10_000;
    for _ in 0..calls {
        std::hint::black_box(nix::unistd::getppid());
    }
    let (before, long) = (Instant::now(), Duration::from_secs(600));
    sampler.wait(long);
    assert!(before.elapsed() < long, "a full ring can be read");
    sampler.stop();
    let mut samples = 0;
    sampler.read_fields(&mut |_| samples += 1).unwrap();
    let total = sampler.totals().unwrap()[0];
    assert!((calls..calls + 200).contains(&total.count), "{total:?}");
    let Some(lost) = total.lost else {
        return;
    };
    assert!(lost > calls / 2, "{total:?}");
    assert_eq!(samples + lost, total.count);
}

/// The ring goes around many times, with records across its end.
#[test]
fn nothing_is_lost_while_the_ring_is_read() {
    let Some(tracepoint) = system_calls() else {
        return report_skipped("tracefs cannot be read");
    };
    let Some(mut sampler) =
        unless_forbidden(Sampler::fields_of(tracepoint, this_thread, 16 * 4096))
    else {
        return;
    };
    let (mut getppid, mut other) = (0_u64, 0);
    let mut read = |sampler: &mut Sampler| {
        sampler.read_fields(&mut |fields| {
            let count = if is_getppid(fields) {
                &mut getppid
            } else {
                &mut other
            };
            *count += 1;
        })
    };
    for _ in 0..100 {
        for _ in 0..200 {
            std::hint::black_box(nix::unistd::getppid());
        }
        read(&mut sampler).unwrap();
    }
    sampler.stop();
    read(&mut sampler).unwrap();
    assert_eq!(getppid, 20_000);
    let total = sampler.totals().unwrap()[0];
    assert_eq!(total.count, getppid + other);
}

#[test]
fn every_thread_of_the_machine_is_sampled_with_the_right_to_it() {
    let Some(tracepoint) = system_calls() else {
        return report_skipped("tracefs cannot be read");
    };
    let Some(mut sampler) =
        unless_forbidden(Sampler::system_wide_fields_of(tracepoint, RING_BYTES))
    else {
        return;
    };
    // Another program may fill the ring again and again, so this thread goes on until one of its calls is seen.
    static IS_SEEN: AtomicBool = AtomicBool::new(false);
    let child = thread::spawn(|| {
        while !IS_SEEN.load(Relaxed) {
            std::hint::black_box(nix::unistd::getppid());
        }
    });
    until("a call of the other thread", || {
        let mut is_seen = false;
        let mut take = |fields: &[u8]| is_seen |= is_getppid(fields);
        sampler.read_fields(&mut take).unwrap();
        is_seen.then_some(())
    });
    IS_SEEN.store(true, Relaxed);
    child.join().unwrap();
}

#[test]
fn threads_that_keep_appearing_are_an_error_and_so_are_none() {
    let own = gettid().as_raw();
    let calls = std::cell::Cell::new(0);
    let growing = || {
        calls.set(calls.get() + 1);
        let invented = (0..calls.get()).map(|number| i32::MAX - number);
        Ok(invented.chain([own]).collect())
    };
    match Sampler::open(&[CPU_CLOCK], growing, 4096).unwrap_err() {
        OpenError::Forbidden { .. } => report_skipped("the kernel forbids sampling"),
        OpenError::ThreadsKeepAppearing => {}
        other => panic!("{other:?}"),
    }
    let error = |threads: BTreeSet<i32>| {
        Sampler::open(&[CPU_CLOCK], || Ok(threads.clone()), 4096).unwrap_err()
    };
    assert!(matches!(error([].into()), OpenError::NoThreads));
    let many = error((1..100_000).collect());
    assert!(matches!(
        many,
        OpenError::TooManyThreads { threads: 99_999 }
    ));
}

#[test]
fn an_event_that_the_kernel_does_not_have_is_an_error() {
    match Sampler::fields_of(60_000, this_thread, 4096).unwrap_err() {
        OpenError::Forbidden { .. } => report_skipped("the kernel forbids tracepoints"),
        OpenError::NoSuchEvent => {}
        other => panic!("{other:?}"),
    }
}
