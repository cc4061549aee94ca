//! Latency against rate, for a workload that was measured at several rates.

use prony_present::chart::{Axis, Dot, Panel, PanelChart, Scale};
use prony_present::number;
use prony_present::page::Figure;
use prony_present::words::list;
use prony_stats::knee;

use super::parts::{MOST_DESCRIBED, listed};
use crate::figures::Percentile;
use crate::rates::Rates;
use crate::summary::RunSummary;
use crate::table::{ResultTable, ServerRow};

/// Fewer rates are no curve.
const LEAST_RATES: usize = 3;
/// The search for a capacity looks for a knee in as many rates.
const LEAST_RATES_OF_KNEE: usize = 4;

/// A server under the rates that it has figures for.
struct Steps<'t> {
    id: &'t str,
    steps: Vec<Step<'t>>,
}

/// A server under one rate.
struct Step<'t> {
    /// The offered rate.
    due: f64,
    row: &'t ServerRow,
}

/// Where a curve is marked, or why it is not.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// The last rate before latency rises steeply.
    Knee(f64),
    /// Without a knee: the highest rate that was reached without errors.
    Sustained(f64),
    /// No rate was reached without errors.
    NoneSustained,
    /// Its responses were wrong at one of the rates.
    WrongResponses,
    /// It is a reference server.
    Reference,
}

/// A chart for each workload that was measured at several rates.
pub(super) fn figures(summary: &RunSummary) -> Vec<Figure> {
    let mut rates = Rates::of(&summary.tables);
    rates.retain(|group| group.tables.len() >= LEAST_RATES);
    let figure = |group: &Rates<'_>| {
        let (_, first) = group.tables.first()?;
        Some(Figure {
            file: format!("{}-rates.svg", first.slug),
            chart: group.chart(&group.name(&rates))?.draw(),
        })
    };
    rates.iter().filter_map(figure).collect()
}

