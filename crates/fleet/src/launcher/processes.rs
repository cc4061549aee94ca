//! Processes of this host that are agents, or that pass on the messages of agents, such as ssh.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::event::{Event, LaunchError};
use crate::lock;

/// Processes with their standard streams. Dropping them closes their standard input, gives them a moment to end, and
/// kills those that do not.
pub struct Processes {
    running: Vec<Running>,
    sender: SyncSender<Event>,
    events: Receiver<Event>,
    grace: Duration,
    /// What is dropped once they have ended.
    _after: Option<Box<dyn Send>>,
}

#[derive(Debug)]
struct Running {
    child: Arc<Mutex<Child>>,
    /// `None` once its standard input is closed.
    input: Option<SyncSender<Arc<str>>>,
}

#[derive(Debug)]
pub struct Start {
    /// The agent that it is; `None` if it passes on the messages of several.
    pub agent: Option<usize>,
    pub command: Command,
    /// What it reads first.
    pub first: Option<Arc<[u8]>>,
}

/// Puts what a program such as ssh writes, and how it ends, into words.
pub trait Explain: Send + Sync {
    /// A line of its standard error.
    fn note(&self, agent: Option<usize>, text: String) -> Event {
        Event::Note { agent, text }
    }

    /// Whether a line of its standard error may say why it ended.
    fn may_be_reason(&self, text: &str) -> bool {
        !text.trim().is_empty()
    }

    /// Why it ended. `said` is the last line that may say so.
    fn ended(&self, _agent: Option<usize>, status: ExitStatus, _said: &str) -> String {
        format!("its process ended ({status})")
    }
}

/// For agents, whose words are their own.
impl Explain for () {}

/// A line of output is cut here. Those of agents are shorter.
const LONGEST_LINE: u64 = 4096;
/// How many events wait to be read. Beyond that the writers wait.
const EVENTS: usize = 4096;
/// How many lines wait to be written to a process. One that is further behind is lost.
const LINES: usize = 256;
/// Each process has three threads, which do next to nothing.
const STACK: usize = 128 * 1024;
/// How often to look whether a process has ended.
const LOOK: Duration = Duration::from_millis(5);

impl Processes {
    /// Starts processes: each with the agent that it is, or `None` if it passes on the messages of several. When they
    /// are dropped, each has `grace` to end by itself, and then as long again after SIGTERM. If one cannot be started, the
    /// others are killed.
    pub fn start(
        commands: impl IntoIterator<Item = (Option<usize>, Command)>,
        grace: Duration,
    ) -> Result<Self, LaunchError> {
        let commands = commands.into_iter().map(|(agent, command)| Start {
            agent,
            command,
            first: None,
        });
        Self::explained(commands, grace, &(Arc::new(()) as Arc<dyn Explain>))
    }

    /// [`Self::start`], for programs that pass on the messages of agents.
    pub fn explained(
        starts: impl IntoIterator<Item = Start>,
        grace: Duration,
        explain: &Arc<dyn Explain>,
    ) -> Result<Self, LaunchError> {
        let mut processes = Self::none(grace);
        for start in starts {
            processes.add(start, explain)?;
        }
        Ok(processes)
    }

    pub(super) fn none(grace: Duration) -> Self {
        let (sender, events) = sync_channel(EVENTS);
        Self {
            running: Vec::new(),
            sender,
            events,
            grace,
            _after: None,
        }
    }

    /// Drops a value once they have ended: what was created for them.
    pub(super) fn then(mut self, after: impl Send + 'static) -> Self {
        self._after = Some(Box::new(after));
        self
    }

    pub(super) fn sender(&self) -> SyncSender<Event> {
        self.sender.clone()
    }

