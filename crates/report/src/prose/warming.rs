//! How the servers were warmed up, in words.

use crate::{Comparison, format};

/// How the servers of this comparison were warmed up, and which were kept running; `None` if no trial waited
/// until its server was warm.
pub fn warming(comparison: &Comparison) -> Option<String> {
    let rows = || comparison.tables.iter().flat_map(|table| &table.rows);
    let limit_s = rows().filter_map(|row| row.figures.warming.limit_s);
    let limit = format::seconds(limit_s.reduce(f64::max)?);
    let mut text = format!(
        "Warm-up: before the first trial of a server under a load, Prony loads it until its rate and its CPU time per \
         response have stopped improving, for {limit} at most, unless the command line or the suite fixes the warm-up. A \
         server that took a second or less starts anew for each later trial, and warms up for as long again or for the \
         load's own warm-up, if that is longer. Time to warm is how long a new process was under load until it stopped \
         improving; startup comes before it."
    );
    let mut kept: Vec<String> = Vec::new();
    for row in rows().filter(|row| row.figures.warming.kept) {
        if !kept.contains(&row.server.id) {
            kept.push(row.server.id.clone());
        }
    }
    if !kept.is_empty() {
        text.push_str(&format!(
            " Servers that took longer are kept running from round to round: {}. Before each later trial they get only the \
             load's own warm-up. Their intervals do not show how much another process of the same server would differ, \
             and their peak memory is that of the whole life of the process.",
            kept.join(", ")
        ));
    }
    Some(text)
}
