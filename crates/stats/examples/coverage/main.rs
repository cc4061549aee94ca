//! How often the intervals, bands and verdicts of this crate are right, on made-up trials of which the truth is known.
//!
//! `cargo run --release -p prony-stats --example coverage` prints the tables of `docs/statistics.md`, in about two
//! minutes on one CPU. The seeds are fixed: it prints the same again.

mod bands;
mod intervals;
mod percentiles;
mod series;
#[path = "../../src/simulated.rs"]
mod simulated;
mod stopping;
mod table;
mod verdicts;

fn main() {
    intervals::print();
    percentiles::print();
    stopping::print();
    verdicts::print();
    bands::print();
    series::print();
}
