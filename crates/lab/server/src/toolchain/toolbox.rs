//! Finds installed toolchains.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prony_kernel::on_path;

use super::found::{Found, environment};
use super::need::{Need, Version};
use super::programs;
use super::table::{PackageSource, Toolchain};
use crate::{Layout, SupervisorProgram};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is missing; to install it: {install}")]
pub struct Missing {
    /// What is missing, and what was found instead.
    pub what: String,
    pub install: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    Found(Found),
    /// Prony can install it for itself with [`Toolbox::provide`], like this.
    Obtainable(String),
    Missing(Missing),
}

/// The toolchains of this machine and those that Prony installed under `.prony/tools`.
#[derive(Debug)]
pub struct Toolbox {
    pub(super) layout: Layout,
    pub(super) supervisor: SupervisorProgram,
    /// What is known of each program, which is run once per toolchain that it may be.
    known: Mutex<Vec<(PathBuf, Found)>>,
}

impl Toolbox {
    /// The toolbox of a layout; `supervisor` supervises the commands that install a toolchain.
    pub fn new(layout: &Layout, supervisor: &SupervisorProgram) -> Toolbox {
        Toolbox {
            layout: layout.clone(),
            supervisor: supervisor.clone(),
            known: Mutex::default(),
        }
    }

    /// Whether a need is met, can be met, or not.
    ///
    /// Programs on `PATH` come first, then the newest in the usual folders, then those that Prony installed.
    pub fn find(&self, need: &Need) -> Availability {
        let mut instead = None;
        for candidate in self.all(need.tool()) {
            let why = match candidate {
                Ok(found) => match shortfall(&found, need) {
                    None => return Availability::Found(found),
                    Some(why) => why,
                },
                Err(why) => why,
            };
            instead.get_or_insert(why);
        }
        if let Some(how) = self.obtainable(need) {
            return Availability::Obtainable(how);
        }
        let instead = instead.map_or(String::new(), |why| format!(" ({why})"));
        Availability::Missing(Missing {
            what: format!("{need}{instead}"),
            install: need.tool().install_line(),
        })
    }

    /// How Prony would install a toolchain that meets a need, if it can.
    fn obtainable(&self, need: &Need) -> Option<String> {
        let toolchain = need.tool();
        let source = toolchain.source.as_ref()?;
        let pinned = pinned_version(source);
        let will_do = pinned.is_none_or(|version| need.met_by(&version));
        (will_do && !on_path(source.installer.name()).is_empty()).then(|| {
            let folder = self.folder_of(toolchain);
            format!(
                "Prony installs it in {} from {}",
                folder.display(),
                source.package
            )
        })
    }

    pub(super) fn any(&self, tool: &Arc<Toolchain>) -> Option<(PathBuf, Option<Version>)> {
        let on_path = programs::first(tool).into_iter();
        let path = on_path.chain(programs::usual(tool)).next()?;
        let version = self.ask(&path, tool).ok().map(|found| found.version);
        Some((path, version))
    }

    pub(super) fn folder_of(&self, toolchain: &Toolchain) -> PathBuf {
        self.layout.tools().join(&toolchain.name)
    }

