//! The project: its suites, workloads and servers, and servers in folders anywhere else.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use prony_server::{Catalogue, Layout, MANIFEST_FILE, SelectError, Server};
use prony_suite::run::Task;
use prony_suite::{Measure, Suite, SuiteError, Workloads};

use crate::exit::usage;

/// The layout of the given project, or of the project around the current folder.
pub fn layout(project: Option<&Path>) -> Result<Layout, Box<dyn Error>> {
    let start = match project {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir()?,
    };
    Ok(Layout::find(&start)?)
}

/// `20261121-203000-tour-4711`; the process id keeps two runs of one second apart.
pub fn run_id(suite: &str) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(8.min(digits.len()));
    format!("{day}-{time}-{suite}-{}", std::process::id())
}

/// The suite with this id, or in this file: a path has a slash or ends in `.toml`.
pub fn suite(layout: &Layout, suite: &str) -> Result<Suite, Box<dyn Error>> {
    let read = match suite.contains('/') || suite.ends_with(".toml") {
        true => Suite::open(Path::new(suite)),
        false => Suite::read(&layout.suites(), suite),
    };
    read.map_err(|error| match error {
        SuiteError::Unknown(_) | SuiteError::Name(_) => usage(error),
        SuiteError::File(_) => error.into(),
    })
}

/// Why servers cannot be selected: an unknown name is the command line's fault, a faulty manifest is not.
pub fn not_selected(error: SelectError) -> Box<dyn Error> {
    match error {
        SelectError::Unknown(_) => usage(error),
        SelectError::Broken { .. } => error.into(),
    }
}

/// The servers in folders anywhere. Each needs an id of its own, by which it is known in tables.
pub fn outside(catalogue: &Catalogue, paths: &[ServerPath]) -> Result<Vec<Server>, Box<dyn Error>> {
    let mut servers: Vec<Server> = Vec::with_capacity(paths.len());
    for path in paths {
        let server = path.open()?;
        let mut others = catalogue.servers.iter().chain(&servers);
        match others.find(|other| other.id == server.id) {
            Some(other) if *other != server => {
                return Err(usage(format!(
                    "two servers would have the id `{0}`: {1} and {2}; give one of them another name, for instance --server new={2}",
                    server.id,
                    other.folder.display(),
                    server.folder.display(),
                )));
            }
            _ => servers.push(server),
        }
    }
    Ok(servers)
}

/// The project's workloads, which must include all that the servers say they serve.
pub fn workloads(layout: &Layout, servers: &[&Server]) -> Result<Workloads, Box<dyn Error>> {
    let workloads = Workloads::read(&layout.workloads())?;
    for server in servers {
        let manifest = server.folder.join(MANIFEST_FILE);
        for id in &server.manifest.workloads {
            workloads
                .get(id)
                .map_err(|error| format!("{}: field `workloads`: {error}", manifest.display()))?;
        }
    }
    Ok(workloads)
}

/// The workloads with these ids, each once, or all if there are no ids.
pub fn tasks<'a>(
    layout: &Layout,
    workloads: &Workloads,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Vec<Task>, Box<dyn Error>> {
    let mut chosen = workloads.select(ids)?;
    if chosen.is_empty() {
        chosen = workloads.iter().collect();
    }
    let mut tasks: Vec<Task> = Vec::new();
    for workload in chosen {
        if tasks.iter().all(|task| task.workload.id != workload.id) {
            tasks.push(Task::new(workload, layout)?);
        }
    }
    Ok(tasks)
}

/// Whether a server serves any of the measured workloads.
pub fn serves_any(server: &Server, measures: &[Measure]) -> bool {
    let served = &server.manifest.workloads;
    measures.iter().any(|one| served.contains(&one.workload))
}

/// A server named by its folder: `[NAME=]FOLDER[@VARIANT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPath {
    name: Option<String>,
    folder: PathBuf,
    variant: Option<String>,
}

impl ServerPath {
    /// The path that a text names; `None` if it is the id of one of the project's servers.
    pub fn of(text: &str) -> Option<Result<Self, String>> {
        let is_path = text.contains(['/', '=']) || Path::new(text).join(MANIFEST_FILE).is_file();
        (is_path || text == "." || text == "..").then(|| text.parse())
    }

    /// Reads the server.
    pub fn open(&self) -> Result<Server, Box<dyn Error>> {
        let mut server = Server::open(&self.folder)?;
        if let Some(variant) = &self.variant {
            server = server.variant(variant)?;
        }
        match &self.name {
            Some(name) => Ok(server.named(name)?),
            None => Ok(server),
        }
    }

    /// The same for a command that gives the server names of its own.
    pub fn open_unnamed(&self) -> Result<Server, Box<dyn Error>> {
        match &self.name {
            Some(name) => Err(usage(format!(
                "the name `{name}` has no effect here; write FOLDER or FOLDER@VARIANT"
            ))),
            None => self.open(),
        }
    }
}

impl FromStr for ServerPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = match text.split_once('=') {
            // A folder's name may contain `=`; a server's name contains no slash.
            Some((name, path)) if !name.contains('/') => (Some(name), path),
            _ => (None, text),
        };
        if path.is_empty() {
            return Err(
                "it names no folder; write FOLDER, FOLDER@VARIANT or NAME=FOLDER".to_owned(),
            );
        }
        let (folder, variant) = match path.rsplit_once('@') {
            Some((folder, variant)) if !variant.contains('/') && !Path::new(path).exists() => {
                (folder, Some(variant))
            }
            _ => (path, None),
        };
        Ok(Self {
            name: name.map(str::to_owned),
            folder: folder.into(),
            variant: variant.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_have_a_name_before_it_and_a_variant_after_it() {
        let parts = |text: &str| {
            let path: ServerPath = text.parse().unwrap();
            let folder = path.folder.to_str().unwrap().to_owned();
            (path.name, folder, path.variant)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parts("../a"), (None, "../a".to_owned(), None));
        assert_eq!(parts("new=../a"), (some("new"), "../a".to_owned(), None));
        let both = parts("new=../a@fast");
        assert_eq!(both, (some("new"), "../a".to_owned(), some("fast")));
        assert_eq!(parts("./a=b/c"), (None, "./a=b/c".to_owned(), None));
        assert_eq!(parts("./a@b/c"), (None, "./a@b/c".to_owned(), None));
        assert!("new=".parse::<ServerPath>().is_err());
    }

    #[test]
    fn a_folder_name_may_contain_an_equals_sign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a@b");
        std::fs::create_dir(&path).unwrap();
        let parsed: ServerPath = path.to_str().unwrap().parse().unwrap();
        assert_eq!((parsed.folder, parsed.variant), (path, None));
    }
}
