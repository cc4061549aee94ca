//! What a tree of processes costs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use super::CounterValues;
use super::event::{CPU_CYCLES, CounterEvent, INSTRUCTIONS, Whom, open_event, read_single};

/// Counts the cycles and instructions of some threads, in user mode and in the kernel, and of every thread and process
/// that they begin, from when it was opened on.
///
/// Each thread that is there at the beginning costs two open files; those that come later cost none.
#[derive(Debug)]
pub struct TreeCounters {
    threads: Vec<[File; 2]>,
}

/// More threads than that are not counted: the files are needed for connections.
const MOST_THREADS: usize = 512;
/// How often is begun anew where threads come while counters are opened.
const ATTEMPTS: usize = 5;

impl TreeCounters {
    /// Begins to count for the threads that `list` names, by their ids in the kernel.
    ///
    /// `None` where the machine has no such counters, where the kernel does not let this process see those of the
    /// threads, where they are more than 512 or than files may be open, or where new ones keep coming so fast that
    /// some would be missed or counted twice.
    pub fn open(list: impl Fn() -> io::Result<BTreeSet<i32>>) -> Option<TreeCounters> {
        let events = [
            CounterEvent::Hardware(CPU_CYCLES),
            CounterEvent::Hardware(INSTRUCTIONS),
        ];
        Self::open_events(events, list).ok().flatten()
    }

    /// What was counted up to now; `None` where the processor's counters were never free for some thread that ran.
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

    /// A thread that comes meanwhile is counted if the one that began it was counted already, and missed if not; which
    /// of both it was cannot be told. So all is begun anew, until no thread came.
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

/// `None` where the thread has ended.
fn open_thread(events: [CounterEvent; 2], thread: i32) -> io::Result<Option<[File; 2]>> {
    let open = |event| open_event(event, Whom::WithHeirs(thread));
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
    use std::process::{Child, Command, Stdio};

    use super::super::event::testing::{TASK_CLOCK, unless_forbidden};
    use super::*;

    const CLOCKS: [CounterEvent; 2] = [
        CounterEvent::Software(TASK_CLOCK),
        CounterEvent::Software(TASK_CLOCK),
    ];

    /// Has a thread of its own and a child, each of which burns CPU time when a line comes; so do a new thread and a
    /// new child that it begins then. At the end it says what all of them have burnt since, in seconds.
    const BURNING: &str = r#"
import os, sys, threading, time

def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass

def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid

def used():
    times = os.times()
    return time.process_time() + times.children_user + times.children_system

go, going = os.pipe()
def burn_on_call():
    os.read(go, 1)
    burn()

early = [child(burn_on_call)]
threads = [threading.Thread(target=burn_on_call)]
threads[0].start()
print(os.getpid(), *early, flush=True)
sys.stdin.readline()
before = used()
os.write(going, b"..")
threads.append(threading.Thread(target=burn))
threads[1].start()
for pid in early + [child(burn)]:
    os.waitpid(pid, 0)
for thread in threads:
    thread.join()
print(used() - before, flush=True)
sys.stdin.readline()
"#;

    struct Burner(Child);

    impl Drop for Burner {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn threads_of(processes: &str) -> io::Result<BTreeSet<i32>> {
        let mut threads = BTreeSet::new();
        for process in processes.split_whitespace() {
            let names = std::fs::read_dir(format!("/proc/{process}/task"))?;
            threads.extend(names.filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.parse::<i32>().ok()
            }));
        }
        Ok(threads)
    }

    #[test]
    fn threads_and_children_old_and_new_are_counted_once() {
        let command = Command::new("python3")
            .args(["-c", BURNING])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut burner = Burner(command.unwrap());
        let mut lines = BufReader::new(burner.0.stdout.take().unwrap()).lines();
        let processes = lines.next().unwrap().unwrap();
        let opened = TreeCounters::open_events(CLOCKS, || threads_of(&processes));
        let Some(counters) = unless_forbidden(opened) else {
            return;
        };
        let counters = counters.unwrap();
        assert_eq!(counters.threads.len(), 3);
        let mut stdin = burner.0.stdin.take().unwrap();
        stdin.write_all(b"go\n").unwrap();
        let burnt_s: f64 = lines.next().unwrap().unwrap().parse().unwrap();
        let counted = counters.read().unwrap();
        assert!(burnt_s >= 0.4, "{burnt_s}");
        for nanoseconds in [counted.cycles, counted.instructions] {
            let ratio = nanoseconds as f64 / 1e9 / burnt_s;
            // Of the children that have ended the test knows the CPU time to the tick alone.
            assert!((0.8..1.25).contains(&ratio), "{counted:?} for {burnt_s} s");
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
    fn threads_that_keep_coming_are_not_counted_wrongly() {
        // Each list has one more of those that are there; no thread has a number like that.
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
