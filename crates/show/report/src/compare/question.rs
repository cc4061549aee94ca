//! What to compare: the metrics, and the least changes that matter.

use std::collections::BTreeMap;
use std::str::FromStr;

use prony_model::{LoadSpec, parse_percent};
use serde::Serialize;

use crate::compare::metric::{Metric, UnknownMetric};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The metrics; if there are none, the usual ones for the load ([`Metric::usual`]).
    pub metrics: Vec<Metric>,
    /// The least changes that matter.
    pub thresholds: Thresholds,
}

impl Question {
    /// What a recorded command line compares: its `--metrics` and `--threshold`, as far as they can be read.
    pub fn of_command(command: &[String]) -> Self {
        let values = |flag: &str| {
            let mut words = command.iter().map(String::as_str);
            let mut values: Vec<&str> = Vec::new();
            while let Some(word) = words.next() {
                values.extend(match word.strip_prefix(flag) {
                    Some("") => words.next(),
                    Some(rest) => rest.strip_prefix('='),
                    None => None,
                });
            }
            values
        };
        let ids = values("--metrics").into_iter();
        let metrics = ids.flat_map(|ids| ids.split(',')).map(str::parse::<Metric>);
        let thresholds = values("--threshold")
            .first()
            .map(|text| text.parse::<Thresholds>());
        Self {
            metrics: metrics.collect::<Result<_, _>>().unwrap_or_default(),
            thresholds: thresholds.and_then(Result::ok).unwrap_or_default(),
        }
    }

    pub(crate) fn metrics(&self, load: &LoadSpec) -> Vec<Metric> {
        if self.metrics.is_empty() {
            Metric::usual(load).to_vec()
        } else {
            let mut metrics = self.metrics.clone();
            metrics.retain(|metric| metric.applies_to(load));
            metrics
        }
    }

    /// Whether the user named the metric.
    pub(crate) fn asks_for(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }
}

/// In how many sessions the sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sessions {
    /// In one run, interleaved.
    One,
    /// In two runs, one after the other.
    Two,
}

/// The least change that matters, as a share, for each metric: the user's thresholds, and the usual ones for the rest.
///
/// The same code measured in two sessions differs by more than its intervals say: memory layout, caches and CPU frequency stay
/// as they are within a session and change from one to the next. So the usual thresholds are wider for two sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds {
    of_all: Option<f64>,
    of_metric: BTreeMap<Metric, f64>,
}

/// Why a text is not a list of thresholds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    #[error(
        "`{0}` is not a threshold; write a percentage above 0 and at most 1000 %, for instance 2%"
    )]
    Share(String),
    #[error("the threshold of {0} is given twice")]
    Twice(String),
}

/// A threshold above this is a typing error.
const GREATEST: f64 = 10.0;

impl Thresholds {
    /// The threshold of a metric, as a share.
    pub fn of(&self, metric: Metric, sessions: Sessions) -> f64 {
        self.by_user(metric)
            .unwrap_or_else(|| usual(metric, sessions))
    }

    /// Whether the user's threshold is narrower than what unchanged code may show in two sessions.
    pub(crate) fn too_narrow(&self, metric: Metric, sessions: Sessions) -> bool {
        let own = self.by_user(metric);
        sessions == Sessions::Two && own.is_some_and(|own| own < usual(metric, sessions))
    }

    fn by_user(&self, metric: Metric) -> Option<f64> {
        self.of_metric.get(&metric).copied().or(self.of_all)
    }

    fn add(&mut self, part: &str) -> Result<(), ThresholdError> {
        let (earlier, name) = match part.split_once('=') {
            None => (self.of_all.replace(share(part)?), "all"),
            Some((name, text)) => {
                let metric: Metric = name.trim().parse()?;
                (self.of_metric.insert(metric, share(text)?), metric.name())
            }
        };
        match earlier {
            None => Ok(()),
            Some(_) => Err(ThresholdError::Twice(name.to_owned())),
        }
    }
}

