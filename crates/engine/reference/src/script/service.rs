//! How long each request is served.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::error::ScriptError;

/// How long a worker serves each request.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// The same time for all.
    Fixed(Duration),
    /// Exponentially distributed times with this mean.
    Exponential(Duration),
    /// These times, over and over.
    Listed(Arc<[Duration]>),
}

impl Default for Service {
    /// No time.
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

impl Service {
    /// The times of the requests, in order and endless.
    pub fn times(&self, seed: u64) -> ServiceTimes {
        ServiceTimes {
            service: self.clone(),
            random: fastrand::Rng::with_seed(seed),
            served: 0,
        }
    }

    /// Reads a list from a file with one duration per line; empty lines are skipped.
    ///
    /// # Errors
    /// If it cannot be read, has a line that is not a duration, or no duration at all.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let times = text
            .trim_start_matches('\u{feff}')
            .lines()
            .map(str::trim)
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(index, line)| {
                humantime::parse_duration(line).map_err(|_| ScriptError::Line {
                    path: path.to_owned(),
                    line: index + 1,
                    text: line.to_owned(),
                })
            })
            .collect::<Result<Arc<[Duration]>, _>>()?;
        if times.is_empty() {
            Err(ScriptError::NoTimes(path.to_owned()))
        } else {
            Ok(Self::Listed(times))
        }
    }
}

/// Longer than any client waits, and short enough that sums of many fit a duration.
const LONGEST_SERVICE: Duration = Duration::from_secs(3600);

impl FromStr for Service {
    type Err = ScriptError;

    /// Parses `fixed:1ms`, `exponential:1ms`, or `file:PATH`, and reads the file.
    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let duration = |text: &str| {
            let time = humantime::parse_duration(text).ok();
            let time = time.filter(|time| *time <= LONGEST_SERVICE);
            time.ok_or_else(|| ScriptError::Duration(text.into()))
        };
        match text.split_once(':') {
            Some(("fixed", time)) => Ok(Self::Fixed(duration(time)?)),
            Some(("exponential", mean)) => Ok(Self::Exponential(duration(mean)?)),
            Some(("file", path)) => Self::read(Path::new(path)),
            _ => Err(ScriptError::Distribution(text.into())),
        }
    }
}

/// The service times of successive requests.
#[derive(Clone, Debug)]
pub struct ServiceTimes {
    service: Service,
    random: fastrand::Rng,
    served: usize,
}

impl Iterator for ServiceTimes {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(match &self.service {
            Service::Fixed(time) => *time,
            // 1 - f64() lies above 0 and up to 1, so its logarithm is finite.
            Service::Exponential(mean) => mean.mul_f64(-(1.0 - self.random.f64()).ln()),
            Service::Listed(times) => {
                let time = times[self.served % times.len()];
                self.served += 1;
                time
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::contains;
    use std::io::Write;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn distributions_are_parsed_by_name() {
        let read = |text: &str| text.parse::<Service>().unwrap();
        assert_eq!(read("fixed:1ms"), Service::Fixed(ms(1)));
        let exponential = Service::Exponential(Duration::from_micros(250));
        assert_eq!(read("exponential:250us"), exponential);
        let listed = file("1ms\n\n 3ms\r\n2ms");
        let service = read(&format!("file:{}", listed.path().display()));
        let times: Vec<Duration> = service.times(0).take(5).collect();
        assert_eq!(times, [ms(1), ms(3), ms(2), ms(1), ms(3)]);
    }

    #[test]
    fn an_invalid_distribution_is_refused_with_a_hint() {
        let [wrong, empty] = ["1ms\n2 parsecs\n", "\n"].map(file);
        let path = |file: &tempfile::NamedTempFile| format!("file:{}", file.path().display());
        for (text, expected) in [
            ("normal:1ms", "exponential:1ms"),
            ("1ms", "fixed:1ms"),
            ("fixed:fast", "`fast` is not a duration"),
            (
                "file:/no/such/file",
                "cannot read the service times in /no/such",
            ),
            (&path(&wrong), "line 2 of"),
            (&path(&wrong), "`2 parsecs`"),
            (&path(&empty), "no service times"),
        ] {
            let error = text.parse::<Service>().unwrap_err();
            contains(&error.to_string(), expected);
        }
    }

    #[test]
    fn random_times_have_their_mean_and_spread_and_repeat_with_their_seed() {
        let service = Service::Exponential(ms(1));
        let times: Vec<f64> = service
            .times(7)
            .take(200_000)
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mean = mean_of(&times);
        let squares: Vec<f64> = times.iter().map(|time| (time - mean).powi(2)).collect();
        let variance = mean_of(&squares);
        // Standard errors: of the mean 1/√200000 = 0.0022, of the variance √(8/200000) = 0.0063.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
        let first = |seed| service.times(seed).take(5).collect::<Vec<_>>();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }
}
