//! How servers are explained.

use std::time::Duration;

/// How servers are explained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplainPlan {
    /// How many rounds give the figures and their intervals.
    pub rounds: u32,
    /// How long each load of a round takes, after its warm-up. A load with a number of requests keeps it.
    pub duration: Duration,
    /// How servers are profiled; `None` if they are not.
    pub profile: Option<ProfilePlan>,
}

impl ExplainPlan {
    /// Five rounds of a second, and a profile of each of this many servers.
    pub fn for_servers(servers: usize) -> Self {
        Self {
            rounds: 5,
            duration: Duration::from_secs(1),
            profile: Some(ProfilePlan::for_servers(servers)),
        }
    }
}

/// How a server is profiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilePlan {
    /// Samples a second and thread that runs.
    pub frequency_hz: u64,
    /// How long the load takes at least.
    pub duration: Duration,
    /// The load takes longer, within limits, until each server has about this many samples; 0 if it does not.
    pub samples: u32,
    /// Whether waiting is profiled too.
    pub off_cpu: bool,
}

impl ProfilePlan {
    /// The longest profile whose duration Prony chooses.
    const LONGEST: Duration = Duration::from_secs(30);

    /// Shows where the time of this many servers goes. Differences of two are smaller than what is seen of one: about 5,000
    /// samples show a change of 2 % of the CPU time.
    pub fn for_servers(servers: usize) -> Self {
        let compares = servers > 1;
        Self {
            // A prime number, so that samples do not keep step with a clock.
            frequency_hz: if compares { 997 } else { 199 },
            duration: Duration::from_secs(3),
            samples: if compares { 5000 } else { 0 },
            off_cpu: true,
        }
    }

    /// How long a server has to be loaded that keeps this many CPUs busy.
    pub(super) fn duration_for(&self, busy_cpus: f64) -> Duration {
        if self.samples == 0 {
            return self.duration;
        }
        let per_second = self.frequency_hz as f64 * busy_cpus;
        let needed = Duration::try_from_secs_f64(f64::from(self.samples) / per_second);
        let needed = needed.unwrap_or(Self::LONGEST).min(Self::LONGEST);
        needed.max(self.duration)
    }
}
