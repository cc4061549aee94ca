//! What is installed, what is missing and how to install it: the data of `prony doctor`.

use std::path::PathBuf;
use std::sync::Arc;

use super::need::{Need, Version};
use super::table::{EXTRAS, PackageManager, TOOLCHAINS, Toolchain};
use super::toolbox::{Availability, Toolbox};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolState {
    Found {
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
    pub state: ToolState,
    pub install: String,
    /// Its packages for the system's package manager; empty if there are none.
    pub packages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctor {
    pub toolchains: Vec<ToolReport>,
    /// Tools that no server needs but that Prony can use.
    pub extras: Vec<ToolReport>,
    pub package_manager: Option<PackageManager>,
}

impl Doctor {
    /// Compares every toolchain with the `needs` of the servers, and looks for the extra tools.
    ///
    /// If several needs name one toolchain, the doctor shows one that is not met, or else the one for the latest version.
    pub fn examine<'a>(toolbox: &Toolbox, needs: impl IntoIterator<Item = &'a Need>) -> Doctor {
        let needs: Vec<&Need> = needs.into_iter().collect();
        let manager = PackageManager::detect();
        let report = |need: String, state, tool: &Toolchain| ToolReport {
            need,
            state,
            install: tool.install_line(),
            packages: manager
                .and_then(|manager| tool.packages.get(&manager).cloned())
                .unwrap_or_default(),
        };
        let mut tools: Vec<&Arc<Toolchain>> = TOOLCHAINS.iter().collect();
        // Programs that only manifests describe.
        for need in &needs {
            if !tools.contains(&need.tool()) {
                tools.push(need.tool());
            }
        }
        let toolchains = tools.into_iter().filter_map(|tool| {
            let own = needs.iter().filter(|need| need.tool() == tool);
            let own = own.map(|&need| need.clone());
            let found = own.chain([Need::any(tool.clone())]).map(|need| {
                let state = state_of(toolbox.find(&need));
                (need, state)
            });
            let (need, state) =
                found.max_by_key(|(need, state)| (badness(state), need.version().cloned()))?;
            Some(report(need.to_string(), state, tool))
        });
        let extras = EXTRAS.iter().map(|tool| {
            let state = match toolbox.any(tool) {
                Some((path, version)) => ToolState::Found { path, version },
                None => ToolState::Missing(tool.name.clone()),
            };
            report(tool.name.clone(), state, tool)
        });
        Doctor {
            toolchains: toolchains.collect(),
            extras: extras.collect(),
            package_manager: manager,
        }
    }

    /// The command that installs all missing tools that the package manager has, if there are any.
    pub fn fix(&self) -> Option<Vec<String>> {
        let missing = self.toolchains.iter().chain(&self.extras);
        let packages: Vec<String> = missing
            .filter(|report| matches!(report.state, ToolState::Missing(_)))
            .flat_map(|report| report.packages.clone())
            .collect();
        let manager = self.package_manager?;
        (!packages.is_empty()).then(|| manager.install(&packages))
    }
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
