//! One load of an agent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{AgentMessage, LONGEST_LOAD, lock, longest};
use prony_load::{LoadPlan, PartResult, Start, run_part};

/// How often the fleet hears how far the load has come.
const REPORT: Duration = Duration::from_millis(450);
/// The longest time from the order to prepare a load to its start.
const PREPARATION: Duration = Duration::from_secs(180);
/// What a load may take beyond its longest time.
const SLACK: Duration = Duration::from_secs(60);
/// How often to look for an interrupt that nobody announces.
const LOOK: Duration = Duration::from_millis(250);

/// What the main thread and the load share.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) number: u64,
    interrupt: AtomicBool,
    state: Mutex<State>,
    start: Condvar,
}

#[derive(Debug)]
struct State {
    start: Option<Instant>,
    /// The load must have ended by then.
    deadline: Instant,
    longest: Duration,
}

impl Control {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            interrupt: AtomicBool::new(false),
            state: Mutex::new(State {
                start: None,
                deadline: Instant::now() + PREPARATION,
                longest: LONGEST_LOAD,
            }),
            start: Condvar::new(),
        }
    }

    pub(crate) fn stop(&self) {
        // With the lock, so that no load looks for it just before and then waits.
        let _state = self.state();
        self.interrupt.store(true, Ordering::Relaxed);
        self.start.notify_all();
    }

    pub(crate) fn start(&self, at: Instant) {
        let mut state = self.state();
        state.start = Some(at);
        state.deadline = at + state.longest + SLACK;
        self.start.notify_all();
    }

    pub(crate) fn is_overdue(&self) -> bool {
        Instant::now() > self.state().deadline
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Says that the part is ready, and waits for the instant from the fleet.
struct AtTheLine<'a> {
    control: &'a Control,
    output: &'a SyncSender<AgentMessage>,
}

impl Start for AtTheLine<'_> {
    fn at(&self, interrupt: &AtomicBool) -> Option<Instant> {
        let load = self.control.number;
        // If the writer has ended the agent ends, too.
        let _ = self.output.send(AgentMessage::Ready { load });
        let mut state = self.control.state();
        loop {
            if interrupt.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(at) = state.start {
                return Some(at);
            }
            let waited = self.control.start.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Runs the part of agent `index`, and gives the message with what it counted.
pub(crate) fn run(
    plan: &LoadPlan,
    index: usize,
    control: &Arc<Control>,
    output: &SyncSender<AgentMessage>,
) -> AgentMessage {
    let load = control.number;
    match counted(plan, index, control, output) {
        Ok(part) => AgentMessage::Result {
            load,
            part: Box::new(part),
        },
        Err(reason) => AgentMessage::Failed { load, reason },
    }
}

fn counted(
    plan: &LoadPlan,
    index: usize,
    control: &Arc<Control>,
    output: &SyncSender<AgentMessage>,
) -> Result<PartResult, String> {
    let valid = plan.validate();
    valid.map_err(|error| format!("the plan is damaged: {error}"))?;
    control.state().longest = longest(plan).unwrap_or(LONGEST_LOAD);
    let load = control.number;
    let report = |progress| {
        let _ = output.send(AgentMessage::Running {
            load,
            progress: Box::new(progress),
        });
    };
    let (mut reported, mut last) = (Instant::now(), None);
    let mut observe = |progress| {
        let is_time = reported.elapsed() >= REPORT;
        last = if is_time {
            reported = Instant::now();
            report(progress);
            None
        } else {
            Some(progress)
        };
    };
    let line = AtTheLine { control, output };
    let part = run_part(plan, index, &line, &control.interrupt, &mut observe);
    if let Some(last) = last {
        report(last);
    }
    part.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_overdue_after_its_longest_time_and_some_slack() {
        let control = Control::new(1);
        control.state().longest = Duration::from_secs(1);
        assert!(!control.is_overdue());
        let over = Duration::from_secs(1) + SLACK;
        control.start(Instant::now() - over + Duration::from_secs(30));
        assert!(!control.is_overdue());
        control.start(Instant::now() - over - Duration::from_millis(1));
        assert!(control.is_overdue());
    }

    #[test]
    fn the_preparation_of_a_load_has_a_deadline() {
        let control = Control::new(1);
        let deadline = control.state().deadline;
        assert!(deadline <= Instant::now() + PREPARATION);
    }
}
