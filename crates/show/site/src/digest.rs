//! What the site keeps of a run once its trials are out of memory.

use prony_model::{LoadSpec, MeasuredBy, Run, RunEnd, ServerRecord, TrialRecord};
use prony_present::number::{count, duration, whole};
use prony_report::compare::{Comparison, Finding, Metric, Tally, What};
use prony_report::{
    Absence, CountTable, Percentile, ResultTable, RunSummary, ServerRow, Standing, verdicts,
};

/// A run with its trials.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) run: Run,
    /// Its trials, in the order in which they ran.
    pub(crate) trials: Vec<TrialRecord>,
}

/// What the site keeps of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunDigest {
    /// The run, without the document that it may reproduce.
    pub(crate) run: Run,
    /// How many trials it has, failed ones and every attempt included.
    pub(crate) trials: usize,
    /// The verdict on each workload, a sentence or a few each.
    pub(crate) verdicts: Vec<String>,
    pub(crate) entries: Vec<ServerFigures>,
    /// Which servers have none, and why.
    pub(crate) absences: Vec<Absence>,
    /// How many comparisons have each finding, if the run was made for a comparison of two revisions.
    pub(crate) own: Option<Tally>,
    /// How it compares with the run before it of its suite; `None` for the first.
    pub(crate) change: Option<RunChange>,
}

/// The figures of one server with one workload under one load.
#[derive(Clone, Debug)]
pub(crate) struct ServerFigures {
    /// The server's id.
    pub(crate) server: String,
    /// The workload's id.
    pub(crate) workload: String,
    pub(crate) load: LoadSpec,
    /// The figure by which servers are compared: the rate of a closed loop, the median latency of an open one, in nanoseconds.
    /// `None` if there is none, or responses were wrong.
    pub(crate) figure: Option<Figure>,
    /// The 99th percentile of the latency, in nanoseconds.
    pub(crate) p99: Option<Figure>,
    /// The server's peak memory, in bytes.
    pub(crate) memory_bytes: Option<u64>,
    /// How many rounds it has figures of.
    pub(crate) rounds: usize,
    /// How far the figures can be trusted.
    pub(crate) trust: Trust,
}

/// How far figures can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// They are the server's.
    Sound,
    /// They are a lower bound: something besides the server was the limit.
    LowerBound,
    /// Responses were wrong, so they mean nothing.
    Wrong,
}

/// A figure with its 95 % interval; `None` for a single round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    /// The median.
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// How a run compares with an earlier one: the verdicts of `prony compare`.
#[derive(Clone, Debug)]
pub(crate) struct RunChange {
    /// The earlier run.
    pub(crate) base: String,
    /// How many comparisons have each finding.
    pub(crate) tally: Tally,
    /// How the conditions differ, and how the rate of the ceiling (reference server) changed.
    pub(crate) differences: Vec<String>,
    pub(crate) conditions_differ: bool,
    /// The finding on the figure of each server, workload and load.
    pub(crate) findings: Vec<FigureChange>,
}

#[derive(Clone, Debug)]
pub(crate) struct FigureChange {
    server: String,
    workload: String,
    load: LoadSpec,
    pub(crate) finding: Finding,
    /// The change: `+2.3 %`; empty if it is unknown.
    pub(crate) text: String,
}

impl RunDigest {
    /// What to keep of a run.
    pub(crate) fn of(
        recorded: &Recorded,
        summary: &RunSummary,
        verdict: Option<&Comparison>,
    ) -> Self {
        let mut run = recorded.run.clone();
        run.published = None;
        let timed = summary.tables.iter().flat_map(entries);
        let counted = summary.counts.iter().flat_map(counted);
        Self {
            run,
            trials: recorded.trials.len(),
            verdicts: match verdict {
                Some(verdict) => vec![prony_report::compare::result(verdict)],
                None => verdicts(summary),
            },
            entries: timed.chain(counted).collect(),
            absences: summary.absences.clone(),
            own: verdict.map(|verdict| verdict.tally),
            change: None,
        }
    }

    pub(crate) fn entries_of<'a>(
        &'a self,
        server: &'a str,
    ) -> impl Iterator<Item = &'a ServerFigures> {
        self.entries
            .iter()
            .filter(move |entry| entry.server == server)
    }

    pub(crate) fn server(&self, id: &str) -> Option<&ServerRecord> {
        self.run.server(id)
    }

    /// The day on which it started: `2026-11-21`.
    pub(crate) fn date(&self) -> &str {
        let started = &self.run.started_at;
        started.split('T').next().unwrap_or(started)
    }

    /// When it started, to the minute: `2026-11-21 20:30`.
    pub(crate) fn time(&self) -> String {
        match self.run.started_at.split_once('T') {
            Some((date, time)) => format!("{date} {}", time.get(..5).unwrap_or(time)),
            None => self.run.started_at.clone(),
        }
    }

    /// Whether it may still be going on.
    pub(crate) fn is_open(&self) -> bool {
        self.run.end == RunEnd::Open
    }
}

