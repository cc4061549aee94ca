//! What a run gave, for people: comparison tables for terminal and Markdown, one self-contained
//! HTML page with charts, and the charts alone.
#![forbid(unsafe_code)]

pub mod chart;
mod comparison;
pub mod format;
mod html;
mod markdown;
mod prose;
mod published;
mod terminal;

pub use chart::{ChartFile, ChartKind, chart_files, chart_svg};
pub use comparison::{
    AT_CEILING, Absence, Attempts, Comparison, CostFigures, CourseTrial, EnoughRounds,
    EventFigures, Figures, GeneratorFigures, HeldFigures, Kept, Lag, NoiseKind, OpenFigures,
    Percentile, Quiet, Relative, Row, Seen, Standing, SubjectLabel, Table, WarmingFigures, Why,
    WorstRound,
};
pub use html::html;
pub use markdown::{escaped as escaped_markdown, markdown};
pub use prose::end as end_of_run;
pub use published::{Document, DocumentRow, DocumentTable, Held, Measured};
pub use terminal::terminal;
