//! The figures of one server under one load, over all its rounds.

mod attempts;
mod costs;
mod flows;
mod open;
mod over_rounds;
mod over_time;
mod rounds;
mod spectrum;

use std::collections::BTreeMap;

use prony_model::{
    Bound, CountedRounds, LatencySummary, LogTail, Measurement, Outage, Outcome, Outcomes,
    Protocol, Throttled,
};
use prony_stats::{Correlation, Estimate, spearman, supports_percentile};

pub(crate) use attempts::WARMING_UP;
pub use attempts::{Attempts, WarmingFigures};
pub use costs::{CostFigures, GeneratorFigures};
pub(crate) use flows::PartFigures;
pub(crate) use open::{Awaiting, RATE_MADE};
pub use open::{EventFigures, HeldFigures, Lag, OpenFigures, SentFigures};
pub use over_rounds::{Relative, WorstRound};
pub use over_time::{OverTime, RoundSearch};
pub use rounds::{Attempt, RoundFigures};
pub use spectrum::SpectrumPoint;

pub(crate) use over_rounds::estimate;
use over_rounds::{Merged, over};

/// What the measured rounds of one server gave together.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Ok responses per second, or ok flows if the load has any.
    pub rate: Estimate,
    /// The figure that ranks rows, by round: the rate, in an open loop the median latency.
    pub(crate) headline: BTreeMap<u32, f64>,
    /// Latency (the time of a flow, if the load has any) in nanoseconds, from the merged histograms of all rounds; `None` if no response was ok.
    pub latency: Option<LatencySummary>,
    /// That latency at every percentile with at least ten responses beyond.
    pub spectrum: Vec<SpectrumPoint>,
    /// The interval of its median over the rounds.
    p50_interval: Option<(f64, f64)>,
    /// The interval of its p99 over the rounds.
    p99_interval: Option<(f64, f64)>,
    /// Share (0 to 1) of those latencies within one standard deviation of their mean.
    pub within_stdev: Option<f64>,
    /// The number of responses with a latency.
    pub latency_count: u64,
    /// Rounds whose histogram could not be read, so the latency lacks them.
    pub(crate) unreadable_histograms: usize,
    /// Bytes received per second, heads included; the median of the rounds.
    pub(crate) transfer_per_s: f64,
    /// The requests of all rounds by outcome, without warm-ups.
    pub outcomes: Outcomes,
    /// What a response and a connection cost the server.
    pub costs: CostFigures,
    /// The server's peak memory in any round, in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// From the spawn of the server to its first expected response, in nanoseconds.
    pub startup_ns: Option<Estimate>,
    /// How the server was warmed up.
    pub warming: WarmingFigures,
    pub(crate) reconnects_per_request: f64,
    /// Requests sent again over a new connection in all rounds, because the server had closed the old one in an orderly way.
    pub resent: u64,
    /// How often a connection had to wait for a free local port, in all rounds.
    pub port_waits: u64,
    /// The share (0 to 1) of its responses that waited for a delayed acknowledgement in the worst round; `None` if hardly
    /// any did.
    pub ack_waits: Option<f64>,
    /// How its CPU quota stopped the server in the worst round; `None` if the figures do not show that.
    pub throttled: Option<Throttled>,
    /// How the schedule was kept; `None` for a closed loop.
    pub open: Option<OpenFigures>,
    /// When the server did not respond; `None` if it always did.
    pub outages: Option<OutageFigures>,
    /// Whether the connections of a closed loop were always waiting for responses; `None` for the other shapes.
    pub(crate) awaiting: Option<Awaiting>,
    /// From the start of the latency to the first byte of the response, if the load measured it.
    pub first_byte: Option<WorstRound>,
    /// What the event streams brought, if responses were read as such.
    pub events: Option<EventFigures>,
    /// The streams that were held open beside the load, if there were any.
    pub held: Option<HeldFigures>,
    /// The flows of a scenario and their requests; empty for other loads.
    pub flows: Vec<PartFigures>,
    /// The stages of a rate that has several.
    pub stages: Vec<PartFigures>,
    /// What the load cost the generator.
    pub generator: GeneratorFigures,
    /// Every attempt at a round, in the order of the rounds.
    pub rounds: Vec<Attempt>,
    /// How the median round went; `None` if the record has the course of no round.
    pub(crate) over_time: Option<OverTime>,
    /// What the server's process had written last in the last trial that counts; `None` if nothing is on record.
    pub log_tail: Option<LogTail>,
    /// How its requests travelled.
    pub protocol: Protocol,
    /// Rounds that gave no figures.
    pub failed_rounds: usize,
    /// How often trials were noisy, and what the figures rest on.
    pub attempts: Attempts,
    /// How strongly the figure worsens with the CPU time lost to others (-1 to 1); `None` if that may be chance.
    pub follows_noise: Option<f64>,
    /// What limited rounds besides the server, even if in too few rounds to matter.
    pub(crate) limits: Vec<Bound>,
    /// The greatest share of CPU time that the hypervisor gave to others in any round.
    pub steal_share: f64,
    /// The responses that were wrong; `None` if none was.
    pub wrong: Option<WrongResponses>,
    /// The first wrong response, if there was one.
    pub first_wrong: Option<String>,
}

