//! CPU quotas of cgroups, versions 1 and 2: `docker --cpus`, `limits.cpu` of Kubernetes, `CPUQuota=` of systemd.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use prony_model::Throttled;

/// The quota of this process, in CPUs; `None` if it has none, or the system does not show it.
pub fn cpu_quota() -> Option<f64> {
    quota_under(Path::new("/"))
}

/// The same, for a system under another root than `/`.
pub(crate) fn quota_under(root: &Path) -> Option<f64> {
    let cgroups = limited(root, ["self".to_owned()]);
    cgroups
        .into_iter()
        .map(|cgroup| cgroup.quota_cpus)
        .min_by(f64::total_cmp)
}

/// How many threads of a load run at once on `cpus` CPUs. Of the whole CPUs of a quota they get half, rounded up, because
/// the server needs some.
pub fn load_threads(cpus: usize) -> usize {
    threads_within(cpu_quota(), cpus)
}

fn threads_within(quota: Option<f64>, cpus: usize) -> usize {
    let half = quota.map_or(usize::MAX, |quota| (quota as usize).div_ceil(2));
    cpus.min(half).max(1)
}

/// Watches the CPU quotas that limit some processes.
#[derive(Debug)]
pub struct ThrottleMeter {
    /// Each limited cgroup, with what its kernel had counted at the start.
    cgroups: Vec<(Limited, Counts)>,
}

impl ThrottleMeter {
    /// Starts watching the quotas of this process.
    pub fn own() -> Self {
        Self::under(Path::new("/"), ["self".to_owned()])
    }

    /// Starts watching the quotas of these processes.
    pub fn of(pids: &[i32]) -> Self {
        Self::under(Path::new("/"), pids.iter().map(i32::to_string))
    }

    fn under(root: &Path, processes: impl IntoIterator<Item = String>) -> Self {
        let cgroups = limited(root, processes).into_iter();
        let counted = cgroups.filter_map(|cgroup| {
            let counts = cgroup.counts()?;
            Some((cgroup, counts))
        });
        Self {
            cgroups: counted.collect(),
        }
    }

    /// What the quota did since the start that stopped the processes longest; `None` without a quota.
    pub fn throttled(&self) -> Option<Throttled> {
        let since = |(cgroup, before): &(Limited, Counts)| {
            let now = cgroup.counts()?;
            Some(Throttled {
                quota_cpus: cgroup.quota_cpus,
                periods: now.periods.saturating_sub(before.periods),
                throttled_periods: now.throttled.saturating_sub(before.throttled),
                throttled_s: now.stopped_ns.saturating_sub(before.stopped_ns) as f64 / 1e9,
            })
        };
        let throttled = self.cgroups.iter().filter_map(since);
        throttled.reduce(Throttled::worse)
    }
}

/// A cgroup with a quota.
#[derive(Debug, PartialEq, PartialOrd)]
struct Limited {
    folder: PathBuf,
    quota_cpus: f64,
}

/// What the kernel counts for a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    periods: u64,
    throttled: u64,
    stopped_ns: u64,
}

impl Limited {
    /// `None` if the cgroup has no quota.
    fn at(folder: &Path) -> Option<Self> {
        let read = |name| fs::read_to_string(folder.join(name)).ok();
        let (quota, period) = match read("cpu.max") {
            Some(both) => {
                let (quota, period) = both.trim().split_once(' ')?;
                (quota.to_owned(), period.to_owned())
            }
            None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        };
        // No quota is `max`, or −1 in version 1.
        let (quota, period): (u64, u64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
        (period > 0).then(|| Self {
            folder: folder.to_owned(),
            quota_cpus: quota as f64 / period as f64,
        })
    }

    fn counts(&self) -> Option<Counts> {
        let text = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
        let value = |name: &str| -> Option<u64> {
            let mut lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
        };
        let microseconds = value("throttled_usec").map(|it| it.saturating_mul(1000));
        Some(Counts {
            periods: value("nr_periods")?,
            throttled: value("nr_throttled")?,
            stopped_ns: microseconds.or_else(|| value("throttled_time"))?,
        })
    }
}

/// The cgroups with a quota that these processes are in: their own and all above, each once.
fn limited(root: &Path, processes: impl IntoIterator<Item = String>) -> Vec<Limited> {
    let Ok(mounts) = fs::read_to_string(root.join("proc/self/mountinfo")) else {
        return Vec::new();
    };
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
    let mut folders = BTreeSet::new();
    for process in processes {
        let cgroups = fs::read_to_string(root.join(format!("proc/{process}/cgroup")));
        for line in cgroups.unwrap_or_default().lines() {
            let visible = mounts.iter().filter_map(|mount| mount.folders(line));
            folders.extend(visible.flatten());
        }
    }
    let limited = folders.iter().map(|folder| root.join(folder));
    limited.filter_map(|folder| Limited::at(&folder)).collect()
}

/// Where a hierarchy of cgroups with CPU quotas is mounted.
#[derive(Debug)]
struct Mount {
    /// The cgroup that is seen at the mount point.
    cgroup: PathBuf,
    /// The mount point, without the `/` that it begins with.
    point: PathBuf,
    is_unified: bool,
}

impl Mount {
    /// Reads a line of `mountinfo` (proc_pid_mountinfo(5)); `None` if it is of something else.
    fn parse(line: &str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_unified = match (kind.next()?, kind.nth(1)?) {
            ("cgroup2", _) => true,
            ("cgroup", options) if options.split(',').any(|it| it == "cpu") => false,
            _ => return None,
        };
        let mut mount = mount.split(' ').skip(3);
        Some(Self {
            cgroup: mount.next()?.into(),
            point: mount.next()?.strip_prefix('/')?.into(),
            is_unified,
        })
    }

