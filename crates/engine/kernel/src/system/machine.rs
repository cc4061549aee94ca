//! Describes the machine. Never fails: what is not visible stays empty.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prony_model::Machine;

use crate::system::cpus::parse_cpu_list;
use crate::system::quota::quota_under;

/// The settings under `/proc/sys` that affect the figures.
const SYSCTLS: [&str; 17] = [
    "net.core.somaxconn",
    "net.core.default_qdisc",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.core.busy_poll",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
];

/// Reads `/proc`, `/sys` and `/etc/os-release`. What is unavailable stays empty.
pub fn detect_machine() -> Machine {
    Files::under("/").machine()
}

/// The files of one system; tests give another root than `/`.
struct Files(PathBuf);

impl Files {
    fn under(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    fn machine(&self) -> Machine {
        let cpuinfo = self.read("proc/cpuinfo").unwrap_or_default();
        Machine {
            cpu_model: self.cpu_model(&cpuinfo),
            cpus: self.cpus(&cpuinfo),
            cpu_quota: quota_under(&self.0),
            memory_bytes: self.memory_bytes(),
            os: self.os(),
            kernel: self.read("proc/sys/kernel/osrelease").unwrap_or_default(),
            virtualization: self.virtualization(&cpuinfo),
            governor: self.governor(),
            mitigations: self.mitigations(),
            tcp_settings: self.tcp_settings(),
        }
    }

    /// A file's text without surrounding white space; `None` if there is nothing to read.
    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.0.join(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The names in a folder, sorted.
    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.0.join(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn cpu_model(&self, cpuinfo: &str) -> String {
        // Arm kernels have no "model name"; the device tree names the board.
        field(cpuinfo, "model name")
            .or_else(|| field(cpuinfo, "cpu model"))
            .map(str::to_owned)
            .or_else(|| self.read("proc/device-tree/model"))
            .unwrap_or_default()
    }

    fn cpus(&self, cpuinfo: &str) -> usize {
        self.read("sys/devices/system/cpu/online")
            .and_then(|list| Some(parse_cpu_list(&list).ok()?.len()))
            .unwrap_or_else(|| cpuinfo.matches("processor\t").count())
    }

    fn memory_bytes(&self) -> u64 {
        self.read("proc/meminfo")
            .as_deref()
            .and_then(|text| field(text, "MemTotal"))
            .and_then(|value| value.trim_end_matches("kB").trim().parse::<u64>().ok())
            .map_or(0, |kibibytes| kibibytes.saturating_mul(1024))
    }

    fn os(&self) -> String {
        self.read("etc/os-release")
            .or_else(|| self.read("usr/lib/os-release"))
            .as_deref()
            .and_then(|text| {
                text.lines()
                    .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            })
            .map(|name| name.trim_matches(['"', '\'']).to_owned())
            .unwrap_or_default()
    }

    fn virtualization(&self, cpuinfo: &str) -> Option<String> {
        let mut seen = Vec::new();
        let hypervisor = self.hypervisor_name();
        let flagged = field(cpuinfo, "flags")
            .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        match hypervisor {
            Some(name) => seen.push(format!("virtual machine ({name})")),
            None if flagged => seen.push("virtual machine".to_owned()),
            None => {}
        }
        let marks = [".dockerenv", "run/.containerenv"];
        if marks.iter().any(|mark| self.0.join(mark).exists()) {
            seen.push("container".to_owned());
        }
        (!seen.is_empty()).then(|| seen.join(", "))
    }

    fn hypervisor_name(&self) -> Option<String> {
        const VENDORS: [(&str, &str); 9] = [
            ("qemu", "QEMU/KVM"),
            ("kvm", "KVM"),
            ("amazon ec2", "Amazon EC2"),
            ("google compute engine", "Google Compute Engine"),
            ("vmware", "VMware"),
            ("virtualbox", "VirtualBox"),
            ("microsoft corporation virtual machine", "Hyper-V"),
            ("xen", "Xen"),
            ("openstack", "OpenStack"),
        ];
        if let Some(kind) = self.read("sys/hypervisor/type") {
            return Some(kind);
        }
        let dmi = ["sys_vendor", "product_name"]
            .iter()
            .filter_map(|name| self.read(Path::new("sys/class/dmi/id").join(name)))
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        VENDORS
            .iter()
            .find(|(mark, _)| dmi.contains(mark))
            .map(|(_, name)| (*name).to_owned())
    }

    fn governor(&self) -> Option<String> {
        let cpus = "sys/devices/system/cpu";
        let governors: BTreeSet<String> = self
            .names(cpus)
            .iter()
            .filter_map(|cpu| self.read(format!("{cpus}/{cpu}/cpufreq/scaling_governor")))
            .collect();
        let joined = governors.into_iter().collect::<Vec<_>>().join(", ");
        (!joined.is_empty()).then_some(joined)
    }

    fn mitigations(&self) -> Vec<String> {
        let folder = "sys/devices/system/cpu/vulnerabilities";
        let switched_off = self.read("proc/cmdline").is_some_and(|line| {
            line.split_whitespace()
                .any(|word| word == "mitigations=off")
        });
        let states = self.names(folder).into_iter().filter_map(|name| {
            let state = self.read(format!("{folder}/{name}"))?;
            (state != "Not affected").then(|| format!("{name}: {state}"))
        });
        switched_off
            .then(|| "kernel command line: mitigations=off".to_owned())
            .into_iter()
            .chain(states)
            .collect()
    }

    fn tcp_settings(&self) -> Vec<String> {
        let one = |name: &str, path: String| {
            let value = self.read(path)?;
            let words: Vec<_> = value.split_whitespace().collect();
            Some(format!("{name} = {}", words.join(" ")))
        };
        SYSCTLS
            .iter()
            .filter_map(|name| one(name, format!("proc/sys/{}", name.replace('.', "/"))))
            .chain(one("lo mtu", "sys/class/net/lo/mtu".to_owned()))
            .collect()
    }
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    /// The machine of a system with a file for each row: its path and its text.
    fn machine(files: &str) -> Machine {
        let root = tempfile::tempdir().unwrap();
        for [path, text] in rows(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Files::under(root.path()).machine()
    }

    #[test]
    fn a_system_that_shows_nothing_gives_empty_fields() {
        assert_eq!(machine("etc/hostname | here"), Machine::default());
    }

    #[test]
    fn every_field_is_found() {
        let machine = machine(
            r#"
            proc/cpuinfo | processor\t: 0\nmodel name\t: Fast 9000\nflags\t\t: fpu hypervisor avx\n
            sys/devices/system/cpu/online | 0-2,5\n
            proc/meminfo | MemTotal:        2048 kB\nMemFree: 1 kB\n
            etc/os-release | ID=x\nPRETTY_NAME="Some Linux 1"\n
            proc/sys/kernel/osrelease | 6.1.0\n
            sys/class/dmi/id/sys_vendor | QEMU\n
            sys/devices/system/cpu/cpu0/cpufreq/scaling_governor | powersave\n
            sys/devices/system/cpu/cpu1/cpufreq/scaling_governor | performance\n
            sys/devices/system/cpu/vulnerabilities/meltdown | Mitigation: PTI\n
            sys/devices/system/cpu/vulnerabilities/l1tf | Not affected\n
            proc/cmdline | quiet mitigations=off\n
            proc/sys/net/ipv4/tcp_rmem | 4096\t131072\t6291456\n
            sys/class/net/lo/mtu | 65536\n
            proc/self/mountinfo | 30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n
            proc/self/cgroup | 0::/\n
            sys/fs/cgroup/cpu.max | 150000 100000\n
        "#,
        );
        let expected = Machine {
            cpu_model: "Fast 9000".into(),
            cpus: 4,
            cpu_quota: Some(1.5),
            memory_bytes: 2 << 20,
            os: "Some Linux 1".into(),
            kernel: "6.1.0".into(),
            virtualization: Some("virtual machine (QEMU/KVM)".into()),
            governor: Some("performance, powersave".into()),
            mitigations: vec![
                "kernel command line: mitigations=off".into(),
                "meltdown: Mitigation: PTI".into(),
            ],
            tcp_settings: vec![
                "net.ipv4.tcp_rmem = 4096 131072 6291456".into(),
                "lo mtu = 65536".into(),
            ],
        };
        assert_eq!(machine, expected);
    }

    #[test]
    fn malformed_files_are_ignored() {
        let machine = machine(
            r"
            sys/devices/system/cpu/online | 9-1,x
            proc/cpuinfo | processor\t: 0\nprocessor\t: 1\n:::\n
            proc/meminfo | MemTotal: lots kB
            etc/os-release | PRETTY_NAME
        ",
        );
        assert_eq!((machine.cpus, machine.memory_bytes), (2, 0));
        assert_eq!(machine.os, "");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_that_runs_this_test_is_described() {
        let machine = detect_machine();
        assert!(machine.cpus > 0 && machine.memory_bytes > 0);
        assert!(!machine.kernel.is_empty());
    }
}
