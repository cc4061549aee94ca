//! Counts, rates, stages and percentages as people write them, on the command line, in suite files and in reports:
//! `5k/s`, and `1k/s..5k/s:30s` for a rate that changes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{Arrivals, Schedule, Stage};

/// A count in full: `1,234,567`.
pub fn exact(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Why a text is not a rate or a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    #[error("`{0}` is not a rate; write one like `500/s`, `20k/s` or `0.5/s`")]
    Rate(String),
    #[error("a rate must be more than 0, and `{0}` is not")]
    Zero(String),
    #[error("`{0}` is too high: a rate is at most {most}", most = RateText(Schedule::MOST_PER_S))]
    TooHigh(String),
    #[error("there is no stage; write stages like `1k/s:10s, 1k/s..5k/s:30s`")]
    NoStage,
    #[error("`{0}` is not a duration for a stage; write one like `500ms`, `30s` or `2m`")]
    Duration(String),
    #[error("the stage `{0}` is not the last one: say how long it takes, for instance `{0}:30s`")]
    Endless(String),
    #[error("`{0}` does not say how long the rate takes to change: write `{0}:30s`")]
    MovesInNoTime(String),
    #[error("{0} stages are too many: at most {most}", most = Schedule::MOST_STAGES)]
    TooManyStages(usize),
    #[error("the rate must be more than 0 in one of the stages")]
    AllZero,
}

/// A rate in requests per second: `500/s`, `20k/s`, `1.5M/s`, `300/m` (a minute) or `90/h` (an hour); `/s` may be left
/// out.
///
/// # Errors
/// If the text is not a rate, or the rate is 0.
pub fn parse_rate(text: &str) -> Result<f64, RateError> {
    match rate_or_zero(text)? {
        0.0 => Err(RateError::Zero(text.trim().to_owned())),
        rate => Ok(rate),
    }
}

/// Stages separated by commas: `1k/s:10s, 1k/s..5k/s:30s, 5k/s`. The last one needs no time: it lasts as long as the
/// load.
///
/// # Errors
/// If one of them is not a stage, a stage before the last has no time, or no request would ever be
/// due.
pub fn parse_stages(text: &str) -> Result<Vec<Stage>, RateError> {
    if text.trim().is_empty() {
        return Err(RateError::NoStage);
    }
    let count = text.split(',').count();
    if count > Schedule::MOST_STAGES {
        return Err(RateError::TooManyStages(count));
    }
    let stages = text
        .split(',')
        .map(str::parse)
        .collect::<Result<Vec<Stage>, _>>()?;
    if let Some((_, others)) = stages.split_last()
        && let Some(endless) = others.iter().find(|stage| stage.duration_s.is_none())
    {
        return Err(RateError::Endless(endless.to_string()));
    }
    if stages.iter().all(|stage| stage.peak_per_s() == 0.0) {
        Err(RateError::AllZero)
    } else {
        Ok(stages)
    }
}

impl FromStr for Stage {
    type Err = RateError;

    /// `5k/s:30s`, `1k/s..5k/s:30s`, or a rate alone: `5k/s`. A stage may have the rate 0.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let (rates, duration_s) = match text.split_once(':') {
            Some((rates, time)) => (rates, Some(stage_seconds(time)?)),
            None => (text, None),
        };
        let (from_per_s, to_per_s) = match rates.split_once("..") {
            Some((from, to)) => (rate_or_zero(from)?, rate_or_zero(to)?),
            None => {
                let rate = rate_or_zero(rates)?;
                (rate, rate)
            }
        };
        if from_per_s != to_per_s && duration_s.is_none() {
            return Err(RateError::MovesInNoTime(text.trim().to_owned()));
        }
        Ok(Stage {
            from_per_s,
            to_per_s,
            duration_s,
        })
    }
}

fn rate_or_zero(text: &str) -> Result<f64, RateError> {
    let none = || RateError::Rate(text.trim().to_owned());
    let (number, seconds) = match text.trim().rsplit_once('/') {
        None => (text.trim(), 1.0),
        Some((number, "s")) => (number.trim_end(), 1.0),
        Some((number, "m")) => (number.trim_end(), 60.0),
        Some((number, "h")) => (number.trim_end(), 3600.0),
        Some(_) => return Err(none()),
    };
    // Parsed together with the exponent, so that `1.1k` is exactly 1100.
    let (digits, exponent) = match number.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 3),
        None => number
            .strip_suffix('M')
            .map_or((number, 0), |digits| (digits, 6)),
    };
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let rate: f64 = if plain {
        format!("{digits}e{exponent}").parse().map_err(|_| none())?
    } else {
        return Err(none());
    };
    let rate = rate / seconds;
    match rate {
        rate if !rate.is_finite() => Err(none()),
        rate if rate > Schedule::MOST_PER_S => Err(RateError::TooHigh(text.trim().to_owned())),
        rate => Ok(rate),
    }
}

