//! A server: its folder, its manifest and the hash of its sources.

use std::path::{Path, PathBuf};

use prony_manifest::{FileError, Source, UnknownName, folders_with};

use crate::Layout;
use crate::manifest::{Described, MANIFEST_FILE, Manifest, Outside, Recipe, is_id};
use crate::sources::{hash_files, source_files, unignored_files};
use crate::toolchain::Need;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its id: the name of its folder, or of its table in `prony.toml`.
    pub id: String,
    /// Its folder, absolute; that of the project if it already runs.
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub origin: Origin,
}

/// How Prony comes to a process of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Started(Box<Started>),
    /// It already runs, and Prony neither starts nor stops it.
    Outside(Outside),
}

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

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its manifest is invalid, or a file or folder of it cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
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
    pub fn open(folder: &Path) -> Result<Server, ServerError> {
        let folder = canonical(folder)?;
        let id = folder
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| is_id(name))
            .ok_or_else(|| ServerError::Name(folder.clone()))?
            .to_owned();
        let file = folder.join(MANIFEST_FILE);
        let (manifest, recipe) = Manifest::parse(&file, Source::open(&file)?.text())?;
        let source_hash = hash_files(&folder, &source_files(&folder)?)?;
        Ok(Server {
            id,
            folder,
            manifest,
            origin: started(recipe, source_hash),
        })
    }

    /// The server `id` that `prony.toml` describes, in `folder`. Its sources are the files that Git does not ignore.
    pub fn of_project(
        id: &str,
        folder: &Path,
        manifest: Manifest,
        described: Described,
    ) -> Result<Server, ServerError> {
        check_id(id)?;
        let (folder, origin) = match described {
            Described::Outside(outside) => (folder.to_owned(), Origin::Outside(outside)),
            Described::Started(recipe) => {
                let folder = canonical(folder)?;
                let source_hash = hash_files(&folder, &unignored_files(&folder)?)?;
                (folder, started(recipe, source_hash))
            }
        };
        Ok(Server {
            id: id.to_owned(),
            folder,
            manifest,
            origin,
        })
    }

    /// What Prony builds and starts; `None` if it already runs.
    pub fn started(&self) -> Option<&Started> {
        match &self.origin {
            Origin::Started(started) => Some(started),
            Origin::Outside(_) => None,
        }
    }

    pub fn is_built(&self) -> bool {
        let started = self.started();
        started.is_some_and(|started| !started.recipe.build.is_empty())
    }

    pub fn needs(&self) -> &[Need] {
        self.started().map_or(&[], |started| &started.recipe.needs)
    }

    fn variant_names(&self) -> impl Iterator<Item = &str> {
        let variants = self.started().map(|started| started.recipe.variants.iter());
        variants
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    }

    /// The variant with this name, whose id is `ID@NAME`.
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
            origin: started(recipe.clone(), own.source_hash.clone()),
        })
    }

    pub(crate) fn variants(&self) -> impl Iterator<Item = Server> {
        let names = self.variant_names();
        names.filter_map(|name| self.variant(name).ok())
    }

    /// The same server under another name, so that one folder can be measured twice.
    pub fn named(self, name: &str) -> Result<Server, ServerError> {
        check_id(name)?;
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

fn canonical(folder: &Path) -> Result<PathBuf, FileError> {
    let canonical = folder.canonicalize();
    canonical.map_err(|source| FileError::unreadable(folder, source))
}

fn check_id(name: &str) -> Result<(), ServerError> {
    if is_id(name) {
        Ok(())
    } else {
        Err(ServerError::BadName(name.to_owned()))
    }
}

/// A folder that was meant to be a server.
#[derive(Debug)]
pub struct BrokenServer {
    pub id: String,
    pub error: ServerError,
}

/// All servers of a layout: its own in the order of their ids, and then the shipped ones.
#[derive(Debug, Default)]
pub struct Catalogue {
    pub servers: Vec<Server>,
    pub broken: Vec<BrokenServer>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    #[error("the server `{id}` cannot be used: {reason}")]
    Broken { id: String, reason: String },
}

impl Catalogue {
    /// Reads every folder of `servers/` with a manifest, in each collection of the layout. An invalid one does not
    /// affect the others.
    pub fn read(layout: &Layout) -> Result<Catalogue, ServerError> {
        let mut catalogue = Catalogue::default();
        for collection in layout.collections() {
            let servers = collection.servers();
            if servers.exists() {
                for folder in folders_with(MANIFEST_FILE, &servers)? {
                    catalogue.open(&folder);
                }
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

    pub fn add(&mut self, server: Server) {
        let variants: Vec<Server> = server.variants().collect();
        self.servers.push(server);
        self.servers.extend(variants);
    }

    /// The servers of these ids, in this order, each once; all usable ones if `ids` is empty.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
            tls: None,
        };
        let folder = layout.root();
        let server = |id| {
            let described = Described::Outside(outside.clone());
            Server::of_project(id, folder, manifest.manifest.clone(), described)
        };
        let bad = server("One");
        assert!(matches!(bad, Err(ServerError::BadName(_))));
        let server = server("one").unwrap();
        assert!(server.started().is_none() && server.needs().is_empty());
        assert_eq!(server.variants().count(), 0);
        assert!(server.variant("fast").is_err());
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
