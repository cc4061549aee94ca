//! Latency against rate, for a workload that was measured at several rates.

use prony_model::{LoadShape, LoadSpec};
use prony_present::chart::{Axis, Dot, Panel, PanelChart, Scale};
use prony_present::number;
use prony_present::page::Figure;
use prony_stats::knee;

use super::listed;
use crate::figures::{Figures, Percentile};
use crate::summary::RunSummary;
use crate::table::{ResultTable, ServerRow};

/// Fewer rates are no curve.
const LEAST_RATES: usize = 3;
/// The search for a capacity looks for a knee in as many rates.
const LEAST_RATES_OF_KNEE: usize = 4;

/// The tables of one workload whose loads differ by nothing but their constant rate, the lowest first.
struct Rates<'t> {
    tables: Vec<(f64, &'t ResultTable)>,
}

/// A server under one rate.
struct Step<'t> {
    /// The offered rate.
    due: f64,
    figures: &'t Figures,
}

/// Where a curve is marked.
enum Mark {
    /// The rate above which latency rises steeply.
    Knee(f64),
    /// Without a knee: the highest rate that was reached without errors.
    Sustained(f64),
}

/// A chart for each workload that was measured at several rates.
pub(super) fn figures(summary: &RunSummary) -> Vec<Figure> {
    let rates = Rates::of(&summary.tables);
    let figure = |rates: &Rates<'_>| {
        let (_, first) = rates.tables.first()?;
        Some(Figure {
            file: format!("{}-rates.svg", first.slug),
            chart: rates.chart()?.draw(),
        })
    };
    rates.iter().filter_map(figure).collect()
}

/// The constant rate of a load, and the load without it.
fn constant(load: &LoadSpec) -> Option<(f64, LoadSpec)> {
    let LoadShape::Rate(schedule) = &load.shape else {
        return None;
    };
    let [stage] = &schedule.stages[..] else {
        return None;
    };
    let is_constant = stage.from_per_s == stage.to_per_s;
    let mut rest = load.clone();
    if let LoadShape::Rate(schedule) = &mut rest.shape {
        schedule.stages.clear();
    }
    is_constant.then_some((stage.to_per_s, rest))
}

impl<'t> Rates<'t> {
    fn of(tables: &'t [ResultTable]) -> Vec<Self> {
        let mut groups: Vec<(&str, LoadSpec, Self)> = Vec::new();
        for table in tables {
            let Some((rate, rest)) = constant(&table.load) else {
                continue;
            };
            let mut known = groups.iter_mut();
            match known.find(|(workload, load, _)| *workload == table.workload && *load == rest) {
                Some((_, _, group)) => group.tables.push((rate, table)),
                None => {
                    let tables = vec![(rate, table)];
                    groups.push((&table.workload, rest, Self { tables }));
                }
            }
        }
        let groups = groups.into_iter().map(|(_, _, mut group)| {
            group.tables.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            group
        });
        groups
            .filter(|group| group.tables.len() >= LEAST_RATES)
            .collect()
    }

    /// The servers with their curves, in the order of the table with the highest rate.
    fn servers(&self) -> Vec<(&'t ServerRow, Vec<Step<'t>>)> {
        let Some((_, last)) = self.tables.last() else {
            return Vec::new();
        };
        let steps = |row: &ServerRow| {
            let tables = self.tables.iter();
            let step = |(due, table): &(f64, &'t ResultTable)| {
                Some(Step {
                    due: *due,
                    figures: &table.row(&row.server.id)?.figures,
                })
            };
            tables.filter_map(step).collect::<Vec<_>>()
        };
        let servers = last.rows.iter().map(|row| (row, steps(row)));
        servers
            .filter(|(_, steps)| steps.len() >= LEAST_RATES)
            .collect()
    }

    /// `None` if no server has latencies at enough rates.
    fn chart(&self) -> Option<PanelChart> {
        let servers = self.servers();
        let (_, table) = self.tables.first()?;
        let panels: Vec<Panel> = servers
            .iter()
            .map(|(row, steps)| panel(row, steps))
            .collect();
        let points = || {
            let lines = panels.iter().flat_map(|panel| &panel.lines);
            lines.flat_map(|(_, points)| points)
        };
        let highest = points().map(|(rate, _)| *rate).reduce(f64::max)?;
        let lines = panels
            .iter()
            .map(|panel| format!("{}: {}", panel.name, panel.note));
        Some(PanelChart {
            title: format!("Latency against rate: {}", table.workload),
            description: format!(
                "p50 and p99 of each server at {} rates, from the scheduled arrival, all rounds merged. {}.",
                self.tables.len(),
                listed(lines, panels.len(), super::MOST_DESCRIBED)
            ),
            x: Axis::new(
                "ok responses per second",
                Scale::linear(highest, 3),
                number::count,
            ),
            y: Axis::new(
                "latency",
                Scale::log(points().map(|(_, latency)| *latency)),
                number::duration,
            ),
            height: 90.0,
            legend: vec![
                (Dot::P50, Percentile::P50.name().to_owned()),
                (Dot::P99, Percentile::P99.name().to_owned()),
            ],
            note: note(&servers),
            panels,
            ..PanelChart::default()
        })
    }
}

fn note(servers: &[(&ServerRow, Vec<Step<'_>>)]) -> String {
    let marks = || servers.iter().filter_map(|(_, steps)| mark(steps));
    let knee = marks().any(|mark| matches!(mark, Mark::Knee(_)));
    let sustained = marks().any(|mark| matches!(mark, Mark::Sustained(_)));
    let knee = knee.then_some("Knee: the rate above which latency rises steeply.");
    let sustained =
        sustained.then_some("Sustained: the highest rate that was reached without errors.");
    let sentences: Vec<&str> = knee.into_iter().chain(sustained).collect();
    sentences.join(" ")
}

fn panel(row: &ServerRow, steps: &[Step<'_>]) -> Panel {
    let line = |percentile| {
        let point = |step: &Step<'_>| {
            let rate = step.figures.rate.median;
            Some((rate, step.figures.percentile(percentile)?))
        };
        steps.iter().filter_map(point).collect()
    };
    let (note, at) = match mark(steps) {
        Some(Mark::Knee(rate)) => (format!("knee {}", number::count(rate)), Some(rate)),
        Some(Mark::Sustained(rate)) => (format!("sustained {}", number::count(rate)), Some(rate)),
        None => ("sustained none".to_owned(), None),
    };
    Panel {
        name: row.server.id.clone(),
        note,
        lines: vec![
            (Dot::P50, line(Percentile::P50)),
            (Dot::P99, line(Percentile::P99)),
        ],
        mark: at,
        ..Panel::default()
    }
}

/// The knee by p99, or by p50 if a rate has too few responses for p99: the rule of the search for a capacity.
fn mark(steps: &[Step<'_>]) -> Option<Mark> {
    let curve = |percentile| -> Option<Vec<(f64, f64)>> {
        let point = |step: &Step<'_>| Some((step.due, step.figures.percentile(percentile)?));
        steps.iter().map(point).collect()
    };
    let knee = curve(Percentile::P99)
        .or_else(|| curve(Percentile::P50))
        .filter(|points| points.len() >= LEAST_RATES_OF_KNEE)
        .and_then(|points| knee(&points));
    if let Some(place) = knee {
        return Some(Mark::Knee(steps[place].figures.rate.median));
    }
    let sustained = steps.iter().rev().find(|step| {
        let reached = step.figures.open.is_some_and(|open| open.rate_made());
        reached && step.figures.errors().is_empty()
    });
    sustained.map(|step| Mark::Sustained(step.figures.rate.median))
}
