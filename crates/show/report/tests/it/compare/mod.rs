//! Regression checks.

mod golden;
mod sample;
mod sessions;
mod verdicts;