/// How many responses of a row were wrong, in every attempt at a round, warm-ups included: noise does not cause any. The row's
/// figures then do not describe correct work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongResponses {
    /// Responses with an unexpected status, body or framing. Bodies are compared in samples, so one may stand for many.
    pub wrong: u64,
    /// All responses, right and wrong.
    pub of: u64,
}

/// Times without an ok response, although some were due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageFigures {
    /// How many rounds had one.
    pub rounds: usize,
    pub longest: Outage,
}

impl OutageFigures {
    fn of(rounds: &[&Measurement]) -> Option<Self> {
        let all = rounds.iter().flat_map(|round| &round.load.outages);
        let with_outages = rounds.iter().filter(|round| !round.load.outages.is_empty());
        Some(Self {
            longest: Outage::longest(all.copied())?,
            rounds: with_outages.count(),
        })
    }
}

impl WrongResponses {
    fn of(rounds: &[&Measurement]) -> Option<Self> {
        let wrong = rounds.iter().map(|round| round.wrong()).sum();
        let right: u64 = rounds.iter().map(|round| round.responses()).sum();
        (wrong > 0).then(|| Self {
            wrong,
            of: wrong + right,
        })
    }
}

impl Figures {
    /// `None` if there is no measured round.
    pub(crate) fn of(by_round: &CountedRounds<'_>) -> Option<Figures> {
        let rounds = &by_round.measurements()[..];
        let attempted: Vec<&Measurement> = by_round.attempted().collect();
        let rate = over(rounds, |round| Some(round.load.work().rate_per_s))?;
        let merged = Merged::of(rounds.iter().map(|round| round.load.work().histogram));
        let histogram = &merged.histogram;
        let [p50_interval, p99_interval] = merged.draws().intervals([0.5, 0.99]);
        let mut outcomes = Outcomes::default();
        for round in rounds {
            outcomes.merge(&round.load.outcomes);
        }
        let transfer = over(rounds, |round| Some(round.load.bytes_read_per_s()));
        Some(Figures {
            rate,
            headline: by_round.by_round(Measurement::headline),
            p50_interval,
            p99_interval,
            latency: histogram.summary(),
            spectrum: spectrum::spectrum(histogram),
            within_stdev: (histogram.count() > 0).then(|| histogram.share_within_one_stdev()),
            latency_count: histogram.count(),
            unreadable_histograms: merged.unreadable,
            transfer_per_s: transfer.map_or(0.0, |estimate| estimate.median),
            outcomes,
            costs: CostFigures::of(by_round),
            peak_memory_bytes: rounds
                .iter()
                .filter_map(|round| Some(round.server.as_ref()?.peak_memory_bytes))
                .max(),
            startup_ns: attempts::startup(by_round),
            warming: WarmingFigures::of(by_round),
            reconnects_per_request: reconnects_per_request(rounds),
            resent: rounds.iter().map(|round| round.load.resent).sum(),
            port_waits: rounds.iter().map(|round| round.load.port_waits).sum(),
            ack_waits: rounds
                .iter()
                .filter_map(|round| round.load.share_of_ack_waits())
                .reduce(f64::max),
            throttled: rounds
                .iter()
                .filter_map(|round| round.load.server_stopped())
                .reduce(Throttled::worse),
            open: OpenFigures::of(rounds),
            outages: OutageFigures::of(rounds),
            awaiting: Awaiting::of(rounds, reconnects_per_request(rounds)),
            first_byte: WorstRound::of(rounds, |load| load.first_byte_ns.as_ref()),
            events: EventFigures::of(rounds),
            held: HeldFigures::of(rounds),
            flows: PartFigures::of_flows(rounds),
            stages: PartFigures::of_stages(rounds),
            generator: GeneratorFigures::of(rounds),
            rounds: rounds::attempts(by_round),
            over_time: OverTime::of(by_round),
            log_tail: log_tail(by_round),
            protocol: rounds.first()?.load.target.protocol,
            failed_rounds: by_round.failed().count(),
            attempts: Attempts::of(by_round),
            follows_noise: follows_noise(by_round),
            limits: Bound::of_rounds(rounds),
            steal_share: rounds
                .iter()
                .map(|round| round.noise.steal_share)
                .fold(0.0, f64::max),
            wrong: WrongResponses::of(&attempted),
            first_wrong: first_wrong(rounds).or_else(|| {
                let wrong = attempted.iter().copied().filter(|one| one.wrong() > 0);
                first_wrong(&wrong.collect::<Vec<_>>())
            }),
        })
    }

