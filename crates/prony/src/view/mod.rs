//! What the command shows while it works and when it is done.

pub mod load_progress;
pub mod load_summary;
pub mod report_files;
pub mod run_progress;
pub mod subject_status;
pub mod suites_table;
mod time_left;

/// `1 trial`, `2 trials`.
pub fn plural(count: usize, thing: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{s}")
}
