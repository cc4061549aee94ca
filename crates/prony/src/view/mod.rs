//! What the command shows while it works and when it is done.

pub mod capacity_progress;
pub mod capacity_summary;
mod load_generator;
pub mod load_progress;
mod load_shape;
pub mod load_summary;
mod load_times;
mod noisy;
mod offered;
pub mod report_files;
pub mod run_progress;
pub mod server_status;
pub mod suites_table;
mod time_left;
mod warm_up;

#[cfg(test)]
mod tests;

use prony_report::format;

/// `1 trial`, `2 trials`, `1,204 requests`.
pub fn plural(count: usize, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {thing}{s}", format::exact(count as u64))
}
