//! What came of every suite, a line each.

use std::time::Duration;

/// One suite's line.
pub struct Line {
    /// The suite's id.
    pub suite: String,
    /// Its run and how long that took; `None` where it was not run, or not to its end.
    pub run: Option<(String, Duration)>,
    /// What came of it, in a few words.
    pub outcome: String,
}

/// The lines as a table.
pub fn text(lines: &[Line]) -> String {
    let none = || ("–".to_owned(), "–".to_owned());
    let mut rows = vec![["suite", "run", "took", "outcome"].map(str::to_owned)];
    rows.extend(lines.iter().map(|line| {
        let (run, took) = match &line.run {
            Some((run, took)) => (run.clone(), duration(*took)),
            None => none(),
        };
        [line.suite.clone(), run, took, line.outcome.clone()]
    }));
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let (suite, run, took) = (width(0), width(1), width(2));
    let row = |[a, b, c, d]: &[String; 4]| format!("{a:suite$}  {b:run$}  {c:>took$}  {d}\n");
    rows.iter().map(row).collect()
}

/// `48 s`, `12 min 05 s`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {:02} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest() {
        let line = |suite: &str, run: Option<(&str, u64)>, outcome: &str| Line {
            suite: suite.into(),
            run: run.map(|(id, seconds)| (id.into(), Duration::from_secs(seconds))),
            outcome: outcome.into(),
        };
        let lines = [
            line("datastar", Some(("1-datastar", 125)), "complete"),
            line("zap", None, "not started"),
        ];
        assert_eq!(
            text(&lines),
            "suite     run               took  outcome\n\
             datastar  1-datastar  2 min 05 s  complete\n\
             zap       –                    –  not started\n"
        );
    }

    #[test]
    fn durations_are_in_minutes_from_one_on() {
        assert_eq!(duration(Duration::from_millis(59_400)), "59 s");
        assert_eq!(duration(Duration::from_millis(59_600)), "1 min 00 s");
    }
}
