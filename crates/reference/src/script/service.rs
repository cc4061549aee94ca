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
        match times.is_empty() {
            true => Err(ScriptError::NoTimes(path.to_owned())),
            false => Ok(Self::Listed(times)),
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
        assert_eq!(
            read("exponential:250us"),
            Service::Exponential(Duration::from_micros(250))
        );
        let listed = file("1ms\n\n 3ms\r\n2ms");
        let service = read(&format!("file:{}", listed.path().display()));
        let times: Vec<Duration> = service.times(0).take(5).collect();
        assert_eq!(times, [ms(1), ms(3), ms(2), ms(1), ms(3)]);
    }

    #[test]
    fn an_invalid_distribution_is_refused_with_a_hint() {
        let error = |text: &str| text.parse::<Service>().unwrap_err().to_string();
        assert!(error("normal:1ms").contains("exponential:1ms"));
        assert!(error("1ms").contains("fixed:1ms"));
        assert!(error("fixed:fast").contains("`fast` is not a duration"));
        assert!(error("file:/no/such/file").contains("cannot read the service times in /no/such"));
        let wrong = file("1ms\n2 parsecs\n");
        let text = error(&format!("file:{}", wrong.path().display()));
        assert!(
            text.contains("line 2 of") && text.contains("`2 parsecs`"),
            "{text}"
        );
        let empty = file("\n");
        assert!(error(&format!("file:{}", empty.path().display())).contains("no service times"));
    }

    #[test]
    fn random_times_have_their_mean_and_spread_and_repeat_with_their_seed() {
        let service = Service::Exponential(ms(1));
        let times: Vec<f64> = service
            .times(7)
            .take(200_000)
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let variance =
            times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
        // Standard errors: of the mean 1/√200000 = 0.0022, of the variance √(8/200000) = 0.0063.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
        let first = |seed| service.times(seed).take(5).collect::<Vec<_>>();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }
}
