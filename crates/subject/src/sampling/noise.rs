//! What else happens on the machine, read from `/proc/stat`.

use std::fs;
use std::io;

use prony_record::MachineNoise;

/// Measures the noise of the machine from its start on.
#[derive(Clone, Copy, Debug)]
pub struct NoiseMeter {
    start: Ticks,
}

/// CPU time of the whole machine in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

impl NoiseMeter {
    /// Begins to measure.
    ///
    /// # Errors
    /// Where `/proc/stat` cannot be read.
    pub fn start() -> io::Result<NoiseMeter> {
        let start = Ticks::read()?;
        Ok(NoiseMeter { start })
    }

    /// The noise since the start; none where less than a tick has passed.
    ///
    /// # Errors
    /// Where `/proc/stat` cannot be read.
    pub fn finish(self) -> io::Result<MachineNoise> {
        Ok(noise(self.start, Ticks::read()?))
    }
}

fn noise(start: Ticks, end: Ticks) -> MachineNoise {
    let total = end.total.saturating_sub(start.total);
    let share = |start: u64, end: u64| match total {
        0 => 0.0,
        total => end.saturating_sub(start) as f64 / total as f64,
    };
    MachineNoise {
        steal_share: share(start.steal, end.steal),
        idle_share: share(start.idle, end.idle),
    }
}

impl Ticks {
    fn read() -> io::Result<Ticks> {
        let text = fs::read_to_string("/proc/stat")?;
        Ticks::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "odd /proc/stat"))
    }

    /// user nice system idle iowait irq softirq steal; the guests after them are counted in user and nice.
    fn parse(text: &str) -> Option<Ticks> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_whitespace()
            .take(8)
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()?;
        Some(Ticks {
            total: ticks.iter().sum(),
            idle: ticks.get(3)? + ticks.get(4).unwrap_or(&0),
            steal: *ticks.get(7).unwrap_or(&0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let at = |text| Ticks::parse(text).unwrap();
        let start = at("cpu  100 0 100 100 0 0 0 0 50 0\ncpu0 1 1 1 1\n");
        let end = at("cpu  130 0 110 130 10 0 0 20 70 0\n");
        let noise = noise(start, end);
        assert_eq!((noise.steal_share, noise.idle_share), (0.2, 0.4));
    }

    #[test]
    fn this_machine_says_its_noise() {
        assert!(Ticks::read().unwrap().total > 0);
        assert_eq!(noise(Ticks::default(), Ticks::default()).steal_share, 0.0);
    }
}