fn entries(table: &ResultTable) -> impl Iterator<Item = ServerFigures> + '_ {
    table.rows.iter().map(|row| {
        let trust = trust(row);
        let percentile = |which| {
            Some(Figure {
                value: row.figures.percentile(which)?,
                interval: row.figures.interval(which),
            })
        };
        let rate = row.figures.rate;
        let rate = Figure {
            value: rate.median,
            interval: (rate.n > 1).then_some((rate.low, rate.high)),
        };
        let headline = if table.is_open() {
            percentile(Percentile::P50)
        } else {
            Some(rate).filter(|rate| rate.value > 0.0)
        };
        ServerFigures {
            server: row.server.id.clone(),
            workload: table.workload.clone(),
            load: table.load.clone(),
            figure: headline.filter(|_| trust != Trust::Wrong),
            p99: percentile(Percentile::P99).filter(|_| trust != Trust::Wrong),
            memory_bytes: row.figures.peak_memory_bytes,
            rounds: row.figures.rate.n,
            trust,
        }
    })
}

/// The figures of a load that counts instructions.
fn counted(table: &CountTable) -> impl Iterator<Item = ServerFigures> + '_ {
    table.rows.iter().map(|row| ServerFigures {
        server: row.server.clone(),
        workload: table.workload.clone(),
        load: table.load.clone(),
        figure: row.per_request.map(|per_request| Figure {
            value: per_request.median,
            interval: (per_request.n > 1).then_some((per_request.low, per_request.high)),
        }),
        p99: None,
        memory_bytes: None,
        rounds: row.rounds,
        trust: Trust::Sound,
    })
}

fn trust(row: &ServerRow) -> Trust {
    match row.standing {
        Standing::WrongResponses => Trust::Wrong,
        Standing::AtLeast(_) => Trust::LowerBound,
        // A reference server is not ranked, so its bounds alone say whether its figures are its own.
        Standing::Reference if row.shown_bounds().any(prony_model::Bound::binds) => {
            Trust::LowerBound
        }
        Standing::Ranked(_) | Standing::Reference | Standing::Offered => Trust::Sound,
    }
}

impl ServerFigures {
    /// What the figure is, with its unit.
    pub(crate) fn figure_name(&self) -> &'static str {
        if self.load.by == MeasuredBy::Instructions {
            return "user-space instructions per request";
        }
        match (self.load.shape.is_open(), self.load.flows) {
            (true, false) => "median latency",
            (true, true) => "median time of a flow",
            (false, false) => "ok responses per second",
            (false, true) => "ok flows per second",
        }
    }

    /// How its figure is written.
    pub(crate) fn written(&self) -> fn(f64) -> String {
        match self.load.by {
            MeasuredBy::Instructions => whole,
            MeasuredBy::Time if self.load.shape.is_open() => duration,
            MeasuredBy::Time => count,
        }
    }

    /// Whether another has the same workload and load.
    pub(crate) fn is_like(&self, other: &ServerFigures) -> bool {
        self.workload == other.workload && self.load.same_load(&other.load)
    }
}

impl RunChange {
    /// What a comparison says.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        let findings = comparison.cases.iter().filter_map(|case| {
            let metric = match (case.load.by, case.load.shape.is_open()) {
                (MeasuredBy::Instructions, _) => Metric::UserInstructions,
                (MeasuredBy::Time, true) => Metric::P50,
                (MeasuredBy::Time, false) => Metric::Rate,
            };
            let row = case
                .rows
                .iter()
                .find(|row| row.what == What::Metric(metric))?;
            let change = row.change.as_ref();
            Some(FigureChange {
                server: case.new.clone(),
                workload: case.workload.clone(),
                load: case.load.clone(),
                finding: row.finding,
                text: change.map_or_else(String::new, |it| metric.change_text(it.ratio)),
            })
        });
        Self {
            base: comparison.base.run.clone(),
            tally: comparison.tally,
            differences: comparison.differences.clone(),
            conditions_differ: comparison.conditions_differ,
            findings: findings.collect(),
        }
    }

    /// How a figure changed; `None` if the earlier run does not have it.
    pub(crate) fn of_entry(&self, entry: &ServerFigures) -> Option<&FigureChange> {
        self.findings.iter().find(|it| {
            it.server == entry.server
                && it.workload == entry.workload
                && it.load.same_load(&entry.load)
        })
    }
}
