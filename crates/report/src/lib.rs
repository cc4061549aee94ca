//! What a run gave, for people: comparison tables for terminal and Markdown, one self-contained
//! HTML page with charts, and the charts alone.
#![forbid(unsafe_code)]

mod bound;
pub mod chart;
mod comparison;
mod html;
mod markdown;
mod prose;
mod published;
mod terminal;

pub use prony_present::number as format;

pub use bound::{Bound, Cause, FigureKind, bounds, known};
pub use chart::{ChartFile, ChartKind, chart_files, chart_svg};
pub use comparison::{
    Absence, Attempts, Comparison, CostFigures, CourseTrial, EnoughRounds, EventFigures, Figures,
    GeneratorFigures, HeldFigures, Kept, Lag, NoiseKind, OpenFigures, Percentile, Quiet, RateOrder,
    Relative, Row, Seen, ServerLabel, Standing, Table, WarmingFigures, Why, WorstRound,
    WrongResponses,
};
pub use html::html;
pub use markdown::{escaped as escaped_markdown, markdown};
pub use prose::{end as end_of_run, wrong as wrong_responses};
pub use published::{Document, DocumentRow, DocumentTable, Held, Measured};
pub use terminal::terminal;
