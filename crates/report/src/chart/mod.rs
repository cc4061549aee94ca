//! Charts as SVG: a row a server, figures along one axis.
//!
//! In the HTML page they take their colours from the page; alone ([`chart_svg`]) they carry their
//! own, on a light ground.

mod course;
mod cpu;
mod document;
mod frame;
mod latency;
mod memory;
mod throughput;

use maud::{Markup, PreEscaped, html};

use prony_model::PublishedFigure;

use crate::{Comparison, DocumentTable, Table};
use frame::Frame;

/// Which chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// Ok responses a second, with intervals, the ceiling as a line.
    Throughput,
    /// Latency from p50 to p99.9, logarithmic.
    Latency,
    /// Ok responses for a second of the server's CPU time, with intervals.
    Cpu,
    /// Peak memory of the server.
    Memory,
    /// The trials in the order in which they were made, and what each lost to others.
    Course,
}

impl ChartKind {
    /// All of them, in the order of the page.
    pub const ALL: [ChartKind; 5] = [
        Self::Throughput,
        Self::Latency,
        Self::Cpu,
        Self::Memory,
        Self::Course,
    ];

    /// Those that say something of a table, in the order of the page. In an open loop the rate is the
    /// offered one, so there is no chart of it.
    pub fn of(table: &Table) -> impl Iterator<Item = ChartKind> {
        let (open, has_cpu) = (table.is_open(), table.has_cpu());
        let says = move |kind: &ChartKind| match kind {
            Self::Throughput => !open,
            Self::Cpu => has_cpu,
            Self::Latency | Self::Memory | Self::Course => true,
        };
        Self::ALL.into_iter().filter(says)
    }

    /// Its name, as in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Course => "trials",
        }
    }
}

/// The look of a chart that stands alone: the classes that the page's style sheet has too.
const ALONE: &str = include_str!("alone.css");

/// A chart as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFile {
    /// The file's name: `hello-throughput.svg`, `published-1-rate.svg`.
    pub name: String,
    /// A stand-alone SVG document.
    pub svg: String,
}

/// Every chart of a comparison, for a folder of their own: no two have the same name.
pub fn chart_files(comparison: &Comparison) -> Vec<ChartFile> {
    let of_document = comparison.published.iter().flat_map(|document| {
        let tables = document.tables.iter();
        tables.flat_map(|table| {
            document_charts(table).map(move |figure| ChartFile {
                name: document_file(table, figure),
                svg: alone(&document::frame(table, figure)),
            })
        })
    });
    let of_tables = comparison.tables.iter().flat_map(|table| {
        ChartKind::of(table).map(move |kind| ChartFile {
            name: file_name(kind, table),
            svg: chart_svg(kind, table),
        })
    });
    of_document.chain(of_tables).collect()
}

/// One chart of one table as a stand-alone SVG document, on a light ground.
pub fn chart_svg(kind: ChartKind, table: &Table) -> String {
    alone(&chart(kind, table))
}

/// The figures of a document's table that have a chart: those of which anything was measured.
pub(crate) fn document_charts(table: &DocumentTable) -> impl Iterator<Item = PublishedFigure> {
    let measured = |figure: &PublishedFigure| {
        table
            .rows
            .iter()
            .any(|row| row.measured.contains_key(figure))
    };
    table.source.charts.iter().copied().filter(measured)
}

/// The file of a table's chart.
pub(crate) fn file_name(kind: ChartKind, table: &Table) -> String {
    format!("{}-{}.svg", table.slug, kind.name())
}

/// The file of a document's chart.
pub(crate) fn document_file(table: &DocumentTable, figure: PublishedFigure) -> String {
    format!("published-{}-{}.svg", table.number, figure.name())
}

/// One chart of one table for the page. `id` is unique in the page.
pub(crate) fn inline(kind: ChartKind, table: &Table, id: &str) -> Markup {
    in_page(&chart(kind, table), id)
}

/// One chart of a document's table for the page. `id` is unique in the page.
pub(crate) fn document_inline(table: &DocumentTable, figure: PublishedFigure, id: &str) -> Markup {
    in_page(&document::frame(table, figure), id)
}

fn alone(frame: &Frame) -> String {
    let (width, height) = frame.size();
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img"
            viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height)
            aria-labelledby="title desc" {
            title id="title" { (frame.title) }
            desc id="desc" { (frame.description) }
            style { (PreEscaped(ALONE)) }
            rect class="ground" x="0" y="0" width=(width) height=(height) rx="8" {}
            (frame.body(true))
        }
    };
    svg.into_string()
}

fn in_page(frame: &Frame, id: &str) -> Markup {
    let (width, height) = frame.size();
    html! {
        svg class="chart" role="img" viewBox={ "0 0 " (width) " " (height) }
            aria-labelledby={ (id) "-title " (id) "-desc" } {
            title id={ (id) "-title" } { (frame.title) }
            desc id={ (id) "-desc" } { (frame.description) }
            (frame.body(false))
        }
    }
}

fn chart(kind: ChartKind, table: &Table) -> Frame {
    match kind {
        ChartKind::Throughput => throughput::frame(table),
        ChartKind::Latency => latency::frame(table),
        ChartKind::Cpu => cpu::frame(table),
        ChartKind::Memory => memory::frame(table),
        ChartKind::Course => course::frame(table),
    }
}
