//! A server: its folder, its manifest and the hash of its sources.

use std::fs;
use std::path::{Path, PathBuf};

use prony_manifest::{FileError, UnknownName};

use crate::Layout;
use crate::manifest::{MANIFEST_FILE, Manifest, Outside, Recipe};
use crate::sources::{Unreadable, hash_files, source_files, unignored_files};
use crate::toolchain::Need;

/// A server that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its id: the name of its folder, or of its table in `prony.toml`.
    pub id: String,
    /// Its folder, absolute; that of the project if it already runs.
    pub folder: PathBuf,
    pub manifest: Manifest,
    /// How Prony comes to its process.
    pub origin: Origin,
}

/// How Prony comes to a process of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It builds and starts one.
    Started(Box<Started>),
    /// It already runs, and Prony neither starts nor stops it.
    Outside(Outside),
}

/// What Prony builds and starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    pub recipe: Recipe,
    /// SHA-256 of the sources, hexadecimal.
    pub source_hash: String,
}

impl Started {
    /// The first 8 digits of the source hash.
    pub fn short_hash(&self) -> &str {
        &self.source_hash[..8]
    }
}

/// A server that Prony builds and starts.
#[derive(Clone, Copy, Debug)]
pub struct Buildable<'a> {
    pub(crate) server: &'a Server,
    pub(crate) started: &'a Started,
}

/// Why a folder is not a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] FileError),
    /// A file or folder of it cannot be read.
    #[error(transparent)]
    Read(#[from] Unreadable),
    #[error("{0}: a server's folder is named in lower-case letters, digits and hyphens")]
    Name(PathBuf),
    #[error(
        "`{0}` is not a valid server name: use lower-case letters, digits and hyphens, for instance new=../my-server"
    )]
    BadName(String),
    #[error("server `{id}`: {unknown}")]
    NoVariant { id: String, unknown: UnknownName },
}

impl Server {
    /// Reads the server in `folder`, which may be anywhere.
    ///
    /// # Errors
    /// If its manifest is invalid or a file cannot be read.
    pub fn open(folder: &Path) -> Result<Server, ServerError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| Unreadable::new(folder, source))?;
        let id = folder
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| is_id(name))
            .ok_or_else(|| ServerError::Name(folder.clone()))?
            .to_owned();
        let file = folder.join(MANIFEST_FILE);
        let text = fs::read_to_string(&file).map_err(|source| Unreadable::new(&file, source))?;
        let (manifest, recipe) = Manifest::parse(&file, &text)?;
        let source_hash = source_files(&folder).and_then(|files| hash_files(&folder, &files))?;
        Ok(Server {
            id,
            folder,
            manifest,
            origin: started(recipe, source_hash),
        })
    }

    /// The server `id` that `prony.toml` describes, in `folder`. Its sources are the files that Git does not ignore.
    ///
    /// # Errors
    /// If a file cannot be read, or there are too many.
    pub fn of_project(
        id: &str,
        folder: &Path,
        manifest: Manifest,
        recipe: Recipe,
    ) -> Result<Server, ServerError> {
        if !is_id(id) {
            return Err(ServerError::BadName(id.to_owned()));
        }
        let unreadable = |source| Unreadable::new(folder, source);
        let folder = folder.canonicalize().map_err(unreadable)?;
        let source_hash = unignored_files(&folder).and_then(|files| hash_files(&folder, &files))?;
        Ok(Server {
            id: id.to_owned(),
            folder,
            manifest,
            origin: started(recipe, source_hash),
        })
    }

    /// The server `id` that `prony.toml` in `folder` describes, and that already runs.
    ///
    /// # Errors
    /// If it is not an id.
    pub fn outside(
        id: &str,
        folder: &Path,
        manifest: Manifest,
        outside: Outside,
    ) -> Result<Server, ServerError> {
        if !is_id(id) {
            return Err(ServerError::BadName(id.to_owned()));
        }
        Ok(Server {
            id: id.to_owned(),
            folder: folder.to_owned(),
            manifest,
            origin: Origin::Outside(outside),
        })
    }

    /// What Prony builds and starts; `None` if it already runs.
    pub fn started(&self) -> Option<&Started> {
        match &self.origin {
            Origin::Started(started) => Some(started),
            Origin::Outside(_) => None,
        }
    }

    /// The same as [`build`](crate::build()) takes it; `None` if it already runs.
    pub fn buildable(&self) -> Option<Buildable<'_>> {
        let started = self.started()?;
        let server = self;
        Some(Buildable { server, started })
    }

    /// Whether it must be built before it can be started.
    pub fn is_built(&self) -> bool {
        let started = self.started();
        started.is_some_and(|started| !started.recipe.build.is_empty())
    }

    /// The toolchains that it needs.
    pub fn needs(&self) -> &[Need] {
        self.started().map_or(&[], |started| &started.recipe.needs)
    }

    fn variant_names(&self) -> impl Iterator<Item = &str> {
        let variants = self.started().map(|started| started.recipe.variants.iter());
        variants.into_iter().flatten().map(|one| one.name.as_str())
    }

    /// The variant with this name, whose id is `ID@NAME`.
    ///
    /// # Errors
    /// If the manifest has no such variant, with the nearest one.
    pub fn variant(&self, name: &str) -> Result<Server, ServerError> {
        let own = self.started();
        let Some((own, recipe)) = own.and_then(|own| Some((own, own.recipe.variant(name)?))) else {
            return Err(ServerError::NoVariant {
                id: self.id.clone(),
                unknown: UnknownName::new("variant", name, self.variant_names()),
            });
        };
        Ok(Server {
            id: format!("{}@{name}", self.id),
            manifest: Manifest {
                title: format!("{} ({name})", self.manifest.title),
                ..self.manifest.clone()
            },
            folder: self.folder.clone(),
            origin: started(recipe, own.source_hash.clone()),
        })
    }

    pub(crate) fn variants(&self) -> impl Iterator<Item = Server> {
        let names = self.variant_names();
        names.filter_map(|name| self.variant(name).ok())
    }

    /// The same server under another name, so that one folder can be measured twice.
    pub fn named(self, name: &str) -> Result<Server, ServerError> {
        if !is_id(name) {
            return Err(ServerError::BadName(name.to_owned()));
        }
        let id = name.to_owned();
        Ok(Server { id, ..self })
    }
}

