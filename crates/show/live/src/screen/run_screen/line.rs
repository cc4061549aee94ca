//! A run in one line, for a terminal without the screen.

use std::time::Duration;

use prony_present::number::minutes;

use super::model::{Left, Now, Readiness, RunModel};

impl RunModel {
    /// What runs and how long it still takes, in parts, the most important first:
    /// `3/45  40 s left  go-nethttp × hello  round 2 of 6`.
    pub fn line(&self, at: Duration) -> Vec<String> {
        if !self.is_planned {
            return self.preparing();
        }
        let left = format!("{} left", self.time_left(at));
        if let Some(Now::Explaining { what, done, steps }) = &self.now {
            return vec![what.clone(), format!("{done} of {steps} done"), left];
        }
        let named = self.running().map(|(cell, _)| self.named(cell));
        let named = named.unwrap_or_default();
        vec![
            format!("{}/{}", self.attempts.done, self.attempts.expected),
            left,
            match &self.now {
                Some(Now::WarmingUp { so_far, limit }) => format!(
                    "warming up {named}: {} of at most {} s",
                    so_far.as_secs(),
                    limit.as_secs_f64()
                ),
                _ => named,
            },
            self.round.clone(),
            self.precision.clone(),
        ]
    }

    /// `40 s`; if the figures decide, what it takes at most: `up to 9 min 30 s`.
    pub fn time_left(&self, at: Duration) -> String {
        match self.left(at) {
            None => String::new(),
            Some(Left { least, most }) if least >= most => minutes(most),
            Some(Left { most, .. }) => format!("up to {}", minutes(most)),
        }
    }

    fn preparing(&self) -> Vec<String> {
        let step = |id: &str, readiness: &Readiness| match readiness {
            Readiness::Preparing(step) => Some(format!("{id}: {step}")),
            Readiness::Verifying => Some(format!("verifying {id}")),
            _ => None,
        };
        let servers = self.servers.iter();
        let steps = servers.filter_map(|one| step(&one.id, &one.readiness));
        steps.collect()
    }
}
