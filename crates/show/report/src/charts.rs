//! The charts of a table and of a document's table.

mod footprint;
mod parts;
mod rates;
mod rounds;
mod spectrum;

pub(crate) use spectrum::points_of;

use prony_model::PublishedFigure;
use prony_present::chart::{Axis, Bar, Chart, Dot, Mark, RowChart, Scale, Series, Trial};
use prony_present::page::Figure;
use prony_present::words::capital;
use prony_present::{load, number};
use prony_stats::Known;

use self::parts::{MOST_DESCRIBED, TICKS, in_order, listed, spread, what_counts};
use crate::columns::band;
use crate::figures::Percentile;
use crate::published::words::{summary, tick, title};
use crate::published::{DocumentRow, DocumentTable};
use crate::summary::RunSummary;
use crate::table::{ResultTable, ServerRow, Standing};

prony_model::named! {
    /// The kinds of charts, in the order of the page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChartKind {
        /// Ok responses per second with intervals; the ceiling is a line.
        Throughput = "throughput",
        /// Latency from p50 to p99.9, on a logarithmic axis.
        Latency = "latency",
        /// Latency at every percentile, a line for each server.
        Spectrum = "spectrum",
        /// Ok responses per second of server CPU time, with intervals.
        Cpu = "cpu",
        /// Peak memory of the server.
        Memory = "memory",
        /// Ok responses per second against peak memory.
        Footprint = "footprint",
        /// The figure of each round, a panel for each server.
        Rounds = "rounds",
        /// The trials in the order in which they were run, and the CPU time each lost to others.
        Course = "trials",
    }
}

/// A figure that differs from its row's median by this share is at the edge of its row.
const EDGE: f64 = 0.2;
/// A trial that lost this share of its CPU time to others fills its row.
const FULL_LOSS: f64 = 0.2;

impl ChartKind {
    /// The kinds that suit a table. In an open loop the rate is the offered one, so there is no chart of it.
    pub fn of(table: &ResultTable) -> impl Iterator<Item = ChartKind> {
        let (open, has_cpu) = (table.is_open(), table.has_cpu());
        Self::ALL.into_iter().filter(move |kind| match kind {
            Self::Throughput => !open,
            Self::Cpu => has_cpu,
            Self::Spectrum => spectrum::has_data(table),
            Self::Footprint => footprint::has_data(table),
            Self::Rounds => rounds::has_data(table),
            Self::Latency | Self::Memory | Self::Course => true,
        })
    }

