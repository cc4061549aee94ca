//! How the servers did under one load on one workload: a table with a row for each.

use prony_model::{EnoughRounds, LoadSpec, Run};
use prony_stats::{Band, Known, Order};

use crate::bound::{Bound, FigureKind, known};
use crate::course::CourseTrial;
use crate::figures::{CostFigures, Figures, Relative};

/// How the servers did under one load on one workload.
#[derive(Clone, Debug)]
pub struct ResultTable {
    /// The workload's id.
    pub workload: String,
    /// The load, without the seed, which each round has of its own.
    pub load: LoadSpec,
    /// How many rounds of it were tried.
    pub rounds: usize,
    /// The words that tell it apart from other tables of the same workload; `None` if there is no other.
    pub apart: Option<String>,
    /// Its name in anchors and file names, unique in the comparison.
    pub slug: String,
    /// The ranked rows by median, then the unranked ones by median. In an open loop, whose rate is
    /// the offered one, by median latency.
    pub rows: Vec<ServerRow>,
    /// The server that the ratios are taken to; `None` if none was chosen, if it is not in this table, and for the reference
    /// server, of which each row has its share anyway.
    pub baseline: Option<String>,
    /// Which rows the rates tell apart; `None` for an open loop, whose rate is the offered one.
    pub order: Option<RateOrder>,
    /// The trials in the order in which they were run, every attempt.
    pub course: Vec<CourseTrial>,
    /// Why no more rounds were added, if they were added as needed.
    pub enough: Option<RoundsReached>,
}

/// One server's row.
#[derive(Clone, Debug)]
pub struct ServerRow {
    /// The server.
    pub server: ServerLabel,
    /// Its rank band, or why it has none.
    pub standing: Standing,
    /// Its figures.
    pub figures: Figures,
    /// What limited its figures besides the server, also in too few rounds to matter.
    pub bounds: Vec<Bound>,
    /// It is the built-in reference server, which the others are compared with.
    pub is_ceiling: bool,
    /// Ok responses a second as a share of the reference server's, by the rounds that both have; `None` if there
    /// is none, in an open loop, and for itself.
    pub share_of_ceiling: Option<Relative>,
    /// Ok responses a second, in an open loop the median latency, as a ratio to the baseline's, by the rounds that
    /// both have; `None` if the table has no baseline, and for itself.
    pub of_baseline: Option<Relative>,
    /// Its band by requests per second of CPU time; `None` for reference servers, after wrong responses, and if
    /// no CPU time is known.
    pub cpu_band: Option<Band>,
}

/// A row's rank band, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The range of ranks that the data allow.
    Ranked(Band),
    /// Its rate is a lower bound, because something besides the server was the limit. It has a band if the load ranks, and
    /// no server is certainly faster.
    AtLeast(Option<Band>),
    /// It is the reference server: a limit of the machine, not a competitor.
    Reference,
    /// The load is an open loop, in which the rate is the one that was offered.
    Offered,
    /// Responses under load were wrong, so its rate is of something else.
    WrongResponses,
}

/// What identifies a server wherever it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLabel {
    /// Its id.
    pub id: String,
    /// Programming language.
    pub language: String,
    /// Framework or library.
    pub framework: String,
    /// The version, as found.
    pub version: Option<String>,
    /// `stdlib`, `framework`, `tuned` or `reference`.
    pub class: String,
    /// Size of what its build made, in bytes.
    pub artefact_bytes: Option<u64>,
}

/// Which rows the rates tell apart.
#[derive(Clone, Debug)]
pub struct RateOrder {
    /// The ranked servers, in the order of `order`.
    pub(crate) servers: Vec<String>,
    /// What the rounds tell of them.
    pub order: Order,
}

impl RateOrder {
    /// The server that is certainly faster; `None` if that is open, or one of them is not ranked.
    pub fn faster<'a>(&self, one: &'a str, other: &'a str) -> Option<&'a str> {
        let place = |id: &str| self.servers.iter().position(|server| server == id);
        let (first, second) = (place(one)?, place(other)?);
        let better = self.order.better(first, second)?;
        Some(if better == first { one } else { other })
    }
}

