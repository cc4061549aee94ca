//! The processor's clock frequencies, and the energy that its packages use.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) const CPU_FOLDER: &str = "/sys/devices/system/cpu";

/// The lowest and the highest frequency of some CPUs.
#[derive(Debug)]
pub(super) struct Frequencies {
    files: Vec<PathBuf>,
    range_mhz: Option<(f64, f64)>,
}

impl Frequencies {
    /// Of `cpus`, not read yet. `folder` is [`CPU_FOLDER`]. Many virtual machines show no frequencies.
    pub(super) fn of(folder: &Path, cpus: &[usize]) -> Frequencies {
        let file = |cpu| folder.join(format!("cpu{cpu}/cpufreq/scaling_cur_freq"));
        Frequencies {
            files: cpus.iter().map(file).filter(|it| it.exists()).collect(),
            range_mhz: None,
        }
    }

    pub(super) fn look(&mut self) {
        for file in &self.files {
            let Some(khz) = number_in(file) else { continue };
            let mhz = khz as f64 / 1000.0;
            let (low, high) = self.range_mhz.unwrap_or((mhz, mhz));
            self.range_mhz = Some((low.min(mhz), high.max(mhz)));
        }
    }

    pub(super) fn range_mhz(&self) -> Option<(f64, f64)> {
        self.range_mhz
    }
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

pub(super) const POWERCAP_FOLDER: &str = "/sys/class/powercap";

/// Counts the energy that the packages of all processors use. Most systems let only root read it.
#[derive(Debug)]
pub(super) struct EnergyMeter {
    packages: Vec<Package>,
}

/// A counter in microjoules that wraps around at the end of its range.
#[derive(Debug)]
struct Package {
    file: PathBuf,
    range_uj: u64,
    last_uj: u64,
    used_uj: u64,
}

impl EnergyMeter {
    /// Starts counting. `folder` is [`POWERCAP_FOLDER`]. `None` if there is no counter, or one is unreadable: the sum
    /// of the others would be too small.
    pub(super) fn start(folder: &Path) -> Option<EnergyMeter> {
        let packages = fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|domain| is_package(domain))
            .map(|domain| Package::open(&domain))
            .collect::<Option<Vec<_>>>()?;
        (!packages.is_empty()).then_some(EnergyMeter { packages })
    }

    /// Reads the counters. Must be called more often than they wrap around, which at a kilowatt is every few minutes.
    pub(super) fn look(&mut self) {
        self.packages.iter_mut().for_each(Package::look);
    }

    /// The energy used from the start to the last reading, in joules.
    pub(super) fn used_j(&self) -> f64 {
        let used_uj: u64 = self.packages.iter().map(|package| package.used_uj).sum();
        used_uj as f64 / 1e6
    }
}

/// Whether it is the domain of a whole package (`intel-rapl:0`, also on AMD processors): not a part of one
/// (`intel-rapl:0:1`), the same package again (`intel-rapl-mmio:0`), or the whole machine (named `psys`).
fn is_package(domain: &Path) -> bool {
    let Some(name) = domain.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let is_top = name
        .strip_prefix("intel-rapl:")
        .is_some_and(|number| !number.contains(':'));
    let title = fs::read_to_string(domain.join("name"));
    is_top && title.is_ok_and(|title| title.starts_with("package"))
}

impl Package {
    fn open(domain: &Path) -> Option<Package> {
        let file = domain.join("energy_uj");
        Some(Package {
            range_uj: number_in(&domain.join("max_energy_range_uj"))?,
            last_uj: number_in(&file)?,
            used_uj: 0,
            file,
        })
    }

    fn look(&mut self) {
        let Some(now_uj) = number_in(&self.file) else {
            return;
        };
        self.used_uj += match now_uj.checked_sub(self.last_uj) {
            Some(used) => used,
            None => now_uj + self.range_uj.saturating_sub(self.last_uj),
        };
        self.last_uj = now_uj;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_covers_all_readings_of_those_cpus() {
        let folder = tempfile::tempdir().unwrap();
        let show = |cpu: usize, khz: &str| {
            let cpufreq = folder.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).unwrap();
            fs::write(cpufreq.join("scaling_cur_freq"), khz).unwrap();
        };
        let mut frequencies = Frequencies::of(folder.path(), &[0, 2, 3]);
        assert_eq!(frequencies.range_mhz(), None, "not read yet");
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), None, "the machine shows none");
        for (cpu, khz) in [(0, "2400000\n"), (1, "9900000\n"), (3, "3100500\n")] {
            show(cpu, khz);
        }
        let mut frequencies = Frequencies::of(folder.path(), &[0, 2, 3]);
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), Some((2400.0, 3100.5)));
        show(0, "800000\n");
        show(3, "<unknown>\n");
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), Some((800.0, 3100.5)));
    }
}

#[cfg(test)]
mod energy_tests {
    use super::*;

    fn write(folder: &Path, domain: &str, files: &[(&str, &str)]) {
        let domain = folder.join(domain);
        fs::create_dir_all(&domain).unwrap();
        for (name, text) in files {
            fs::write(domain.join(name), text).unwrap();
        }
    }

    fn package(folder: &Path, domain: &str, title: &str, energy_uj: &str) {
        let files = [
            ("name", title),
            ("energy_uj", energy_uj),
            ("max_energy_range_uj", "10000000\n"),
        ];
        write(folder, domain, &files);
    }

    #[test]
    fn packages_are_summed_and_counters_may_wrap() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        package(folder, "intel-rapl:0", "package-0\n", "9500000\n");
        package(folder, "intel-rapl:0:0", "core\n", "1\n");
        package(folder, "intel-rapl-mmio:0", "package-0\n", "1\n");
        package(folder, "intel-rapl:1", "package-1\n", "1000000\n");
        package(folder, "intel-rapl:2", "psys\n", "1\n");
        write(folder, "intel-rapl", &[("enabled", "1\n")]);
        let mut meter = EnergyMeter::start(folder).unwrap();
        assert_eq!(meter.used_j(), 0.0);
        package(folder, "intel-rapl:0", "package-0\n", "250000\n");
        package(folder, "intel-rapl:1", "package-1\n", "3000000\n");
        package(folder, "intel-rapl:0:0", "core\n", "7000000\n");
        meter.look();
        assert_eq!(meter.used_j(), 2.75);
        package(folder, "intel-rapl:0", "package-0\n", "1250000\n");
        meter.look();
        assert_eq!(meter.used_j(), 3.75);
    }

    #[test]
    fn missing_or_unreadable_counters_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(EnergyMeter::start(&folder.join("none")).is_none());
        assert!(EnergyMeter::start(folder).is_none());
        package(folder, "intel-rapl:0", "package-0\n", "5\n");
        assert!(EnergyMeter::start(folder).is_some());
        write(folder, "intel-rapl:1", &[("name", "package-1\n")]);
        assert!(EnergyMeter::start(folder).is_none(), "one is unreadable");
    }
}
