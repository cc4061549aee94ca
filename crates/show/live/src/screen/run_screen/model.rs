//! How far a run has come: what the screen shows, and the line of a run without one. Times count from the run's beginning.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use prony_stats::Estimate;

use crate::screen::view;

const MOST_NOTES: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct RunModel {
    pub title: String,
    /// What is measured how often: `9 servers, 3 workloads, 6 rounds`.
    pub plan: String,
    pub servers: Vec<ServerState>,
    pub columns: Vec<Column>,
    pub is_planned: bool,
    pub(super) cells: BTreeMap<CellId, Cell>,
    pub now: Option<Now>,
    pub(super) running_column: usize,
    /// The latest notes, newest first, each with its time.
    pub(super) notes: VecDeque<(Duration, RunNoteKind, String)>,
    pub attempts: AttemptCounts,
    /// How much of the expected time is over, from 0 to 1.
    pub share: f64,
    /// `round 2 of 6`.
    pub round: String,
    /// `±5.1 % so far, target ±3 %`; empty for a fixed number of rounds.
    pub precision: String,
    /// The time left and when it was estimated.
    pub left: Option<(Left, Duration)>,
}

/// The place of a server in a column of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId {
    pub server: usize,
    pub column: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptCounts {
    pub done: u64,
    /// Those that are over or still to come.
    pub expected: u64,
    pub noisy: u64,
    pub re_run: u64,
}

#[derive(Clone, Debug)]
pub struct ServerState {
    pub id: String,
    pub(super) readiness: Readiness,
    /// Since when it has been in this state.
    pub(super) since: Duration,
}

/// How far a server is from being measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Readiness {
    Waiting,
    /// Prony is installing its toolchain or building it, as these words say.
    Preparing(String),
    /// It is built; the text has its version and how long that took.
    Prepared(String),
    Verifying,
    Verified,
    /// Some of its responses were wrong; those workloads are not measured.
    Wrong(String),
    /// Its toolchain is missing.
    Skipped(String),
    /// It could not be built or started.
    Failed(String),
}

/// A workload under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub workload: String,
    /// The load in a few words: `64 connections`.
    pub load: String,
    pub unit: FigureUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    RequestsPerSecond,
    FlowsPerSecond,
    MedianLatency,
    Instructions,
}

/// The rounds of a server in a column, by their numbers, and its figure.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) rounds: BTreeMap<u32, RoundState>,
    pub(super) figure: Option<Estimate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoundState {
    Pending,
    Done,
    /// It was measured, but the machine disturbed it, and it is not re-run.
    Noisy,
    /// It was noisy and is re-run at the end of the round.
    ReRun,
    /// It has no figures.
    Failed,
    Running,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Now {
    /// A trial's server starts or stops.
    Starting,
    /// A server is warmed up, for this long so far, of at most the time beside it.
    WarmingUp { so_far: Duration, limit: Duration },
    Loading {
        is_warm_up: bool,
        /// Ok responses per second, of the last fraction of a second; `None` at first.
        rate_per_s: Option<f64>,
        /// The 99th percentile so far, in nanoseconds.
        p99_ns: u64,
        errors: u64,
    },
    /// After the trials: a server is explained.
    Explaining {
        /// What Prony does: `explaining go-nethttp × hello: round 2 of 5`.
        what: String,
        done: usize,
        steps: usize,
    },
}

/// How long the run still takes. If that depends on the figures, it is at least the one and at most the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub least: Duration,
    pub most: Duration,
}

