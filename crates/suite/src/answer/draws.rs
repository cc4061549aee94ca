//! Whether answers that are to be drawn at random are.

use prony_load::{Answer, Mismatch};

use prony_load::excerpt;

/// How many answers to look at. Of 24 fair draws from 8 lines all are the same once in 8 to the
/// 23rd power.
pub const DRAWS: usize = 24;

/// `Err` where all answers (there should be [`DRAWS`]) have the same body, so that nothing was
/// drawn.
pub fn draws_vary(answers: &[Answer]) -> Result<(), Mismatch> {
    match answers.first() {
        Some(first) if answers.iter().all(|answer| answer.body == first.body) => Err(Mismatch {
            expected: "a line drawn at random for each request".to_owned(),
            came: format!("{} times {}", answers.len(), excerpt(&first.body, 0)),
        }),
        _ => Ok(()),
    }
}
