//! What a CPU quota takes from the processes that it limits.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How often the CPU quota of a cgroup stopped its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttled {
    /// The quota, in CPUs: 0.5 for half of the time of one.
    pub quota_cpus: f64,
    /// In how many periods its processes ran.
    pub periods: u64,
    /// In how many periods the quota was spent, so that the processes were stopped until the next one.
    pub throttled_periods: u64,
    /// For how long they were stopped, summed over CPUs, in seconds.
    pub throttled_s: f64,
}

/// From this share of a load's time on, being stopped shows in its figures.
const NOTICEABLE: f64 = 0.01;

impl Throttled {
    /// Whether a load of `loaded_s` seconds shows it.
    pub fn is_noticeable(&self, loaded_s: f64) -> bool {
        self.throttled_s > NOTICEABLE * loaded_s
    }

    /// The evidence that it limited a generator of `loaded_s` seconds of load; `None` if the load does not show it.
    pub fn evidence(&self, loaded_s: f64) -> Option<String> {
        self.is_noticeable(loaded_s).then(|| format!("a {self}"))
    }

    /// The one that stopped its processes longer.
    pub fn worse(self, other: Self) -> Self {
        if self.throttled_s < other.throttled_s {
            other
        } else {
            self
        }
    }
}

/// `CPU quota of 0.15 CPUs stopped it in 53 of 65 periods, for 2.1 s`.
impl fmt::Display for Throttled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            throttled_periods,
            periods,
            throttled_s,
            ..
        } = self;
        let quota = quota(self.quota_cpus);
        let time = match throttled_s {
            s if *s < 1.0 => format!("{:.0} ms", s * 1e3),
            s => format!("{s:.1} s"),
        };
        write!(
            f,
            "CPU quota of {quota} stopped it in {throttled_periods} of {periods} periods, for {time}"
        )
    }
}

/// A quota in words: `0.15 CPUs`.
pub fn quota(cpus: f64) -> String {
    let rounded = (cpus * 1000.0).round() / 1000.0;
    let s = if rounded == 1.0 { "" } else { "s" };
    format!("{rounded} CPU{s}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_that_stopped_its_processes_is_described() {
        let throttled = Throttled {
            quota_cpus: 0.15,
            periods: 65,
            throttled_periods: 53,
            throttled_s: 2.1,
        };
        assert_eq!(
            throttled.to_string(),
            "CPU quota of 0.15 CPUs stopped it in 53 of 65 periods, for 2.1 s"
        );
        assert_eq!(quota(1.0), "1 CPU");
        assert!(throttled.is_noticeable(10.0) && !throttled.is_noticeable(1000.0));
        assert_eq!(Throttled::default().worse(throttled), throttled);
    }
}