    /// Whether it is shown with the noise: the course of the trials and of the rounds.
    pub(crate) fn is_of_noise(self) -> bool {
        matches!(self, Self::Rounds | Self::Course)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// The file's name: `hello-throughput.svg`, `published-1-rate.svg`.
    pub name: String,
    /// A standalone SVG document.
    pub svg: String,
}

/// Every chart of a run. No two have the same file name.
pub fn chart_files(summary: &RunSummary) -> Vec<ChartFile> {
    let documents = summary.published.iter();
    let documents = documents.flat_map(|document| &document.tables);
    let of_documents = documents.flat_map(document_figures);
    let of_table = |table| ChartKind::of(table).map(move |kind| figure(kind, table));
    let figures = of_documents
        .chain(summary.tables.iter().flat_map(of_table))
        .chain(rate_figures(summary));
    let file = |Figure { file, chart }: Figure| ChartFile {
        name: file,
        svg: chart.document(),
    };
    figures.map(file).collect()
}

/// One chart of a table with its file name.
pub(crate) fn figure(kind: ChartKind, table: &ResultTable) -> Figure {
    let chart = match kind {
        ChartKind::Throughput => throughput(table).draw(),
        ChartKind::Latency => latency(table).draw(),
        ChartKind::Spectrum => spectrum::spectrum(table).draw(),
        ChartKind::Cpu => cpu(table).draw(),
        ChartKind::Memory => memory(table).draw(),
        ChartKind::Footprint => footprint::footprint(table).draw(),
        ChartKind::Rounds => rounds::rounds(table).draw(),
        ChartKind::Course => course(table).draw(),
    };
    Figure {
        file: format!("{}-{}.svg", table.slug, kind.name()),
        chart,
    }
}

/// Latency against rate, for each workload that was measured at several rates.
pub(crate) fn rate_figures(summary: &RunSummary) -> Vec<Figure> {
    rates::figures(summary)
}

/// The charts of a document's table, with the figures that were measured here.
pub(crate) fn document_figures(table: &DocumentTable) -> Vec<Figure> {
    let measured = |figure: &&PublishedFigure| {
        let mut rows = table.rows.iter();
        rows.any(|row| row.measured.contains_key(*figure))
    };
    let figures = table.source.charts.iter().filter(measured);
    figures
        .map(|figure| Figure {
            file: format!("published-{}-{}.svg", table.number, figure.name()),
            chart: document_chart(table, *figure),
        })
        .collect()
}

/// A chart whose text alternative lists the rows' figures.
fn described(chart: RowChart, what: &str) -> RowChart {
    let row = |row: &Series| {
        format!("{} {} {}", row.label, row.value, row.note)
            .trim_end()
            .to_owned()
    };
    let rows = listed(chart.rows.iter().map(row), chart.rows.len(), MOST_DESCRIBED);
    RowChart {
        description: format!("{what}: {rows}."),
        ..chart
    }
}

fn series(row: &ServerRow, value: String, note: String, mark: Option<Mark>) -> Series {
    Series {
        label: row.server.id.clone(),
        value,
        note,
        marks: mark.into_iter().collect(),
    }
}

struct BarAxis {
    title: String,
    scale: fn(f64, usize) -> Scale,
    shown: fn(f64) -> String,
}

/// What a bar shows of a row.
struct BarFigure {
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    note: String,
}

fn bars<'t>(
    rows: Vec<&'t ServerRow>,
    title: String,
    what: &str,
    axis: BarAxis,
    of: impl Fn(&'t ServerRow) -> BarFigure,
) -> RowChart {
    let figures: Vec<_> = rows.into_iter().map(|row| (row, of(row))).collect();
    let highest = figures.iter().filter_map(|(_, figure)| {
        let value = figure.value?;
        Some(figure.interval.map_or(value, |(_, high)| high))
    });
    let scale = (axis.scale)(highest.fold(0.0, f64::max), TICKS);
    let shown = axis.shown;
    let axis = Axis::new(&axis.title, scale, shown);
    let rows = figures.into_iter().map(|(row, figure)| {
        let mark = figure.value.map(|value| {
            Mark::Bar(Bar {
                value,
                interval: figure.interval,
                // Rows that are not comparable with the others are grey.
                is_grey: !row.is_comparable(),
            })
        });
        let value = figure.value.map_or(number::NONE.to_owned(), shown);
        series(row, value, figure.note, mark)
    });
    let chart = RowChart {
        title,
        axis,
        rows: rows.collect(),
        ..RowChart::default()
    };
    described(chart, what)
}

/// What a chart of rates is of: its title, and its axis.
fn rate_titles(table: &ResultTable, per: &str, per_second_of: &str) -> (String, BarAxis) {
    let of_what = if table.load.flows {
        "Flows"
    } else {
        "Requests"
    };
    let axis = BarAxis {
        title: format!(
            "ok {} per {per}, median and 95 % interval",
            what_counts(table)
        ),
        scale: Scale::linear,
        shown: number::count,
    };
    let title = format!("{of_what} per second{per_second_of}: {}", table.name());
    (title, axis)
}

fn throughput(table: &ResultTable) -> RowChart {
    let (title, axis) = rate_titles(table, "second", "");
    let what = format!(
        "Median and interval over rounds, under {}",
        load::line(&table.load)
    );
    let chart = bars(in_order(table), title, &what, axis, |row| BarFigure {
        value: Some(row.figures.rate.median),
        interval: spread(row.figures.rate),
        note: rate_note(row),
    });
    let ceiling = table.ceiling();
    RowChart {
        limit: ceiling.map(|row| (row.figures.rate.median, row.server.id.clone())),
        ..chart
    }
}

fn rate_note(row: &ServerRow) -> String {
    let interval = || match row.figures.rate.n {
        1 => String::new(),
        _ => number::interval(row.figures.rate.low, row.figures.rate.high, number::count),
    };
    match row.standing {
        Standing::Ranked(_) => interval(),
        Standing::Offered => String::new(),
        Standing::Reference => "reference".to_owned(),
        Standing::AtLeast(_) => {
            let bound = row.shown_bounds().find(|bound| bound.binds());
            bound.map_or_else(interval, |bound| bound.name().to_owned())
        }
        Standing::WrongResponses => "wrong responses".to_owned(),
    }
}

fn latency(table: &ResultTable) -> RowChart {
    let dot = |percentile| match percentile {
        Percentile::P50 => Dot::P50,
        Percentile::P90 => Dot::P90,
        Percentile::P99 => Dot::P99,
        Percentile::P999 => Dot::P999,
    };
    let points = |row: &ServerRow| -> Vec<(Dot, f64)> {
        let all = Percentile::ALL.into_iter();
        all.filter_map(|percentile| Some((dot(percentile), row.figures.percentile(percentile)?)))
            .collect()
    };
    let values = table.rows.iter().flat_map(points).map(|(_, value)| value);
    let scale = Scale::log(values);
    let rows = in_order(table).into_iter().map(|row| {
        let shown = |percentile: Percentile| {
            let value = row.figures.percentile(percentile);
            format!(
                "{} {}",
                percentile.name(),
                value.map_or(number::NONE.to_owned(), number::duration)
            )
        };
        series(
            row,
            shown(Percentile::P50),
            shown(Percentile::P99),
            Some(Mark::Dots(points(row))),
        )
    });
    let what = load::latency_name(&table.load);
    let chart = RowChart {
        title: format!(
            "{}, {}: {}",
            capital(what),
            load::latency(&table.load),
            table.name()
        ),
        axis: Axis::new(what, scale, number::duration),
        legend: Percentile::ALL
            .map(|percentile| (dot(percentile), percentile.name().to_owned()))
            .into(),
        rows: rows.collect(),
        ..RowChart::default()
    };
    let what = format!(
        "Histograms of all rounds merged, under {}",
        load::line(&table.load)
    );
    described(chart, &what)
}

fn cpu(table: &ResultTable) -> RowChart {
    let (title, axis) = rate_titles(table, "CPU second", " of server CPU time");
    let what = "Median and interval over rounds; user and kernel time, whole process tree";
    bars(table.by_cpu(), title, what, axis, |row| {
        let rate = row.figures.costs.requests_per_cpu_s;
        let note = match (row.standing, row.cpu_band) {
            (Standing::WrongResponses, _) => "wrong responses".to_owned(),
            (_, Some(range)) => format!("rank {}", band(Some(range))),
            (_, None) if row.is_reference() => "reference".to_owned(),
            (_, None) => String::new(),
        };
        BarFigure {
            value: rate.map(|rate| rate.median),
            interval: rate.and_then(spread),
            note,
        }
    })
}

fn memory(table: &ResultTable) -> RowChart {
    let title = format!("Peak memory of the server: {}", table.name());
    let what = "The most of any round, whole process tree";
    let axis = BarAxis {
        title: "peak memory".to_owned(),
        scale: Scale::binary,
        shown: number::bytes,
    };
    bars(in_order(table), title, what, axis, |row| BarFigure {
        value: row.figures.peak_memory_bytes.map(|peak| peak as f64),
        interval: None,
        note: String::new(),
    })
}

fn course(table: &ResultTable) -> RowChart {
    let figure = if table.is_open() {
        "median latency"
    } else {
        "rate"
    };
    let trials = || {
        let trials = table.course.iter().enumerate();
        trials.map(|(i, trial)| ((i + 1) as f64, trial))
    };
    let losses = table.course.iter().map(|trial| trial.loss);
    let most_lost = losses.fold(0.0, f64::max);
    let mut rows: Vec<Series> = in_order(table)
        .into_iter()
        .map(|row| {
            let own = trials().filter(|(_, trial)| trial.server == row.server.id);
            let own = own.filter_map(|(at, trial)| {
                Some(Trial {
                    at,
                    height: (trial.relative? - 1.0) / EDGE,
                    is_noisy: trial.noisy,
                })
            });
            let noisy = match row.figures.attempts.noisy {
                0 => String::new(),
                n => format!("{n} noisy"),
            };
            series(row, noisy, String::new(), Some(Mark::Trials(own.collect())))
        })
        .collect();
    let losses = trials().map(|(at, trial)| Trial {
        at,
        height: trial.loss / FULL_LOSS,
        is_noisy: trial.noisy,
    });
    rows.push(Series {
        label: "CPU time lost".to_owned(),
        value: number::share(most_lost),
        note: "at most".to_owned(),
        marks: vec![Mark::Losses(losses.collect())],
    });
    let noisy = table.course.iter().filter(|trial| trial.noisy).count();
    RowChart {
        title: format!("Trials in order: {}", table.name()),
        description: format!(
            "{} trials from left to right in the order in which they were run, a dot each: its {figure} against the median of \
             its row. {noisy} were noisy. The lowest row shows the share of the CPU time of the server or the generator that \
             other programs and the hypervisor took: {} at most.",
            table.course.len(),
            number::share(most_lost),
        ),
        axis: Axis::new(
            "trials in the order in which they were run",
            Scale::linear(table.course.len() as f64, 5),
            number::count,
        ),
        legend: vec![
            (Dot::Plain, format!("{figure} vs. its row's median, ±20 %")),
            (Dot::Noisy, "noisy".to_owned()),
        ],
        rows,
        limit: None,
    }
}

fn document_chart(table: &DocumentTable, figure: PublishedFigure) -> Chart {
    // A reference server that the document does not have is a line through all rows.
    let has_row = |row: &&DocumentRow| row.in_document || !row.is_reference;
    let rows = || table.rows.iter().filter(has_row);
    // Only rates have a ceiling, and each workload has its own.
    let is_rate = matches!(figure, PublishedFigure::Rate | PublishedFigure::Transfer)
        && !table.has_workloads();
    let ceiling = table.rows.iter().find(|row| is_rate && !has_row(row));
    let measured = rows()
        .chain(ceiling)
        .filter_map(|row| row.measured.get(&figure));
    let values = measured.flat_map(|one| {
        let high = one.spread.map(|(_, high)| high);
        let rounds = one.rounds.values().copied();
        rounds.chain(high).chain([one.value])
    });
    let most = values.fold(0.0, f64::max);
    let scale = match figure {
        PublishedFigure::Transfer
        | PublishedFigure::ArtefactBytes
        | PublishedFigure::PeakMemory => Scale::binary(most, TICKS),
        _ => Scale::linear(most, TICKS),
    };
    let name = title(table, figure);
    let bars = if table.source.each_round {
        let summary = summary(table);
        format!(", a bar per round and a line at their {summary}")
    } else {
        String::new()
    };
    let chart = RowChart {
        title: format!("{}: {}", capital(&name), table.source.title),
        axis: Axis::new(&format!("{name}{bars}"), scale, tick(figure)),
        limit: ceiling.and_then(|row| Some((row.measured.get(&figure)?.value, row.name.clone()))),
        rows: rows()
            .map(|row| document_series(table, row, figure))
            .collect(),
        ..RowChart::default()
    };
    let what = format!(
        "Measured here, in the document's order, under {}",
        load::line(&table.source.load)
    );
    described(chart, &what).draw()
}

fn document_series(table: &DocumentTable, row: &DocumentRow, figure: PublishedFigure) -> Series {
    let measured = row.measured.get(&figure);
    let mark = measured.map(|measured| {
        let is_grey = !row.in_document || measured.known != Known::Exactly;
        if table.source.each_round && !measured.rounds.is_empty() {
            Mark::Rounds {
                values: measured.rounds.values().copied().collect(),
                middle: measured.value,
                is_grey,
            }
        } else {
            Mark::Bar(Bar {
                value: measured.value,
                interval: measured.spread,
                is_grey,
            })
        }
    });
    // A note after the figure: why there is none, or why it is grey.
    let note = match (row.absent, measured.map(|measured| measured.known)) {
        (Some(why), _) => why,
        (None, _) if !row.in_document => "added",
        (None, Some(Known::AtLeast)) => "limited",
        (None, Some(Known::Nothing)) => "doubtful",
        (None, Some(Known::Exactly) | None) => "",
    };
    let value = measured.map(|measured| tick(figure)(measured.value));
    Series {
        label: if table.has_workloads() {
            format!("{}, {}", row.name, row.workload)
        } else {
            row.name.clone()
        },
        value: value.unwrap_or(number::NONE.to_owned()),
        note: note.to_owned(),
        marks: mark.into_iter().collect(),
    }
}