    /// Every installed one, in the order of preference, lazily: no program runs before its turn. `Err` says why a version
    /// is unknown.
    fn all<'a>(&'a self, tool: &'a Arc<Toolchain>) -> impl Iterator<Item = Result<Found, String>> {
        let ask = move |path: PathBuf| self.ask(&path, tool);
        let on_path = programs::first(tool).into_iter().map(ask);
        let newest_first = std::iter::once_with(move || {
            let usual = programs::usual(tool).into_iter();
            let mut usual: Vec<_> = usual.map(ask).collect();
            usual.sort_by_key(|found| {
                Reverse(found.as_ref().ok().map(|found| found.version.clone()))
            });
            usual
        });
        let source = tool.source.as_ref();
        let installed = source.map(|source| programs::installed(source, &self.folder_of(tool)));
        on_path
            .chain(newest_first.flatten())
            .chain(installed.into_iter().flatten().map(ask))
    }

    /// What is known of a program. One that prints no version may be in the middle of its installation, so it is run
    /// again the next time.
    fn ask(&self, program: &Path, tool: &Arc<Toolchain>) -> Result<Found, String> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(path, found): &&(PathBuf, Found)| path == program && found.tool == *tool;
        if let Some((_, known)) = lock().iter().find(is_it) {
            return Ok(known.clone());
        }
        let env = environment(&self.grounds(tool));
        let version = programs::version(program, tool, &env).ok_or_else(|| {
            let command = match &tool.version_command[..] {
                [] => format!("{} --version", tool.program),
                words => words.join(" "),
            };
            let program = program.display();
            format!("{program} is installed, but `{command}` prints no version")
        })?;
        let found = Found {
            tool: tool.clone(),
            version,
            path: programs::itself(program, tool),
        };
        lock().push((program.to_owned(), found.clone()));
        Ok(found)
    }

    /// The toolchains that a program itself needs, as far as they are installed.
    fn grounds(&self, tool: &Toolchain) -> Vec<Found> {
        let grounds = tool
            .runs_on
            .iter()
            .filter_map(|name| Toolchain::named(name));
        grounds
            .filter_map(|ground| match self.find(&Need::any(ground.clone())) {
                Availability::Found(found) => Some(found),
                _ => None,
            })
            .collect()
    }
}

fn shortfall(found: &Found, need: &Need) -> Option<String> {
    let lack = match (need.met_by(&found.version), found.lacks()) {
        (true, None) => return None,
        (true, Some(part)) => format!(" without {part}"),
        (false, _) => String::new(),
    };
    let path = found.path.display();
    Some(format!("{path} is {}{lack}", found.version))
}

