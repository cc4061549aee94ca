//! What else happens on the machine.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Instant;
use std::{fs, io};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use prony_model::{CpuAssignment, CpuNoise, MachineNoise};

use super::process::{ProcessTimes, ticks_per_second};

/// Measures what happens on the CPUs of a server and of its load besides them.
///
/// What they could have used is the time that the CPUs were neither idle nor stolen. Idle time is what a kernel counts
/// best; what programs use it only samples. `/proc/stat` gives it to the tick of 10 ms: of a trial of 0.6 s on one CPU
/// that is 1.7 %, of one of 2 s half a percent.
///
/// The work after an interrupt, such as that of the network, is done in the time of whichever program runs. Where the
/// kernel counts it apart, it is taken to belong to the measured program.
///
/// The kernel charges no program for the way into and out of idle: a few µs each time on a virtual machine, a tenth of a
/// CPU for a server that sleeps and wakes 30,000 times a second. So the time of other programs is taken to be no more
/// than what their processes were charged for, if Prony can see them all.
#[derive(Debug)]
pub struct NoiseMeter {
    cpus: CpuAssignment,
    start: Reading,
}

/// All clocks at one instant.
#[derive(Clone, Debug)]
struct Reading {
    at: Instant,
    times: CpuTimes,
    server_cpu_s: f64,
    load_cpu_s: f64,
    /// Of every process; `None` if some cannot be seen.
    processes: Option<ProcessTimes>,
}

impl Reading {
    fn now(server_cpu_s: f64) -> io::Result<Reading> {
        Ok(Reading {
            at: Instant::now(),
            times: CpuTimes::read()?,
            server_cpu_s,
            load_cpu_s: own_cpu_s()?,
            processes: ProcessTimes::read(),
        })
    }

    /// How much CPU time all processes have used since `start`, in seconds; `None` if that is not known.
    fn all_cpu_s(&self, start: &Reading) -> Option<f64> {
        Some(self.processes.as_ref()?.since(start.processes.as_ref()?))
    }
}

impl NoiseMeter {
    /// Begins to measure. `server_cpu_s` is the CPU time that the server has used so far, in seconds. The load is made by
    /// this process, or by children of it that have ended and been waited for when the meter finishes.
    ///
    /// # Errors
    /// If `/proc/stat` cannot be read.
    pub fn start(cpus: CpuAssignment, server_cpu_s: f64) -> io::Result<NoiseMeter> {
        let start = Reading::now(server_cpu_s)?;
        Ok(NoiseMeter { cpus, start })
    }

    /// The noise since the start; the server has used `server_cpu_s` by now.
    ///
    /// # Errors
    /// If `/proc/stat` cannot be read.
    pub fn finish(self, server_cpu_s: f64) -> io::Result<MachineNoise> {
        let end = Reading::now(server_cpu_s)?;
        Ok(noise(&self.cpus, &self.start, &end))
    }
}

fn noise(cpus: &CpuAssignment, start: &Reading, end: &Reading) -> MachineNoise {
    let machine = end.times.machine.since(start.times.machine);
    let share = |ticks: u64| match machine.total {
        0 => 0.0,
        total => ticks as f64 / total as f64,
    };
    let server_s = end.server_cpu_s - start.server_cpu_s;
    let load_s = end.load_cpu_s - start.load_cpu_s;
    let most_foreign_s = match end.all_cpu_s(start) {
        Some(all_s) => (all_s - server_s - load_s).max(0.0),
        None => f64::INFINITY,
    };
    let group = |cpus: &[usize], used_s| group_noise(cpus, used_s, most_foreign_s, start, end);
    let (server_cpus, load_cpus) = if cpus.shared() {
        let mut both = [&cpus.server[..], &cpus.load[..]].concat();
        both.sort_unstable();
        both.dedup();
        (None, group(&both, server_s + load_s))
    } else {
        (group(&cpus.server, server_s), group(&cpus.load, load_s))
    };
    MachineNoise {
        steal_share: share(machine.steal),
        idle_share: share(machine.idle),
        server_cpus,
        load_cpus,
        ..MachineNoise::default()
    }
}

/// The noise on some CPUs: `used_s` of their time is that of the measured programs, and others have used no more than
/// `most_foreign_s`.
fn group_noise(
    cpus: &[usize],
    used_s: f64,
    most_foreign_s: f64,
    start: &Reading,
    end: &Reading,
) -> Option<CpuNoise> {
    let Ticks {
        idle,
        interrupts,
        steal,
        ..
    } = end.times.of(cpus)?.since(start.times.of(cpus)?);
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second();
    let all_s = end.at.duration_since(start.at).as_secs_f64() * cpus.len() as f64;
    if all_s <= 0.0 {
        return Some(CpuNoise::default());
    }
    let apart_s = match end.times.interrupts_are_apart {
        true => seconds(interrupts),
        false => 0.0,
    };
    let unaccounted_s = all_s - seconds(idle) - seconds(steal) - apart_s - used_s;
    let foreign_s = unaccounted_s.min(most_foreign_s);
    Some(CpuNoise {
        steal_share: (seconds(steal) / all_s).min(1.0),
        foreign_share: (foreign_s / all_s).clamp(0.0, 1.0),
    })
}

/// CPU time of this process, and of the children that it has waited for, in seconds.
fn own_cpu_s() -> io::Result<f64> {
    let own = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    let children = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let own_s = own.tv_sec() as f64 + own.tv_nsec() as f64 / 1e9;
    Ok(own_s + seconds(children.user_time()) + seconds(children.system_time()))
}

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

