//! What a run reports to its screen.

use std::time::Duration;

use super::model::{
    AttemptCounts, Cell, Column, Interval, Left, Now, Readiness, RoundState, RunModel, RunNote,
    ServerState,
};

/// The place of a server in a column of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellId {
    /// The index of the server.
    pub server: usize,
    /// The index of the column.
    pub column: usize,
}

/// Something that happened in a run.
#[derive(Clone, Debug)]
pub enum RunUpdate {
    /// A server is further than it was. A server that is not known yet is added.
    Server {
        /// Its id.
        id: String,
        /// How far it is now.
        readiness: Readiness,
    },
    /// The columns of the plan.
    Columns(Vec<Column>),
    /// Trials are planned: their cells and rounds.
    Planned(Vec<(CellId, u32)>),
    /// A trial begins.
    Began(CellId, u32),
    /// What runs now has come further.
    Now(Now),
    /// A trial is over.
    Over {
        /// Its cell.
        cell: CellId,
        /// Its round.
        round: u32,
        /// How it ended.
        state: RoundState,
        /// The figure over all rounds so far, if there is one.
        figure: Option<Interval>,
    },
    /// How far the run has come.
    Progress {
        /// Attempts that are over.
        done: u64,
        /// Attempts that are expected.
        expected: u64,
        /// How much of the expected time is over, from 0 to 1.
        share: f64,
        /// The time left.
        left: Left,
        /// `round 2 of 6`.
        round: String,
        /// `±5.1 % so far, target ±3 %`, or empty.
        precision: String,
        /// Attempts that were noisy.
        noisy: u64,
        /// Attempts that were re-run.
        re_run: u64,
    },
    /// A line for the log.
    Note(RunNote),
}

impl RunModel {
    /// Takes what happened; `at` is the time since the run began.
    pub(super) fn update(&mut self, update: RunUpdate, at: Duration) {
        match update {
            RunUpdate::Server { id, readiness } => self.server(id, readiness, at),
            RunUpdate::Columns(columns) => self.columns = columns,
            RunUpdate::Planned(trials) => {
                for (id, round) in trials {
                    let rounds = &mut self.cell(id).rounds;
                    rounds.entry(round).or_insert(RoundState::Pending);
                }
            }
            RunUpdate::Began(id, round) => {
                self.cell(id).rounds.insert(round, RoundState::Running);
                self.running_column = id.column;
                self.now = Some(Now::Starting);
            }
            RunUpdate::Now(now) => self.now = Some(now),
            RunUpdate::Over {
                cell,
                round,
                state,
                figure,
            } => {
                let cell = self.cell(cell);
                cell.rounds.insert(round, state);
                cell.figure = figure;
                self.now = None;
            }
            RunUpdate::Progress {
                done,
                expected,
                share,
                left,
                round,
                precision,
                noisy,
                re_run,
            } => {
                self.attempts = AttemptCounts {
                    done,
                    expected,
                    noisy,
                    re_run,
                };
                self.share = share.clamp(0.0, 1.0);
                self.left = Some((left, at));
                self.round = round;
                self.precision = precision;
            }
            RunUpdate::Note(note) => self.note(note, at),
        }
    }

    fn cell(&mut self, id: CellId) -> &mut Cell {
        self.cells.entry(id).or_default()
    }

    fn server(&mut self, id: String, readiness: Readiness, at: Duration) {
        let state = ServerState {
            id,
            readiness,
            since: at,
        };
        match self.servers.iter_mut().find(|one| one.id == state.id) {
            Some(known) => *known = state,
            None => self.servers.push(state),
        }
    }
}