fn started(recipe: Recipe, source_hash: String) -> Origin {
    Origin::Started(Box::new(Started {
        recipe,
        source_hash,
    }))
}

/// Whether it is a valid name for a server's folder or a variant.
pub(crate) fn is_id(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_letter)
}

/// A folder that was meant to be a server.
#[derive(Debug)]
pub struct BrokenServer {
    /// The name of its folder.
    pub id: String,
    /// What is wrong.
    pub error: ServerError,
}

/// All servers of a layout: its own in the order of their ids, and then the shipped ones.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// Those with a valid manifest.
    pub servers: Vec<Server>,
    /// The others.
    pub broken: Vec<BrokenServer>,
}

/// Why servers cannot be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// There is none with this id.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error("the server `{id}` cannot be used: {reason}")]
    Broken { id: String, reason: String },
}

impl Catalogue {
    /// Reads every folder of `servers/` with a manifest, in each collection of the layout. An invalid one does not
    /// affect the others.
    ///
    /// # Errors
    /// If `servers/` itself cannot be read.
    pub fn read(layout: &Layout) -> Result<Catalogue, ServerError> {
        let mut catalogue = Catalogue::default();
        for collection in layout.collections() {
            for folder in server_folders(&collection.servers())? {
                catalogue.open(&folder);
            }
        }
        Ok(catalogue)
    }

    /// Adds the server in `folder`, unless there already is one with its id.
    fn open(&mut self, folder: &Path) {
        let id = folder.file_name().unwrap_or_default().to_string_lossy();
        if self.knows(&id) {
            return;
        }
        match Server::open(folder) {
            Ok(server) => self.add(server),
            Err(error) => self.broken.push(BrokenServer {
                id: id.into_owned(),
                error,
            }),
        }
    }

    /// Whether there is a server with this id, valid or not.
    pub(crate) fn knows(&self, id: &str) -> bool {
        let valid = self.servers.iter().map(|server| &server.id);
        let broken = self.broken.iter().map(|broken| &broken.id);
        valid.chain(broken).any(|known| known == id)
    }

    /// Adds a server, followed by its variants.
    pub fn add(&mut self, server: Server) {
        let variants: Vec<Server> = server.variants().collect();
        self.servers.push(server);
        self.servers.extend(variants);
    }

    /// The servers of these ids, in this order, each once; all usable ones if `ids` is empty.
    ///
    /// # Errors
    /// If one is unknown (with the nearest id) or invalid.
    pub fn select<S: AsRef<str>>(&self, ids: &[S]) -> Result<Vec<&Server>, SelectError> {
        if ids.is_empty() {
            return Ok(self.servers.iter().collect());
        }
        let mut selected: Vec<&Server> = Vec::new();
        for id in ids {
            let server = self.get(id.as_ref())?;
            if !selected.iter().any(|chosen| chosen.id == server.id) {
                selected.push(server);
            }
        }
        Ok(selected)
    }