impl<'t> Rates<'t> {
    /// The servers in the order of the table with the highest rate; those without figures there come after, by the table
    /// with the highest rate that has them.
    fn servers(&self) -> Vec<Steps<'t>> {
        let mut ids: Vec<&'t str> = Vec::new();
        for row in self.tables.iter().rev().flat_map(|(_, table)| &table.rows) {
            if !ids.contains(&row.server.id.as_str()) {
                ids.push(&row.server.id);
            }
        }
        let steps = |id| {
            let step = |(due, table): &(f64, &'t ResultTable)| {
                let row = table.row(id)?;
                Some(Step { due: *due, row })
            };
            let steps = self.tables.iter().filter_map(step).collect();
            Steps { id, steps }
        };
        ids.into_iter().map(steps).collect()
    }

    /// `None` if no server has latencies at enough rates.
    fn chart(&self, name: &str) -> Option<PanelChart> {
        let servers = self.servers();
        let has_curve = |server: &&Steps<'_>| server.steps.len() >= LEAST_RATES;
        let curves: Vec<&Steps<'_>> = servers.iter().filter(has_curve).collect();
        let panels: Vec<Panel> = curves.iter().map(|server| server.panel()).collect();
        let points = || {
            let lines = panels.iter().flat_map(|panel| &panel.lines);
            lines.flat_map(|(_, points)| points)
        };
        let highest = points().map(|(rate, _)| *rate).reduce(f64::max)?;
        let lines = panels
            .iter()
            .map(|panel| format!("{}: {}", panel.name, panel.note));
        Some(PanelChart {
            title: format!("Latency against rate: {name}"),
            description: format!(
                "p50 and p99 of each server at {} rates, from the scheduled arrival, all rounds merged. {}.",
                self.tables.len(),
                listed(lines, panels.len(), MOST_DESCRIBED)
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
            note: [explained(&curves), self.gaps(&servers)].concat().join(" "),
            panels,
            ..PanelChart::default()
        })
    }

    /// Which servers have no figures at which rates, a sentence for all that lack the same.
    fn gaps(&self, servers: &[Steps<'_>]) -> Vec<String> {
        let mut alike: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
        for server in servers {
            let lacks = |due: f64| !server.steps.iter().any(|step| step.due == due);
            let lacking = self.tables.iter().filter(|(due, _)| lacks(*due));
            let rates: Vec<String> = lacking.map(|(due, _)| number::count(*due)).collect();
            match alike.iter_mut().find(|(others, _)| *others == rates) {
                _ if rates.is_empty() => {}
                Some((_, ids)) => ids.push(server.id),
                None => alike.push((rates, vec![server.id])),
            }
        }
        let sentence = |(rates, ids): (Vec<String>, Vec<&str>)| {
            let have = if ids.len() == 1 { "has" } else { "have" };
            format!("{} {have} no figures at {}.", list(&ids), list(&rates))
        };
        alike.into_iter().map(sentence).collect()
    }
}

/// What the marks of these curves mean.
fn explained(curves: &[&Steps<'_>]) -> Vec<String> {
    let marks: Vec<Mark> = curves.iter().map(|server| server.mark()).collect();
    let has = |wanted: fn(&Mark) -> bool| marks.iter().any(wanted);
    let knee = has(|mark| matches!(mark, Mark::Knee(_)))
        .then_some("Knee: of these rates, the last before latency rises steeply.");
    let sustained = has(|mark| matches!(mark, Mark::Sustained(_) | Mark::NoneSustained))
        .then_some("Sustained: the highest rate that was reached without errors.");
    let wrong = marks
        .contains(&Mark::WrongResponses)
        .then_some("Wrong: some responses were, so no rate is marked.");
    let sentences = knee.into_iter().chain(sustained).chain(wrong);
    sentences.map(str::to_owned).collect()
}

impl Mark {
    fn words(self) -> String {
        match self {
            Self::Knee(rate) => format!("knee {}", number::count(rate)),
            Self::Sustained(rate) => format!("sustained {}", number::count(rate)),
            Self::NoneSustained => "none sustained".to_owned(),
            Self::WrongResponses => "wrong".to_owned(),
            Self::Reference => "reference".to_owned(),
        }
    }

    fn at(self) -> Option<f64> {
        match self {
            Self::Knee(rate) | Self::Sustained(rate) => Some(rate),
            Self::NoneSustained | Self::WrongResponses | Self::Reference => None,
        }
    }
}

impl Steps<'_> {
    fn panel(&self) -> Panel {
        let line = |percentile| {
            let point = |step: &Step<'_>| Some((step.rate(), step.percentile(percentile)?));
            self.steps.iter().filter_map(point).collect()
        };
        let mark = self.mark();
        Panel {
            name: self.id.to_owned(),
            note: mark.words(),
            lines: vec![
                (Dot::P50, line(Percentile::P50)),
                (Dot::P99, line(Percentile::P99)),
            ],
            mark: mark.at(),
            ..Panel::default()
        }
    }

    fn mark(&self) -> Mark {
        let not_comparable = self.steps.iter().find(|step| !step.row.is_comparable());
        match not_comparable {
            Some(step) if step.row.is_reference() => Mark::Reference,
            Some(_) => Mark::WrongResponses,
            None => {
                let knee = self.knee().map(Mark::Knee);
                let mark = knee.or_else(|| self.sustained().map(Mark::Sustained));
                mark.unwrap_or(Mark::NoneSustained)
            }
        }
    }

    /// The knee by p99, or by p50 if a rate has too few responses for p99: the rule of the search for a capacity.
    fn knee(&self) -> Option<f64> {
        let curve = |percentile| -> Option<Vec<(f64, f64)>> {
            let point = |step: &Step<'_>| Some((step.due, step.percentile(percentile)?));
            self.steps.iter().map(point).collect()
        };
        let points = curve(Percentile::P99).or_else(|| curve(Percentile::P50))?;
        let enough = points.len() >= LEAST_RATES_OF_KNEE;
        let place = enough.then(|| knee(&points)).flatten()?;
        Some(self.steps[place].rate())
    }

    /// The highest rate that was reached without errors.
    fn sustained(&self) -> Option<f64> {
        let is_sustained = |step: &&Step<'_>| {
            let figures = &step.row.figures;
            let reached = figures.open.is_some_and(|open| open.rate_made());
            reached && figures.errors().is_empty()
        };
        let highest = self.steps.iter().rev().find(is_sustained);
        highest.map(Step::rate)
    }
}

impl Step<'_> {
    fn rate(&self) -> f64 {
        self.row.figures.rate.median
    }

    fn percentile(&self, percentile: Percentile) -> Option<f64> {
        self.row.figures.percentile(percentile)
    }
}
