//! What can be said of a run: a table for each workload and load, and who is missing from it and why.

mod absence;
mod awaiting;
mod costs;
mod course;
mod enough;
mod events;
mod figures;
mod generator;
mod merged;
mod naming;
mod noise;
mod open;
mod ranking;
mod relative;
mod rounds;
mod table;
mod warming;
mod worst;
mod wrong;

use prony_model::{LoadShape, LoadSpec, Run, TrialRecord};
use prony_stats::{Band, Known};

use crate::bound::{Bound, FigureKind, known};
use crate::{Document, format, prose};

pub(crate) use absence::why_absent;
pub use absence::{Absence, Why};
pub use costs::CostFigures;
pub use course::CourseTrial;
pub use enough::EnoughRounds;
pub use events::{EventFigures, HeldFigures};
pub use figures::{Figures, Percentile};
pub use generator::GeneratorFigures;
pub use noise::{NoiseKind, Quiet, Seen};
pub use open::{Kept, Lag, OpenFigures};
pub use ranking::RateOrder;
pub use relative::Relative;
pub use rounds::Attempts;
pub(crate) use rounds::Rounds;
pub use warming::WarmingFigures;
pub use worst::WorstRound;
pub use wrong::WrongResponses;

/// A run, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The document that the suite grew from, its tables filled with what was measured here; `None`
    /// where the suite has none.
    pub published: Option<Document>,
    /// A table for each workload and load, in the suite's order.
    pub tables: Vec<Table>,
    /// Who is missing from which table, and why.
    pub absences: Vec<Absence>,
    /// How quiet the machine was.
    pub quiet: Quiet,
}

/// How the servers did under one load on one workload.
#[derive(Clone, Debug)]
pub struct Table {
    /// The workload's id.
    pub workload: String,
    /// The load, without the seed, which each round has of its own.
    pub load: LoadSpec,
    /// How many rounds of it were tried.
    pub rounds: usize,
    /// The words that tell it apart from another table of the same workload; `None` where there is
    /// no other.
    pub apart: Option<String>,
    /// Its name in anchors and file names, unique in the comparison.
    pub slug: String,
    /// The ranked rows by median, then the unranked ones by median. In an open loop, where the rate is
    /// the offered one, by median latency.
    pub rows: Vec<Row>,
    /// The server that the run's ratios are taken to; `None` where none was chosen, where it is not in this table, and
    /// for the reference server, whose share each row has anyway.
    pub baseline: Option<String>,
    /// Who is told apart from whom by the rate; `None` for an open loop, where the rate is the offered one.
    pub order: Option<RateOrder>,
    /// The trials in the order in which they were made, every attempt.
    pub course: Vec<CourseTrial>,
    /// Why no more rounds were added, where they were added as needed.
    pub enough: Option<EnoughRounds>,
}

/// One server's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The server.
    pub server: ServerLabel,
    /// Its rank band, or why it has none.
    pub standing: Standing,
    /// Its figures.
    pub figures: Figures,
    /// What makes figures of it a lower bound, and what limited too few rounds for that.
    pub bounds: Vec<Bound>,
    /// It is the built-in reference server, which the others are held against.
    pub is_ceiling: bool,
    /// Ok responses a second as a share of the reference server's, by the rounds that both have; `None` where there
    /// is none, in an open loop, and for itself.
    pub share_of_ceiling: Option<Relative>,
    /// Ok responses a second, in an open loop the median latency, as a ratio to the baseline's, by the rounds that
    /// both have; `None` where the table has no baseline, and for itself.
    pub of_baseline: Option<Relative>,
    /// Its band by requests per second of CPU time; `None` for reference servers, where responses were wrong, and where
    /// no CPU time is known.
    pub cpu_band: Option<Band>,
}

/// A row's rank band, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The ranks that it may have, as far as the data tell.
    Ranked(Band),
    /// Its rate is a lower bound: something besides the server was the limit. The band is there where the load ranks; nobody
    /// is faster for certain.
    AtLeast(Option<Band>),
    /// It is the reference server: a limit of the machine, not a competitor.
    Reference,
    /// The load is an open loop, in which the rate is the one that was offered.
    Offered,
    /// Responses under load were wrong, so its rate is of something else.
    WrongResponses,
}

/// What is told of a server wherever it is shown.
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

impl Comparison {
    /// Compares the trials of a run.
    pub fn of(run: &Run, trials: &[TrialRecord]) -> Comparison {
        let tables = table::tables(run, trials);
        Comparison {
            published: Document::of(run, trials, &tables),
            absences: absence::absences(run, trials, &tables),
            quiet: Quiet::of(trials),
            tables,
        }
    }

