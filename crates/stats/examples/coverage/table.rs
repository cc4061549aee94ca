//! Markdown tables.

use crate::simulated::Noise;

/// Prints a heading, what the table shows, and its head.
pub fn begin(title: &str, about: &str, head: &[String]) {
    println!("### {title}\n\n{about}\n");
    row(head);
    println!("|---{}|", "|---:".repeat(head.len() - 1));
}

/// Prints a row.
pub fn row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

/// A share, in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// As a row names a distribution.
pub fn name(noise: Noise) -> &'static str {
    match noise {
        Noise::Normal => "normal",
        Noise::Laplace => "Laplace",
        Noise::Skewed => "skewed (log-normal)",
        Noise::Contaminated => "normal, 1 in 10 at 5 σ",
        Noise::Uniform => "uniform",
    }
}