    /// The server with this id.
    ///
    /// # Errors
    /// If it is unknown (with the nearest id) or invalid.
    pub fn get(&self, id: &str) -> Result<&Server, SelectError> {
        if let Some(server) = self.servers.iter().find(|server| server.id == id) {
            return Ok(server);
        }
        if let Some(broken) = self.broken.iter().find(|broken| broken.id == id) {
            return Err(SelectError::Broken {
                id: id.to_owned(),
                reason: broken.error.to_string(),
            });
        }
        let known = self.servers.iter().map(|server| server.id.as_str());
        Err(UnknownName::new("server", id, known).into())
    }
}

/// The folders in `servers` with a manifest, sorted; none if there is no such folder.
fn server_folders(servers: &Path) -> Result<Vec<PathBuf>, Unreadable> {
    let unreadable = |source| Unreadable::new(servers, source);
    let mut folders = Vec::new();
    if !servers.exists() {
        return Ok(folders);
    }
    for entry in fs::read_dir(servers).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        if folder.join(MANIFEST_FILE).is_file() {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Encryption;

    const MANIFEST: &str = r#"
title = "A"
language = "sh"
framework = "none"
class = "stdlib"
workloads = ["hello"]
run = ["sh"]
"#;

    fn layout(servers: &[(&str, &str)]) -> (tempfile::TempDir, Layout) {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        for (id, manifest) in servers {
            let path = layout.own().servers().join(id);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(MANIFEST_FILE), manifest).unwrap();
        }
        (folder, layout)
    }

    #[test]
    fn a_broken_manifest_does_not_stop_the_others() {
        let (_folder, layout) = layout(&[("good-one", MANIFEST), ("bad-one", "title = 1")]);
        let catalogue = Catalogue::read(&layout).unwrap();
        assert_eq!(catalogue.servers.len(), 1);
        let error = catalogue.get("bad-one").unwrap_err();
        assert!(error.to_string().contains("server.toml:1"), "{error}");
        let error = catalogue.select(&["good-oen"]).unwrap_err();
        assert!(error.to_string().contains("mean `good-one`?"), "{error}");
        assert_eq!(catalogue.select::<&str>(&[]).unwrap().len(), 1);
        let twice = catalogue.select(&["good-one", "good-one"]).unwrap();
        assert_eq!(twice.len(), 1);
    }

    #[test]
    fn the_hash_depends_on_sources_and_not_on_build_results() {
        let (_folder, layout) = layout(&[("one", MANIFEST)]);
        let path = layout.own().servers().join("one");
        let hash = || {
            let server = Server::open(&path).unwrap();
            server.started().unwrap().source_hash.clone()
        };
        let before = hash();
        for made in ["target", ".cache", "node_modules", "__pycache__"] {
            fs::create_dir(path.join(made)).unwrap();
            fs::write(path.join(made).join("x"), "made").unwrap();
        }
        assert_eq!(hash(), before);
        fs::create_dir(path.join("src")).unwrap();
        fs::write(path.join("src/a"), "b").unwrap();
        let with_source = hash();
        assert_ne!(with_source, before);
        fs::rename(path.join("src/a"), path.join("src/b")).unwrap();
        assert_ne!(hash(), with_source);
    }

    #[test]
    fn a_variant_is_a_server_with_a_name_of_its_own() {
        let variant = "[[variant]]\nname = \"fast\"\nrun = [\"sh\", \"-e\"]\n";
        let (_folder, layout) = layout(&[("one", &format!("{MANIFEST}{variant}"))]);
        let one = Server::open(&layout.own().servers().join("one")).unwrap();
        let fast = one.variant("fast").unwrap();
        assert_eq!((&*fast.id, &*fast.manifest.title), ("one@fast", "A (fast)"));
        let (one, fast) = (one.started().unwrap(), fast.started().unwrap());
        assert_eq!(one.source_hash, fast.source_hash);
        assert_ne!(one.recipe.run, fast.recipe.run);
    }

    #[test]
    fn a_server_that_already_runs_has_no_build_and_no_variants() {
        let (_folder, layout) = layout(&[("one", MANIFEST)]);
        let manifest = Server::open(&layout.own().servers().join("one")).unwrap();
        let outside = Outside {
            url: "http://localhost:8080".parse().unwrap(),
            encryption: Encryption::Plain,
        };
        let folder = layout.root();
        let server = Server::outside("one", folder, manifest.manifest.clone(), outside.clone());
        let server = server.unwrap();
        assert!(server.buildable().is_none() && server.needs().is_empty());
        assert_eq!(server.variants().count(), 0);
        assert!(server.variant("fast").is_err());
        let bad = Server::outside("One", folder, manifest.manifest, outside);
        assert!(matches!(bad, Err(ServerError::BadName(_))));
    }

    #[test]
    fn a_folder_without_a_manifest_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        fs::create_dir(&path).unwrap();
        let error = Server::open(&path).unwrap_err().to_string();
        assert!(error.contains(MANIFEST_FILE), "{error}");
    }
}
