//! The results on one workload under one load: a table with a row for each server.

use prony_model::{Bound, Cause, EnoughRounds, FigureKind, LoadShape, LoadSpec, Run, ServerRecord};
use prony_stats::{Band, Beside, Known, Order};

use crate::course::CourseTrial;
use crate::figures::{Figures, Relative};

/// The results on one workload under one load.
#[derive(Clone, Debug)]
pub struct ResultTable {
    /// The workload's id.
    pub workload: String,
    /// The load, without the seed, which differs from round to round.
    pub load: LoadSpec,
    /// The number of rounds that were tried.
    pub rounds: usize,
    /// The words that distinguish it from other tables of the same workload; `None` if there is no other.
    pub apart: Option<String>,
    /// Its name in anchors and file names, unique in the report.
    pub slug: String,
    /// The ranked rows by median rate, then the unranked ones; in an open loop, whose rate is the offered one, by median latency.
    pub rows: Vec<ServerRow>,
    /// The server that the ratios refer to; `None` if none was chosen, if it is not in this table, or if it is the reference
    /// server, because each row has its share of that anyway.
    pub baseline: Option<String>,
    /// Which rows the rates tell apart; `None` for an open loop, whose rate is the offered one.
    pub order: Option<RateOrder>,
    /// Which rows their requests per second of CPU time tell apart.
    pub(crate) cpu_order: RateOrder,
    /// The trials in the order in which they were run, every attempt.
    pub course: Vec<CourseTrial>,
    /// Why no more rounds were added, if rounds were added as needed.
    pub enough: Option<RoundsReached>,
}

/// One server's row.
#[derive(Clone, Debug)]
pub struct ServerRow {
    pub server: ServerRecord,
    /// Its rank band, or why it has none.
    pub standing: Standing,
    pub figures: Figures,
    /// What limited its figures besides the server, even if in too few rounds to matter.
    pub bounds: Vec<Bound>,
    /// Ok responses per second as a share of the reference server's, over the rounds that both have; `None` if there
    /// is none, in an open loop, and for itself.
    pub share_of_ceiling: Option<Relative>,
    /// Ok responses per second, in an open loop the median latency, as a ratio to the baseline's, over the rounds that
    /// both have; `None` if the table has no baseline, and for itself.
    pub of_baseline: Option<Relative>,
    /// Whether users with think time sent its requests in a closed loop, so that their thinking sets most of the pace.
    pub(crate) thinks: bool,
    /// Its band by requests per second of CPU time; `None` for reference servers, after wrong responses, and if
    /// the CPU time is unknown.
    pub cpu_band: Option<Band>,
}

/// A row's rank band, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The range of ranks that the data allow.
    Ranked(Band),
    /// Its rate is a lower bound, because something besides the server was the limit. It has a band if the load ranks servers,
    /// and no server is certainly faster.
    AtLeast(Option<Band>),
    /// It is the reference server: a limit of the machine, not a competitor.
    Reference,
    /// The load is an open loop, so the rate is the offered one.
    Offered,
    /// Responses under load were wrong, so its rate does not count.
    WrongResponses,
}

/// Which rows the rates, or the requests per CPU second, tell apart.
#[derive(Clone, Debug)]
pub struct RateOrder {
    /// The ranked servers, in the order of `order`.
    pub(crate) servers: Vec<String>,
    /// What the rounds tell about them.
    pub order: Order,
}

impl RateOrder {
    /// The server that is certainly faster; `None` if that is open, or one of them is not ranked.
    pub fn faster<'a>(&self, one: &'a str, other: &'a str) -> Option<&'a str> {
        let (first, second) = (self.place(one)?, self.place(other)?);
        let better = self.order.better(first, second)?;
        Some(if better == first { one } else { other })
    }

    /// What the rounds tell about a server beside another; `None` if one of them is not ranked, or they have fewer than two
    /// rounds in common.
    pub fn beside(&self, one: &str, other: &str) -> Option<Beside> {
        self.order.beside(self.place(one)?, self.place(other)?)
    }

    /// Whether a server is ranked.
    pub fn has(&self, server: &str) -> bool {
        self.place(server).is_some()
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.servers.iter().position(|server| server == id)
    }
}