/// Why Prony stopped adding rounds to a table, if it added them as needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsReached {
    /// The greatest distance allowed from a ratio to its interval's ends, as a share of the ratio.
    pub precision: f64,
    /// How long the run's trials might take altogether, in seconds.
    pub budget_s: f64,
    /// How many rounds there were.
    pub rounds: u32,
    /// Why there were no more.
    pub reason: EnoughRounds,
    /// How far the ends of the widest interval are from its ratio; `None` if there was nothing to compare.
    pub widest: Option<f64>,
}

impl RoundsReached {
    /// `None` if the number of rounds was set.
    pub(crate) fn of(run: &Run, workload: &str, load: &LoadSpec) -> Option<Self> {
        let adaptive = run.adaptive.as_ref()?;
        let mut ends = adaptive.ends.iter();
        let end = ends.find(|end| end.workload == workload && end.load.same_load(load))?;
        Some(Self {
            precision: adaptive.precision,
            budget_s: adaptive.budget_s,
            rounds: end.rounds,
            reason: end.reason,
            widest: end.widest,
        })
    }
}

impl ResultTable {
    /// The workload, and what tells this table apart if the workload has several.
    pub fn name(&self) -> String {
        match &self.apart {
            Some(apart) => format!("{}, {apart}", self.workload),
            None => self.workload.clone(),
        }
    }

    /// Whether its load is an open loop: the rate is the offered one and no server is ranked.
    pub fn is_open(&self) -> bool {
        self.load.shape.is_open()
    }

    /// Whether its responses were read as event streams.
    pub fn has_events(&self) -> bool {
        self.rows.iter().any(|row| row.figures.events.is_some())
    }

    /// The rows by the requests that they respond for a second of CPU time, those without last.
    pub fn by_cpu(&self) -> Vec<&ServerRow> {
        let mut rows: Vec<&ServerRow> = self.rows.iter().collect();
        let place = |row: &ServerRow| row.figures.requests_per_cpu_s().unwrap_or(0.0);
        rows.sort_by(|a, b| place(b).total_cmp(&place(a)));
        rows
    }

    /// Whether server CPU time is known of a row.
    pub fn has_cpu(&self) -> bool {
        self.has_cost(|costs| costs.requests_per_cpu_s.is_some())
    }

    /// Whether a cost is known of a row.
    pub(crate) fn has_cost(&self, known: fn(&CostFigures) -> bool) -> bool {
        self.rows.iter().any(|row| known(&row.figures.costs))
    }

    /// The row of the reference server that the others are compared with, if it took part.
    pub fn ceiling(&self) -> Option<&ServerRow> {
        self.rows.iter().find(|row| row.is_ceiling)
    }
}

impl ServerRow {
    /// The ranks that it may have; `None` if it is not ranked.
    pub fn band(&self) -> Option<Band> {
        match self.standing {
            Standing::Ranked(band) => Some(band),
            Standing::AtLeast(band) => band,
            Standing::Reference | Standing::Offered | Standing::WrongResponses => None,
        }
    }

    /// Whether no server is certainly ahead of it.
    pub fn may_be_first(&self) -> bool {
        self.band().is_some_and(|band| band.best == 1)
    }

    /// Whether its rate is its own: neither the generator nor the machine limited it, and it is no reference.
    pub fn is_sound(&self) -> bool {
        matches!(self.standing, Standing::Ranked(_) | Standing::Offered)
    }

    /// What its figures of a kind say of the server.
    pub fn known(&self, kind: FigureKind) -> Known {
        match self.standing {
            Standing::WrongResponses => Known::Nothing,
            _ => known(&self.bounds, kind),
        }
    }

    /// Whether it is a reference server (whose rate may be a lower bound besides).
    pub fn is_reference(&self) -> bool {
        self.server.is_reference()
    }
}

impl ServerLabel {
    /// Whether it is a reference server.
    pub fn is_reference(&self) -> bool {
        self.class == "reference"
    }

    /// Language, framework and version in a line, nothing said twice.
    pub fn title(&self) -> String {
        let mut words = vec![self.language.as_str()];
        if !self.framework.eq_ignore_ascii_case(&self.language) {
            words.push(&self.framework);
        }
        words.extend(self.version.as_deref());
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }
}

impl From<&prony_model::ServerRecord> for ServerLabel {
    fn from(record: &prony_model::ServerRecord) -> Self {
        Self {
            id: record.id.clone(),
            language: record.language.clone(),
            framework: record.framework.clone(),
            version: record.version.clone(),
            class: record.class.clone(),
            artefact_bytes: record.artefact_bytes,
        }
    }
}
