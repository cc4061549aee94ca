//! Charts as SVG: a row a subject, figures along one axis.
//!
//! In the HTML page they take their colours from the page; alone ([`chart_svg`]) they carry their
//! own, on a light ground.

mod cpu;
mod frame;
mod latency;
mod memory;
mod scale;
mod throughput;

use maud::{Markup, PreEscaped, html};

use crate::Table;
use frame::Frame;

/// Which chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// Ok answers a second, with intervals, the ceiling as a line.
    Throughput,
    /// Latency from p50 to p99.9, logarithmic.
    Latency,
    /// CPU time of the server for an answer, logarithmic.
    Cpu,
    /// Peak memory of the server.
    Memory,
}

impl ChartKind {
    /// All of them, in the order of the page.
    pub const ALL: [ChartKind; 4] = [Self::Throughput, Self::Latency, Self::Cpu, Self::Memory];

    /// Its name, as in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// The look of a chart that stands alone: the classes that the page's style sheet has too.
const ALONE: &str = include_str!("alone.css");

/// One chart of one table as a stand-alone SVG document, on a light ground.
pub fn chart_svg(kind: ChartKind, table: &Table) -> String {
    let frame = chart(kind, table);
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

/// One chart of one table for the page. `id` is unique in the page.
pub(crate) fn inline(kind: ChartKind, table: &Table, id: &str) -> Markup {
    let frame = chart(kind, table);
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
    }
}