fn pinned_version(source: &PackageSource) -> Option<Version> {
    let (_, version) = source.package.rsplit_once(['=', '@'])?;
    Version::parse(version).filter(|_| version.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::super::table::Part;
    use super::*;
    use prony_testkit::processes::write_script;
    use std::collections::BTreeMap;
    use std::fs;

    fn toolbox(root: &Path) -> Toolbox {
        Toolbox::new(&Layout::at(root), &SupervisorProgram::new("/none"))
    }

    fn found(availability: Availability) -> Found {
        match availability {
            Availability::Found(found) => found,
            other => panic!("{other:?}"),
        }
    }

    fn missing(availability: Availability) -> Missing {
        match availability {
            Availability::Missing(missing) => missing,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn installed_programs_are_found_with_their_version() {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = toolbox(folder.path());
        let need = Need::parse("python >= 3.0").unwrap();
        let python = found(toolbox.find(&need));
        assert!(python.path.is_absolute() && python.path.ends_with("python3"));
        assert!(need.met_by(&python.version));
        let later = missing(toolbox.find(&Need::parse("python >= 999").unwrap()));
        assert!(later.what.starts_with("python >= 999 (/"), "{later}");
        assert!(!later.install.is_empty());
    }

    /// A toolchain whose programs are scripts in `root/NAME/bin`, each with the version that it prints.
    fn scripts(root: &Path, program: &'static str, versions: &[(&str, &str)]) -> Toolchain {
        for (name, version) in versions {
            let file = root.join(name).join("bin").join(program);
            write_script(&file, &format!("echo {version}"));
        }
        let folders = root.join("*/bin").to_str().unwrap().to_owned();
        Toolchain {
            name: "made-up".to_owned(),
            program: program.to_owned(),
            usual_folders: vec![folders],
            install: "it cannot be installed".to_owned(),
            ..Toolchain::default()
        }
    }

    fn find(root: &Path, toolchain: Toolchain) -> Availability {
        toolbox(root).find(&Need::any(Arc::new(toolchain)))
    }

    #[test]
    fn outside_path_the_newest_complete_version_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let versions = [
            ("a", "9.0.1"),
            ("b", "17.0.2"),
            ("c", "11.0"),
            ("d", "25.0"),
        ];
        let tool = |part| Toolchain {
            part,
            ..scripts(&root, "prony-made-up-tool", &versions)
        };
        let part = |file: &str| {
            let file = file.to_owned();
            let folders = vec![".".to_owned()];
            Some(Part { file, folders })
        };
        let found = |part| found(find(&root, tool(part))).path;
        let program = |name| root.join(name).join("bin/prony-made-up-tool");
        assert_eq!(found(None), program("d"));
        fs::write(root.join("b/bin/compiler"), "").unwrap();
        assert_eq!(found(part("compiler")), program("b"));
        let (newest, without) = (program("d"), find(&root, tool(part("linker"))));
        let what = format!("made-up ({} is 25.0 without linker)", newest.display());
        assert_eq!(missing(without).what, what);
    }

    #[test]
    fn a_version_on_path_is_preferred_to_newer_ones() {
        let folder = tempfile::tempdir().unwrap();
        let tool = Toolchain {
            version_command: words(&["sh", "-c", "echo 1.0"]),
            ..scripts(folder.path(), "sh", &[("newer", "99.0")])
        };
        let found = found(find(folder.path(), tool));
        assert_eq!(found.version.to_string(), "1.0");
    }

    #[test]
    fn one_program_can_be_two_toolchains() {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = toolbox(folder.path());
        let found = |name: &str, script: &str| {
            let tool = Toolchain {
                name: name.to_owned(),
                version_command: words(&["sh", "-c", script]),
                program: "sh".to_owned(),
                ..Toolchain::default()
            };
            match toolbox.find(&Need::any(Arc::new(tool))) {
                Availability::Found(found) => Some(found.version.to_string()),
                _ => None,
            }
        };
        let one = found("one", "echo 1.0");
        assert_eq!(one.as_deref(), Some("1.0"));
        let other = found("other", "echo 2.0");
        assert_eq!(other.as_deref(), Some("2.0"));
        assert_eq!(found("none", "echo 3.0; exit 1"), None);
    }

    #[test]
    fn a_program_runs_with_the_toolchains_that_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let tool = Toolchain {
            runs_on: words(&["python"]),
            ..Toolchain::default()
        };
        let grounds = toolbox(folder.path()).grounds(&tool);
        assert_eq!(grounds[0].tool.name, "python");
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The need of a program that only a manifest describes.
    fn own(program: &str, version_command: &[&str], least: &str) -> Need {
        let table = format!(
            "need = {{ program = '{program}', version_command = {version_command:?}, least = '{least}', install = 'make it' }}"
        );
        let table: BTreeMap<String, Need> = toml::from_str(&table).unwrap();
        table["need"].clone()
    }

    #[test]
    fn any_program_with_a_version_command_can_be_needed() {
        let folder = tempfile::tempdir().unwrap();
        let find = |need: Need| toolbox(folder.path()).find(&need);
        let command = ["sh", "-c", "echo shell 3.4.5"];
        let found = found(find(own("sh", &command, "3.4")));
        assert_eq!(found.version.to_string(), "3.4.5");
        assert_eq!((&*found.tool.name, found.lacks()), ("sh", None));
        let Missing { what, install } = missing(find(own("sh", &command, "3.5")));
        let is_named = what.starts_with("sh >= 3.5 (/") && what.ends_with("is 3.4.5)");
        assert!(is_named, "{what}");
        assert_eq!(install, "make it");
        let failing = ["sh", "-c", "echo 1.0; exit 1"];
        let what = missing(find(own("sh", &failing, "1"))).what;
        assert!(what.contains("prints no version"), "{what}");
        let what = missing(find(own("prony-no-such-program", &["x"], "1.0"))).what;
        assert_eq!(what, "prony-no-such-program >= 1.0");
    }
}
