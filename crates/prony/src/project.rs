//! The project: its suites, workloads and servers, and servers in folders anywhere else.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::shipped::Unpacked;
use prony_manifest::{FileError, UnknownName};
use prony_run::run::{Task, now};
use prony_run::{Measure, ProjectFile, Suite, SuiteError, Workload, Workloads};
use prony_server::{Catalogue, Collection, Layout, MANIFEST_FILE, SelectError, Server};

use crate::exit::usage;

/// The layout of the given project, or of the project around the current folder, for commands that need only what
/// Prony keeps there.
pub(crate) fn layout(project: Option<&Path>) -> Result<Layout, Box<dyn Error>> {
    let start = match project {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir()?,
    };
    Ok(Layout::find(&start)?)
}

/// What can be measured: what `prony.toml` describes, what the project has in folders, and what Prony ships.
pub(crate) struct Project {
    pub(crate) layout: Layout,
    file: Option<ProjectFile>,
    /// All workloads, the project's own before the shipped ones.
    workloads: Workloads,
    shipped: Workloads,
    /// No other process removes what Prony ships while this one uses it.
    _unpacked: Unpacked,
}

impl Project {
    /// The given project, or that around the current folder. Unpacks what Prony ships, if it is not there yet.
    pub(crate) fn open(project: Option<&Path>) -> Result<Self, Box<dyn Error>> {
        let layout = layout(project)?;
        let unpacked = unpack(&layout)?;
        let layout = layout.with_shipped(unpacked.path().canonicalize()?);
        let (mut own, mut shipped) = (Workloads::default(), Workloads::default());
        for folder in layout.collections().map(Collection::workloads) {
            if !folder.exists() {
                continue;
            }
            let into = if layout.is_shipped(&folder) {
                &mut shipped
            } else {
                &mut own
            };
            *into = Workloads::read(&folder)?;
        }
        let mut known = own.clone();
        shipped.iter().for_each(|one| known.add(one.clone()));
        let file = ProjectFile::read(&layout, &known)?;
        let mut workloads = Workloads::default();
        let of_file = file.iter().flat_map(|file| &file.workloads);
        for workload in of_file.chain(known.iter()) {
            workloads.add(workload.clone());
        }
        Ok(Self {
            layout,
            file,
            workloads,
            shipped,
            _unpacked: unpacked,
        })
    }

    /// All servers, the project's own before the shipped ones. `prony.toml` names only such servers.
    pub(crate) fn catalogue(&self) -> Result<Catalogue, Box<dyn Error>> {
        let mut catalogue = Catalogue::default();
        for server in self.file.iter().flat_map(|file| &file.servers) {
            catalogue.add(server.clone());
        }
        let in_folders = Catalogue::read(&self.layout)?;
        for mut server in in_folders.servers {
            if self.layout.is_shipped(&server.folder) {
                let served = &mut server.manifest.workloads;
                served.retain(|id| !self.is_another(id));
            }
            let name = server.id.split('@').next().unwrap_or_default();
            if self.of_file(name).is_none() {
                catalogue.servers.push(server);
            }
        }
        let broken = in_folders.broken.into_iter();
        catalogue.broken = broken
            .filter(|one| self.of_file(&one.id).is_none())
            .collect();
        if let Some(file) = &self.file {
            file.check_beside(&catalogue)?;
        }
        Ok(catalogue)
    }

    fn of_file(&self, id: &str) -> Option<&Server> {
        let mut servers = self.file.iter().flat_map(|file| &file.servers);
        servers.find(|server| server.id == id)
    }

    /// Whether the project has another workload under the id of a shipped one, which shipped servers do not serve.
    fn is_another(&self, id: &str) -> bool {
        match (self.workloads.get(id), self.shipped.get(id)) {
            (Ok(own), Ok(shipped)) => !own.requests_the_same(shipped),
            _ => false,
        }
    }

    pub(crate) fn ships(&self, server: &Server) -> bool {
        self.layout.is_shipped(&server.folder)
    }

