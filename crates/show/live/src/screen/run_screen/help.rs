//! What the help says.

pub(super) const LINES: [&str; 13] = [
    "q, Ctrl-C  end the run; what was measured is kept and reported;",
    "           Ctrl-C once more ends at once, without a report",
    "p, space   pause the view and go on; the run itself never pauses",
    "tab, ← →   show the figures of another workload",
    "f          follow the workload that runs",
    "↑ ↓        scroll the servers",
    "?          close this help",
    "",
    "Each symbol of the grid is a round of a server with a workload:",
    "· pending   ▶ runs   ■ measured   ~ measured, but noisy",
    "↻ noisy, re-run at the end of the round   ✗ failed",
    "Figures are medians over rounds; ├─●─┤ is the 95 % interval,",
    "as in the report. Time left counts on as many re-runs as so far.",
];
