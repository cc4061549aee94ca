//! Explanations.

mod golden;
mod sample;
