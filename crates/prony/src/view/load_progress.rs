//! The live view of a load: a line that changes on a terminal, and a line now and then without one.

use std::time::{Duration, Instant};

use prony_live::screen::{LoadModel, LoadOutline, LoadUpdate};
use prony_load::{LoadPlan, Progress};
use prony_present::words::plural;

use super::live_line::LiveLine;

/// The least time between two lines without a terminal.
const PAUSE: Duration = Duration::from_secs(1);

/// Shows how far a load has come, on standard error.
pub(crate) struct LoadProgress {
    line: LiveLine,
    model: LoadModel,
    begun: Instant,
    next_line: Instant,
    pause: Duration,
    /// `3 agents`; `None` if this process generates the load.
    agents: Option<String>,
}

impl LoadProgress {
    pub(crate) fn start(
        line: LiveLine,
        outline: LoadOutline,
        plan: &LoadPlan,
        begun: Instant,
    ) -> Self {
        // About ten lines without a terminal, however long the load takes.
        let pause = plan
            .load
            .duration
            .map_or(PAUSE, |whole| *whole / 10)
            .max(PAUSE);
        Self {
            line,
            model: LoadModel::new(outline),
            begun,
            next_line: begun + pause,
            pause,
            agents: (plan.agents > 1).then(|| plural(plan.agents, "agent")),
        }
    }

    /// Shows the current figures. `silent` names an agent that may be lost.
    pub(crate) fn show(&mut self, progress: Progress, silent: Option<String>, now: Instant) {
        self.model.update(LoadUpdate::Progress(Box::new(progress)));
        self.model.update(LoadUpdate::Silent(silent));
        let mut parts = self.model.line();
        parts.extend(self.agents.clone());
        if let Some(share) = self.model.share(now - self.begun) {
            self.line.move_to(share);
        }
        let is_due = self.model.last.measuring && now >= self.next_line;
        if is_due && !self.line.is_on_terminal() {
            self.next_line = now + self.pause;
            let measured_s = self.model.measuring_seconds(self.model.last.at_s);
            errln!("  {measured_s:>5.1} s  {}", parts.join("  "));
        }
        self.line.show(&parts);
    }

    /// Prints a line that stays.
    pub(crate) fn print(&self, line: &str) {
        self.line.print_whole(line);
    }

    /// Clears the live line.
    pub(crate) fn finish(self) {
        self.line.finish();
    }
}