/// `2%`, or `rate=2%,cpu=1%`, or both: `2%,p99=10%`.
impl FromStr for Thresholds {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let mut thresholds = Self::default();
        for part in text.split(',') {
            thresholds.add(part.trim())?;
        }
        Ok(thresholds)
    }
}

const fn usual(metric: Metric, sessions: Sessions) -> f64 {
    match (metric, sessions) {
        (Metric::Rate, Sessions::One) => 0.02,
        (Metric::Cpu | Metric::Instructions, Sessions::One) => 0.01,
        (Metric::UserInstructions, Sessions::One) => 0.002,
        (Metric::UserInstructions, Sessions::Two) => 0.003,
        (Metric::P50, Sessions::One) => 0.05,
        (Metric::P99, Sessions::One) => 0.10,
        (Metric::Memory, Sessions::One) => 0.05,
        (Metric::Rate | Metric::Cpu, Sessions::Two) => 0.05,
        (Metric::Instructions, Sessions::Two) => 0.02,
        (Metric::P50 | Metric::Memory, Sessions::Two) => 0.10,
        (Metric::P99, Sessions::Two) => 0.20,
    }
}

fn share(text: &str) -> Result<f64, ThresholdError> {
    let share = parse_percent(text);
    let share = share.filter(|share| *share > 0.0 && *share <= GREATEST);
    share.ok_or_else(|| ThresholdError::Share(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_command_line_says_what_it_compares() {
        for (command, metrics, rate) in [
            ("prony ab main", vec![], 0.02),
            (
                "prony ab main --threshold=3% --metrics cpu,p99",
                vec![Metric::Cpu, Metric::P99],
                0.03,
            ),
            (
                "prony ab --metrics=rate main --threshold rate=5%",
                vec![Metric::Rate],
                0.05,
            ),
            (
                "prony ab --metrics rate main --metrics=cpu,p99",
                vec![Metric::Rate, Metric::Cpu, Metric::P99],
                0.02,
            ),
            ("prony ab main --metrics speed --threshold", vec![], 0.02),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let question = Question::of_command(&words);
            assert_eq!(question.metrics, metrics, "{command}");
            assert_eq!(question.thresholds.of(Metric::Rate, Sessions::One), rate);
        }
    }

    #[test]
    fn one_for_all_and_one_for_each() {
        let thresholds: Thresholds = "4%, p99=12.5%".parse().unwrap();
        assert_eq!(thresholds.of(Metric::Rate, Sessions::One), 0.04);
        assert_eq!(thresholds.of(Metric::P99, Sessions::Two), 0.125);
        assert!(!thresholds.too_narrow(Metric::Rate, Sessions::One));
        assert!(thresholds.too_narrow(Metric::Rate, Sessions::Two));
    }

    #[test]
    fn usual_thresholds_are_wider_for_two_sessions() {
        let usual = Thresholds::default();
        for metric in Metric::ALL {
            assert!(usual.of(metric, Sessions::Two) > usual.of(metric, Sessions::One));
            assert!(!usual.too_narrow(metric, Sessions::Two));
        }
    }

    #[test]
    fn what_is_not_a_threshold_is_rejected() {
        for wrong in ["2", "", "0%", "-1%", "x%", "2000%", "rate=", "nan%"] {
            let error = wrong.parse::<Thresholds>().unwrap_err();
            assert!(matches!(error, ThresholdError::Share(_)), "{wrong}");
        }
        for twice in ["1%,2%", "cpu=1%,cpu=2%"] {
            let error = twice.parse::<Thresholds>().unwrap_err();
            assert!(matches!(error, ThresholdError::Twice(_)), "{twice}");
        }
        let error = "speed=1%".parse::<Thresholds>().unwrap_err().to_string();
        assert!(error.contains("instructions"), "{error}");
    }
}