/// Why Prony stopped adding rounds to a table, if it added them as needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsReached {
    /// The greatest allowed distance from a ratio to its interval's ends, as a share of the ratio.
    pub precision: f64,
    /// The time limit for the run's trials, in seconds.
    pub budget_s: f64,
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
    /// The workload, and what distinguishes this table if the workload has several.
    pub fn name(&self) -> String {
        match &self.apart {
            Some(apart) => format!("{}, {apart}", self.workload),
            None => self.workload.clone(),
        }
    }

    /// Whether users think between their requests, and so make the rates of all servers alike.
    pub(crate) fn is_paced_by_users(&self) -> bool {
        matches!(self.load.shape, LoadShape::UsersClosed { .. })
            && self.ranked().count() > 1
            && self.ranked().all(ServerRow::may_be_first)
    }

    pub(crate) fn ranked(&self) -> impl Iterator<Item = &ServerRow> {
        self.rows.iter().filter(|row| row.band().is_some())
    }

    /// Which rows the rates tell apart, if they rank servers: users who think make them all alike.
    pub(crate) fn rate_order(&self) -> Option<&RateOrder> {
        let order = self.order.as_ref();
        order.filter(|_| !self.is_paced_by_users())
    }

    /// Whether its load is an open loop: the rate is the offered one and no server is ranked.
    pub fn is_open(&self) -> bool {
        self.load.shape.is_open()
    }

    /// Whether it is of this workload under this load.
    pub fn is_of(&self, workload: &str, load: &LoadSpec) -> bool {
        self.workload == workload && self.load.same_load(load)
    }

    /// A server's row, if it has one.
    pub fn row(&self, server: &str) -> Option<&ServerRow> {
        self.rows.iter().find(|row| row.server.id == server)
    }

    /// Whether its responses were read as event streams.
    pub(crate) fn has_events(&self) -> bool {
        self.rows.iter().any(|row| row.figures.events.is_some())
    }

    /// How its requests travel and what comes back: `h2`, `http/1.1, event streams`. A workload has one protocol, so its rows
    /// have the same. `None` without rows.
    pub fn wire(&self) -> Option<String> {
        let protocol = self.rows.first()?.figures.protocol.name();
        Some(if self.has_events() {
            format!("{protocol}, event streams")
        } else {
            protocol.to_owned()
        })
    }

    /// The rows by requests per second of CPU time; rows without that come last.
    pub fn by_cpu(&self) -> Vec<&ServerRow> {
        let mut rows: Vec<&ServerRow> = self.rows.iter().collect();
        let place = |row: &ServerRow| row.figures.requests_per_cpu_s().unwrap_or(0.0);
        rows.sort_by(|a, b| place(b).total_cmp(&place(a)));
        rows
    }

    /// Whether any row has server CPU time.
    pub(crate) fn has_cpu(&self) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| row.figures.requests_per_cpu_s().is_some())
    }

    /// The row of the reference server that the others are compared with, if it took part.
    pub fn ceiling(&self) -> Option<&ServerRow> {
        self.rows.iter().find(|row| row.server.is_ceiling())
    }
}

impl ServerRow {
    /// Its range of ranks; `None` if it is not ranked.
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

    /// Whether its rate is its own: neither the generator nor the machine limited it, and it is not a reference server.
    pub fn is_sound(&self) -> bool {
        matches!(self.standing, Standing::Ranked(_) | Standing::Offered)
    }

    /// The bounds that a report names. If users think between their requests, the pace is theirs: the machine then did
    /// not limit it, although the ceiling has the same rate.
    pub fn shown_bounds(&self) -> impl Iterator<Item = &Bound> {
        let of_users = |bound: &Bound| self.thinks && matches!(bound.cause, Cause::Ceiling(_));
        self.bounds.iter().filter(move |bound| !of_users(bound))
    }

    /// What its figures of a kind say about the server.
    pub fn known(&self, kind: FigureKind) -> Known {
        match self.standing {
            Standing::WrongResponses => Known::Nothing,
            _ if Bound::any_hides(&self.bounds, kind) => Known::AtLeast,
            _ => Known::Exactly,
        }
    }

    /// Whether its figures compare with those of other servers: reference servers do not compete, and neither do servers that
    /// sent wrong responses.
    pub(crate) fn is_comparable(&self) -> bool {
        !self.is_reference() && self.standing != Standing::WrongResponses
    }

    /// Whether it is a reference server (whose rate may also be a lower bound).
    pub(crate) fn is_reference(&self) -> bool {
        self.server.is_reference()
    }
}