    pub(crate) fn file(&self) -> Option<&ProjectFile> {
        self.file.as_ref()
    }

    pub(crate) fn describes(&self, server: &Server) -> bool {
        self.of_file(&server.id) == Some(server)
    }

    /// What `prony.toml` in another folder says, such as another revision of the project; `None` if there is none.
    pub(crate) fn file_in(&self, root: &Path) -> Result<Option<ProjectFile>, Box<dyn Error>> {
        Ok(ProjectFile::read(&Layout::at(root), &self.workloads)?)
    }

    /// The project's own servers; if it has none, those that Prony ships.
    pub(crate) fn default_servers<'a>(&self, catalogue: &'a Catalogue) -> Vec<&'a Server> {
        let servers = || catalogue.servers.iter();
        let own: Vec<&Server> = servers().filter(|one| !self.ships(one)).collect();
        // Prony ships no broken servers.
        if own.is_empty() && catalogue.broken.is_empty() {
            servers().collect()
        } else {
            own
        }
    }

    /// All workloads, which must include all that the servers say they serve.
    pub(crate) fn workloads(&self, servers: &[&Server]) -> Result<&Workloads, Box<dyn Error>> {
        for server in servers {
            let manifest = server.folder.join(MANIFEST_FILE);
            for id in &server.manifest.workloads {
                let known = self.workloads.get(id);
                known.map_err(|error| {
                    format!("{}: field `workloads`: {error}", manifest.display())
                })?;
            }
        }
        Ok(&self.workloads)
    }

    pub(crate) fn has_workload(&self, id: &str) -> bool {
        self.workloads.get(id).is_ok()
    }

    /// The workloads of the project alone, and those that Prony ships.
    pub(crate) fn own_and_shipped_workloads(&self) -> [Vec<&Workload>; 2] {
        let (shipped, own) = self
            .workloads
            .iter()
            .partition(|one| self.layout.is_shipped(&one.folder));
        [own, shipped]
    }

    /// What `prony run` measures if nothing is named: what `prony.toml` says, or else the tour.
    pub(crate) fn default_suite(&self) -> &str {
        self.file.as_ref().map_or(TOUR, |file| &file.suite.id)
    }

    /// The ids of the project's own suites, and of those that Prony ships.
    pub(crate) fn own_and_shipped_suites(&self) -> Result<[Vec<String>; 2], Box<dyn Error>> {
        let mut ids = [Vec::new(), Vec::new()];
        ids[0].extend(self.file.iter().map(|file| file.suite.id.clone()));
        for folder in self.layout.collections().map(Collection::suites) {
            let which = usize::from(self.layout.is_shipped(&folder));
            for id in suite_ids(&folder)? {
                if ids.iter().all(|known| !known.contains(&id)) {
                    ids[which].push(id);
                }
            }
        }
        Ok(ids)
    }

    /// The ids of the project's own suites; if it has none, of those that Prony ships.
    pub(crate) fn default_suites(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let [own, shipped] = self.own_and_shipped_suites()?;
        Ok(if own.is_empty() { shipped } else { own })
    }

    /// The suite with this id, or in this file: a path has a slash or ends in `.toml`.
    pub(crate) fn suite(&self, suite: &str) -> Result<Suite, Box<dyn Error>> {
        self.read_suite(suite).map_err(|error| match error {
            SuiteError::Unknown(_) | SuiteError::Name(_) => usage(error),
            SuiteError::File(_) => error.into(),
        })
    }

    fn read_suite(&self, suite: &str) -> Result<Suite, SuiteError> {
        if suite.contains('/') || suite.ends_with(".toml") {
            return Suite::open(Path::new(suite));
        }
        if let Some(file) = self.file.as_ref().filter(|file| file.suite.id == suite) {
            return Ok(file.suite.clone());
        }
        let mut known = Vec::new();
        for folder in self.layout.collections().map(Collection::suites) {
            let ids = suite_ids(&folder)?;
            if ids.iter().any(|id| id == suite) {
                return Suite::read(&folder, suite);
            }
            known.extend(ids);
        }
        let known = known.iter().map(String::as_str);
        Err(UnknownName::new("suite", suite, known).into())
    }
}

