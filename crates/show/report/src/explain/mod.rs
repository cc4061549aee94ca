//! What a request costs servers, and where that goes: how the results of `prony explain` are shown.
//!
//! It reads explanations alone. [`ExplanationSummary::of`] computes everything that is shown; one description of it becomes
//! text, Markdown and a page. [`difference`] compares two explanations.
//!
//! ```
//! use prony_report::explain::ExplanationSummary;
//! use prony_model::sample;
//!
//! let explanations = [sample::explanation("bun"), sample::explanation("go-nethttp")];
//! let text = ExplanationSummary::of(&explanations).text(80, false);
//! assert!(text.contains("system calls"));
//! ```

mod absent;
mod cost_row;
mod cost_table;
mod costs;
mod difference;
mod difference_pages;
mod findings;
mod flames;
mod functions;
mod header;
mod json;
mod method;
mod pages;
mod summary;
#[cfg(test)]
mod testing;

pub use absent::Absent;
pub use costs::ServerCosts;
pub use difference::{
    CostChange, Difference, FunctionChange, Incomparable, MeasuredChange, difference,
};
pub use findings::findings;
pub use flames::FlameGraphs;
pub use functions::Function;
pub use header::Header;
pub use json::{EXPLANATION_SCHEMA, ExplanationDocument, json};
pub use summary::{ExplanationSummary, WorkloadCosts};