/// The ticks of all CPUs at one instant, from `/proc/stat`. `procfs-core` reads that file too, but drops the numbers of the
/// CPUs, so that one that is off line would shift the others.
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
    /// If `/proc/stat` cannot be read.
    pub fn read() -> io::Result<CpuTimes> {
        let text = fs::read_to_string("/proc/stat")?;
        CpuTimes::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "odd /proc/stat"))
    }

    /// The ticks of some CPUs together; `None` if there are none, or one of them is not on line.
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
    use std::time::Duration;

    /// At `seconds`, with the lines of CPU 0 and 1.
    fn reading(began: Instant, seconds: f64, server_cpu_s: f64, cpus: [&str; 2]) -> Reading {
        let [first, second] = cpus;
        let text = format!("cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 {first}\ncpu1 {second}\n");
        Reading {
            at: began + Duration::from_secs_f64(seconds),
            times: CpuTimes::parse(&text).unwrap(),
            server_cpu_s,
            load_cpu_s: 2.0 * server_cpu_s,
            processes: None,
        }
    }

    /// A CPU for each.
    fn apart() -> CpuAssignment {
        CpuAssignment {
            server: vec![0],
            load: vec![1],
        }
    }

    fn close(noise: Option<CpuNoise>, steal: f64, foreign: f64) -> bool {
        let noise = noise.unwrap();
        (noise.steal_share - steal).abs() < 1e-9 && (noise.foreign_share - foreign).abs() < 1e-9
    }

    #[test]
    fn what_nobody_accounts_for_is_foreign() {
        let began = Instant::now();
        // In 2 s: 0.5 s idle, 0.1 s stolen, 0.4 s of the server; nothing idle, 0.8 s of the load.
        let start = reading(
            began,
            1.0,
            0.0,
            ["10 0 0 10 0 0 0 0 0 0", "0 0 0 5 5 0 0 0 0 0"],
        );
        let end = reading(
            began,
            3.0,
            0.4,
            ["90 0 0 50 10 0 50 10 0 0", "199 0 0 5 5 0 0 0 0 0"],
        );
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.05, 0.5), "{found:?}");
        assert!(close(found.load_cpus, 0.0, 0.6), "{found:?}");
        let shared = CpuAssignment {
            server: vec![0, 1],
            load: vec![1, 0],
        };
        let found = noise(&shared, &start, &end);
        assert_eq!(found.server_cpus, None);
        assert!(close(found.load_cpus, 0.025, 0.55), "{found:?}");
    }

    #[test]
    fn interrupts_that_are_counted_apart_are_not_foreign() {
        let began = Instant::now();
        let start = reading(began, 0.0, 0.0, ["0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0"]);
        let mut end = reading(began, 1.0, 0.5, ["50 0 0 20 0 5 25 0", "99 0 0 0 0 0 0 0"]);
        end.times.interrupts_are_apart = true;
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.0, 0.0), "{found:?}");
        end.times.interrupts_are_apart = false;
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.0, 0.3), "{found:?}");
    }

    #[test]
    fn what_no_process_was_charged_for_is_not_foreign() {
        let began = Instant::now();
        // The server's CPU is busy for a second, of which the server is charged for 0.5 s.
        let mut start = reading(began, 0.0, 0.0, ["0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0"]);
        let mut end = reading(began, 1.0, 0.5, ["99 0 0 0 0 0 0 0", "99 0 0 0 0 0 0 0"]);
        start.processes = Some(ProcessTimes::of(&[(1, 7.0), (2, 1.0), (3, 1.0)]));
        end.processes = Some(ProcessTimes::of(&[(1, 7.2), (2, 1.5), (3, 2.0)]));
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.0, 0.2), "{found:?}");
        // One that is new, and one that has ended.
        end.processes = Some(ProcessTimes::of(&[(2, 1.5), (3, 2.0), (4, 0.1)]));
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.0, 0.1), "{found:?}");
        // Not all can be seen at one of the instants.
        end.processes = None;
        let found = noise(&apart(), &start, &end);
        assert!(close(found.server_cpus, 0.0, 0.5), "{found:?}");
    }

    #[test]
    fn the_share_of_the_machine_is_of_its_ticks() {
        let at = |text| Reading {
            at: Instant::now(),
            times: CpuTimes::parse(text).unwrap(),
            server_cpu_s: 0.0,
            load_cpu_s: 0.0,
            processes: None,
        };
        let start = at("cpu  100 0 100 100 0 0 0 0 50 0\n");
        let end = at("cpu  130 0 110 130 10 0 0 20 70 0\n");
        let cpus = CpuAssignment {
            server: vec![],
            load: vec![],
        };
        let found = noise(&cpus, &start, &end);
        assert_eq!((found.steal_share, found.idle_share), (0.2, 0.4));
        assert_eq!((found.server_cpus, found.load_cpus), (None, None));
        assert_eq!(noise(&cpus, &end, &end).steal_share, 0.0);
    }

    #[test]
    fn this_machine_says_its_noise() {
        let cpus = CpuAssignment {
            server: vec![],
            load: prony_system::allowed_cpus().unwrap(),
        };
        let meter = NoiseMeter::start(cpus, 0.0).unwrap();
        let busy_until = Instant::now() + Duration::from_millis(30);
        while Instant::now() < busy_until {}
        let found = meter.finish(0.0).unwrap();
        let shares = found.load_cpus.unwrap();
        assert!((0.0..=1.0).contains(&shares.foreign_share), "{shares:?}");
        assert!((0.0..=1.0).contains(&shares.steal_share), "{shares:?}");
    }
}

#[cfg(test)]
mod cpu_times_tests {
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
