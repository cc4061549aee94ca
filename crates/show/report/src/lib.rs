//! Reports: tables with ranks, the verdict and notes in sentences, and charts, as an HTML page, as Markdown and in a terminal.
//! `prony-present` decides how they look.
#![forbid(unsafe_code)]

mod absence;
mod charts;
mod columns;
pub mod compare;
mod conditions;
mod counts;
mod course;
pub mod explain;
mod figures;
mod flags;
mod junit;
mod notes;
mod opened;
mod pages;
mod pairs;
mod published;
mod quiet;
mod ranking;
mod rates;
mod reading;
mod summary;
mod table;
mod tables;
mod verdict;

pub use absence::{Absence, Why};
pub use charts::{ChartFile, ChartKind, chart_files};
pub use conditions::end as end_of_run;
pub use counts::{CountRow, CountTable};
pub use course::CourseTrial;
pub use figures::{
    Attempt, Attempts, CostFigures, EventFigures, Figures, GeneratorFigures, HeldFigures, Lag,
    OpenFigures, OverTime, Percentile, Relative, RoundFigures, RoundSearch, SentFigures,
    SpectrumPoint, WarmingFigures, WorstRound, WrongResponses,
};
pub use junit::junit;
pub use notes::wrong as wrong_responses;
pub use pages::{document, html, markdown, page, terminal};
pub use published::{
    Concordance, Document, DocumentRow, DocumentTable, Measured, ReversedPair, RowFigures,
};
pub use quiet::{Quiet, Seen};
pub use summary::RunSummary;
pub use table::{RateOrder, ResultTable, RoundsReached, ServerRow, Standing};
pub use verdict::verdicts;