    /// Ok responses per second of server CPU time, the median of the rounds.
    pub fn requests_per_cpu_s(&self) -> Option<f64> {
        Some(self.costs.requests_per_cpu_s?.median)
    }

    /// A latency percentile in nanoseconds, if at least ten responses lie beyond it.
    pub fn percentile(&self, percentile: Percentile) -> Option<f64> {
        let (beyond, value) = match (percentile, self.latency.as_ref()?) {
            (Percentile::P50, latency) => (0.5, latency.p50),
            (Percentile::P90, latency) => (0.1, latency.p90),
            (Percentile::P99, latency) => (0.01, latency.p99),
            (Percentile::P999, latency) => (0.001, latency.p999),
        };
        self.has_responses_beyond(beyond).then_some(value as f64)
    }

    /// The 95 % interval of a percentile over the rounds; `None` if the percentile is not shown, for a single
    /// round, and for p90 and p99.9.
    pub fn interval(&self, percentile: Percentile) -> Option<(f64, f64)> {
        self.percentile(percentile)?;
        match percentile {
            Percentile::P50 => self.p50_interval,
            Percentile::P99 => self.p99_interval,
            Percentile::P90 | Percentile::P999 => None,
        }
    }

    /// Whether there are enough responses for ten to lie in the slowest `share` (0 to 1).
    pub(crate) fn has_responses_beyond(&self, share: f64) -> bool {
        supports_percentile(self.latency_count, share)
    }

    /// The kinds of errors that occurred, with their counts.
    pub fn errors(&self) -> Vec<(Outcome, u64)> {
        self.outcomes
            .iter()
            .filter(|(outcome, count)| outcome.is_error() && *count > 0)
            .collect()
    }
}

prony_model::named! {
    /// The percentiles that tables and charts show, ascending.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Percentile {
        /// The median.
        P50 = "p50",
        /// 90 % did not exceed it.
        P90 = "p90",
        /// 99 % did not exceed it.
        P99 = "p99",
        /// 99.9 % did not exceed it.
        P999 = "p99.9",
    }
}

/// What the server wrote last in the last trial that counts.
fn log_tail(rounds: &CountedRounds<'_>) -> Option<LogTail> {
    let attempts = rounds.attempts().iter().copied();
    let counted = attempts.filter(|record| rounds.counts(record) && record.measurement().is_some());
    let last = counted.max_by_key(|record| record.trial.sequence)?;
    last.measurement()?.log_tail.clone()
}

/// The first wrong response that one of these records shows.
fn first_wrong(rounds: &[&Measurement]) -> Option<String> {
    rounds.iter().find_map(|round| round.first_wrong())
}

/// Reconnects are counted during the warm-up, too, so its requests are included.
fn reconnects_per_request(rounds: &[&Measurement]) -> f64 {
    let reconnects: u64 = rounds.iter().map(|round| round.load.reconnects).sum();
    let requests = |round: &&&Measurement| {
        let warmup = round.load.warmup.as_ref();
        round.load.requests + warmup.map_or(0, |warmup| warmup.outcomes.total())
    };
    let requests: u64 = rounds.iter().map(|round| requests(&round)).sum();
    reconnects as f64 / requests.max(1) as f64
}

/// A figure is flagged as following the noise if the probability of chance is below this.
const FOLLOWS: f64 = 0.01;

/// How strongly a row's figure worsens with the CPU time lost to others: Spearman's rank correlation over its
/// rounds, if chance would seldom make it as strong.
fn follows_noise(rounds: &CountedRounds<'_>) -> Option<f64> {
    let pairs = rounds
        .measured()
        .filter_map(|(_, round)| Some((round.headline()?, round.loss())));
    let (figures, losses): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let Correlation { rho, p } = spearman(&figures, &losses)?;
    let is_open = rounds.measured().next()?.1.load.load.shape.is_open();
    let is_worse = (rho > 0.0) == is_open;
    (p < FOLLOWS && is_worse).then_some(rho)
}
