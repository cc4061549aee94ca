//! CPU cycles and instructions of a process tree.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use super::CounterValues;
use super::event::{CPU_CYCLES, CounterEvent, INSTRUCTIONS, Scope, open_event, read_single};

/// Counts the cycles and instructions of some threads, in user mode and in the kernel, and of every thread and process
/// that they start later.
///
/// Each thread that exists at the start costs two open files; later ones cost none.
#[derive(Debug)]
pub struct TreeCounters {
    threads: Vec<[File; 2]>,
}

/// With more threads nothing is counted: connections need the file descriptors.
const MOST_THREADS: usize = 512;
/// How often to start over because new threads appeared while counters were being opened.
const ATTEMPTS: usize = 5;

impl TreeCounters {
    /// Starts counting for the threads whose kernel ids `list` returns.
    ///
    /// `None` if the machine has no such counters, if the kernel does not let this process read those of the threads,
    /// if there are more than 512 threads or more than files may be open, or if new threads appear so fast that some
    /// would be missed or counted twice.
    pub fn open(list: impl Fn() -> io::Result<BTreeSet<i32>>) -> Option<TreeCounters> {
        Self::open_events([CPU_CYCLES, INSTRUCTIONS], list)
            .ok()
            .flatten()
    }

    /// The same for what happens in user mode alone.
    pub fn open_in_user_mode(list: impl Fn() -> io::Result<BTreeSet<i32>>) -> Option<TreeCounters> {
        let events = [CPU_CYCLES, INSTRUCTIONS].map(CounterEvent::in_user_mode);
        Self::open_events(events, list).ok().flatten()
    }

    /// Whether the machine has such counters, and the kernel lets this process read them.
    pub fn are_available_in_user_mode() -> bool {
        // 0 is the calling thread.
        let counters = Self::open_in_user_mode(|| Ok(BTreeSet::from([0])));
        counters.is_some_and(|counters| counters.read().is_some())
    }

    /// The counts so far; `None` if the processor never had a counter free for some thread that ran.
    pub fn read(&self) -> Option<CounterValues> {
        let sum = |which: usize| {
            let events = self.threads.iter().map(|events| &events[which]);
            let values = events.map(|event| read_single(event).ok()?);
            values.sum::<Option<u64>>()
        };
        Some(CounterValues {
            cycles: sum(0)?,
            instructions: sum(1)?,
        })
    }

    /// A thread that appears meanwhile is counted if its parent was already counted, and missed if not; the two cases
    /// look the same. So this starts over until no new thread appears.
    fn open_events(
        events: [CounterEvent; 2],
        list: impl Fn() -> io::Result<BTreeSet<i32>>,
    ) -> io::Result<Option<TreeCounters>> {
        for _ in 0..ATTEMPTS {
            let before = list()?;
            if before.is_empty() || before.len() > MOST_THREADS {
                return Ok(None);
            }
            let counters = before
                .iter()
                .filter_map(|&thread| open_thread(events, thread).transpose())
                .collect::<io::Result<Vec<_>>>()?;
            if list()?.is_subset(&before) {
                return Ok(Some(TreeCounters { threads: counters }));
            }
        }
        Ok(None)
    }
}

/// `None` if the thread has ended.
fn open_thread(events: [CounterEvent; 2], thread: i32) -> io::Result<Option<[File; 2]>> {
    let open = |event| open_event(event, Scope::Descendants(thread));
    match (open(events[0]), open(events[1])) {
        (Ok(first), Ok(second)) => Ok(Some([first, second])),
        (Err(error), _) | (_, Err(error)) => match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use prony_testkit::processes::{Killed, threads_of};

    use super::super::event::testing::{TASK_CLOCK, unless_forbidden};
    use super::*;

    const CLOCKS: [CounterEvent; 2] = [TASK_CLOCK; 2];

    /// Has a second thread and a child, each of which burns CPU time when it reads a line; so do a new thread and a new
    /// child that it then starts. At the end it prints how much CPU time all of them have burnt, in seconds.
    const BURNING: &str = r#"
import os, struct, sys, threading, time

go, going = os.pipe()
report, reporting = os.pipe()

def burn():
    start = time.thread_time()
    while (burnt := time.thread_time() - start) < 0.3:
        pass
    os.write(reporting, struct.pack('d', burnt))

def burn_on_call():
    os.read(go, 1)
    burn()

def child(work):
    pid = os.fork()
    if pid == 0:
        os.close(going)  # So that it ends with its parent.
        work()
        os._exit(0)
    return pid

early = [child(burn_on_call)]
threads = [threading.Thread(target=burn_on_call)]
threads[0].start()
print(os.getpid(), *early, flush=True)
sys.stdin.readline()
os.write(going, b"..")
threads.append(threading.Thread(target=burn))
threads[1].start()
for pid in early + [child(burn)]:
    os.waitpid(pid, 0)
for thread in threads:
    thread.join()
print(sum(struct.unpack('4d', os.read(report, 32))), flush=True)
sys.stdin.readline()
"#;

    #[test]
    fn old_and_new_threads_and_children_are_counted_once() {
        let command = Command::new("python3")
            .args(["-c", BURNING])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut burner = Killed(command.unwrap());
        let mut lines = BufReader::new(burner.0.stdout.take().unwrap()).lines();
        let processes = lines.next().unwrap().unwrap();
        let threads = || -> io::Result<BTreeSet<i32>> {
            let threads = processes.split_whitespace().map(threads_of);
            Ok(threads
                .collect::<io::Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        let opened = TreeCounters::open_events(CLOCKS, threads);
        let Some(counters) = unless_forbidden(opened) else {
            return;
        };
        let counters = counters.unwrap();
        assert_eq!(counters.threads.len(), 3);
        let mut stdin = burner.0.stdin.take().unwrap();
        stdin.write_all(b"go\n").unwrap();
        let burnt_s: f64 = lines.next().unwrap().unwrap().parse().unwrap();
        let counted = counters.read().unwrap();
        assert!(burnt_s >= 1.2, "{burnt_s}");
        for nanoseconds in [counted.cycles, counted.instructions] {
            let ratio = nanoseconds as f64 / 1e9 / burnt_s;
            // Starting and ending take a little more; one thread missed or counted twice would be a quarter.
            assert!((0.99..1.2).contains(&ratio), "{counted:?} for {burnt_s} s");
        }
    }

    #[test]
    fn too_many_threads_or_none_are_not_counted() {
        let many = || Ok((1..=MOST_THREADS as i32 + 1).collect());
        assert!(TreeCounters::open_events(CLOCKS, many).unwrap().is_none());
        let none = || Ok(BTreeSet::new());
        assert!(TreeCounters::open_events(CLOCKS, none).unwrap().is_none());
    }

    #[test]
    fn threads_that_keep_appearing_give_no_counts() {
        // Each list has one more thread than the last, under an id that no real thread has.
        let calls = Cell::new(0);
        let growing = || {
            calls.set(calls.get() + 1);
            Ok((0..calls.get()).map(|number| i32::MAX - number).collect())
        };
        let Some(opened) = unless_forbidden(TreeCounters::open_events(CLOCKS, growing)) else {
            return;
        };
        assert!(opened.is_none());
        assert_eq!(calls.get(), 2 * ATTEMPTS as i32);
    }
}