/// Unpacks what Prony ships to the user's cache, or to the project if there is no cache. In the cache no file of a project
/// above it, such as `go.work` or `rust-toolchain.toml`, changes how it is built.
fn unpack(layout: &Layout) -> Result<Unpacked, Box<dyn Error>> {
    let absolute = |folder: &PathBuf| folder.is_absolute();
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(absolute);
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let in_cache = cache.and_then(|cache| crate::shipped::unpack(&cache.join("prony")).ok());
    match in_cache {
        Some(unpacked) => Ok(unpacked),
        None => {
            layout.make_state()?;
            Ok(crate::shipped::unpack(&layout.unpacked())?)
        }
    }
}

/// What is wrong if nothing can be requested of a server.
pub(crate) const NO_WORKLOAD: &str = "it has no workload, so nothing can be requested of it; describe one in prony.toml, for instance: [workload.home] with \
     request = { method = \"GET\", path = \"/\" } and response = { status = 200 }";

/// The suite that a newcomer sees.
const TOUR: &str = "tour";

fn suite_ids(folder: &Path) -> Result<Vec<String>, FileError> {
    if folder.exists() {
        Suite::ids(folder)
    } else {
        Ok(Vec::new())
    }
}

/// `20261121-203000-tour-4711`; the process id keeps two runs of one second apart.
pub(crate) fn run_id(suite: &str) -> String {
    let digits: String = now().chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(8.min(digits.len()));
    format!("{day}-{time}-{suite}-{}", std::process::id())
}

/// Why servers cannot be selected: an unknown name is the command line's fault, a faulty manifest is not.
pub(crate) fn not_selected(error: SelectError) -> Box<dyn Error> {
    match error {
        SelectError::Unknown(_) => usage(error),
        SelectError::Broken { .. } => error.into(),
    }
}

/// The servers in folders anywhere. Each needs an id of its own, by which it is known in tables.
pub(crate) fn outside(
    catalogue: &Catalogue,
    paths: &[ServerPath],
) -> Result<Vec<Server>, Box<dyn Error>> {
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

/// The workloads with these ids, each once, or all if there are no ids.
pub(crate) fn tasks<'a>(
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

/// The first workloads that all servers serve, over HTTP if there are any.
pub(crate) fn common_workloads(
    workloads: &Workloads,
    servers: &[&Server],
    most: usize,
) -> Vec<String> {
    let Some((first, others)) = servers.split_first() else {
        return Vec::new();
    };
    let is_common = |id: &&String| {
        let mut others = others.iter();
        others.all(|server| server.manifest.workloads.contains(id))
    };
    let mut chosen: Vec<&String> = first.manifest.workloads.iter().filter(is_common).collect();
    let is_over_http = |id: &&String| {
        let workload = workloads.get(id);
        workload.is_ok_and(|workload| !workload.protocol().is_grpc())
    };
    if chosen.iter().any(is_over_http) {
        chosen.retain(is_over_http);
    }
    chosen.truncate(most);
    chosen.into_iter().cloned().collect()
}

pub(crate) fn serves_any(server: &Server, measures: &[Measure]) -> bool {
    let served = &server.manifest.workloads;
    measures.iter().any(|one| served.contains(&one.workload))
}

/// A server named by its folder: `[NAME=]FOLDER[@VARIANT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerPath {
    name: Option<String>,
    folder: PathBuf,
    variant: Option<String>,
}

impl ServerPath {
    /// The path that a text names; `None` if it is the id of one of the project's servers.
    pub(crate) fn of(text: &str) -> Option<Result<Self, String>> {
        let is_path = text.contains(['/', '=']) || Path::new(text).join(MANIFEST_FILE).is_file();
        (is_path || text == "." || text == "..").then(|| text.parse())
    }

    pub(crate) fn open(&self) -> Result<Server, Box<dyn Error>> {
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
    pub(crate) fn open_unnamed(&self) -> Result<Server, Box<dyn Error>> {
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
