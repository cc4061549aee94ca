//! What the CPUs of the machine did, read from `/proc/stat`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::AddAssign;

/// Time of some CPUs since the boot, in ticks (a hundredth of a second nearly everywhere).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    pub total: u64,
    /// With nothing to do, or waiting for a disk. Kernels that stop their clock tick meanwhile, as nearly all do, count
    /// it by the clock.
    pub idle: u64,
    /// Interrupts and what is done after them.
    pub interrupts: u64,
    /// Given to others by the hypervisor.
    pub steal: u64,
}

impl Ticks {
    pub fn since(self, earlier: Ticks) -> Ticks {
        // The kernel corrects a count now and then, so one may run backwards.
        Ticks {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            interrupts: self.interrupts.saturating_sub(earlier.interrupts),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, other: Ticks) {
        self.total += other.total;
        self.idle += other.idle;
        self.interrupts += other.interrupts;
        self.steal += other.steal;
    }
}

/// The ticks of all CPUs at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub machine: Ticks,
    by_cpu: BTreeMap<usize, Ticks>,
    /// Whether the kernel measures interrupts by the clock (CONFIG_IRQ_TIME_ACCOUNTING) and keeps them out of the CPU
    /// time of the program that they interrupt. One that counts by ticks never finds itself in an interrupt, since a
    /// tick waits until that is over.
    pub interrupts_are_apart: bool,
}

impl CpuTimes {
    /// Now.
    ///
    /// # Errors
    /// Where `/proc/stat` cannot be read.
    pub fn read() -> io::Result<CpuTimes> {
        let text = fs::read_to_string("/proc/stat")?;
        CpuTimes::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "odd /proc/stat"))
    }

    /// The ticks of some CPUs together; `None` where there are none, or one of them is not on line.
    pub fn of(&self, cpus: &[usize]) -> Option<Ticks> {
        let mut sum = Ticks::default();
        for cpu in cpus {
            sum += *self.by_cpu.get(cpu)?;
        }
        (!cpus.is_empty()).then_some(sum)
    }

    pub fn parse(text: &str) -> Option<CpuTimes> {
        let mut times = CpuTimes::default();
        let lines = text.lines().map_while(|line| line.strip_prefix("cpu"));
        let mut has_machine = false;
        for line in lines {
            let (name, numbers) = line.split_once(' ')?;
            let (ticks, interrupts) = parse_ticks(numbers)?;
            if name.is_empty() {
                has_machine = true;
                times.machine = ticks;
                times.interrupts_are_apart = interrupts > 0;
            } else {
                times.by_cpu.insert(name.parse().ok()?, ticks);
            }
        }
        has_machine.then_some(times)
    }
}

/// user nice system idle iowait irq softirq steal; the guests after them are counted in user and nice. Also gives irq by
/// itself.
fn parse_ticks(numbers: &str) -> Option<(Ticks, u64)> {
    let ticks: Vec<u64> = numbers
        .split_whitespace()
        .take(8)
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    let sum = Ticks {
        total: ticks.iter().sum(),
        idle: ticks.get(3)? + at(4),
        interrupts: at(5) + at(6),
        steal: at(7),
    };
    Some((sum, at(5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  160 0 110 130 10 0 20 20 70 0\n\
                        cpu0 100 0 60 30 5 0 15 20 0 0\n\
                        cpu2 60 0 50 100 5 0 5 0 70 0\n\
                        intr 5 6\ncpufreq 1\n";

    #[test]
    fn each_cpu_has_its_ticks() {
        let times = CpuTimes::parse(TEXT).unwrap();
        assert_eq!(times.machine.total, 450);
        let both = times.of(&[0, 2]).unwrap();
        assert_eq!(both, times.machine);
        let second = times.of(&[2]).unwrap();
        assert_eq!(
            (second.total, second.idle, second.interrupts, second.steal),
            (220, 105, 5, 0)
        );
        assert_eq!(times.of(&[0, 1]), None, "it is not on line");
        assert_eq!(times.of(&[]), None);
    }

    #[test]
    fn a_kernel_that_measures_interrupts_has_some() {
        assert!(!CpuTimes::parse(TEXT).unwrap().interrupts_are_apart);
        let text = "cpu  1 0 1 1 0 3 1 0 0 0\n";
        assert!(CpuTimes::parse(text).unwrap().interrupts_are_apart);
    }

    #[test]
    fn odd_text_is_refused() {
        for text in ["", "intr 1\n", "cpu  1 2 3\n", "cpu  1 2 x 4\n"] {
            assert_eq!(CpuTimes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_count_that_runs_backwards_is_none() {
        let at = |idle| Ticks {
            idle,
            ..Ticks::default()
        };
        assert_eq!(at(5).since(at(6)).idle, 0);
    }
}
