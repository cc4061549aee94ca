//! The metrics: names, units, descriptions, and what they are in a load. Every form that leaves Prony comes from here.

use prony_load::{LatencyBands, Progress};

use crate::telemetry::buckets;
use crate::telemetry::figures::Figures;

pub(crate) struct Metric {
    /// Its name, as OpenTelemetry writes names: words, with dots between them.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) help: &'static str,
    pub(crate) points: Points,
}

pub(crate) struct Unit {
    /// Its code in UCUM, which OpenTelemetry uses.
    pub(crate) code: &'static str,
    /// The word with which a name in OpenMetrics ends.
    pub(crate) word: Option<&'static str>,
}

const fn unit(code: &'static str, word: Option<&'static str>) -> Unit {
    Unit { code, word }
}

const REQUESTS: Unit = unit("{request}", None);
const BYTES: Unit = unit("By", Some("bytes"));
const SECONDS: Unit = unit("s", Some("seconds"));
/// A share of 1.
const RATIO: Unit = unit("1", Some("ratio"));
/// 0 or 1.
const FLAG: Unit = unit("", None);

/// What tells a point of a metric from the others.
pub(crate) type Label = (&'static str, &'static str);

pub(crate) enum Points {
    /// Counts that only grow.
    Counters(Vec<(Vec<Label>, u64)>),
    Gauge(f64),
    Histograms(Vec<(Vec<Label>, Histogram)>),
}

pub(crate) struct Histogram {
    /// How many are in each bucket alone.
    pub(crate) counts: Vec<u64>,
    pub(crate) sum_s: f64,
}

impl Histogram {
    fn of((bands, sum_ns): (&LatencyBands, u64)) -> Self {
        Self {
            counts: buckets::counts(bands),
            sum_s: seconds(sum_ns),
        }
    }

    /// The longest duration in each bucket but the last, in seconds.
    pub(crate) fn bounds() -> impl Iterator<Item = f64> {
        buckets::bounds().map(seconds)
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().copied().fold(0, u64::saturating_add)
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

pub(crate) fn of(figures: &Figures) -> Vec<Metric> {
    let mut metrics = vec![
        Metric {
            name: "prony.requests",
            unit: REQUESTS,
            help: "Requests that ended, by phase of the load and by outcome.",
            points: requests(figures),
        },
        Metric {
            name: "prony.received",
            unit: BYTES,
            help: "Bytes received.",
            points: counters(figures, |progress| progress.bytes_read),
        },
        Metric {
            name: "prony.sent",
            unit: BYTES,
            help: "Bytes sent.",
            points: counters(figures, |progress| progress.bytes_written),
        },
        Metric {
            name: "prony.latency",
            unit: SECONDS,
            help: "Latency of the ok responses, from the due time if requests have one.",
            points: histograms(figures, |progress| {
                (&progress.latency, progress.latency_sum_ns)
            }),
        },
    ];
    if figures.has_schedule {
        metrics.push(Metric {
            name: "prony.schedule.lag",
            unit: SECONDS,
            help: "How far behind its schedule the generator itself began requests.",
            points: histograms(figures, |progress| (&progress.lag, progress.lag_sum_ns)),
        });
    }
    metrics.extend([
        Metric {
            name: "prony.generator.busy",
            unit: RATIO,
            help: "The share of its time that the busiest thread of the generator was on a CPU.",
            points: Points::Gauge(figures.busy),
        },
        Metric {
            name: "prony.measuring",
            unit: FLAG,
            help: "1 if every thread is measuring, 0 before that and during the warm-up.",
            points: Points::Gauge(f64::from(u8::from(figures.is_measuring))),
        },
    ]);
    metrics
}

fn requests(figures: &Figures) -> Points {
    let points = figures.phases().flat_map(|(phase, progress)| {
        let outcomes = progress.outcomes.iter();
        outcomes.map(move |(outcome, count)| {
            let labels = vec![("phase", phase), ("outcome", outcome.name())];
            (labels, count)
        })
    });
    Points::Counters(points.collect())
}

fn counters(figures: &Figures, count: fn(&Progress) -> u64) -> Points {
    let points = figures.phases();
    let points = points.map(|(phase, progress)| (vec![("phase", phase)], count(progress)));
    Points::Counters(points.collect())
}

fn histograms(figures: &Figures, durations: fn(&Progress) -> (&LatencyBands, u64)) -> Points {
    let points = figures.phases();
    let points = points
        .map(|(phase, progress)| (vec![("phase", phase)], Histogram::of(durations(progress))));
    Points::Histograms(points.collect())
}
