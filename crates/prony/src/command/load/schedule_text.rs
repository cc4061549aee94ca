//! Stages as a value of the command line.

use prony_model::{RateError, Stage, parse_stages};

/// The stages of a rate, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages(pub Vec<Stage>);

/// Stages, separated by commas.
pub fn stages(text: &str) -> Result<Stages, RateError> {
    parse_stages(text).map(Stages)
}