    /// The servers that sent wrong responses under load, each once, by id.
    pub fn wrong_servers(&self) -> Vec<&str> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let wrong = rows.filter(|row| row.figures.wrong.is_some());
        let mut servers: Vec<&str> = wrong.map(|row| row.server.id.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// Whether a table is of a closed loop.
    pub fn has_closed(&self) -> bool {
        self.tables.iter().any(|table| !table.is_open())
    }

    /// Whether a table is of users who wait for their responses and think.
    pub fn has_users_closed(&self) -> bool {
        let thinks = |table: &Table| matches!(table.load.shape, LoadShape::UsersClosed { .. });
        self.tables.iter().any(thinks)
    }

    /// Whether a table is of an open loop.
    pub fn has_open(&self) -> bool {
        self.tables.iter().any(Table::is_open)
    }

    /// The rounds that were planned, or where the tables had fewer, from how many on: `3 to 20`. Where rounds were added
    /// as needed, how many there were.
    pub(crate) fn rounds(&self, run: &Run) -> String {
        let rounds = || self.tables.iter().map(|table| table.rounds);
        let most = match run.adaptive {
            Some(_) => rounds().max().unwrap_or(0),
            None => run.rounds as usize,
        };
        match rounds().min().filter(|fewest| *fewest < most) {
            Some(fewest) => format!("{fewest} to {most}"),
            None => most.to_string(),
        }
    }

    /// How many workloads were tried.
    pub(crate) fn workloads(&self) -> usize {
        let first = |(i, table): &(usize, &Table)| {
            let mut before = self.tables[..*i].iter();
            before.all(|other| other.workload != table.workload)
        };
        self.tables.iter().enumerate().filter(first).count()
    }

    /// What a server is missing from: the name of the table or of the workload; `None` for all.
    pub fn missing_from(&self, why: &Why) -> Option<String> {
        let load = match why {
            Why::Failed { load, .. } | Why::NotTried { load, .. } => Some(load),
            _ => None,
        };
        let workload = why.workload()?;
        let mut tables = self.tables.iter();
        let table = tables.find(|table| {
            table.workload == workload && load.is_some_and(|load| load.same_load(&table.load))
        });
        Some(table.map_or(workload.to_owned(), Table::name))
    }

    /// The numbers of rounds that the rows rest on, ascending, each once.
    pub fn round_counts(&self) -> Vec<usize> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let mut counts: Vec<_> = rows.map(|row| row.figures.rate.n).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

impl Table {
    /// The workload, and what tells this table apart where the workload has several.
    pub fn name(&self) -> String {
        match &self.apart {
            Some(apart) => format!("{}, {apart}", self.workload),
            None => self.workload.clone(),
        }
    }

    /// Whether its load is an open loop: the rate is the offered one and nobody is ranked.
    pub fn is_open(&self) -> bool {
        prose::is_open(&self.load)
    }

    /// Whether it is known what was made of the requests that its schedule asked for.
    pub fn has_kept(&self) -> bool {
        let kept = |row: &Row| row.figures.open.and_then(|open| open.kept);
        self.rows.iter().any(|row| kept(row).is_some())
    }

    /// Whether its responses were read as event streams.
    pub fn has_events(&self) -> bool {
        self.rows.iter().any(|row| row.figures.events.is_some())
    }

    /// Whether the time to the first byte was measured.
    pub fn has_first_byte(&self) -> bool {
        self.rows.iter().any(|row| row.figures.first_byte.is_some())
    }

    /// The rows by the requests that they respond for a second of CPU time, those without last.
    pub fn by_cpu(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        let place = |row: &Row| row.figures.requests_per_cpu_s().unwrap_or(0.0);
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

    /// The row of the reference server that the others are held against, where it took part.
    pub fn ceiling(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.is_ceiling)
    }
}

impl Row {
    /// The ranks that it may have; `None` where it is not ranked.
    pub fn band(&self) -> Option<Band> {
        match self.standing {
            Standing::Ranked(band) => Some(band),
            Standing::AtLeast(band) => band,
            Standing::Reference | Standing::Offered | Standing::WrongResponses => None,
        }
    }

    /// Whether nobody is surely ahead of it.
    pub fn may_be_first(&self) -> bool {
        self.band().is_some_and(|band| band.best == 1)
    }

    /// Whether its figure is its own: it is ranked, or would be if the load ranked anybody, and neither generator nor
    /// machine was its limit.
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

    /// What the reader must know of this row, a few words each.
    pub fn flags(&self) -> Vec<String> {
        self.after_standing(self.figures.flags())
    }

    /// The same without the kinds of errors.
    pub(crate) fn flags_without_errors(&self) -> Vec<String> {
        self.after_standing(self.figures.flags_without_errors())
    }

    fn after_standing(&self, flags: Vec<String>) -> Vec<String> {
        let standing = match self.standing {
            Standing::Reference => Some("reference".to_owned()),
            Standing::WrongResponses => Some(match self.figures.wrong {
                Some(wrong) => format!("wrong responses: {}", prose::wrong_of(wrong)),
                None => "wrong responses".to_owned(),
            }),
            Standing::Ranked(_) | Standing::Offered | Standing::AtLeast(_) => None,
        };
        let bounds = self.bounds.iter().map(Bound::words);
        let mut bounds: Vec<String> = bounds.collect();
        if let (Standing::AtLeast(Some(_)), Some(last)) = (self.standing, bounds.last_mut()) {
            let rate = format::rate(self.figures.rate.median);
            last.push_str(&format!(": at least {rate}"));
        }
        let told = standing.into_iter().chain(bounds);
        told.chain(flags).collect()
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
