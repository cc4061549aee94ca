//! What the help says.

pub(super) const LINES: [&str; 15] = [
    "q, Ctrl-C  end the load; what was measured is kept and shown;",
    "           Ctrl-C once more ends at once, without a result",
    "p, space   pause the view and go on; the load itself never pauses",
    "s          show the last 30 s, or the whole load",
    "d          logarithmic shades (each five times as many responses as",
    "           the one before) or linear ones",
    "?          close this help",
    "",
    "Bars: ok responses per second; ─ the scheduled rate, where they miss it",
    "Map: latency upwards, logarithmic; time to the right, counted from the",
    "end of the warm-up (···). ░▒▓█: few to many ok responses in a cell.",
    "Percentiles are estimated from bands that are at most 25 % wide; those",
    "of the summary are exact. One is shown if ten responses were slower.",
    "Lag: how late the generator itself began requests that were due. Busy:",
    "its busiest thread.",
];