fn stage_seconds(text: &str) -> Result<f64, RateError> {
    let text = text.trim();
    match humantime::parse_duration(text) {
        // The engine's schedule has no stage of less than a microsecond.
        Ok(time) if time >= Duration::from_micros(1) => Ok(time.as_secs_f64()),
        _ => Err(RateError::Duration(text.to_owned())),
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", RateText(self.from_per_s))?;
        if self.to_per_s != self.from_per_s {
            write!(f, "..{}", RateText(self.to_per_s))?;
        }
        match self.duration_s.map(Duration::try_from_secs_f64) {
            None => Ok(()),
            Some(Ok(time)) => {
                let time = humantime::format_duration(time).to_string();
                write!(f, ":{}", time.replace(' ', ""))
            }
            Some(Err(_)) => f.write_str(":?"), // Only in a record that was edited.
        }
    }
}

/// The stages as [`parse_stages`] reads them, then how the requests are spaced: `20k/s, Poisson`.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.stages_text(), self.arrivals)?;
        match self.burst {
            0 | 1 => Ok(()),
            burst => write!(f, ", bursts of {burst}"),
        }
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Even => "evenly spaced",
            Arrivals::Poisson => "Poisson",
        })
    }
}

impl Schedule {
    /// The stages as [`parse_stages`] reads them: `1k/s:10s, 1k/s..5k/s:30s`.
    pub fn stages_text(&self) -> String {
        let stages: Vec<String> = self.stages.iter().map(Stage::to_string).collect();
        stages.join(", ")
    }
}

/// A rate as [`parse_rate`] reads it: `20k/s`, `1234.5/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateText(pub f64);

/// A rate below one per second is written per minute or hour if it would take more digits than this.
const LONG_RATE: usize = 8;

impl fmt::Display for RateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0;
        let plain = rate.to_string();
        // A slow one per minute or hour, if that says it in fewer digits.
        let per_time = |seconds: f64, name| {
            let number = (rate * seconds * 1e9).round() / 1e9;
            let text = format!("{number}/{name}");
            let is_exact = rate_or_zero(&text).is_ok_and(|read| read == rate);
            (rate < 1.0 && plain.len() > LONG_RATE && is_exact).then_some(text)
        };
        if let Some(text) = per_time(60.0, "m").or_else(|| per_time(3600.0, "h")) {
            return f.write_str(&text);
        }
        // In thousands or millions if that is shorter and still exact.
        let in_units = |unit: f64, name| {
            let short = (rate / unit).to_string();
            let exact = rate_or_zero(&format!("{short}{name}")).is_ok_and(|read| read == rate);
            (rate >= unit && exact && short.len() < plain.len()).then(|| format!("{short}{name}/s"))
        };
        match in_units(1e6, "M").or_else(|| in_units(1e3, "k")) {
            Some(text) => f.write_str(&text),
            None => write!(f, "{plain}/s"),
        }
    }
}

/// The share that a percentage stands for: 0.02 for `2%` or `2 %`. `None` if it is not a percentage; the caller checks bounds.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let percent: f64 = number.parse().ok()?;
    percent.is_finite().then_some(percent / 100.0)
}