impl Left {
    pub fn about(time: Duration) -> Self {
        Self {
            least: time,
            most: time,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunNoteKind {
    Plain,
    /// The machine disturbed a trial.
    Noisy,
    /// A server takes long to warm up.
    WarmUp,
    Failed,
}

/// What a frame shows of it.
pub(super) type Look<'m> = view::Look<'m, RunModel>;

impl RunModel {
    /// A run of these servers, of which nothing has happened yet.
    pub fn new(
        title: String,
        plan: String,
        columns: Vec<Column>,
        servers: impl IntoIterator<Item = String>,
    ) -> Self {
        let waiting = |id| ServerState {
            id,
            readiness: Readiness::Waiting,
            since: Duration::ZERO,
        };
        Self {
            title,
            plan,
            columns,
            servers: servers.into_iter().map(waiting).collect(),
            ..Self::default()
        }
    }

    /// A server is further than it was. One that is not known yet is added.
    pub fn server(&mut self, id: &str, readiness: Readiness, at: Duration) {
        let state = ServerState {
            id: id.to_owned(),
            readiness,
            since: at,
        };
        match self.servers.iter_mut().find(|one| one.id == id) {
            Some(known) => *known = state,
            None => self.servers.push(state),
        }
    }

    pub fn expect(&mut self, id: CellId, round: u32) {
        let rounds = &mut self.cell(id).rounds;
        rounds.entry(round).or_insert(RoundState::Pending);
        self.attempts.expected += 1;
    }

    pub fn begin(&mut self, id: CellId, round: u32) {
        self.cell(id).rounds.insert(round, RoundState::Running);
        self.running_column = id.column;
        self.now = Some(Now::Starting);
    }

    /// A trial is over: how it ended, and the figure over all rounds so far, if there is one.
    pub fn end(&mut self, id: CellId, round: u32, state: RoundState, figure: Option<Estimate>) {
        let cell = self.cell(id);
        cell.rounds.insert(round, state);
        cell.figure = figure;
        self.now = None;
        let is_re_run = u64::from(state == RoundState::ReRun);
        self.attempts.done += 1;
        self.attempts.expected += is_re_run;
        self.attempts.re_run += is_re_run;
        self.attempts.noisy += is_re_run + u64::from(state == RoundState::Noisy);
    }

    fn cell(&mut self, id: CellId) -> &mut Cell {
        self.cells.entry(id).or_default()
    }

    /// `go-nethttp × hello`.
    pub(super) fn named(&self, id: CellId) -> String {
        let server = self.servers.get(id.server).map_or("", |one| &one.id);
        let workload = self.columns.get(id.column);
        let workload = workload.map_or("", |one| &one.workload);
        format!("{server} × {workload}")
    }

    /// The column whose figures are shown: the chosen one, or that of the latest trial.
    pub(super) fn shown_column(&self, chosen: Option<usize>) -> usize {
        let last = self.columns.len().saturating_sub(1);
        chosen.unwrap_or(self.running_column).min(last)
    }

    /// The trial that runs: its cell and round.
    pub(super) fn running(&self) -> Option<(CellId, u32)> {
        self.cells.iter().find_map(|(&id, cell)| {
            let mut rounds = cell.rounds.iter();
            let (round, _) = rounds.find(|(_, state)| **state == RoundState::Running)?;
            Some((id, *round))
        })
    }

    /// Something noteworthy happened.
    pub fn note(&mut self, kind: RunNoteKind, text: &str, at: Duration) {
        self.notes.push_front((at, kind, text.to_owned()));
        self.notes.truncate(MOST_NOTES);
    }

    /// The time left by now.
    pub(super) fn left(&self, at: Duration) -> Option<Left> {
        let (left, since) = self.left?;
        let less = |left: Duration| left.saturating_sub(at.saturating_sub(since));
        Some(Left {
            least: less(left.least),
            most: less(left.most),
        })
    }
}

impl Cell {
    /// How many rounds are over, re-runs excepted.
    pub(super) fn over(&self) -> usize {
        let over = [RoundState::Done, RoundState::Noisy, RoundState::Failed];
        self.rounds
            .values()
            .filter(|state| over.contains(state))
            .count()
    }

    /// The state that a cell without room for its rounds shows: what runs, or else the worst, or else done.
    pub(super) fn summary(&self) -> RoundState {
        let states = || self.rounds.values().copied();
        let worst = states().max().unwrap_or(RoundState::Pending);
        if worst > RoundState::Done {
            worst
        } else {
            // A cell without trouble is done when all its rounds are.
            states().min().unwrap_or(RoundState::Pending)
        }
    }
}