    /// The folder of the cgroup that a line of `/proc/<pid>/cgroup` names, and those above; `None` if it is not visible
    /// here.
    fn folders(&self, line: &str) -> Option<Vec<PathBuf>> {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_of_this = if self.is_unified {
            number == "0" && controllers.is_empty()
        } else {
            controllers.split(',').any(|it| it == "cpu")
        };
        let below = Path::new(path).strip_prefix(&self.cgroup).ok()?;
        let is_outside = below.components().any(|it| it == Component::ParentDir);
        (is_of_this && !is_outside).then(|| {
            let own = self.point.join(below);
            let all = own.ancestors();
            all.take_while(|folder| folder.starts_with(&self.point))
                .map(Path::to_owned)
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;
    use tempfile::TempDir;

    use super::*;

    /// A system with a file for each row: its path and its text.
    fn system(files: &str) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), files);
        root
    }

    fn write(root: &Path, files: &str) {
        for [path, text] in rows(files) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    const VERSION_1: &str = r"
        proc/self/mountinfo | 32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n31 1 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n
        proc/self/cgroup | 9:memory:/a\n3:cpu,cpuacct:/a/b\n0::/\n
        sys/fs/cgroup/cpu/cpu.stat | nr_periods 0\nnr_throttled 0\nthrottled_time 0\n
        sys/fs/cgroup/cpu/cpu.cfs_quota_us | -1\n
        sys/fs/cgroup/cpu/cpu.cfs_period_us | 100000\n
        sys/fs/cgroup/cpu/a/cpu.cfs_quota_us | 400000\n
        sys/fs/cgroup/cpu/a/cpu.cfs_period_us | 100000\n
        sys/fs/cgroup/cpu/a/cpu.stat | nr_periods 5\nnr_throttled 0\nthrottled_time 0\n
        sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us | 15000\n
        sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us | 100000\n
        sys/fs/cgroup/cpu/a/b/cpu.stat | nr_periods 100\nnr_throttled 7\nthrottled_time 500000000\nwait_sum 3\n
    ";
    const VERSION_2: &str = r"
        proc/self/mountinfo | 30 23 0:26 /pod /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n
        proc/self/cgroup | 0::/\n
        proc/7/cgroup | 0::/pod/server\n
        proc/8/cgroup | 0::/../other\n
        sys/fs/cgroup/cpu.max | max 100000\n
        sys/fs/cgroup/server/cpu.max | 250000 100000\n
        sys/fs/cgroup/server/cpu.stat | usage_usec 9\nnr_periods 1\nnr_throttled 1\nthrottled_usec 90000\n
    ";

    #[test]
    fn the_lowest_quota_of_all_cgroups_above_a_process_limits_it() {
        assert_eq!(quota_under(system(VERSION_1).path()), Some(0.15));
        // The process is above what is mounted.
        assert_eq!(quota_under(system(VERSION_2).path()), None);
        assert_eq!(quota_under(system("etc/hostname | here").path()), None);
    }

    #[test]
    fn what_a_quota_stopped_is_counted_from_the_start() {
        let (root, pids) = (system(VERSION_1), ["self".to_owned()]);
        let meter = ThrottleMeter::under(root.path(), pids);
        assert_eq!(meter.throttled().unwrap().throttled_periods, 0);
        let later = r"sys/fs/cgroup/cpu/a/b/cpu.stat | nr_periods 165\nnr_throttled 60\nthrottled_time 2600000000\n";
        write(root.path(), later);
        let expected = Throttled {
            quota_cpus: 0.15,
            periods: 65,
            throttled_periods: 53,
            throttled_s: 2.1,
        };
        assert_eq!(meter.throttled(), Some(expected));
    }

    #[test]
    fn the_processes_of_a_server_have_a_quota_of_their_own() {
        let root = system(VERSION_2);
        let of = |pid: &str| ThrottleMeter::under(root.path(), [pid.to_owned()]);
        let server = of("7");
        let later = r"sys/fs/cgroup/server/cpu.stat | nr_periods 3\nnr_throttled 2\nthrottled_usec 590000\n";
        write(root.path(), later);
        let throttled = server.throttled().unwrap();
        assert_eq!((throttled.quota_cpus, throttled.throttled_s), (2.5, 0.5));
        for other in ["8", "9"] {
            assert_eq!(of(other).throttled(), None, "{other}");
        }
    }

    #[test]
    fn a_quota_limits_the_threads_of_a_load_to_half_of_it() {
        for (quota, cpus, threads) in [
            (None, 4, 4),
            (None, 0, 1),
            (Some(8.0), 4, 4),
            (Some(4.0), 4, 2),
            (Some(3.5), 4, 2),
            (Some(0.15), 4, 1),
        ] {
            assert_eq!(threads_within(quota, cpus), threads, "{quota:?} {cpus}");
        }
    }
}