/// A share as the percentage that a person would write: `2 %` for 0.02. [`parse_percent`] reads it again.
pub fn percentage(share: f64) -> String {
    // Rounded to a billionth, because 0.07 × 100 is not exactly 7.
    let percent = (share * 100.0 * 1e9).round() / 1e9;
    format!("{percent} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stage(from_per_s: f64, to_per_s: f64, duration_s: Option<f64>) -> Stage {
        Stage {
            from_per_s,
            to_per_s,
            duration_s,
        }
    }

    #[test]
    fn rates_are_read_with_and_without_a_unit() {
        for (text, rate) in [
            ("500/s", 500.0),
            ("500", 500.0),
            ("20k/s", 20_000.0),
            ("20K", 20_000.0),
            ("1.1k/s", 1_100.0),
            ("2.5M/s", 2_500_000.0),
            (" 0.5/s ", 0.5),
            ("20k /s", 20_000.0),
            ("300/m", 5.0),
            ("36/h", 0.01),
        ] {
            assert_eq!(parse_rate(text), Ok(rate), "{text}");
        }
    }

    #[test]
    fn slow_rates_are_written_as_briefly_as_they_were_read() {
        for text in ["1/h", "7/h", "1/m", "20/m", "0.7/m", "0.5/s", "0.01/s"] {
            let rate = parse_rate(text).unwrap();
            assert_eq!(RateText(rate).to_string(), text);
        }
        let third = RateText(1.000_000_1 / 3.0).to_string();
        assert_eq!(parse_rate(&third), Ok(1.000_000_1 / 3.0), "{third}");
    }

    #[test]
    fn errors_in_rates_say_what_to_write() {
        for text in [
            "", "k", "/s", "fast", "-5/s", "1e9/s", "NaN", "inf", "5/d", "5/s/s", "5..6", "1.2.3",
            "2kk",
        ] {
            let error = parse_rate(text).unwrap_err();
            assert_eq!(error, RateError::Rate(text.into()), "{text}");
        }
        let huge = "9".repeat(400);
        assert!(matches!(parse_rate(&huge), Err(RateError::Rate(_))));
        assert_eq!(parse_rate("0/s"), Err(RateError::Zero("0/s".into())));
        assert_eq!(
            parse_rate("fast").unwrap_err().to_string(),
            "`fast` is not a rate; write one like `500/s`, `20k/s` or `0.5/s`"
        );
    }

    #[test]
    fn stages_are_read_in_their_order() {
        assert_eq!(
            parse_stages("1k/s:10s, 1k/s..5k/s:1m 30s,5k/s"),
            Ok(vec![
                stage(1e3, 1e3, Some(10.0)),
                stage(1e3, 5e3, Some(90.0)),
                stage(5e3, 5e3, None),
            ])
        );
        assert_eq!(
            parse_stages("0..100:500ms"),
            Ok(vec![stage(0.0, 100.0, Some(0.5))])
        );
    }

    #[test]
    fn errors_in_stages_say_what_to_write() {
        for (text, said) in [
            ("", "there is no stage"),
            ("1k/s:10s,", "`` is not a rate"),
            ("1k/s:10", "`10` is not a duration for a stage"),
            ("1k/s:0s", "`0s` is not a duration for a stage"),
            ("1k/s:soon", "`soon` is not a duration for a stage"),
            ("1k/s..:10s", "`` is not a rate"),
            (
                "1k/s, 5k/s:10s",
                "the stage `1k/s` is not the last one: say how long it takes, for instance `1k/s:30s`",
            ),
            ("1k/s..5k/s", "write `1k/s..5k/s:30s`"),
            ("0/s:10s, 0", "the rate must be more than 0"),
        ] {
            let error = parse_stages(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_schedule_is_shown_as_it_is_written() {
        let text = |per_s| Schedule::constant(Arrivals::Poisson, per_s).to_string();
        assert_eq!(text(20_000.0), "20k/s, Poisson");
        assert_eq!(text(1_500.0), "1.5k/s, Poisson");
        assert_eq!(text(1_234.0), "1234/s, Poisson");
        assert_eq!(text(2e6), "2M/s, Poisson");
        assert_eq!(text(0.25), "0.25/s, Poisson");
        let bursts = Schedule {
            arrivals: Arrivals::Even,
            burst: 10,
            stages: parse_stages("1k/s:10s,1k/s..5k/s:90s").unwrap(),
        };
        assert_eq!(
            bursts.to_string(),
            "1k/s:10s, 1k/s..5k/s:1m30s, evenly spaced, bursts of 10"
        );
    }

    #[test]
    fn rates_that_are_too_high_are_rejected_with_the_maximum() {
        assert_eq!(parse_rate("1000M/s"), Ok(1e9));
        for text in ["1001M/s", "1000000000001", "100000M/m"] {
            let error = parse_rate(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{text}` is too high: a rate is at most 1000M/s")
            );
        }
        let most = vec!["1/s:1s"; Schedule::MOST_STAGES].join(",");
        assert!(parse_stages(&most).is_ok());
        let error = parse_stages(&format!("{most},1/s")).unwrap_err();
        assert_eq!(error, RateError::TooManyStages(1001));
    }

    /// Rates as people write them, and as arithmetic yields them.
    fn rates() -> impl Strategy<Value = f64> {
        prop_oneof![
            (1u64..10_000_000_000).prop_map(|n| n as f64 / 1000.0),
            (1u64..10_000).prop_map(|n| n as f64 * 1000.0),
            1e-6f64..Schedule::MOST_PER_S,
        ]
    }

    fn durations() -> impl Strategy<Value = f64> {
        (1u64..10_000_000_000).prop_map(|us| Duration::from_micros(us).as_secs_f64())
    }

    fn staged() -> impl Strategy<Value = Vec<Stage>> {
        let timed = (rates(), rates(), durations()).prop_map(|(a, b, t)| stage(a, b, Some(t)));
        let last = prop_oneof![
            (rates(), durations()).prop_map(|(rate, t)| stage(rate, rate, Some(t))),
            rates().prop_map(|rate| stage(rate, rate, None)),
        ];
        (prop::collection::vec(timed, 0..5), last).prop_map(|(mut stages, last)| {
            stages.push(last);
            stages
        })
    }

    proptest! {
        #[test]
        fn rates_and_schedules_round_trip(stages in staged()) {
            let schedule = Schedule { stages, ..Schedule::constant(Arrivals::Even, 1.0) };
            prop_assert_eq!(parse_stages(&schedule.stages_text()), Ok(schedule.stages));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in "[0-9kMs/.:, mhé-]{0,30}") {
            let _ = (parse_rate(&text), parse_stages(&text));
        }
    }
}

#[cfg(test)]
mod percent_tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_finite_number_with_a_percent_sign() {
        assert_eq!(parse_percent("2%"), Some(0.02));
        assert_eq!(parse_percent(" 0.5 % "), Some(0.005));
        for text in ["", "2", "%", "two%", "inf%", "NaN%", "2%%"] {
            assert_eq!(parse_percent(text), None, "{text}");
        }
    }
}
