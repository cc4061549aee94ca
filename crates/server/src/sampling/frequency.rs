//! How fast the CPUs are clocked.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the system shows its CPUs.
pub const CPU_FOLDER: &str = "/sys/devices/system/cpu";

/// The lowest and the highest frequency at which some CPUs were seen.
#[derive(Debug)]
pub struct Frequencies {
    files: Vec<PathBuf>,
    range_mhz: Option<(f64, f64)>,
}

impl Frequencies {
    /// Those of `cpus`, not looked at yet. `folder` is [`CPU_FOLDER`]. Many virtual machines show none.
    pub fn of(folder: &Path, cpus: &[usize]) -> Frequencies {
        let file = |cpu| folder.join(format!("cpu{cpu}/cpufreq/scaling_cur_freq"));
        Frequencies {
            files: cpus.iter().map(file).filter(|it| it.exists()).collect(),
            range_mhz: None,
        }
    }

    /// Looks at them now.
    pub fn look(&mut self) {
        for file in &self.files {
            let Some(khz) = number_in(file) else { continue };
            let mhz = khz as f64 / 1000.0;
            let (low, high) = self.range_mhz.unwrap_or((mhz, mhz));
            self.range_mhz = Some((low.min(mhz), high.max(mhz)));
        }
    }

    /// In MHz; `None` where none was seen.
    pub fn range_mhz(&self) -> Option<(f64, f64)> {
        self.range_mhz
    }
}

/// The number that is all there is in a file of `/sys`.
pub fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_that_of_all_looks_at_those_cpus() {
        let folder = tempfile::tempdir().unwrap();
        let show = |cpu: usize, khz: &str| {
            let cpufreq = folder.path().join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).unwrap();
            fs::write(cpufreq.join("scaling_cur_freq"), khz).unwrap();
        };
        show(0, "2400000\n");
        show(1, "9900000\n");
        show(3, "3100500\n");
        let mut frequencies = Frequencies::of(folder.path(), &[0, 2, 3]);
        assert_eq!(frequencies.range_mhz(), None, "not looked at yet");
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), Some((2400.0, 3100.5)));
        show(0, "800000\n");
        show(3, "<unknown>\n");
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), Some((800.0, 3100.5)));
    }

    #[test]
    fn a_machine_that_shows_none_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut frequencies = Frequencies::of(folder.path(), &[0, 1]);
        frequencies.look();
        assert_eq!(frequencies.range_mhz(), None);
    }
}