    pub(super) fn add(
        &mut self,
        start: Start,
        explain: &Arc<dyn Explain>,
    ) -> Result<(), LaunchError> {
        let Start {
            agent,
            mut command,
            first,
        } = start;
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |error: std::io::Error| {
            LaunchError(match error.kind() {
                std::io::ErrorKind::NotFound => {
                    format!("cannot start {name}: it is not installed, or not in PATH")
                }
                _ => format!("cannot start {name}: {error}"),
            })
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal must not end agents before they send what they measured.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        let (input, lines) = sync_channel(LINES);
        // From here on dropping `self` ends the process.
        self.running.push(Running {
            child: child.clone(),
            input: Some(input),
        });
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(LaunchError(format!("{name} has no standard streams")));
        };
        let notes = {
            let (events, explain) = (self.sender(), explain.clone());
            spawn(move || {
                let mut said = String::new();
                read_lines(stderr, |text| {
                    if explain.may_be_reason(&text) {
                        said.clone_from(&text);
                    }
                    events.send(explain.note(agent, text)).is_ok()
                });
                said
            })
            .map_err(failed)?
        };
        let (events, explain) = (self.sender(), explain.clone());
        spawn(move || {
            read_lines(stdout, |line| events.send(Event::Line(line)).is_ok());
            let status = wait(&child);
            // Its last words come before the message that it ended.
            let said = notes.join().unwrap_or_default();
            let reason = match status {
                Ok(status) => explain.ended(agent, status, &said),
                Err(error) => format!("its process is lost: {error}"),
            };
            let _ = events.send(Event::Ended { agent, reason });
        })
        .map_err(failed)?;
        spawn(move || write_lines(stdin, first.as_deref(), &lines)).map_err(failed)?;
        Ok(())
    }

    pub(super) fn has_ended(&self) -> bool {
        let mut running = self.running.iter();
        running.all(|one| !matches!(lock(&one.child).try_wait(), Ok(None)))
    }

    fn end_within(&self, time: Duration) -> bool {
        let give_up = Instant::now() + time;
        while !self.has_ended() {
            if Instant::now() >= give_up {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    fn signal(&self, signal: Signal) {
        for one in &self.running {
            let mut child = lock(&one.child);
            // The id of a process that was waited for may belong to another one by now.
            if let Ok(None) = child.try_wait() {
                let id = i32::try_from(child.id()).unwrap_or(i32::MAX);
                let _ = killpg(Pid::from_raw(id), signal);
            }
        }
    }

    /// Sends one line to all. Does not wait for one that does not read. Fails if none can be reached; the loss of a single
    /// one is an event.
    pub(crate) fn send(&mut self, line: &str) -> std::io::Result<()> {
        let line: Arc<str> = format!("{line}\n").into();
        for one in &mut self.running {
            let Some(input) = &one.input else { continue };
            match input.try_send(line.clone()) {
                Ok(()) => {}
                // It does not read: the next replies are missing, and that is how the fleet loses it.
                Err(TrySendError::Full(_)) => {}
                Err(TrySendError::Disconnected(_)) => one.input = None,
            }
        }
        if self.running.iter().any(|one| one.input.is_some()) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }

    /// What they wrote, and how they ended.
    pub(crate) fn events(&self) -> &Receiver<Event> {
        &self.events
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for one in &mut self.running {
            one.input = None;
        }
        if !self.end_within(self.grace) {
            self.signal(Signal::SIGTERM);
            if !self.end_within(self.grace) {
                self.signal(Signal::SIGKILL);
                self.end_within(Duration::from_secs(10));
            }
        }
    }
}

/// Three pipes for each of hundreds of agents are more files than a process usually may open. If the system allows no
/// more, the start of an agent fails and says so.
pub(super) fn allow_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().stack_size(STACK).spawn(work)
}

fn wait(child: &Mutex<Child>) -> std::io::Result<ExitStatus> {
    loop {
        // The lock must be free for a signal meanwhile.
        if let Some(status) = lock(child).try_wait()? {
            return Ok(status);
        }
        thread::sleep(LOOK);
    }
}

/// Calls `each` with every line, in pieces if it is very long, until there is none or `each` gives `false`.
fn read_lines(from: impl Read, mut each: impl FnMut(String) -> bool) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match from
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        if !each(String::from_utf8_lossy(line).into_owned()) {
            return;
        }
    }
}

/// Writes until the process closes its standard input, or nobody sends lines any more.
fn write_lines(mut to: ChildStdin, first: Option<&[u8]>, lines: &Receiver<Arc<str>>) {
    if first.is_some_and(|first| to.write_all(first).is_err()) {
        return;
    }
    for line in lines {
        if to.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}
