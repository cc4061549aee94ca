//! A load in one line, for a terminal without the screen.

use prony_present::number;
use prony_present::words::plural;

use super::model::{LoadModel, per_second};

/// After this time without an ok response the line says so, in seconds.
const SILENT_S: f64 = 1.0;

impl LoadModel {
    /// The figures of the last second, for a mean since the start would hide what happens now; in parts, the most
    /// important first: `45.3 k req/s  p50 1.20 ms  p99 3.40 ms`. Empty before the first report.
    pub fn line(&self) -> Vec<String> {
        let mut parts = if self.is_warming_up() {
            vec!["warming up".to_owned()]
        } else if !self.last.measuring {
            Vec::new()
        } else {
            self.figures()
        };
        if let Some(silent) = &self.silent {
            // What a user must see soonest, if the line is short.
            parts.insert(parts.len().min(1), silent.clone());
        }
        parts
    }

    fn figures(&self) -> Vec<String> {
        let last = &self.last;
        let some = |count: u64, what: &str| match count {
            0 => String::new(),
            count => plural(count as usize, what),
        };
        let events = some(last.events, "event");
        let silent_s = last.at_s - self.last_ok_s;
        let (first, end) = match last.ok {
            // The load only holds streams.
            0 if last.events > 0 => (events, String::new()),
            0 => ("no ok response yet".to_owned(), events),
            _ if silent_s >= SILENT_S => {
                let text = format!("no ok response for {:.0} s", silent_s.floor());
                (text, events)
            }
            _ => (self.rate(), events),
        };
        let mut parts = vec![first, some(last.errors, "error")];
        if let Some(second) = self.history.last_second() {
            for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
                let latency = second.latency.quantile(share).map(number::duration);
                parts.extend(latency.map(|latency| format!("{name} {latency}")));
            }
        }
        parts.push(end);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// The rate; with a schedule that of due requests, too.
    fn rate(&self) -> String {
        let second = self.history.last_second().unwrap_or_default();
        let ok = per_second(second.ok as f64, second.seconds());
        match self.due() {
            None => number::rate(ok),
            Some(due) => format!("{} of {}", number::count(ok), number::rate(due)),
        }
    }
}
