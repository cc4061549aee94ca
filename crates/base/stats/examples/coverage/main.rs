//! How often the intervals, bands and verdicts of this crate are right, on simulated trials whose truth is known.
//!
//! `cargo run --release -p prony-stats --example coverage` prints the tables of `COVERAGE.md` in about two
//! minutes on one CPU. The seeds are fixed, so it always prints the same.

mod decisions;
mod intervals;
#[path = "../../src/simulated.rs"]
mod simulated;

use std::fmt::Display;

use simulated::Noise;

fn main() {
    intervals::print();
    decisions::print();
}

/// Prints a heading, what the table shows, and the head of the table.
fn begin(title: &str, about: &str, first: &str, columns: impl IntoIterator<Item = impl Display>) {
    let columns: Vec<String> = columns.into_iter().map(|one| one.to_string()).collect();
    println!("\n## {title}\n\n{about}\n");
    println!("| {first} | {} |", columns.join(" | "));
    println!("|---{}|", "|---:".repeat(columns.len()));
}

/// Prints a row.
fn row(label: &str, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    println!("| {label} | {} |", cells.join(" | "));
}

/// A share, in percent.
fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// The name of a distribution in a row.
fn name(noise: Noise) -> &'static str {
    match noise {
        Noise::Normal => "normal",
        Noise::Laplace => "Laplace",
        Noise::Skewed => "skewed (log-normal)",
        Noise::Contaminated => "normal, 1 in 10 at 5 σ",
        Noise::Uniform => "uniform",
    }
}
