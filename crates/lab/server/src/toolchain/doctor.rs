//! What is installed, what is missing and how to install it: the data of `prony doctor`.

use std::path::PathBuf;

use super::need::{Need, Version};
use super::table::{EXTRAS, PackageManager, TOOLCHAINS, Toolchain};
use super::toolbox::{Availability, Toolbox};

/// Whether a tool is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolState {
    Found {
        /// Its program.
        path: PathBuf,
        /// Its version, if it says one.
        version: Option<Version>,
    },
    /// Prony can install it for itself, like this.
    Obtainable(String),
    /// It is not; this says what was found instead.
    Missing(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolReport {
    /// What is needed: `go >= 1.22`.
    pub need: String,
    /// Whether it is installed.
    pub state: ToolState,
    /// The command that installs it.
    pub install: String,
    /// Its packages for the system's package manager; empty if there are none.
    pub packages: &'static [&'static str],
}

/// All tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctor {
    /// The toolchains of the servers.
    pub toolchains: Vec<ToolReport>,
    /// Tools that no server needs but that Prony can use.
    pub extras: Vec<ToolReport>,
    /// The system's package manager.
    pub package_manager: Option<PackageManager>,
}

impl Doctor {
    /// Compares every toolchain with the `needs` of the servers, and looks for the extra tools.
    ///
    /// If several needs name one toolchain, the doctor shows one that is not met, or else the one for the latest version.
    pub fn examine<'a>(toolbox: &Toolbox, needs: impl IntoIterator<Item = &'a Need>) -> Doctor {
        let needs: Vec<&Need> = needs.into_iter().collect();
        let manager = PackageManager::detect();
        let packages = |tool: &'static Toolchain| {
            let packages = manager.and_then(|manager| tool.packages.get(&manager));
            packages.map_or(&[][..], Vec::as_slice)
        };
        let toolchains = TOOLCHAINS.iter().map(|toolchain| {
            let is_of_it = |need: &&&Need| need.tool().known() == Some(toolchain);
            let own = needs.iter().filter(is_of_it);
            let (need, state) = own
                .map(|&need| need.clone())
                .chain([Need::any(toolchain)])
                .map(|need| {
                    let state = state_of(toolbox.find(&need));
                    (need, state)
                })
                .max_by_key(|(need, state)| (badness(state), need.version().cloned()))
                .unwrap_or_else(|| {
                    let state = ToolState::Missing(toolchain.name.to_owned());
                    (Need::any(toolchain), state)
                });
            ToolReport {
                need: need.to_string(),
                state,
                install: toolchain.install_line(),
                packages: packages(toolchain),
            }
        });
        let extras = EXTRAS.iter().map(|tool| ToolReport {
            need: tool.name.to_owned(),
            state: match toolbox.any(tool) {
                Some((path, version)) => ToolState::Found { path, version },
                None => ToolState::Missing(tool.name.to_owned()),
            },
            install: tool.install_line(),
            packages: packages(tool),
        });
        Doctor {
            toolchains: toolchains.chain(programs(toolbox, &needs)).collect(),
            extras: extras.collect(),
            package_manager: manager,
        }
    }

    /// The command that installs all missing tools that the package manager has, if there are any.
    pub fn fix(&self) -> Option<Vec<String>> {
        let missing = self.toolchains.iter().chain(&self.extras);
        let packages: Vec<&str> = missing
            .filter(|report| matches!(report.state, ToolState::Missing(_)))
            .flat_map(|report| report.packages)
            .copied()
            .collect();
        let manager = self.package_manager?;
        (!packages.is_empty()).then(|| manager.install(&packages))
    }
}

/// The programs that only manifests describe, each need once.
fn programs(toolbox: &Toolbox, needs: &[&Need]) -> Vec<ToolReport> {
    let mut own: Vec<&Need> = Vec::new();
    for &need in needs {
        if need.tool().known().is_none() && !own.contains(&need) {
            own.push(need);
        }
    }
    let reports = own.into_iter().map(|need| ToolReport {
        need: need.to_string(),
        state: state_of(toolbox.find(need)),
        install: need.tool().install_line(),
        packages: &[],
    });
    reports.collect()
}

fn state_of(availability: Availability) -> ToolState {
    match availability {
        Availability::Found(found) => ToolState::Found {
            path: found.path,
            version: Some(found.version),
        },
        Availability::Obtainable(how) => ToolState::Obtainable(how),
        Availability::Missing(missing) => ToolState::Missing(missing.what),
    }
}

fn badness(state: &ToolState) -> u8 {
    match state {
        ToolState::Found { .. } => 0,
        ToolState::Obtainable(_) => 1,
        ToolState::Missing(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, SupervisorProgram};

    /// The report of these needs of Python, and Python's line of it.
    fn examine(needs: &[&str]) -> (Doctor, ToolReport) {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::new(&Layout::at(folder.path()), &SupervisorProgram::new("/none"));
        let needs: Vec<Need> = needs
            .iter()
            .map(|need| Need::parse(need).unwrap())
            .collect();
        let doctor = Doctor::examine(&toolbox, &needs);
        let mut reports = doctor.toolchains.iter();
        let python = reports.find(|report| report.need.starts_with("python"));
        let python = python.unwrap().clone();
        (doctor, python)
    }

    #[test]
    fn the_doctor_shows_a_need_that_is_not_met_and_the_extra_tools() {
        let (doctor, python) = examine(&["python >= 3.0", "python >= 999"]);
        assert_eq!(doctor.toolchains.len(), TOOLCHAINS.len());
        assert_eq!(python.need, "python >= 999");
        let extras = doctor.extras.iter().map(|report| report.need.as_str());
        assert_eq!(extras.collect::<Vec<_>>(), ["wrk", "valgrind", "perf"]);
        assert!(matches!(python.state, ToolState::Missing(_)), "{python:?}");
        if let Some(manager) = doctor.package_manager {
            let fix = doctor.fix().unwrap();
            assert!(fix.contains(&manager.name().to_owned()));
            assert!(fix.contains(&python.packages[0].to_owned()));
        }
    }

    #[test]
    fn the_doctor_shows_the_strictest_of_the_needs_that_are_met() {
        let (_, python) = examine(&["python >= 3.1", "python", "python >= 3.0"]);
        assert_eq!(python.need, "python >= 3.1");
    }
}
